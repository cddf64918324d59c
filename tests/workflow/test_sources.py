"""Tests of runs that fetch sources: the user's data is never changed, and a hub is asked for what a run needs, once."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from retort.checksums import REMEDY

from tests.conftest import read_json, snakemake
from tests.tiny.edit import change, remove, set_value, write
from tests.tiny.hub import TinyHub, serve
from tests.tiny.make import make_study
from tests.workflow.test_incremental import planned

pytestmark = pytest.mark.workflow
COMMIT, TEXTS = "a" * 40, "results/sources/texts"
PINNED = {"commit": COMMIT, "found": "made up"}
LEFT_OUT = ("table2", "table3", "figure1", "figure2", "figure3", "claims")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a tiny study."""
    return make_study(tmp_path / "folder")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[TinyHub]:
    """Yield a running hub that holds nothing yet, to which HF_ENDPOINT points."""
    with serve(TinyHub({})) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.address)
        yield running


def on_hub(name: str, *files: str, kind: str = "dataset", **more: Any) -> dict[str, Any]:
    """Return a source whose place is the hub, or the folder `name` of `data_dir`."""
    where = {"repository": f"someone/{name}", "repo_type": kind, "files": list(files), **more}
    return {"title": "T", "licence": "MIT", "hub": where, "local": name}


def configure(folder: Path, **settings: Any) -> None:
    """Change settings of a study's configuration."""
    (folder / "config.yaml").write_text(json.dumps({**read_json(folder / "config.yaml"), **settings}))


def test_data_outlives_all_that_snakemake_does_to_its_links(folder: Path) -> None:
    kept = {path: path.stat().st_mtime_ns for path in (folder / "texts").rglob("*")}
    snakemake(folder, TEXTS)
    link = folder / TEXTS / "rated.txt"
    assert link.is_symlink()
    for what in (["--forcerun", "fetch_source"], ["--touch"], ["--delete-all-output"]):
        snakemake(folder, TEXTS, *what)
    assert not link.parent.exists()
    assert {path: path.stat().st_mtime_ns for path in (folder / "texts").rglob("*")} == kept


def test_a_run_knows_what_lies_behind_linked_folders_and_reads_nothing_unchecked(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "more.txt").write_text("before")
    (folder / "texts" / "linked").symlink_to(tmp_path / "scratch")
    snakemake(folder, TEXTS)
    assert planned(folder, TEXTS) == ({}, set())
    (tmp_path / "scratch" / "more.txt").write_text("behind")
    assert planned(folder, TEXTS)[0] == {"fetch_source": 1}
    (folder / "texts" / "gone").symlink_to(tmp_path / "nowhere")
    failed = snakemake(folder, TEXTS, check=False)
    assert failed.returncode != 0
    assert "fetch_source(texts): 'gone' in the folder of the source is a link that leads nowhere" in failed.stderr
    assert "Traceback" not in failed.stderr
    (folder / "texts" / "gone").unlink()
    snakemake(folder, TEXTS)
    (folder / TEXTS / ".checksums.json").unlink()  # as a copy with `cp -r folder/*` does
    failed = snakemake(folder, "results/encoded/mood/encoder", check=False)
    assert failed.returncode != 0
    assert f"{TEXTS} has no checksum: no job has made it; {REMEDY}" in failed.stderr


def test_a_study_moves_from_a_folder_to_the_hub_whose_commit_its_run_pins_and_back(folder: Path, hub: TinyHub) -> None:
    snakemake(folder, TEXTS)
    fetched, content = folder / TEXTS / "rated.txt", (folder / "texts/rated.txt").read_bytes()
    hub.files["datasets/someone/texts"] = {COMMIT: {"rated.txt": content}}
    hub.branches["datasets/someone/texts", "main"] = COMMIT
    write(folder / "study", "sources/texts.yaml", on_hub("texts", "rated.txt"))
    snakemake(folder, TEXTS, "-n")
    assert hub.paths() == []
    done = snakemake(folder, TEXTS)
    assert f"study/sources/texts.yaml: pinned to {COMMIT}, main of someone/texts" in done.stderr
    assert f"commit: {COMMIT}" in (folder / "study/sources/texts.yaml").read_text()
    assert not fetched.is_symlink()
    assert fetched.read_bytes() == content
    assert not list(folder.glob("results/checkpoints/*"))
    asked = len(hub.paths())
    snakemake(folder, "results/encoded/mood/encoder")  # a source that is already fetched is not asked for
    assert len(hub.paths()) == asked
    configure(folder, data_dir=str(folder))
    snakemake(folder, TEXTS)
    assert fetched.is_symlink()


def test_a_run_whose_sources_cannot_be_had_leaves_what_was_fetched(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snakemake(folder, TEXTS)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    write(folder / "study", "sources/texts.yaml", on_hub("texts", "rated.txt", **PINNED))
    snakemake(folder, TEXTS, "-n")
    done = snakemake(folder, TEXTS, check=False)
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert "the hub gives no answer: someone/texts at aaaa" in said
    assert "1 source cannot be had, so nothing was run:" in said
    assert "Traceback" not in said
    assert (folder / TEXTS / "rated.txt").is_file()


def cells(folder: Path, table: str) -> list[tuple[str, str]]:
    """Return the status and reason of each cell of a table of the tiny study."""
    with (folder / f"results/tables/tiny/{table}.csv").open() as file:
        return [(line["status"], line["reason"]) for line in csv.DictReader(file)]


def test_a_run_makes_what_it_can_and_the_next_one_makes_the_rest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remove(folder / "study", *(f"papers/tiny/{name}.yaml" for name in LEFT_OUT))
    set_value(folder / "study", "papers/tiny/paper.yaml", "show", to=["table1", "table4"])
    write(folder / "study", "sources/far.yaml", on_hub("far", "rated.txt", **PINNED))
    change(folder / "study", "corpora/sentences.yaml", "source: texts", "source: far")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    done = snakemake(folder, check=False)
    reason = "source far is not there: hub: the hub gives no answer"
    assert done.returncode == 1
    assert f"everything else is made; 1 left out, and cells that need it say 'missing':\n  {reason}" in done.stderr
    assert "left out: study/sources/far.yaml: hub: the hub gives no answer; run again where" in done.stderr
    assert cells(folder, "table4") == [("missing", reason)]
    assert {status for status, _ in cells(folder, "table1")} == {"ok"}
    index = folder / "reports/index.html"
    assert "1 source or file was missing" in index.read_text()
    assert reason in index.read_text()
    assert "Nothing to be done" in snakemake(folder).stderr  # as long as nothing has come

    before = (folder / "results/tables/tiny/table1.csv").stat().st_mtime_ns
    (folder / "data/far").mkdir(parents=True)
    (folder / "data/far/rated.txt").write_bytes((folder / "texts/rated.txt").read_bytes())
    configure(folder, data_dir=str(folder / "data"))
    assert "rule make_table" in snakemake(folder).stderr
    assert (folder / "results/tables/tiny/table1.csv").stat().st_mtime_ns == before
    assert [status for status, _ in cells(folder, "table4")] == ["ok"]
    assert "was missing" not in index.read_text()
