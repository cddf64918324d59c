"""Tests of deviations: each names a cell or a setting; conditions of every timing stand in caption and deviations."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.cli import main
from retort.specs.config import Config, read_config
from retort.specs.rows import CellSpec
from retort.study.load import open_whole, open_written
from retort.study.study import Study
from retort.tables.published import unknown_names

from tests.tiny.edit import set_value, write
from tests.tiny.variant import write_study


@pytest.fixture(scope="module")
def study() -> Study:
    """Return the study of every paper, as its files have it."""
    return open_whole(Config())


@pytest.mark.slow
def test_every_deviation_of_the_papers_names_a_cell_or_a_setting(study: Study) -> None:
    assert unknown_names(study) == []


@pytest.mark.parametrize(
    ("of", "right"),
    [
        ("stages.1.schedule.max_grad_norm", True), ("stages.*.schedule.max_grad_norm", True), ("stages", True),
        ("seeds", True), ("table1", True), ("table1: Pearson", True),
        ("stages.9.schedule", False), ("max_grad", False), ("table9", False), ("table1: nowhere", False),
    ],
)  # fmt: skip
def test_a_name_is_a_setting_a_table_or_a_place_in_one(tmp_path: Path, of: str, right: bool) -> None:
    choice = {"students": ["kd"], "texts": [{"of": [of], "text": "a choice"}]}
    config = write_study(tmp_path / "study")
    write(tmp_path / "study", "papers/tiny/deviations.yaml", [choice])
    set_value(tmp_path / "study", "papers/tiny/paper.yaml", "ours", to=False)
    said = unknown_names(open_written(read_config(config)))
    line = f"tiny: the deviation 'a choice' names '{of}', which is no setting of tiny-kd and no cell"
    assert said == ([] if right else [line])


def test_published_check_fails_on_a_name_that_is_neither(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("retort.tables.published.unknown_names", lambda study: ["some: the deviation 'x' names 'y'"])
    assert main(["published", "check"]) == 1
    assert "the deviation 'x' names 'y'" in capsys.readouterr().out


def timed(study: Study) -> dict[tuple[str, str], list[CellSpec]]:
    """Return the cells of the papers' tables that show a time of ours."""
    cells = {
        key: [cell for cell in exhibit.cells() if cell.is_timed]
        for key, exhibit in study.exhibits.items()
        if not study.papers[key[0]].ours
    }
    return {key: found for key, found in cells.items() if found}


def test_the_conditions_of_every_timing_stand_in_caption_and_deviations(study: Study) -> None:
    tables = timed(study)
    assert len(tables) == 9
    for (paper, name), cells in tables.items():
        caption = study.exhibits[paper, name].caption
        measured = {cell.measurement for cell in cells}
        assert all(f"{one.length} tokens" in caption for one in measured), (paper, name)
        assert all(f"{one.batch}" in caption for one in measured), (paper, name)
        assert all(word in caption for word in ("batches of", "1 thread", "GPU", "CPU")), (paper, name)
        for student in {cell.student for cell in cells} & set(study.students):
            of = [one for deviation in study.students[student].deviations for one in deviation.of]
            assert any(one.partition(": ")[0] == name for one in of), (student, name)
