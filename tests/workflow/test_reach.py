"""Tests of runs whose sources are on a hub: pinned by the run, asked for once, and left out where they are missing."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tiny.edit import change, remove, set_value, write
from tests.tiny.hub import TinyHub, serve
from tests.tiny.make import make_study

pytestmark = pytest.mark.workflow
COMMIT, TARGET = "a" * 40, "results/sources/texts"
HUB: dict[str, Any] = {"repository": "someone/texts", "repo_type": "dataset", "files": ["rated.txt"]}
LEFT_OUT = ("table2", "table3", "figure1", "figure2", "figure3", "claims")


def set_source(folder: Path, name: str, **hub: Any) -> None:
    """Make the hub the place of a source of a study."""
    write(folder / "study", f"sources/{name}.yaml", {"title": "T", "licence": "MIT", "hub": hub, "local": name})


def test_a_run_pins_what_it_fetches_and_a_dry_run_asks_nobody(
    tmp_path: Path, run_in: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_study(tmp_path)
    content = {"rated.txt": (folder / "texts/rated.txt").read_bytes()}
    set_source(folder, "texts", **HUB)
    repository = "datasets/someone/texts"
    with serve(TinyHub({repository: {COMMIT: content}}, {(repository, "main"): COMMIT})) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        dry = run_in(folder, TARGET, "-n")
        assert "study/sources/texts.yaml: hub.commit: none yet; a run asks the hub for that of main" in dry.stderr
        assert hub.paths() == []
        done = run_in(folder, TARGET)
        assert f"study/sources/texts.yaml: pinned to {COMMIT}, main of someone/texts" in done.stderr
        assert f"commit: {COMMIT}" in (folder / "study/sources/texts.yaml").read_text()
        asked = len(hub.paths())
        run_in(folder, "results/encoded/mood/encoder")  # a source that is already fetched is not asked for
        assert len(hub.paths()) == asked
    set_source(folder, "texts", **HUB, commit="b" * 40, found="made up")
    run_in(folder, TARGET, "-n")
    done = run_in(folder, TARGET, check=False)  # the server is gone
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert "the hub gives no answer: someone/texts at bbbb" in said
    assert "1 source cannot be had, so nothing was run:" in said
    assert "Traceback" not in said
    assert (folder / TARGET / "rated.txt").is_file()  # the earlier fetch is untouched


def cells(folder: Path, table: str) -> list[tuple[str, str]]:
    """Return the status and reason of each cell of a table of the tiny study."""
    with (folder / f"results/tables/tiny/{table}.csv").open() as file:
        return [(line["status"], line["reason"]) for line in csv.DictReader(file)]


def test_a_run_makes_what_it_can_and_the_next_one_makes_the_rest(
    tmp_path: Path, run_in: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_study(tmp_path)
    remove(folder / "study", *(f"papers/tiny/{name}.yaml" for name in LEFT_OUT))
    set_value(folder / "study", "papers/tiny/paper.yaml", "show", to=["table1", "table4"])
    set_source(folder, "far", **HUB, commit=COMMIT, found="made up")
    change(folder / "study", "corpora/sentences.yaml", "source: texts", "source: far")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    done = run_in(folder, check=False)
    reason = "source far is not there: hub: the hub gives no answer"
    assert done.returncode == 1
    assert f"everything else is made; 1 left out, and cells that need it say 'missing':\n  {reason}" in done.stderr
    assert "left out: study/sources/far.yaml: hub: the hub gives no answer; run again where" in done.stderr
    assert cells(folder, "table4") == [("missing", reason)]
    assert {status for status, _ in cells(folder, "table1")} == {"ok"}
    index = folder / "reports/index.html"
    assert "1 source or file was missing" in index.read_text()
    assert reason in index.read_text()
    assert "Nothing to be done" in run_in(folder).stderr  # as long as nothing has come

    before = (folder / "results/tables/tiny/table1.csv").stat().st_mtime_ns
    (folder / "data/far").mkdir(parents=True)
    (folder / "data/far/rated.txt").write_bytes((folder / "texts/rated.txt").read_bytes())
    settings = json.loads((folder / "config.yaml").read_text())
    (folder / "config.yaml").write_text(json.dumps({**settings, "data_dir": str(folder / "data")}))
    again = run_in(folder)
    assert "rule make_table" in again.stderr
    assert "wildcards: paper=tiny, table=table1" not in again.stderr
    assert (folder / "results/tables/tiny/table1.csv").stat().st_mtime_ns == before
    assert [status for status, _ in cells(folder, "table4")] == ["ok"]
    assert "was missing" not in index.read_text()
