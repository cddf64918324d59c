"""Tests of the source check: a dry run asks no server; a run stops before its first job if a source is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tiny.hub import TinyHub, serve
from tests.tiny.make import make_study

pytestmark = pytest.mark.workflow
COMMIT, TARGET = "a" * 40, "results/sources/texts"
HUB = {
    "repository": "someone/texts",
    "repo_type": "dataset",
    "files": ["rated.txt"],
    "commit": COMMIT,
    "found": "made up",
}


def test_a_run_stops_before_its_first_job_and_a_dry_run_does_not(
    tmp_path: Path, run_in: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_study(tmp_path)
    content = {"rated.txt": (folder / "texts/rated.txt").read_bytes()}
    source = folder / "study/sources/texts.yaml"
    source.write_text(json.dumps({"title": "Texts", "licence": "MIT", "hub": HUB}))
    with serve(TinyHub({"datasets/someone/texts": {COMMIT: content}})) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        run_in(folder, TARGET, "-n")
        assert hub.paths() == []
        run_in(folder, TARGET)
        asked = len(hub.paths())
        run_in(folder, "results/encoded/mood/encoder")  # a source that is already fetched is not checked
        assert len(hub.paths()) == asked
    moved = {**HUB, "commit": "b" * 40}
    source.write_text(json.dumps({"title": "Texts", "licence": "MIT", "hub": moved}))
    run_in(folder, TARGET, "-n")
    done = run_in(folder, TARGET, check=False)
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert "1 source cannot be had, so nothing was run:" in said
    assert "study/sources/texts.yaml: hub: someone/texts at bbbb" in said
    assert "no answer from" in said
    assert "Traceback" not in said
    assert (folder / TARGET / "rated.txt").is_file()  # the earlier fetch is untouched
