"""Tests of settings that papers leave open: what was chosen, and what stands beside it as released code has it."""

from __future__ import annotations

import pytest
from retort.plan import resolve
from retort.specs.config import Config
from retort.study.load import open_study
from retort.study.study import Study
from retort.training import optim


@pytest.fixture(scope="module")
def study() -> Study:
    """Return all papers at the scale of the papers."""
    return open_study(Config(papers=["minilmv2", "mlkd2024", "udagawa2023", "wang2023"], scale="paper"))


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
    assert resolve.grid(study, student, task).metric_for_best_model == metric


@pytest.mark.parametrize("model", ["mbert", "xlm-r-base"])
@pytest.mark.parametrize(("form", "epochs", "batch"), [("", 10, 64), ("-acl", 5, 128)])
def test_multilingual_teachers_are_fine_tuned_as_the_students_beside_them(
    study: Study, model: str, form: str, epochs: int, batch: int
) -> None:
    shown = {cell.student for cell in study.exhibits["minilmv2", f"table5{form}"].cells()}
    assert f"minilmv2-{model}{form}" in shown
    found = resolve.grid(study, f"minilmv2-{model}{form}", "xnli")
    first = found.points[0].applied_to(found.schedule)
    assert (first.epochs, first.batch_size) == (epochs, batch)


def test_squad_of_other_languages_keeps_the_best_epoch_on_english(study: Study) -> None:
    assert resolve.grid(study, "minilmv2-6x384-xlm-r-base", "mlqa").schedule.load_best_model_at_end
    assert not resolve.grid(study, "minilmv2-6x384-xlm-r-base", "xnli").schedule.load_best_model_at_end


def test_a_teacher_that_a_table_prints_once_for_several_students_is_ours_too(study: Study) -> None:
    cells = [cell for cell in study.exhibits["udagawa2023", "table3"].cells() if cell.row == "Teacher"]
    found = {cell.column: cell.student for cell in cells if cell.student}
    assert found == {
        "Avg. GLUE (Monolingual): 6L-DistilBERT": "udagawa2023-mono-teacher",
        "Avg. GLUE (Multilingual): 6L-DistilBERT": "udagawa2023-multi-teacher",
        "Avg. XNLI (Multilingual): 6L-DistilBERT": "udagawa2023-multi-teacher",
    }


def test_teacher_and_stage_on_rte_end_before_the_updates_of_the_recipe(study: Study) -> None:
    (stage, _) = resolve.task_distillation(study, "wang2023-att-mse", "rte").stages
    steps = stage.schedule.steps_on(2490)
    rates = [optim.rate(step, steps, stage.schedule) for step in range(1, steps + 1)]
    teacher = resolve.teacher(study, "wang2023-roberta-base", "rte").schedule
    assert [optim.rate(step, steps, teacher) for step in range(1, teacher.steps_on(2490) + 1)] == rates
    assert (steps, rates.index(max(rates)) + 1) == (1560, 122)
    # fairseq: rate x (1 - (step - warm-up) / (updates - warm-up)), one step later than ours
    assert rates[-1] == pytest.approx(2e-5 * (2036 - 1560 + 1) / (2036 - 122 + 1))


def test_students_of_wang2023_start_with_new_heads_on_a_task(study: Study) -> None:
    for name in (name for name, student in study.students.items() if student.protocol == "wang2023"):
        assert resolve.task_distillation(study, name, "rte").initialisation.new_heads


def test_a_bank_of_negatives_has_a_row_for_each_training_row(study: Study) -> None:
    (term,) = resolve.task_distillation(study, "wang2023-hid-cls-contrast", "rte").stages[0].terms
    assert term.options["bank"] is None


def test_stage_1_of_mlkd_bert_is_as_written_and_as_released(study: Study) -> None:
    written = resolve.task_distillation(study, "mlkd2024-4", "rte").stages[0]
    released = resolve.task_distillation(study, "mlkd2024-4-released", "rte").stages[0]
    names = [[term.objective for term in stage.terms] for stage in (written, released)]
    assert names == [
        ["embedding-relation", "mha-output-relation", "hidden-sequence"],
        ["word-relation", "mha-output-relation", "hidden-sequence"],
    ]
    assert {term.options["mean_over"] for term in written.terms} == {"texts"}
    assert [stage.terms[2].options["one_map"] for stage in (written, released)] == [True, False]
    assert [stage.terms[1].options["student_dropout"] for stage in (written, released)] == [True, False]
    rates = [{optim.rate(step, 100, stage.schedule) for step in range(1, 101)} for stage in (written, released)]
    assert (len(rates[0]) > 1, rates[1]) == (True, {2e-5})


def test_times_of_mlkd_bert_spread_over_batches(study: Study) -> None:
    tables = [study.exhibits["mlkd2024", name] for name in ("table3", "table10")]
    timed = [cell for table in tables for cell in table.cells() if cell.is_timed]
    assert {cell.measurement.values for cell in timed} == {"batches"}


def test_released_students_of_mlkd_bert_learn_whole_rows_from_a_teacher_with_dropout(study: Study) -> None:
    for form in ("4-released", "4-6-heads-random-released"):
        stages = resolve.task_distillation(study, f"mlkd2024-{form}", "cola").stages
        assert all(stage.teacher_dropout for stage in stages)
        assert {stage.schedule.max_length for stage in stages} == {128}
        assert [stage.schedule.epochs for stage in stages] == [50, 30]
        assert stages[1].terms[-1].options["class_mean"]
    written = resolve.task_distillation(study, "mlkd2024-4", "cola").stages
    assert {stage.schedule.max_length for stage in written} == {64}
    assert not written[1].terms[-1].options["class_mean"]


@pytest.mark.parametrize("layers", [4, 6])
def test_patient_distillation_weighs_the_mean_over_layers_by_100(study: Study, layers: int) -> None:
    (stage,) = resolve.task_distillation(study, f"mlkd2024-pkd-{layers}", "rte").stages
    patient, soft, _ = stage.terms
    assert patient.weight * len(patient.pairs) == pytest.approx(100)
    assert soft.options["class_mean"]
