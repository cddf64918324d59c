"""Tests of the first rows of a data set of the hub, over real HTTP, and of the sources of which a part is enough."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet
from retort.plan import resolve_data
from retort.specs.config import Config
from retort.study.load import open_study

from tests.conftest import ROOT
from tests.tiny.edit import write
from tests.tiny.hub import TinyHub, serve

pytestmark = pytest.mark.slow

COMMIT = "a" * 40
REPOSITORY = "datasets/someone/texts"
ROWS, GROUP = 40_000, 4000


def text(number: int) -> str:
    """Return the text of a row: 200 characters that cannot be compressed much."""
    return random.Random(number).randbytes(100).hex()


def file(first: int, rows: int) -> bytes:
    """Return a Parquet file of rows with a text each, and with another column of the same size."""
    numbers = range(first, first + rows)
    table = pyarrow.table({"other": [text(-number) for number in numbers], "text": [text(n) for n in numbers]})
    stream = io.BytesIO()
    parquet.write_table(table, stream, row_group_size=GROUP)
    return stream.getvalue()


@pytest.fixture(scope="module")
def hub() -> Iterator[TinyHub]:
    """Yield a running hub with a data set of two files."""
    files = {"en/train-0.parquet": file(0, ROWS), "en/train-1.parquet": file(ROWS, 10), "README.md": b"# texts"}
    with serve(TinyHub({REPOSITORY: {COMMIT: files}})) as running:
        yield running


FETCH = """
import json, sys
from pathlib import Path
from retort.sources.fetch import fetch
from retort.errors import RetortError
from retort.specs.source import HubRepository
try:
    print(fetch(HubRepository.model_validate_json(sys.argv[1]), Path("to"), Path("state")))
except RetortError as error:
    print(error)
"""


def fetched(hub: TinyHub, folder: Path, **first: Any) -> str:
    """Fetch the first rows in a process of its own, which must end well, and return what it printed."""
    hub.asked.clear()
    where = {"repository": "someone/texts", "repo_type": "dataset", "commit": COMMIT, "files": ["en/*"]}
    source = {"hub": where, "first": {"files": ["en/*.parquet"], "column": "text", **first}}
    path = os.pathsep.join([str(ROOT), os.environ["PYTHONPATH"]])
    own = {"PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "HF_ENDPOINT": hub.address, "HOME": str(folder / "home")}
    done = subprocess.run(
        [sys.executable, "-c", FETCH, json.dumps(source)],
        cwd=folder,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def texts(path: Path) -> list[str]:
    """Return the texts of a Parquet file, which has no other column."""
    table = parquet.read_table(path)
    assert table.column_names == ["text"]
    return table.column("text").to_pylist()


def bytes_sent(hub: TinyHub) -> int:
    """Return the number of bytes of all ranges that were asked of the storage."""
    ranges = [span.removeprefix("bytes=").split("-") for _, path, span in hub.asked if span and "storage" in path]
    return sum(int(last) - int(first) + 1 for first, last in ranges)


def test_the_first_rows_are_read_and_the_rest_is_not(hub: TinyHub, tmp_path: Path) -> None:
    assert fetched(hub, tmp_path, characters=200 * (GROUP + 1)) == "1"
    assert texts(tmp_path / "to/en/train-0.parquet") == [text(number) for number in range(2 * GROUP)]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["to"]
    whole = len(hub.files[REPOSITORY][COMMIT]["en/train-0.parquet"])
    assert all(COMMIT in path or "storage" in path for path in hub.paths())
    assert 0 < bytes_sent(hub) < whole * 0.8  # the library reads five megabytes ahead


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ({"column": "txt"}, "someone/texts: en/train-0.parquet has no column 'txt'; name it in the corpus's options"),
        ({"files": ["de/*.parquet"]}, "holds no de/*.parquet, but README.md, en/train-0.parquet"),
    ],
)
def test_a_column_or_a_file_that_is_not_there(hub: TinyHub, first: dict[str, Any], said: str, tmp_path: Path) -> None:
    printed = fetched(hub, tmp_path, **{"characters": 5, **first})
    assert said in printed
    assert "\n" not in printed


HUB = {"repository": "a/b", "repo_type": "dataset", "commit": COMMIT, "found": "made up", "files": ["en/*"]}
PART = {"source": "wiki", "files": ["en/*.parquet"], "format": "parquet"}


def part_of(folder: Path, corpora: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the part of the source that is fetched for these corpora; None if it is fetched whole."""
    write(folder, "sources/wiki.yaml", {"title": "Wiki", "licence": "MIT", "hub": HUB})
    for number, corpus in enumerate(corpora):
        write(folder, f"corpora/wiki-{number}.yaml", {"title": "W", "block": 128, "version": 1, **corpus})
    study = open_study(Config(papers=["tiny"], study=str(folder)))
    assert "first" not in resolve_data.source(study, "wiki").model_dump()
    part: dict[str, Any] | None = resolve_data.fetched(study, "wiki").model_dump().get("first")
    return part


def test_a_part_is_enough_for_a_number_of_blocks(study_folder: Path) -> None:
    half = {
        "blocks": 300,
        "components": [{**PART, "share": 0.5, "sample": 0.25}, {**PART, "source": "texts", "share": 0.5}],
    }
    part = {"files": ["en/*.parquet"], "column": "text", "characters": 100 * 128 * 12}
    assert part_of(study_folder, [{"blocks": 100, "components": [PART]}]) == part
    more = {**part, "characters": 600 * 128 * 12}
    assert part_of(study_folder, [{"blocks": 100, "components": [PART]}, half]) == more


@pytest.mark.parametrize(
    "corpus",
    [
        {"components": [PART]},
        {"blocks": 9, "components": [PART, {**PART, "source": "texts"}]},
        {"blocks": 9, "components": [{**PART, "format": "text"}]},
        {"blocks": 9, "components": [{**PART, "options": {"column": "body"}}]},
        {"blocks": 9, "components": [{**PART, "files": ["de/*.parquet"]}]},
    ],
)
def test_all_is_fetched_where_the_part_is_not_known(study_folder: Path, corpus: dict[str, Any]) -> None:
    assert part_of(study_folder, [{"blocks": 100, "components": [PART]}, corpus]) is None
