"""Tests of what `retort check --data` tells of the files of tasks, models and corpora."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.cli.inventory import inventory
from retort.run.run_sources import absent_in_folders
from retort.specs.config import Config
from retort.study.cells import required
from retort.study.load import open_study

from tests.contracts.mistakes.models import MISTAKES, Mend
from tests.tiny.edit import set_value
from tests.tiny.make import make_encoder, make_texts


@pytest.fixture
def home(study_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home directory with the sources of the tiny study, which its YAML files name by `~`."""
    folder = study_folder.parent / "home"
    make_texts(folder / "texts")
    make_encoder(folder / "encoder")
    for name in ("texts", "encoder"):
        set_value(study_folder, f"sources/{name}.yaml", "path", to=f"~/{name}")
    monkeypatch.setenv("HOME", str(folder))
    return folder


def told(study_folder: Path, every: bool = False) -> tuple[str, int]:
    """Return the inventory of the tiny study, and the number of problems."""
    study = open_study(Config(papers=["tiny"], study=str(study_folder)))
    lines, count = inventory(study, absent_in_folders(study, required(study)), every)
    return "\n".join(lines), count


def test_all_sources_and_the_files_of_tasks_are_told(home: Path, study_folder: Path) -> None:
    text, count = told(study_folder)
    assert count == 0
    assert "tasks:\nmood (texts: folder ~/texts)\n  train: " in text
    assert f"models:\nencoder (encoder: folder ~/encoder)\n  {home}/encoder: 90 tokens, texts of up to 32; " in text
    assert "corpora:\nsentences (texts: folder ~/texts)" in text
    (home / "texts/rated.txt").unlink()
    assert told(study_folder)[1] >= 1


def test_what_no_table_reads_is_told_if_asked_for(home: Path, study_folder: Path) -> None:
    (study_folder / "models/other.yaml").write_text((study_folder / "models/encoder.yaml").read_text())
    assert "other" not in told(study_folder)[0]
    assert "\nother (encoder: folder ~/encoder), which no table reads\n" in told(study_folder, every=True)[0]


@pytest.mark.parametrize(("mend", "words"), [pytest.param(*rest, id=name) for name, *rest in MISTAKES])
def test_a_broken_folder_of_a_model_is_a_problem(home: Path, study_folder: Path, mend: Mend, words: str) -> None:
    mend(home / "encoder")
    text, count = told(study_folder)
    assert (count, words in text) == (1, True), text


def test_rows_that_stand_in_two_splits_are_told(home: Path, study_folder: Path) -> None:
    (home / "texts/rated.txt").write_text("".join(f"{n}_1\t{n % 2 * 2 - 1}\ta good day {n % 80}\n" for n in range(160)))
    assert "rows of dev stand in" in told(study_folder)[0]


def test_files_with_nul_bytes_or_an_end_within_a_line_are_told(home: Path, study_folder: Path) -> None:
    lines = (f"{number}_1\t{number % 2 * 2 - 1}\ta good day {number}" for number in range(160))
    (home / "texts/rated.txt").write_text("\n".join(lines).replace("day 7", "day\x00 7"))
    text, _ = told(study_folder)
    assert "rated.txt holds NUL bytes, the first in line 8" in text
    assert "rated.txt ends within a line; is it whole?" in text


def test_sizes_are_read_from_the_folder_of_the_user(home: Path, study_folder: Path) -> None:
    (study_folder / "models/encoder.yaml").write_text("title: Mine\nsource: encoder\n")
    config = Config(papers=["tiny"], study=str(study_folder))
    model = open_study(config).models["encoder"]
    assert (model.architecture.widths, model.architecture.layers) == ((24, 48, 24), 4)
    assert (model.vocabulary, model.positions) == (90, 32)
    assert told(study_folder)[1] == 0
