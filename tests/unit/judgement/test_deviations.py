"""Tests of deviations: each names a cell or a setting; conditions of every timing stand in caption and deviations."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.cli import main
from retort.plan import resolve
from retort.specs.config import Config, read_config
from retort.specs.rows import CellSpec
from retort.study.load import open_whole, open_written
from retort.study.study import Study
from retort.tables.published import unknown_names

from tests.tiny.edit import set_value
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
    set_value(tmp_path / "study", "papers/tiny/paper.yaml", "deviations", to=[choice])
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


def test_every_table_with_a_speed_up_has_it_in_batches_that_fill_a_gpu_beside_it(study: Study) -> None:
    for paper in ("minilmv2", "mlkd2024"):
        speeds = {(cell.student, cell.measurement.batch) for cell in timed(study)[paper, "table-speed"]}
        students = {student for student, _ in speeds}
        assert speeds == {(student, batch) for student in students for batch in (1, 64)}
        shapes = {shape(study, student) for student in students}
        for (slug, _), cells in timed(study).items():
            shown = {cell.student for cell in cells if slug == paper and cell.metric == "speed-up"}
            assert {shape(study, student) for student in shown} <= shapes


def shape(study: Study, student: str) -> tuple[object, ...]:
    """Return what of a model its speed follows from; vocabularies are looked up, whatever their size."""
    found = resolve.profile(study, student).architecture
    return found.layers, found.hidden, found.intermediate, found.embedding


def test_sizes_without_the_pooler_are_a_choice_of_every_student_that_a_table_shows_so(study: Study) -> None:
    for (paper, name), exhibit in study.exhibits.items():
        for cell in exhibit.cells():
            if cell.metric == "without_pooler" and cell.student:
                of = [one for deviation in study.students[cell.student].deviations for one in deviation.of]
                assert f"{name}: {cell.column}" in of, (paper, cell.student)


OF_THE_GRID = ("finetuning.grid", "finetuning.epochs", "finetuning.weight_decay", "tasks.*.max_length")
# a paper, one of whose students has each of these choices; or a student that has them all
CHOICES: dict[str, tuple[str, ...]] = {
    "minilmv2": (
        "corpora.*.packing", "corpora.cc100-512.smoothing", "architecture.heads", "stages.1.schedule.max_grad_norm",
    ),
    "udagawa2023": (
        "corpora.*.packing", "corpora.cc100-256", "tasks.*.max_length", "finetuning.max_grad_norm",
        "stages.1.schedule.weight_decay",
    ),
    "wang2023": (
        "corpora.*.packing", "tasks.*.max_length", "finetuning.max_grad_norm", "stages.*.schedule.weight_decay",
    ),
    "mlkd2024": ("architecture.heads", "stages.*.schedule.max_grad_norm"),
    "wang2023-distilbert": OF_THE_GRID,
    "wang2023-tinybert": OF_THE_GRID,
    "wang2023-agnostic-kd": OF_THE_GRID,
    "mlkd2024-distilbert-4": ("corpora.*.packing", "stages.1.data", "stages.1.schedule.max_grad_norm", "seeds"),
    "mlkd2024-bert-tiny": ("stages.1.schedule.max_grad_norm", "stages.1.schedule.weight_decay", "seeds"),
    "mlkd2024-4-3-heads-random": ("stages.1.terms.2.options.redraw", "stages.*.schedule.group_by_length"),
    "mlkd2024-pkd-6": ("stages.1.terms.1.weight", "stages.1.terms.2.options.class_mean"),
    "mlkd2024-emd-4": ("stages.1.teacher_dropout", "stages.1.terms.3.options.class_mean"),
    "minilmv2-6x384-xlm-r-base": ("finetuning.warmup_ratio", "finetuning.weight_decay"),
    "wang2023-agnostic-hid-cls": ("table2", "stages.1.data", "stages.1.teacher_dropout"),
    "wang2023-hid-seq": ("teacher.schedule", "teacher.schedule.steps"),
    "udagawa2023-hs-last-6l-distilbert-mono": ("stages.1.terms.1.objective",),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_choices_that_papers_leave_open_are_deviations(study: Study, name: str) -> None:
    students = [one for key, one in study.students.items() if name in (key, study.paper_of(key))]
    of = {each for student in students for one in student.deviations for each in one.of}
    assert of >= {*CHOICES[name]}
