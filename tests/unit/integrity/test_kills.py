"""Tests that fetching, encoding and building corpora heal after SIGKILL at any moment.

The next run ends in the same bytes as one that was never killed, and nothing is left next to its results.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from retort.checksums import NAME, take
from retort.job.context import this_code

from tests.contracts.mistakes.archives import tar
from tests.tiny.hub import TinyHub, serve
from tests.tiny.make import make_study
from tests.unit.integrity.killed import BUILD, ENCODE, ENCODER, FETCH, TEXTS, TOKENIZE, Stage, run

pytestmark = pytest.mark.slow

KILLS = 3
COMMIT = "a" * 40


def in_folder(study: Path) -> dict[str, Any]:
    """Return the source of the texts as the study has it: a folder, whose files are linked."""
    return {"title": "Texts", "path": str(study.parent / "texts")}


def in_package(study: Path) -> dict[str, Any]:
    """Put the texts into an archive of a package, in an archive, and return its source."""
    text = (study.parent / "texts/rated.txt").read_bytes()
    inner = tar(("deep/rated.txt", text), ("deep/more/b.txt", b"b" * 5000), ("deep/c.txt", b"c"))
    archive = tar(("made-1.0/data.tar.gz", inner))
    (study.parent / "links").mkdir()
    (study.parent / "links/made-1.0.tar.gz").write_bytes(archive)
    where = {"package": "made", "version": "1.0", "distribution": "sdist", "folder": "deep", "inner": "data.tar.gz"}
    return {"title": "Texts", "licence": "MIT", **where, "sha256": hashlib.sha256(archive).hexdigest()}


def on_hub(study: Path) -> dict[str, Any]:
    """Return the source of the texts on the hub of these tests."""
    where = {"repository": "someone/texts", "repo_type": "dataset", "files": ["*.txt", "*.parquet"], "commit": COMMIT}
    return {"title": "Texts", "licence": "MIT", "hub": {**where, "found": "made up"}}


@pytest.fixture
def hub() -> Iterator[str]:
    """Yield the address of a hub that holds the texts."""
    files = {"rated.txt": b"1_1\t2\tgood\n" * 500, "deep/more.txt": b"more", "large.parquet": bytes(range(256)) * 9000}
    with serve(TinyHub({"datasets/someone/texts": {COMMIT: files}})) as running:
        yield running.address


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a tiny study, with its sources fetched."""
    study = make_study(tmp_path / "study")
    for source, fetched in (("texts", study / TEXTS), ("encoder", study / ENCODER)):
        shutil.copytree(study / source, fetched)
        take(fetched, f"fetch_source({source})", this_code(), (), {})
    return study


def contents(folder: Path) -> dict[str, bytes]:
    """Return path -> content of all results; of checksums only the digests, without the times of the files."""
    paths = {path.relative_to(folder / "results"): path for path in (folder / "results").rglob("*")}
    files = {str(name): path for name, path in paths.items() if not path.is_dir()}
    kept = {
        name: path for name, path in files.items() if not name.startswith(("logs/", "runs/")) and path.suffix != ".lock"
    }
    empty = {f"{name}/": b"" for name, path in paths.items() if path.is_dir() and not any(path.iterdir())}
    return {name: _digests(path) if path.name == NAME else path.read_bytes() for name, path in kept.items()} | empty


def _digests(path: Path) -> bytes:
    return repr({name: file["sha256"] for name, file in json.loads(path.read_text())["files"].items()}).encode()


def assert_heals(stage: Stage, folder: Path, **environment: str) -> None:
    """Kill the job of a stage at some moments, each time from the beginning, and compare what the next one makes."""
    whole, cut, draw = folder, folder.parent / "cut", random.Random(f"kills of {stage.name}")
    shutil.copytree(whole, cut, symlinks=True)
    for _ in range(2):  # the second time, as many files change as after a kill
        shutil.rmtree(whole / stage.output, ignore_errors=True)
        assert run(stage, whole, **environment) == 0
    expected, changes = contents(whole), int((whole / "changes").read_text())
    assert len(expected) > len(contents(cut))
    for moment in sorted(draw.sample(range(1, changes + 1), min(KILLS, changes))):
        delay = draw.choice([0.0, 0.0, draw.uniform(0.0, 0.003)])
        status = run(stage, cut, moment, delay, **environment)
        assert status == -signal.SIGKILL or (delay and status == 0), (moment, status)
        shutil.rmtree(cut / stage.output, ignore_errors=True)  # as Snakemake does before it runs a job again
        assert run(stage, cut, **environment) == 0, moment
        healed = contents(cut)
        assert {*healed} == {*expected}, moment
        assert healed == expected, moment
        shutil.rmtree(cut / stage.output)


@pytest.mark.parametrize("source", [in_folder, in_package, on_hub])
def test_a_fetch_that_was_killed_heals(source: Callable[[Path], dict[str, Any]], folder: Path, hub: str) -> None:
    shutil.rmtree(folder / TEXTS)
    (folder / "study/sources/texts.yaml").write_text(json.dumps(source(folder / "study")))
    assert_heals(FETCH, folder, HF_ENDPOINT=hub)


@pytest.mark.parametrize("stage", [ENCODE, TOKENIZE])
def test_a_task_or_a_corpus_whose_making_was_killed_heals(stage: Stage, folder: Path) -> None:
    assert_heals(stage, folder)


def test_a_corpus_whose_packing_was_killed_heals(folder: Path) -> None:
    assert run(TOKENIZE, folder) == 0
    assert_heals(BUILD, folder)
