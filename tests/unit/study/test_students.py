"""Tests that every printed cell that is not quoted has a student, trained as its paper prints."""

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
TASKS = {  # as table 9 of MLKD-BERT calls them
    "CoLA": "cola", "MNLI": "mnli", "MRPC": "mrpc", "SST-2": "sst2", "STS-B": "stsb", "QQP": "qqp", "QNLI": "qnli",
    "RTE": "rte", "SQuAD 1.1": "squad", "SQuAD 2.0": "squad2",
}  # fmt: skip


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
    assert not [name for name in ours & study.students.keys() if not study.students[name].deviations]


def test_work_that_tables_and_figures_share_belongs_to_one_student(study: Study) -> None:
    found = [
        str(resolve.corpus_distillation(study, name)) for name, student in study.students.items()
        if student.stages and student.distilled_on == "corpus" and not name.startswith("wang2023")
    ]  # fmt: skip
    assert len(set(found)) == len(found)


def test_printed_shapes_are_the_students(study: Study) -> None:
    """Shapes are those in the labels of Udagawa et al., table 1, and in MiniLMv2's names of students."""
    table = read_yaml(ROOT / "workflow" / "papers" / "udagawa2023" / "table1.yaml")
    for row in table["rows"][:-1]:
        shape = study.students[f"udagawa2023-{row['student']}-mono"].architecture
        printed = [int(size) for size in row["label"].split(" / ")[1].split(", ")]
        assert [shape.layers, shape.heads, shape.hidden, shape.intermediate] == printed
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
        ("minilmv2-mbert", "xnli", 4, (10, 64, 0.1, 0.01), 1),  # teachers as the students beside them
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


def test_what_starts_from_another_student_or_reads_a_published_head(study: Study) -> None:
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
    found = {
        cell.column.removesuffix(": 6L-DistilBERT"): cell.student
        for cell in study.exhibits["udagawa2023", "table3"].cells() if cell.row == "Teacher" and cell.student
    }  # fmt: skip
    assert found == {
        "Avg. GLUE (Monolingual)": "udagawa2023-mono-teacher",
        "Avg. GLUE (Multilingual)": "udagawa2023-multi-teacher",
        "Avg. XNLI (Multilingual)": "udagawa2023-multi-teacher",
    }


def test_task_agnostic_students_are_trained_as_wang2023_prints(study: Study) -> None:
    printed = {row: line["Our Model"] for row, line in cells(study, "wang2023", "table5").items()}
    space = {row: line["Search Space"] for row, line in cells(study, "wang2023", "table6").items()}
    changed = "wang2023-agnostic-att-mse-rate-1e-3"  # a setting that the text reports without numbers
    for name in (name for name in study.students if name.startswith("wang2023-agnostic") and name != changed):
        found = resolve.grid(study, name, "rte")
        shape, (only,) = found.student.architecture, found.student.stages
        schedule = only.schedule
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
        for axis, row in (("learning_rate", "Learning Rate"), ("batch_size", "Batch Size")):
            values = {float(x) for x in space[row].strip("{}").split(",")}
            assert {getattr(point, axis) for point in found.points} == values
        assert (found.schedule.epochs, len(found.points)) == (10, 8)


# --- students that learn on a task


def test_each_stage_is_trained_as_table_9_of_mlkd_bert_prints(study: Study) -> None:
    printed = cells(study, "mlkd2024", "table9")
    assert set(printed) == set(TASKS)
    for label, task in TASKS.items():
        for number, each in enumerate(stages(study, "mlkd2024-4", task), start=1):
            want = {key.removeprefix(f"Stage {number}: "): text for key, text in printed[label].items()}
            schedule = each.schedule
            assert schedule.epochs == float(want["Epochs"])
            assert schedule.batch_size == int(want["Batch size"])
            assert schedule.learning_rate == float(want["Learning rate"])
            assert (schedule.max_length or study.tasks[task].max_length) == int(want["Max seq length"])
        options = {term.objective: term.options for term in each.terms}
        assert options["soft-labels"]["temperature"] == float(want["τ"])
        spans = task in ("squad", "squad2")  # section 4.3: no sample losses for span tasks
        assert ("sample-similarity" in options) is ("sample-contrastive" in options) is not spans
        assert spans or options["sample-contrastive"]["temperature"] == float(want["ρ"])


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
    written, released = (stages(study, f"mlkd2024-4{form}", "cola") for form in ("", "-released"))
    assert [[term.objective for term in form[0].terms] for form in (written, released)] == [
        ["embedding-relation", "mha-output-relation", "hidden-sequence"],
        ["word-relation", "mha-output-relation", "hidden-sequence"],
    ]
    assert {term.options["mean_over"] for term in written[0].terms} == {"texts"}
    assert [form[0].terms[2].options["one_map"] for form in (written, released)] == [True, False]
    assert [form[0].terms[1].options["dropout"] for form in (written, released)] == [True, False]
    assert {form[0].schedule.padded_to(128) for form in (written, released)} == {None, 128}
    assert [{term.options["count_padding"] for term in form[0].terms} for form in (written, released)] == [
        {False}, {True},
    ]  # fmt: skip
    assert [form[1].terms[-1].options["class_mean"] for form in (written, released)] == [False, True]
    rates = [{optim.rate(step, 100, form[0].schedule) for step in range(1, 101)} for form in (written, released)]
    assert (len(rates[0]) > 1, rates[1]) == (True, {1e-5})
    assert {each.schedule.max_length for each in written} == {64}
    for form in (released, stages(study, "mlkd2024-4-6-heads-random-released", "cola")):
        assert [(each.teacher_dropout, each.schedule.max_length, each.schedule.epochs) for each in form] == [
            (True, 128, 50), (True, 128, 30),
        ]  # fmt: skip


@pytest.mark.parametrize("layers", [4, 6])
def test_patient_distillation_weighs_the_mean_over_layers_by_100(study: Study, layers: int) -> None:
    (only,) = stages(study, f"mlkd2024-pkd-{layers}", "rte")
    patient, soft, _ = only.terms
    assert patient.weight * len(patient.pairs) == pytest.approx(100)
    assert soft.options["class_mean"]


def test_sizes_and_times_are_taken_as_mlkd_bert_prints_them(study: Study, tmp_path: Path) -> None:
    from transformers import BertConfig

    BertConfig().save_pretrained(tmp_path)
    printed = cells(study, "mlkd2024", "table1")
    shown = {cell.row: cell.student for cell in study.exhibits["mlkd2024", "table1"].cells() if cell.student}
    assert len(shown) == 11  # all but MiniLMv2, another paper's student
    for row, name in shown.items():
        with torch.device("meta"):
            model: Any = build.blank(tmp_path, resolve.profile(study, name).architecture)
        sizes = [weight.numel() for key, weight in model.named_parameters() if not key.startswith("pooler")]
        whole = sum(weight.numel() for weight in model.parameters())
        assert sum(sizes) // 10**6 <= float(printed[row]["#Params"].removesuffix("M")) <= -(-whole // 10**6), row
    tables = [study.exhibits["mlkd2024", name] for name in ("table3", "table10")]
    timed = [cell for table in tables for cell in table.cells() if cell.is_timed]
    assert {cell.measurement.values for cell in timed} == {"batches"}
