"""Tests that every reported cell that is not quoted has a student, trained as its paper reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.models import build
from retort.plan import resolve
from retort.plan.sharing import grid_parts
from retort.specs.config import ROOT, Config
from retort.specs.yaml_reader import read_yaml
from retort.study import questions
from retort.study.cells import scored
from retort.study.load import open_study
from retort.study.study import Study
from retort.training import optim

PAPERS = ["minilmv2", "mlkd2024", "udagawa2023", "wang2023"]
ENGLISH, MULTILINGUAL = "wikipedia-bookcorpus-512", "cc100-512"


@pytest.fixture(scope="module")
def study() -> Study:
    """Return the four papers, at the scale of the papers."""
    return open_study(Config(papers=PAPERS, scale="paper", precision="bfloat16"))


def stage(study: Study, name: str) -> Any:
    """Return the settings of the only stage of a task-agnostic student."""
    (found,) = resolve.corpus_distillation(study, name).stages
    return found


def stages(study: Study, name: str, task: str) -> Any:
    """Return the settings of the stages of a task-specific student."""
    return resolve.task_distillation(study, name, task).stages


def cells(study: Study, paper: str, table: str) -> dict[str, dict[str, str]]:
    """Return the reported texts of a table: row -> column -> text."""
    found: dict[str, dict[str, str]] = {}
    for cell in study.exhibits[paper, table].paper_cells():
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
    assert not [name for name in ours & study.students.keys() if not study.students[name].deviations]


def test_work_that_tables_and_figures_share_belongs_to_one_student(study: Study) -> None:
    found = [
        str(resolve.corpus_distillation(study, name)) for name, student in study.students.items()
        if student.stages and student.distilled_on == "corpus" and not name.startswith("wang2023")
    ]  # fmt: skip
    assert len(set(found)) == len(found)


def test_reported_shapes_are_the_students(study: Study) -> None:
    """Shapes are those in the labels of Udagawa et al., table 1, and in MiniLMv2's names of students."""
    table = read_yaml(ROOT / "workflow" / "papers" / "udagawa2023" / "table1.yaml")
    for row in table["rows"][:-1]:
        shape = study.students[f"udagawa2023-{row['student']}-mono"].architecture
        reported = [int(size) for size in row["label"].split(" / ")[1].split(", ")]
        assert [shape.layers, shape.heads, shape.hidden, shape.intermediate] == reported
    for name, student in study.students.items():
        first = name.split("-")[1]
        if name.startswith("minilmv2") and "x" in first and first[0].isdigit():
            assert first == f"{student.architecture.layers}x{student.architecture.hidden}"


# --- students that learn on a corpus


@pytest.mark.parametrize(
    ("name", "data", "objective", "heads", "pairs"),
    [
        ("minilmv2-6x384-bert-base", ENGLISH, "relations", 48, [(6, 12)]),
        ("minilmv2-12x384-bert-large-wwm", ENGLISH, "relations", 64, [(12, 21)]),
        ("minilmv2-6x384-roberta-base-24-heads", ENGLISH, "relations", 24, [(6, 12)]),
        ("minilmv2-12x384-xlm-r-base", MULTILINGUAL, "relations", 48, [(12, 12)]),
        ("minilmv2-6x384-xlm-r-large-layer-3", MULTILINGUAL, "relations", 64, [(6, 3)]),
        *(
            (f"udagawa2023-{name}-{language}", None, objective, heads, pairs)
            for language in ("mono", "multi")
            for name, objective, heads, pairs in (
                ("hs-layer-12-6l", "hidden-sequence", None, [(6, 12)]),
                ("hs-last-3l", "hidden-sequence", None, [(1, 10), (2, 11), (3, 12)]),
                ("hs-uniform-4l", "hidden-sequence", None, [(1, 3), (2, 6), (3, 9), (4, 12)]),
                ("hs-uniform-last-3l", "hidden-sequence", None, [(1, 4), (1, 10), (2, 8), (2, 11), (3, 12)]),
                ("minilmv2-layer-11-4l", "relations", 48, [(4, 11)]),
                ("directminilm-layer-10-3l", "direct", 12, [(3, 10)]),
                ("od-uniform-6l-distilbert", "soft-labels", None, []),
            )
        ),
    ],
)
def test_what_students_learn_on_a_corpus(
    study: Study, name: str, data: str | None, objective: str, heads: int | None, pairs: Any
) -> None:
    found = stage(study, name)
    (term,) = found.terms
    assert (term.objective, term.options.get("heads"), term.pairs) == (objective, heads, pairs)
    if data:
        assert (found.data, study.corpora[data].block, term.options["pairs"]) == (data, 512, ["q-q", "k-k", "v-v"])
        assert study.students[name].initialisation.random


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("minilmv2-6x384-bert-base", {"steps": 400_000, "warmup_ratio": 0.01, "batch_size": 256, "learning_rate": 6e-4,
                                      "betas": (0.9, 0.999), "dropout": 0.1, "weight_decay": 0.01}),
        ("minilmv2-6x384-xlm-r-base", {"steps": 1_000_000, "warmup_ratio": 0.004}),
        ("minilmv2-12x768-roberta-large", {"betas": (0.9, 0.98)}),
        ("udagawa2023-hs-last-4l-mono", {"epochs": 7, "learning_rate": 5e-4, "batch_size": 30 * 32}),
        ("udagawa2023-minilmv2-layer-10-4l-mono", {"epochs": 7, "learning_rate": 5e-4, "batch_size": 30 * 32}),
        ("udagawa2023-od-last-4l-mono", {"epochs": 3, "learning_rate": 3e-4, "batch_size": 30 * 32}),
        ("udagawa2023-hs-last-4l-multi", {"epochs": 7, "learning_rate": 5e-4, "batch_size": 2 * 32}),
        ("udagawa2023-directminilm-layer-10-4l-multi", {"epochs": 7, "learning_rate": 8e-4, "batch_size": 2 * 32}),
        ("udagawa2023-od-last-4l-multi", {"epochs": 3, "learning_rate": 3e-4, "batch_size": 2 * 32,
                                          "warmup_ratio": 0.05, "betas": (0.9, 0.98)}),
    ],
)  # fmt: skip
def test_how_students_are_distilled_on_a_corpus(study: Study, name: str, fields: dict[str, Any]) -> None:
    schedule = stage(study, name).schedule
    assert {field: getattr(schedule, field) for field in fields} == fields


@pytest.mark.parametrize(
    ("name", "task", "points", "fields", "seeds"),
    [
        ("minilmv2-6x384-bert-base", "mnli", 15, (3, 32, 0.1, 0.01), 4),
        ("minilmv2-6x384-bert-base", "cola", 5, (25, 32, 0.1, 0.01), 4),
        ("minilmv2-6x384-bert-base", "squad2", 4, (3, 32, 0.1, 0.01), 4),
        ("minilmv2-6x384-xlm-r-base", "xnli", 4, (10, 64, 0.1, 0.01), 1),  # the best single model on dev
        ("minilmv2-6x384-xlm-r-base", "mlqa", 4, (4, 32, 0.1, 0.01), 1),
        ("minilmv2-6x384-xlm-r-base-acl", "xnli-128", 2, (5, 128, 0.1, 0.01), 1),
        ("minilmv2-6x384-xlm-r-base-acl", "mlqa", 2, (3, 32, 0.1, 0.01), 1),
        ("minilmv2-mbert", "xnli", 4, (10, 64, 0.1, 0.01), 1),  # teachers as the students next to them
        ("minilmv2-mbert-acl", "xnli-128", 2, (5, 128, 0.1, 0.01), 1),
        ("udagawa2023-minilmv2-layer-12-6l-mono", "mnli", 1, (3, 32), None),
        ("udagawa2023-minilmv2-layer-12-6l-mono", "cola", 1, (6, 32), None),
        ("udagawa2023-minilmv2-layer-12-6l-multi", "cola", 1, (10, 32), None),
        ("udagawa2023-minilmv2-layer-12-6l-multi", "rte", 1, (3, 32), None),
        ("udagawa2023-minilmv2-layer-12-6l-multi", "xnli", 1, (5, 32), None),
    ],
)
def test_how_task_agnostic_students_are_fine_tuned(
    study: Study, name: str, task: str, points: int, fields: tuple[float, ...], seeds: int | None
) -> None:
    found = resolve.grid(study, name, task)
    first = found.points[0].applied_to(found.schedule)
    assert len(found.points) == points
    assert (first.epochs, first.batch_size, first.warmup_ratio, first.weight_decay)[: len(fields)] == fields
    if points == 1:  # no grid
        assert (first.learning_rate, grid_parts(study, name, task)) == (2e-5, [])
    assert seeds in (None, len(questions.seeds_of(study, name)))


@pytest.mark.parametrize(
    ("student", "task", "metric"),
    [
        ("minilmv2-6x384-bert-base", "mrpc", "accuracy"),
        ("minilmv2-6x384-bert-base", "qqp", "accuracy"),
        ("minilmv2-6x384-bert-base", "stsb", "pearson"),
        ("minilmv2-6x384-xlm-r-base", "xnli", "accuracy/all"),
        ("minilmv2-mbert-acl", "mlqa", "f1/en"),
        ("wang2023-agnostic-kd", "qqp", "accuracy"),
        ("wang2023-agnostic-kd", "mrpc", "f1"),
        ("mlkd2024-bert-tiny", "stsb", "spearman"),
    ],
)
def test_a_grid_is_judged_by_what_its_tables_print(study: Study, student: str, task: str, metric: str) -> None:
    found = resolve.grid(study, student, task)
    assert found.metric_for_best_model == metric
    assert found.schedule.load_best_model_at_end is (task == "mlqa")  # keeps the best epoch on English


def test_what_starts_from_another_student_or_reads_a_released_head(study: Study) -> None:
    acl = resolve.corpus_distillation(study, "minilmv2-6x384-xlm-r-large-acl")  # the same, fine-tuned otherwise
    assert (acl.parent, acl.stages) == (resolve.corpus_distillation(study, "minilmv2-6x384-xlm-r-large"), [])
    parent = study.students["udagawa2023-od-last-4l-multi"].initialisation.student
    assert parent == "udagawa2023-hs-last-4l-multi"
    heads = {
        name: resolve.corpus_distillation(study, f"udagawa2023-{name}-last-4l-mono").teacher.as_json().get("head")
        for name in ("od", "hs")
    }
    assert heads == {"od": "published", "hs": None}
    assert questions.fitted_on(study, "udagawa2023-od-last-4l-mono") is None


def test_a_teacher_that_a_table_prints_once_for_several_students_is_ours_too(study: Study) -> None:
    cells = study.exhibits["udagawa2023", "table3"].cells()
    found = {cell.column.partition(":")[0]: cell.student for cell in cells if cell.row == "Teacher" and cell.student}
    languages = {
        "Avg. GLUE (Monolingual)": "mono",
        "Avg. GLUE (Multilingual)": "multi",
        "Avg. XNLI (Multilingual)": "multi",
    }
    assert found == {column: f"udagawa2023-{language}-teacher" for column, language in languages.items()}


def test_task_agnostic_students_of_wang2023_are_trained_alike(study: Study) -> None:
    """The settings of one of them are held against tables 5 and 6 in the tests of tables."""

    def training(name: str, rate: float) -> tuple[Any, ...]:
        found = resolve.grid(study, name, "rte")
        (only,) = found.student.stages
        assert only.schedule.learning_rate == rate
        schedule = only.schedule.model_copy(update={"learning_rate": 0.0})
        return found.student.architecture, schedule, found.schedule, found.points

    reported = training("wang2023-agnostic-att-mse", 5e-4)
    assert (reported[2].epochs, len(reported[3])) == (10, 8)
    for name in study.students:
        if name.startswith("wang2023-agnostic") and not name.endswith(("rate-1e-3", "25k-steps")):
            assert training(name, 1e-3 if name.endswith("rate-1e-3") else 5e-4) == reported, name


# --- students that learn on a task


@pytest.mark.parametrize(("task", "of_samples"), [("rte", True), ("squad", False), ("squad2", False)])
def test_mlkd_bert_has_no_losses_of_samples_for_spans(study: Study, task: str, of_samples: bool) -> None:
    objectives = {term.objective for term in stages(study, "mlkd2024-4", task)[-1].terms}
    assert (objectives & {"sample-similarity", "sample-contrastive"} != set()) is of_samples  # section 4.3


def test_a_student_of_wang2023_learns_from_the_layers_that_it_starts_from(study: Study) -> None:
    students = {name: student for name, student in study.students.items() if student.protocol == "wang2023"}
    assert len(students) == 25
    for name, student in students.items():
        found = resolve.task_distillation(study, name, "rte")
        assert found.initialisation.new_heads
        if name.endswith("-released"):  # from layers 4, 8 and 12, or from all layers
            continue
        *first, last = found.stages
        assert all(each.schedule.epochs == 10 for each in (*first, last))
        for term in (term for each in first for term in each.terms):
            assert term.pairs == [(index, layer) for index, layer in enumerate(student.initial_layers or [], start=1)]
        assert bool(first) is ("kd" not in name.split("-"))
    (term,) = stages(study, "wang2023-hid-cls-contrast", "rte")[0].terms
    assert term.options["bank"] is None  # a row for each training row


def test_teacher_and_stage_on_rte_end_before_the_updates_of_the_recipe(study: Study) -> None:
    first, _ = stages(study, "wang2023-att-mse", "rte")
    steps = first.schedule.steps_on(2490)
    rates = [optim.rate(step, steps, first.schedule) for step in range(1, steps + 1)]
    teacher = resolve.teacher(study, "wang2023-roberta-base", "rte").schedule
    assert [optim.rate(step, steps, teacher) for step in range(1, teacher.steps_on(2490) + 1)] == rates
    assert (steps, rates.index(max(rates)) + 1) == (1560, 122)
    # fairseq: rate x (1 - (step - warm-up) / (updates - warm-up)), one step later than ours
    assert rates[-1] == pytest.approx(2e-5 * (2036 - 1560 + 1) / (2036 - 122 + 1))


def test_updates_of_the_teachers_warm_up_are_those_that_roberta_lists(study: Study) -> None:
    listed = {"mnli": 7432, "qnli": 1986, "qqp": 28318, "sst2": 1256, "cola": 320, "mrpc": 137, "rte": 122}
    for task, updates in listed.items():
        schedule = resolve.teacher(study, "wang2023-roberta-base", task).schedule
        assert round(schedule.warmup_ratio * schedule.steps_on(2490)) == updates, task  # rows of RTE; others have steps


def test_mlkd_bert_is_as_written_and_as_released(study: Study) -> None:
    """The losses of students as released are held against the released code in the references."""
    (first, second), released = (stages(study, f"mlkd2024-4{form}", "cola") for form in ("", "-released"))
    _, attention, hidden = first.terms
    assert [term.objective for term in first.terms] == ["embedding-relation", "mha-output-relation", "hidden-sequence"]
    assert {(term.options["mean_over"], term.options["count_padding"]) for term in first.terms} == {("texts", False)}
    assert (attention.options["dropout"], hidden.options["one_map"]) == (True, True)
    assert (second.terms[-1].options["class_mean"], first.schedule.padded_to(128)) == (False, None)
    rates = [{optim.rate(step, 100, each.schedule) for step in range(1, 101)} for each in (first, released[0])]
    assert (len(rates[0]) > 1, rates[1]) == (True, {1e-5})
    for form in (released, stages(study, "mlkd2024-4-6-heads-random-released", "cola")):
        assert [(each.schedule.max_length, each.schedule.epochs) for each in form] == [(128, 50), (128, 30)]


@pytest.mark.parametrize("layers", [4, 6])
def test_patient_distillation_weighs_the_mean_over_layers_by_100(study: Study, layers: int) -> None:
    (only,) = stages(study, f"mlkd2024-pkd-{layers}", "rte")
    patient, soft, _ = only.terms
    assert patient.weight * len(patient.pairs) == pytest.approx(100)
    assert soft.options["class_mean"]


def test_sizes_and_times_are_taken_as_mlkd_bert_prints_them(study: Study, tmp_path: Path) -> None:
    from transformers import BertConfig

    BertConfig().save_pretrained(tmp_path)
    reported = cells(study, "mlkd2024", "table1")
    shown = {cell.row: cell.student for cell in study.exhibits["mlkd2024", "table1"].cells() if cell.student}
    assert len(shown) == 11  # all but MiniLMv2, another paper's student
    for row, name in shown.items():
        with torch.device("meta"):
            model: Any = build.blank(tmp_path, resolve.profile(study, name, {}).architecture)
        sizes = [weight.numel() for key, weight in model.named_parameters() if not key.startswith("pooler")]
        whole = sum(weight.numel() for weight in model.parameters())
        assert sum(sizes) // 10**6 <= float(reported[row]["#Params"].removesuffix("M")) <= -(-whole // 10**6), row
    tables = [study.exhibits["mlkd2024", name] for name in ("table3", "table10")]
    timed = [cell for table in tables for cell in table.cells() if cell.is_timed]
    assert {cell.measurement.values for cell in timed} == {"batches"}
