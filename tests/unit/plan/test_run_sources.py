"""Tests of the source check: before its first job, a run checks that every source it will fetch is available."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from retort.errors import RetortError
from retort.plan.source_check import check_sources_available
from retort.specs.config import Config
from retort.study.load import open_study
from retort.study.study import Study

from tests.tiny.edit import write
from tests.tiny.hub import TinyHub, serve

COMMIT, OTHER = "a" * 40, "b" * 40
NOWHERE = "http://127.0.0.1:9"
PINNED = {"repo_type": "dataset", "commit": COMMIT, "found": "made up", "files": ["*.txt"]}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[TinyHub]:
    """Yield a running hub with one commit of one data set, to which HF_ENDPOINT points."""
    with serve(TinyHub({"datasets/someone/texts": {COMMIT: {"rated.txt": b"0"}}})) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.address)
        yield running


def study(study_folder: Path, path: str | None = None, **hubs: dict[str, Any]) -> Study:
    """Return the tiny study with sources of the hub added, or with another folder for its texts."""
    for name, changes in hubs.items():
        hub = {**PINNED, "repository": f"someone/{name}", **changes}
        write(study_folder, f"sources/{name}.yaml", {"title": "T", "licence": "MIT", "hub": hub})
    if path:
        write(study_folder, "sources/texts.yaml", {"title": "T", "path": path})
    return open_study(Config(papers=["tiny"], study=str(study_folder)))


def refused(study: Study, *names: str) -> list[str]:
    """Return the lines of the error that lists the unavailable sources."""
    with pytest.raises(RetortError) as caught:
        check_sources_available(study, names)
    return str(caught.value).split("\n  ")


def test_what_the_hub_has_is_let_pass_without_a_download(study_folder: Path, hub: TinyHub) -> None:
    given = study(study_folder, texts={})
    check_sources_available(given, ["texts"])
    assert hub.paths()
    assert not any("resolve" in path for path in hub.paths())


def test_each_source_that_cannot_be_had_gets_a_line(study_folder: Path, hub: TinyHub) -> None:
    given = study(study_folder, texts={"commit": OTHER}, far={}, unpinned={"commit": None})
    lines = refused(given, "texts", "far", "unpinned")
    assert lines[0] == "3 sources cannot be had, so nothing was run:"
    assert "study/sources/unpinned.yaml: hub.commit: none is known; run `retort pin unpinned` once" in lines
    assert any(line.startswith("study/sources/far.yaml: hub: the hub has no dataset someone/far") for line in lines)
    assert any(
        line.startswith(f"study/sources/texts.yaml: hub: someone/texts has no commit or branch {OTHER}")
        for line in lines
    )


def test_a_hub_out_of_reach_is_told_with_its_address(study_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    lines = refused(study(study_folder, texts={}), "texts")
    assert lines[1].startswith(f"study/sources/texts.yaml: hub: someone/texts at {COMMIT}: no answer from {NOWHERE}")
    assert lines[1].endswith("or set data_dir and models_dir")


def test_a_folder_must_be_there_and_hold_something(study_folder: Path, tmp_path: Path) -> None:
    assert refused(study(study_folder, path="nowhere"), "texts") == [
        "1 source cannot be had, so nothing was run:",
        "study/sources/texts.yaml: path: nowhere is no folder; put the files there",
    ]
    (tmp_path / "full").mkdir()
    assert "is empty" in refused(study(study_folder, path=str(tmp_path / "full")), "texts")[1]
    (tmp_path / "full/rated.txt").write_text("0")
    check_sources_available(study(study_folder, path=str(tmp_path / "full")), ["texts"])


def test_nothing_is_asked_of_packages_and_of_what_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    given = open_study(Config())
    check_sources_available(given, ["vader", "all-minilm-l6"])
    check_sources_available(given, [])
