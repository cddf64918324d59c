"""Tests that every printed cell that is not quoted has a student, trained as its paper prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.models import build
from retort.plan import resolve
from retort.specs.config import Config
from retort.study.cells import scored
from retort.study.load import open_whole
from retort.study.study import Study

PAPERS = ("wang2023", "mlkd2024")
TASKS = {  # as table 9 of MLKD-BERT calls them
    "CoLA": "cola", "MNLI": "mnli", "MRPC": "mrpc", "SST-2": "sst2", "STS-B": "stsb", "QQP": "qqp", "QNLI": "qnli",
    "RTE": "rte", "SQuAD 1.1": "squad", "SQuAD 2.0": "squad2",
}  # fmt: skip


@pytest.fixture(scope="module")
def study() -> Study:
    return open_whole(Config())


def cells(study: Study, paper: str, table: str) -> dict[str, dict[str, str]]:
    """Return the printed texts of a table: row -> column -> text."""
    found: dict[str, dict[str, str]] = {}
    for cell in study.exhibits[paper, table].printed_cells():
        found.setdefault(cell.row, {})[cell.column] = cell.text
    return found


@pytest.mark.parametrize("paper", PAPERS)
def test_every_cell_that_is_not_quoted_has_a_student_and_its_settings(study: Study, paper: str) -> None:
    tables = [table for (slug, _), table in study.exhibits.items() if slug == paper]
    specs = [cell for table in tables for cell in table.cells()]
    assert all(cell.student or cell.quoted for cell in specs)
    pairs = {(student, task) for table in tables for _, _, student, task, _ in scored(study, table)}
    for student, task in sorted(pairs):
        assert json.dumps(resolve.score(study, student, task).as_json())
    shown = {student for student, _ in pairs} | {cell.student for cell in specs}
    ours = {name for name in (*study.students, *study.teachers) if name.startswith(f"{paper}-")}
    read = {study.students[name].teacher for name in ours if name in study.students}
    assert ours == (shown | read) - {""}


def test_each_stage_is_trained_as_table_9_of_mlkd_bert_prints(study: Study) -> None:
    printed = cells(study, "mlkd2024", "table9")
    assert set(printed) == set(TASKS)
    for label, task in TASKS.items():
        for number, stage in enumerate(resolve.task_distillation(study, "mlkd2024-4", task).stages, start=1):
            want = {key.removeprefix(f"Stage {number}: "): text for key, text in printed[label].items()}
            schedule = stage.schedule
            assert schedule.epochs == float(want["Epochs"])
            assert schedule.batch_size == int(want["Batch size"])
            assert schedule.learning_rate == float(want["Learning rate"])
            assert (schedule.max_length or study.tasks[task].max_length) == int(want["Max seq length"])
        options = {term.objective: term.options for term in stage.terms}
        assert options["soft-labels"]["temperature"] == float(want["τ"])
        spans = task in ("squad", "squad2")  # section 4.3: no sample losses for span tasks
        assert ("sample-similarity" in options) is ("sample-contrastive" in options) is not spans
        assert spans or options["sample-contrastive"]["temperature"] == float(want["ρ"])


def test_task_agnostic_students_are_trained_as_wang2023_prints(study: Study) -> None:
    printed = {row: line["Our Model"] for row, line in cells(study, "wang2023", "table5").items()}
    space = {row: line["Search Space"] for row, line in cells(study, "wang2023", "table6").items()}
    changed = "wang2023-agnostic-att-mse-rate-1e-3"  # a setting that the text reports without numbers
    for name in (name for name in study.students if name.startswith("wang2023-agnostic") and name != changed):
        found = resolve.grid(study, name, "rte")
        shape, (stage,) = found.student.architecture, found.student.stages
        schedule = stage.schedule
        assert [getattr(shape, key) for key in ("layers", "hidden", "intermediate", "heads")] == [
            int(printed[row]) for row in ("Number of Layers", "Hidden Size", "FFN inner hidden size", "Attention heads")
        ]
        for key, row in (
            ("weight_decay", "Weight Decay"), ("epsilon", "Adam ϵ"), ("max_grad_norm", "Gradient Clipping"),
            ("batch_size", "Batch size"),
        ):  # fmt: skip
            assert getattr(schedule, key) == float(printed[row]), row
        rate = 1e-3 if name.endswith("rate-1e-3") else float(printed["Peak Learning Rate"])  # the text tries both
        assert schedule.learning_rate == rate
        assert schedule.betas == (float(printed["Adam β1"]), float(printed["Adam β2"]))
        assert f"{schedule.warmup_ratio:.0%}" == printed["Warmup Proportion"]
        assert f"{(schedule.steps or 0) // 1000}k" == printed["Max Steps"]
        assert found.schedule.epochs == 10
        for axis, row in (("learning_rate", "Learning Rate"), ("batch_size", "Batch Size")):
            assert {getattr(point, axis) for point in found.points} == {
                float(x) for x in space[row].strip("{}").split(",")
            }
        assert len(found.points) == 8


def test_a_student_of_wang2023_learns_from_the_layers_that_it_starts_from(study: Study) -> None:
    students = {name: student for name, student in study.students.items() if student.protocol == "wang2023"}
    assert len(students) == 25
    for name, student in students.items():
        if name.endswith("-released"):  # from layers 4, 8 and 12, or from all layers
            continue
        *first, last = resolve.task_distillation(study, name, "rte").stages
        assert all(stage.schedule.epochs == 10 for stage in (*first, last))
        for term in (term for stage in first for term in stage.terms):
            assert term.pairs == [(index, layer) for index, layer in enumerate(student.initial_layers or [], start=1)]
        assert bool(first) is ("kd" not in name.split("-"))


def test_updates_of_the_teachers_warm_up_are_those_that_roberta_lists(study: Study) -> None:
    listed = {"mnli": 7432, "qnli": 1986, "qqp": 28318, "sst2": 1256, "cola": 320, "mrpc": 137, "rte": 122}
    for task, updates in listed.items():
        schedule = resolve.teacher(study, "wang2023-roberta-base", task).schedule
        assert round(schedule.warmup_ratio * schedule.steps_on(2490)) == updates, task  # rows of RTE; others have steps


def test_sizes_are_those_that_mlkd_bert_prints(study: Study, tmp_path: Path) -> None:
    from transformers import BertConfig

    BertConfig().save_pretrained(tmp_path)
    table: Any = study.exhibits["mlkd2024", "table1"]
    printed = cells(study, "mlkd2024", "table1")
    shown = {cell.row: cell.student for cell in table.cells() if cell.student}
    assert len(shown) == 11  # all but MiniLMv2, another paper's student
    for row, name in shown.items():
        with torch.device("meta"):
            model: Any = build.blank(tmp_path, resolve.profile(study, name).architecture)
        sizes = [weight.numel() for key, weight in model.named_parameters() if not key.startswith("pooler")]
        whole = sum(weight.numel() for weight in model.parameters())
        assert sum(sizes) // 10**6 <= float(printed[row]["#Params"].removesuffix("M")) <= -(-whole // 10**6), row


def test_a_teacher_is_its_own_teacher(study: Study) -> None:
    name, student = next(iter(study.students.items()))
    assert [study.teacher_of(each) for each in (name, student.teacher)] == [student.teacher, student.teacher]
