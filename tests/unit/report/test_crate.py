"""Tests of the archive of a run: whole, linked, with checksums, and the same bytes for the same results."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest
from retort.report.crate import METADATA, PROFILES, make_crate

from tests.tiny.results import change_record, quiet, write_results
from tests.tiny.variant import write_study


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the archive of a run of the variant of the tiny study."""
    monkeypatch.chdir(tmp_path)
    config = write_study(tmp_path / "study")
    write_results(config)
    for name in ("one.zip", "two.zip"):
        make_crate(quiet(), config, f"reports/{name}")
    assert Path("reports/one.zip").read_bytes() == Path("reports/two.zip").read_bytes()
    return Path("reports/one.zip")


def test_no_folder_of_the_user_is_named(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        for name in (METADATA, "config.json"):
            assert str(tmp_path) not in packed.read(name).decode()
        sources = [one for one in json.loads(packed.read(METADATA))["@graph"] if one["@id"].startswith("#source-")]
    assert {source["description"] for source in sources} == {"a folder of the user"}


def test_the_archive_describes_itself(archive: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        graph = {entity["@id"]: entity for entity in json.loads(packed.read(METADATA))["@graph"]}
        names = set(packed.namelist())
        for name in names - {METADATA, "Snakefile"}:
            assert graph[name]["sha256"] == hashlib.sha256(packed.read(name)).hexdigest()
    assert {part["@id"] for part in graph["./"]["hasPart"]} == names - {METADATA}
    assert [profile["@id"] for profile in graph["./"]["conformsTo"]] == list(PROFILES)
    assert graph["./"]["mainEntity"]["@id"] == "Snakefile"
    run = graph[graph["./"]["mentions"]["@id"]]
    assert run["instrument"]["@id"] == "Snakefile"
    assert (run["startTime"], run["actionStatus"]) == (
        "2026-01-02T03:04:05+00:00",
        "http://schema.org/CompletedActionStatus",
    )
    assert {"results/scores/tiny-kd/mood/seed-1.json"} <= {one["@id"] for one in run["result"]}
    linked = [one["@id"] for key in ("object", "result", "softwareRequirements") for one in run[key]]
    assert all(name in graph for name in linked)


def test_the_archive_says_that_its_results_are_mixed(archive: Path) -> None:
    def described(name: str) -> str:
        make_crate(quiet(), config, f"reports/{name}")
        with zipfile.ZipFile(f"reports/{name}") as packed:
            graph = {entity["@id"]: entity for entity in json.loads(packed.read(METADATA))["@graph"]}
        return str(graph["./"]["description"])

    config = write_study(Path("study").absolute())
    assert "Mixed" not in described("three.zip")
    ancestor = {"commit": "other", "code": "other"}
    change_record(Path("results/scores/tiny-kd/mood/seed-1.json"), ancestors=[ancestor])
    warning = "Mixed results: different commits, states of the code stand behind these numbers."
    assert described("four.zip").endswith(f"the scores behind. {warning}")
