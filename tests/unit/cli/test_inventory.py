"""Tests of what `retort check --data` tells of the files of tasks, models and corpora."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from retort.cli.inventory import inventory
from retort.specs.config import Config
from retort.study.load import open_study
from safetensors.numpy import save_file

from tests.tiny.edit import set_value
from tests.tiny.make import make_texts


@pytest.fixture
def home(study_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home directory with the sources of the tiny study, which its YAML files name by `~`."""
    folder = study_folder.parent / "home"
    make_texts(folder / "texts")
    (folder / "encoder").mkdir()
    save_file(
        {"a.weight": np.zeros((3, 4), np.float32), "b": np.zeros(2, np.float16)}, folder / "encoder/model.safetensors"
    )
    for name in ("texts", "encoder"):
        set_value(study_folder, f"sources/{name}.yaml", "path", to=f"~/{name}")
    monkeypatch.setenv("HOME", str(folder))
    return folder


def told(study_folder: Path) -> tuple[str, bool]:
    """Return the inventory of the tiny study, and whether its tables can be made."""
    lines, whole = inventory(open_study(Config(papers=["tiny"], study=str(study_folder))))
    return "\n".join(lines), whole


def test_the_files_of_tasks_models_and_corpora_are_told(home: Path, study_folder: Path) -> None:
    text, whole = told(study_folder)
    assert whole
    assert f"mood (texts: folder ~/texts)\n  {home}/texts/rated.txt  drawn: " in text
    assert f"model encoder (encoder: folder ~/encoder)\n  {home}/encoder/model.safetensors  2 weights, 14 num" in text
    assert f"corpus sentences (texts: folder ~/texts)\n  {home}/texts: rated.txt  1 file, 0.0 MB" in text


def test_weights_that_were_cut_off_and_files_that_are_not_there_are_told(home: Path, study_folder: Path) -> None:
    path = home / "encoder/model.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    text, whole = told(study_folder)
    assert not whole
    assert f"  {path} cannot be read (" in text
    path.unlink()
    assert f"  {path} cannot be read (it is not there)" in told(study_folder)[0]
    (home / "texts/rated.txt").unlink()
    assert f"  {home}/texts holds no rated.txt" in told(study_folder)[0]
