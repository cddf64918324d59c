"""Tests of downloads from the hub, of whole files or of their first rows, over real HTTP to a server on localhost."""

from __future__ import annotations

import functools
import io
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet
from retort.data.sources.fetch import fetch
from retort.data.sources.hub import as_retort_error
from retort.errors import NoAnswer, RetortError
from retort.specs.source import HubRepository

from tests.tiny.hub import TinyHub, serve, sha256

OLD, NEW = "a" * 40, "b" * 40
MEGA = 1 << 20
TEXTS = {"README.md": b"# texts\n", "plain/train.parquet": bytes(range(256)) * 4096 * 12, "plain/dev.parquet": b"dev"}
MODEL = {"config.json": b"{}", "model.safetensors": b"weights", "pytorch_model.bin": b"pickle", "tokenizer.json": b"{}"}
FILES = {
    "datasets/someone/texts": {OLD: {**TEXTS, "plain/dev.parquet": b"older"}, NEW: TEXTS},
    "models/someone/encoder": {NEW: MODEL},
    "models/someone/pickled": {NEW: {"config.json": b"{}", "pytorch_model.bin": b"pickle"}},
    "models/someone/gated": {NEW: MODEL},
}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[TinyHub]:
    """Yield a running hub, to which HF_ENDPOINT points."""
    branches = {(repository, "main"): NEW for repository in FILES}
    with serve(TinyHub(FILES, branches, gated={"models/someone/gated"})) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.address)
        yield running


def source(
    repository: str = "someone/texts", files: list[str] | None = None, commit: str = NEW, **first: Any
) -> HubRepository:
    """Return a pinned source, of which only the first rows are wanted if something is said of them."""
    kind = "dataset" if repository == "someone/texts" else "model"
    patterns = files or (["plain/*.parquet"] if kind == "dataset" else ["config.json", "*.safetensors"])
    hub = {"repository": repository, "repo_type": kind, "commit": commit, "files": patterns}
    rows = {"first": {"files": ["en/*.parquet"], "column": "text", **first}} if first else {}
    return HubRepository.model_validate({"hub": hub, **rows})


def refused(tmp_path: Path, wanted: HubRepository) -> str:
    """Return the one-line message that the user gets, after a check that the source's folder has no files."""
    with pytest.raises(RetortError) as caught:
        fetch(wanted, tmp_path / "to", tmp_path / "state")
    assert not [path for path in (tmp_path / "to").rglob("*.*") if path.is_file()]
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_files_are_those_of_the_commit(hub: TinyHub, tmp_path: Path) -> None:
    files = {**FILES["datasets/someone/texts"][OLD], "LICENSE": b"free"}
    hub.files = {**FILES, "datasets/someone/texts": {OLD: files}}
    assert fetch(source(commit=OLD), tmp_path / "to", tmp_path / "state") == 3
    assert (tmp_path / "to/plain/dev.parquet").read_bytes() == b"older"
    assert (tmp_path / "to/README.md").exists()  # a data set's card names its configurations
    assert not (tmp_path / "to/LICENSE").exists()
    assert not (tmp_path / "state").exists()
    assert all(OLD in path for path in hub.paths() if not path.startswith("storage/"))


def test_a_small_file_is_checked_by_the_name_that_git_gives_it(hub: TinyHub, tmp_path: Path) -> None:
    assert fetch(source("someone/encoder"), tmp_path / "to", tmp_path / "state") == 2
    hub.lies.add("config.json")
    assert "config.json came as" in refused(tmp_path / "again", source("someone/encoder"))


def test_a_connection_that_is_cut_goes_on_with_the_bytes_that_are_missing(hub: TinyHub, tmp_path: Path) -> None:
    hub.cut["train.parquet"] = 11 * MEGA
    fetch(source(), tmp_path / "to", tmp_path / "state")
    assert (tmp_path / "to/plain/train.parquet").read_bytes() == TEXTS["plain/train.parquet"]
    assert hub.ranges() == [f"bytes={10 * MEGA}-"]


FETCH = """
import sys
from pathlib import Path
from retort.data.sources.fetch import fetch
from retort.specs.source import HubRepository
fetch(HubRepository.model_validate_json(sys.argv[1]), Path("to"), Path("state"))
"""


def started(wanted: HubRepository, folder: Path) -> subprocess.Popen[bytes]:
    """Start a process that fetches a source to the folder `to` of a folder, where its home is empty."""
    (folder / "home").mkdir()
    own = {"HF_HUB_OFFLINE": "1", "HOME": str(folder / "home"), "HF_HUB_DOWNLOAD_TIMEOUT": "60"}
    command = [sys.executable, "-c", FETCH, wanted.model_dump_json()]
    return subprocess.Popen(command, cwd=folder, env={**os.environ, **own})


def is_all(folder: Path) -> bool:
    """Return whether a process has written nothing next to the files of its source."""
    return {entry.name for entry in folder.iterdir()} == {"home", "to"} and not list((folder / "home").rglob("*.*"))


def test_a_download_that_was_killed_keeps_the_files_that_had_come(hub: TinyHub, tmp_path: Path) -> None:
    hub.stall["train.parquet"] = 11 * MEGA
    running, state = started(source(), tmp_path), tmp_path / "state"
    assert hub.silent.wait(60)
    while not any(len(path.read_text().splitlines()) == 3 for path in state.rglob("dev.parquet.metadata")):
        assert running.poll() is None  # its three lines: commit, etag, time
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert not (tmp_path / "to/plain").exists()
    hub.asked.clear()
    fetch(source(), tmp_path / "to", state)
    assert not any(path.endswith("dev.parquet") for path in hub.paths())
    assert (tmp_path / "to/plain/train.parquet").read_bytes() == TEXTS["plain/train.parquet"]
    assert not state.exists()
    assert is_all(tmp_path)


def test_another_content_is_thrown_away(hub: TinyHub, tmp_path: Path) -> None:
    hub.lies.add("train.parquet")
    said = refused(tmp_path, source())
    assert said.startswith("someone/texts at bbbbbbbbbbbb: plain/train.parquet came as ")
    assert sha256(TEXTS["plain/train.parquet"])[:12] in said
    assert not list((tmp_path / "state").glob("*train*"))
    hub.lies.clear()
    assert fetch(source(), tmp_path / "to", tmp_path / "state") == 3


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (source(commit="c" * 40), "has no commit or branch cccccccc"),
        (source("nobody/encoder"), "the hub has no model nobody/encoder"),
        (source("someone/gated"), "someone/gated is gated; ask for access"),
        (
            source(files=["plane/*.parquet"]),
            "holds no plane/*.parquet, but README.md, plain/dev.parquet, plain/train.parquet; pickled",
        ),
        (source("someone/pickled"), "holds no *.safetensors, but config.json, pytorch_model.bin; pickled files are"),
        (source("someone/encoder", files=["*"]), "pytorch_model.bin is not fetched; pickled files are never read"),
    ],
)
def test_what_the_hub_cannot_give_is_one_line(hub: TinyHub, wanted: HubRepository, said: str, tmp_path: Path) -> None:
    assert said in refused(tmp_path, wanted)


def test_a_hub_out_of_reach_without_its_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://someone:secret@127.0.0.1:9")
    said = refused(tmp_path, source())
    assert "no answer from http://127.0.0.1:9: " in said
    assert "run again where the hub is within reach" in said
    text = "404 Client Error for url: http://someone:secret@host/a?token=secret (Request ID: 1)"
    with pytest.raises(NoAnswer) as error, as_retort_error(source().hub, "main"):
        raise ValueError(text)
    assert "for url: http://host/a (Request ID: 1)" in str(error.value)
    assert "secret" not in f"{said} {error.value}"


# the first rows of a file

ROWS, GROUP = 40_000, 4000


def text(number: int) -> str:
    """Return the text of a row: 200 characters that cannot be compressed much."""
    return random.Random(number).randbytes(100).hex()


@functools.cache
def rows(first: int, count: int) -> bytes:
    """Return a Parquet file of rows with a text each, and with another column of the same size."""
    numbers = range(first, first + count)
    table = pyarrow.table({"other": [text(-number) for number in numbers], "text": [text(n) for n in numbers]})
    stream = io.BytesIO()
    parquet.write_table(table, stream, row_group_size=GROUP)
    return stream.getvalue()


@pytest.fixture
def of_rows(hub: TinyHub) -> TinyHub:
    """Return the hub, with two files of rows in its data set."""
    files = {"README.md": b"# texts", "en/train-0.parquet": rows(0, ROWS), "en/train-1.parquet": rows(ROWS, 10)}
    hub.files = {"datasets/someone/texts": {NEW: files}}
    return hub


@pytest.mark.slow
def test_the_first_rows_are_read_and_the_rest_is_not(of_rows: TinyHub, tmp_path: Path) -> None:
    assert started(source(files=["en/*"], characters=200 * (GROUP + 1)), tmp_path).wait() == 0
    (path,) = (tmp_path / "to").rglob("*.parquet")
    table = parquet.read_table(path)
    assert (path.name, table.column_names) == ("train-0.parquet", ["text"])
    assert table.column("text").to_pylist() == [text(number) for number in range(2 * GROUP)]
    assert is_all(tmp_path)
    assert all(NEW in path or "storage" in path for path in of_rows.paths())
    spans = [span.removeprefix("bytes=").split("-") for _, path, span in of_rows.asked if span and "storage" in path]
    sent = sum(int(last) - int(first) + 1 for first, last in spans)
    whole = len(of_rows.files["datasets/someone/texts"][NEW]["en/train-0.parquet"])
    assert 0 < sent < whole * 0.8  # the library reads five megabytes ahead


def test_a_column_or_a_file_that_is_not_there(of_rows: TinyHub, tmp_path: Path) -> None:
    said = "someone/texts: en/train-0.parquet has no column 'txt'; name it in the corpus's options"
    with pytest.raises(RetortError, match=said):
        fetch(source(files=["en/*"], characters=5, column="txt"), tmp_path / "to", tmp_path / "state")
    wanted = source(files=["en/*"]).model_dump() | {"first": {"files": ["de/*"], "column": "text", "characters": 5}}
    with pytest.raises(RetortError, match=r"holds no de/\*, but README.md, en/train-0.parquet"):
        fetch(HubRepository.model_validate(wanted), tmp_path / "to", tmp_path / "state")
