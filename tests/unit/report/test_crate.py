"""Tests of the archive of a run: whole, linked, with checksums, the same bytes for the same results; and it runs."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml
from retort.checksums import place_of, take
from retort.engine.job import this_code
from retort.provenance import PACKAGES
from retort.report.crate import CONFIG, HOMES, METADATA, PROFILES, make_crate
from retort.specs.config import ROOT

from tests.conftest import snakemake
from tests.tiny.results import change_record, quiet, write_results
from tests.tiny.variant import write_study

URI = re.compile(r"(?:[\w./~-]|%[0-9A-F]{2})+")
SCORE = Path("results/scores/tiny-kd/mood/seed-1.json")
SUBMISSION = "reports/submissions/tiny-kd/seed-1.zip"
STRANGE = "reports/tiny/50 % of é [1].md"
NOT_KNOWN = (  # recommended, and left to who publishes the crate, or not true of it
    "ro-crate-1.1_22.2",  # an author
    "ro-crate-1.1_22.3",  # a publisher
    "process-run-crate-0.5_8.6",  # a person or organization who ran it
    "process-run-crate-0.5_3.2",  # a home page of the workflow
    "process-run-crate-0.5_5.1",  # an absolute URI of the workflow, which is a file of the crate
    "workflow-ro-crate-1.0_8.1",  # the profile ComputationalWorkflow of Bioschemas, which asks for who made it
)


def graph_of(archive: zipfile.ZipFile) -> dict[str, dict[str, Any]]:
    """Return what an archive says of itself, by @id."""
    return {entity["@id"]: entity for entity in json.loads(archive.read(METADATA))["@graph"]}


def write(path: str, content: bytes = b"content") -> None:
    """Write a file, and its folder where it lacks."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(content)


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the archive of a run of the variant of the tiny study."""
    monkeypatch.chdir(tmp_path)
    config = write_study(tmp_path / "study")
    write_results(config)
    take(SCORE, "job", this_code(), (), {})
    for path in (SUBMISSION, STRANGE, "reports/snakemake.zip", "reports/tiny/.hidden", "study/papers/tiny/README.md"):
        write(path)
    for name in ("one.zip", "two.zip"):
        make_crate(quiet(), {**config, "cluster": "mine.yaml", "companions": {}}, f"reports/{name}", config["study"])
    assert Path("reports/one.zip").read_bytes() == Path("reports/two.zip").read_bytes()
    return Path("reports/one.zip")


def test_no_folder_of_the_user_is_named(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        for name in (METADATA, CONFIG):
            assert str(tmp_path) not in packed.read(name).decode()
        assert yaml.safe_load(packed.read(CONFIG)) == {"papers": ["tiny"], "study": "study", "precision": "float32"}
        sources = [entity for name, entity in graph_of(packed).items() if name.startswith("#source-")]
    assert {source["description"] for source in sources} == {"a folder of the user"}


def test_the_archive_describes_itself(archive: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        graph, names = graph_of(packed), set(packed.namelist())
        files = {unquote(name): entity for name, entity in graph.items() if "File" in entity["@type"]}
        for name in names - {METADATA}:
            assert files[name]["sha256"] == hashlib.sha256(packed.read(name)).hexdigest()
            assert files[name]["encodingFormat"]
        assert "# Tables on distilling BERT-like encoders: " in packed.read("README.md").decode()
    assert (files["README.md"]["about"], files["README.md"]["encodingFormat"]) == ({"@id": "./"}, "text/markdown")
    parts = [part["@id"] for part in graph["./"]["hasPart"]]
    assert set(parts) == {entity["@id"] for entity in files.values()}
    assert {unquote(part) for part in parts} == names - {METADATA}
    assert [profile["@id"] for profile in graph["./"]["conformsTo"]] == list(PROFILES)
    assert graph["./"]["mainEntity"]["@id"] == "workflow/Snakefile"
    run = graph[graph["./"]["mentions"]["@id"]]
    assert run["instrument"]["@id"] == "workflow/Snakefile"
    assert (run["startTime"], run["actionStatus"]) == (
        "2026-01-02T03:04:05+00:00",
        "http://schema.org/CompletedActionStatus",
    )
    assert {str(SCORE), SUBMISSION} <= {one["@id"] for one in run["result"]}
    assert all(one["@id"] in graph for key in ("object", "result") for one in run[key])


def test_every_id_of_a_file_is_a_uri(archive: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        parts = {part["@id"] for part in graph_of(packed)["./"]["hasPart"]}
    assert "reports/tiny/50%20%25%20of%20é%20%5B1%5D.md" in parts
    assert all(URI.fullmatch(part) for part in parts)


def test_the_workflow_names_the_software_that_it_ran_on(archive: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        graph = graph_of(packed)
    assert graph[graph["workflow/Snakefile"]["softwareRequirements"]["@id"]] == {
        "@id": "https://www.python.org/#3.11",
        "@type": "SoftwareApplication",
        "name": "python",
        "version": "3.11",
        "url": "https://www.python.org/",
    }
    assert set(HOMES) == {"python", *PACKAGES}
    assert "softwareRequirements" not in graph["#run"]  # the profile knows it of a tool, not of an action


def test_what_the_run_made_is_packed_and_no_other_archive(archive: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        names = set(packed.namelist())
    assert {str(SCORE), str(place_of(SCORE)), SUBMISSION, STRANGE, "results/profiles/tiny-teacher.json"} <= names
    assert [name for name in names if name.endswith(".zip")] == [SUBMISSION]
    assert "reports/tiny/.hidden" not in names


def test_the_study_of_the_user_is_packed_in_place_of_ours(archive: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        names = set(packed.namelist())
    assert {"study/papers/tiny/paper.yaml", "study/papers/tiny/README.md", "study/tasks/mood.yaml"} <= names
    assert {"workflow/scales/pocket.yaml", "workflow/retort/report/crate.py", "workflow/rules/report.smk"} <= names
    ours = ("papers", "tasks", "models", "corpora", "protocols", "sources", "facts.yaml")
    assert not [name for name in names if name.startswith(tuple(f"workflow/{each}" for each in ours))]


def test_our_study_is_packed_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_crate(quiet(), {"papers": ["pocket"]}, "crate.zip", str(ROOT / "workflow"))
    with zipfile.ZipFile("crate.zip") as packed:
        names = set(packed.namelist())
        assert yaml.safe_load(packed.read(CONFIG))["study"] == "workflow"
    folder = ROOT / "workflow" / "papers"
    assert {str(path.relative_to(ROOT)) for path in folder.glob("*/recorded/*")} <= names
    assert {"workflow/facts.yaml", "workflow/tasks/README.md", "workflow/scales/pocket.yaml"} <= names


def test_the_yaml_files_are_those_of_the_plan(archive: Path) -> None:
    planned = write_study(Path("planned").absolute())
    write("study/papers/tiny/students.yaml", b"half")  # edited while the run lasts
    write("study/papers/tiny/table9.yaml", b"half")
    make_crate(quiet(), planned, "reports/three.zip", "study")
    with zipfile.ZipFile("reports/three.zip") as packed, zipfile.ZipFile(archive) as before:
        assert set(packed.namelist()) == set(before.namelist())
        name = "study/papers/tiny/students.yaml"
        assert packed.read(name) == before.read(name)


@pytest.mark.slow
def test_snakemake_plans_where_the_archive_is_unpacked(archive: Path, tmp_path: Path) -> None:
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(unpacked)
    for source in ("texts", "encoder"):
        (unpacked / source).mkdir()
    done = snakemake(unpacked, "-n", repository=unpacked)
    assert "study/papers/tiny/table1.yaml" in done.stdout
    assert re.search(r"^make_index +1$", done.stdout, re.MULTILINE)


def test_the_archive_says_that_its_results_are_mixed(archive: Path) -> None:
    def described(name: str) -> str:
        make_crate(quiet(), config, f"reports/{name}", config["study"])
        with zipfile.ZipFile(f"reports/{name}") as packed:
            return str(graph_of(packed)["./"]["description"])

    config = write_study(Path("study").absolute())
    assert "Mixed" not in described("three.zip")
    ancestor = {"commit": "other", "code": "other"}
    change_record(SCORE, ancestors=[ancestor])
    warning = "Mixed results: different commits, states of the code stand behind these numbers."
    assert described("four.zip").endswith(f"the scores behind. {warning}")


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("rocrate-validator"), reason="roc-validator is not installed (CONTRIBUTING.md)")
def test_a_validator_finds_all_that_the_profiles_require_and_what_of_the_recommended_is_known(archive: Path) -> None:
    options = ["-y", "--disable-color", "validate", "--no-paging", "-v", "-l", "recommended"]
    checks = ["-p", "workflow-run-crate-0.5", "--skip-checks", ",".join(NOT_KNOWN)]  # with the profiles that it extends
    done = subprocess.run(
        ["rocrate-validator", *options, *checks, str(archive)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
