"""Tests of what `retort check --data` tells of the files of tasks, models and corpora."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.cli.inventory import inventory
from retort.specs.config import Config
from retort.study.load import open_study

from tests.tiny.edit import set_value
from tests.tiny.make import make_texts


@pytest.fixture
def home(study_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home directory with the sources of the tiny study, which its YAML files name by `~`."""
    folder = study_folder.parent / "home"
    make_texts(folder / "texts")
    for name in ("texts", "encoder"):
        set_value(study_folder, f"sources/{name}.yaml", "path", to=f"~/{name}")
    monkeypatch.setenv("HOME", str(folder))
    return folder


def told(study_folder: Path) -> tuple[str, bool]:
    """Return the inventory of the tiny study, and whether its tables can be made."""
    lines, whole = inventory(open_study(Config(papers=["tiny"], study=str(study_folder))))
    return "\n".join(lines), whole


def test_all_sources_and_the_files_of_tasks_are_told(home: Path, study_folder: Path) -> None:
    text, whole = told(study_folder)
    assert whole
    assert f"mood (texts: folder ~/texts)\n  {home}/texts/rated.txt  drawn: " in text
    assert "model encoder (encoder: folder ~/encoder)\ncorpus sentences (texts: folder ~/texts)" in text
    (home / "texts/rated.txt").unlink()
    assert not told(study_folder)[1]
