"""Tests of scales: whose students run, and how the papers' students are scaled down."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from retort.errors import RetortError
from retort.plan.resolve import score
from retort.results.frames import Line, lines_of
from retort.run.workflow import mark_scale
from retort.specs import catalogue
from retort.specs.config import read_config
from retort.specs.model import Architecture
from retort.specs.scale import Replacements
from retort.study.cells import expand, gridded
from retort.study.load import read_study
from retort.study.questions import runs_on
from retort.study.scaled_study import Shrink
from retort.study.study import Study
from retort.tables.recordings import recording_of

from tests.tiny.edit import PROTOCOL, set_value, write
from tests.tiny.reported import as_reported
from tests.tiny.results import collected, opened
from tests.tiny.variant import MODEL, ONE_TABLE, PAPER_OF_OTHERS, ROWS, STUDENT, write_one_table

LARGE = Architecture(layers=12, heads=12, hidden=768, intermediate=3072)
SMALL = Architecture(layers=6, heads=12, hidden=384, intermediate=1536)
SMALLER = {
    "model": "half", "corpus": "sentences", "tasks": ["mood"], "seeds": 1,
    "distillation": {"steps": 3, "batch_size": 2, "learning_rate": 0.01},
    "training": {"steps": 4, "batch_size": 2, "learning_rate": 0.02},
    "teaching": {"steps": 5, "batch_size": 2, "learning_rate": 0.02},
    "grid": {"learning_rate": [0.02], "batch_size": [2]},
}  # fmt: skip


def study_config(
    folder: Path, scale: str, paper: dict[str, Any] = PAPER_OF_OTHERS, layers: int = 2, **replacements: Any
) -> dict[str, Any]:
    """Write the tiny study's variant as reported by a paper, with its own reduced scale; return its configuration."""
    config = write_one_table(folder, as_reported([{**row, "cells": "1 | 2"} for row in ROWS]), paper=paper)
    shape = {"layers": layers, "heads": 3, "hidden": 12, "intermediate": 24}
    for name, content in {
        "models/half": {**MODEL, "architecture": shape},
        "scales/pocket": {"title": "Here", "papers": "ours"},
        "scales/paper": {"title": "There"},
        "scales/reduced": {"title": "Between", "replacements": {**SMALLER, **replacements}},
    }.items():
        write(folder, f"{name}.yaml", content)
    return {**config, "scale": scale}


def study(folder: Path, scale: str, **more: Any) -> Study:
    """Return the variant of the tiny study at a scale."""
    return opened(study_config(folder, scale, **more))


def test_every_increasing_list_of_layers_stays_increasing_and_within_the_small_teacher() -> None:
    sizes = [(old, new) for old in (4, 6, 12) for new in range(1, old + 1)]
    for old, new in [*sizes, (24, 3), (24, 6), (24, 12), (24, 23)]:
        by = Shrink(LARGE.model_copy(update={"layers": old}), SMALL.model_copy(update={"layers": new}))
        for size in range(1, new + 1):
            lists = itertools.combinations(range(1, old + 1), size)
            several = itertools.islice(lists, 0, 2000, 1 if old <= 12 else 7)
            highest = tuple(range(old - size + 1, old + 1))
            for listed in (*several, highest):
                for layers in (listed, (0, *listed)):
                    small = by.layers(layers)
                    assert [layer == 0 for layer in small] == [layer == 0 for layer in layers], (old, new, layers)
                    assert all(a < b for a, b in itertools.pairwise((*small, new + 1))), (old, new, layers, small)


def test_layers_and_widths_keep_their_share_and_heads_still_divide() -> None:
    by = Shrink(LARGE, SMALL)
    listed = [[4, 8, 12], [1, 8, 12], [1, 2, 3], [12], [11], [0]]
    assert [by.layers(layers) for layers in listed] == [[2, 4, 6], [1, 4, 6], [1, 2, 3], [6], [5], [0]]
    keys = ("layers", "heads", "hidden", "intermediate")
    for sizes, smaller in (
        ((3, 12, 768, 3072), (3, 12, 384, 1536)),
        ((6, 12, 384, 1536), (6, 12, 192, 768)),
        ((4, 12, 312, 1200), (4, 12, 156, 600)),
        ((4, 3, 312, 1200), (4, 3, 156, 600)),
    ):
        shape = Architecture(**dict(zip(keys, sizes, strict=True)))
        assert tuple(getattr(by.architecture(shape), key) for key in keys) == smaller


def test_a_scale_decides_on_students_schedules_seeds_tasks_and_teachers(tmp_path: Path) -> None:
    idle = study(tmp_path / "a", "pocket")
    assert set(idle.not_run) == {*idle.students, *idle.teachers}
    assert expand(idle) == []
    assert expand(study(tmp_path / "b", "pocket", paper=ONE_TABLE))
    reported, small = study(tmp_path / "c", "paper"), study(tmp_path / "d", "reduced")
    more = study(tmp_path / "e", "reduced", seeds=5, training_on={"mood": {"steps": 6}})
    assert {cell.task for cell in expand(small)} == {"mood"} < {cell.task for cell in expand(reported)}
    for scaled, steps, seeds, width in ((reported, 10, 3, 24), (small, 4, 1, 12), (more, 6, 5, 12)):
        settings = score(scaled, "tiny-kd", "mood")
        assert {stage.schedule.steps for stage in settings.stages} == {steps}
        assert {cell.seed for cell in expand(scaled) if cell.student == "tiny-kd"} == {*range(1, seeds + 1)}
        assert settings.architecture.hidden == settings.teacher.model.architecture.hidden == width


@pytest.mark.parametrize(("scale", "decay"), [("paper", 20), ("reduced", None)])
def test_the_steps_of_a_decay_are_those_of_the_scale(tmp_path: Path, scale: str, decay: int | None) -> None:
    config = study_config(tmp_path, scale)
    set_value(tmp_path, PROTOCOL, "schedule", "decay_steps", to=20)
    settings = score(opened(config), "tiny-kd", "mood")
    assert {stage.schedule.decay_steps for stage in settings.stages} == {decay}


def test_a_schedule_of_fine_tuning_does_not_reach_stages(reduced: Study) -> None:
    to = reduced.scale.replacements
    assert to
    assert to.finetuning["steps"] != to.training["steps"]
    agnostic, specific = (score(reduced, name, "sst2") for name in ("udagawa2023-hs-last-3l-mono", "wang2023-att-mse"))
    assert (agnostic.schedule.steps, agnostic.schedule.freeze) == (to.finetuning["steps"], [])
    assert agnostic.student.stages[0].schedule.steps == to.distillation["steps"]
    schedules = {(stage.schedule.steps, *stage.schedule.freeze) for stage in specific.stages}
    assert schedules == {(to.training["steps"], "embeddings")}


def test_stages_on_a_corpus_keep_the_proportions_of_print(reduced: Study) -> None:
    replacements = reduced.scale.replacements
    assert replacements
    rate, steps = replacements.distillation["learning_rate"], replacements.distillation["steps"]

    def schedule_of(student: str) -> tuple[float, int | None]:
        stage = score(reduced, student, "sst2").student.stages[0].schedule
        return stage.learning_rate, stage.steps

    assert schedule_of("udagawa2023-hs-last-3l-mono") == (rate, steps)  # the paper: 7 epochs at 5e-4
    after_hidden_states = schedule_of("udagawa2023-od-last-3l-mono")  # the paper: 3 epochs at 3e-4
    assert after_hidden_states == (pytest.approx(rate * 3 / 5), round(steps * 3 / 7))
    assert schedule_of("udagawa2023-od-alone-6l-mono") == (rate, 2 * steps)  # the paper: 14 epochs at 5e-4


def test_a_scale_gives_a_paper_tasks_and_fields_of_its_own(tmp_path: Path) -> None:
    assert runs_on(study(tmp_path / "a", "reduced", tasks_of={}), "tiny-kd", "mood")
    other = study(tmp_path / "b", "reduced", tasks_of={"tiny": ["rating"]})
    assert (runs_on(other, "tiny-kd", "mood"), runs_on(other, "tiny-kd", "rating")) == (False, True)
    own = study(tmp_path / "c", "reduced", training_of={"tiny": {"steps": 7}}, training_on={"rating": {"steps": 6}})
    steps = {task: {stage.schedule.steps for stage in score(own, "tiny-kd", task).stages} for task in own.tasks}
    assert (steps["mood"], steps["rating"]) == ({7}, {6})


def test_what_one_paper_reads_of_a_scale_has_nothing_of_others() -> None:
    of = {"a": {"steps": 7}, "b": {"steps": 8}}
    whole = Replacements(**{**SMALLER, "training_of": of, "tasks_of": {"b": ["rating"]}})
    assert (whole.read_by("a").training_of, whole.read_by("a").tasks) == ({"a": {"steps": 7}}, ["mood"])
    assert whole.read_by("c") == Replacements(**SMALLER)


def test_a_loss_of_the_embeddings_has_something_to_train(reduced: Study) -> None:
    """Where a stage on a task has a loss that reads the embeddings alone, they are not frozen."""
    for name, student in reduced.running.items():
        for stage in student.stages if reduced.is_of_others(name) else []:
            alone = any(
                set(catalogue.objectives()[term.objective].activations) == {"embeddings"} for term in stage.terms
            )
            assert not (alone and "embeddings" in stage.schedule["freeze"]), name


def test_what_a_scale_does_not_run_says_why(tmp_path: Path) -> None:
    left_out = study(
        tmp_path / "a", "reduced", paper={**PAPER_OF_OTHERS, "not_at": {"reduced": "its models are too deep"}}
    )
    assert set(left_out.not_run.values()) == {"its paper is left out: its models are too deep"}
    assert not left_out.running
    assert STUDENT["architecture"]["layers"] == 2
    found = study(tmp_path / "b", "reduced", layers=1)
    assert found.not_run["tiny-attention"] == "is deeper than the teacher of this scale"


@pytest.mark.parametrize(
    ("papers", "scale", "running"),
    [(None, "paper", ["tiny"]), (None, "pocket", []), ([], "paper", []), ([], "reduced", []), (["tiny"], "pocket", [])],
)
def test_papers_are_run_or_only_shown(tmp_path: Path, papers: list[str] | None, scale: str, running: list[str]) -> None:
    found, _ = read_study(read_config({**study_config(tmp_path, scale), "papers": papers}))
    assert list(found.papers) == ["tiny"]
    assert found.running_papers == running
    assert found.scale_of("tiny") == (scale if running else "")
    assert bool(found.running) == bool(running)
    assert bool(expand(found)) == bool(running)
    assert found.students["tiny-attention"].architecture.layers == 2  # as written


def test_results_of_one_scale_are_not_overwritten_at_another(here: Path) -> None:
    mark_scale(study(here / "a", "pocket"))  # this scale runs no student of a paper
    assert not Path("results").exists()
    mark_scale(study(here / "b", "reduced"))
    mark_scale(study(here / "c", "reduced"))
    with pytest.raises(RetortError, match=r"results/ holds runs at scale reduced, .* at scale paper would overwrite"):
        mark_scale(study(here / "d", "paper"))


@pytest.mark.parametrize(
    ("replacements", "line"),
    [
        ({"model": "hal"}, "replacements.model: no model is called 'hal'; did you mean 'half'?"),
        ({"corpus": "sentence"}, "replacements.corpus: no corpus is called 'sentence'; did you mean 'sentences'?"),
        ({"tasks": ["mod"]}, "replacements.tasks.1: no task is called 'mod'; did you mean 'mood'?"),
        ({"training_of": {"tin": {}}}, "replacements.training_of.tin: no paper is called 'tin'; did you mean 'tiny'?"),
        ({"tasks_of": {"tiny": ["mod"]}}, "replacements.tasks_of.tiny.1: no task is called 'mod'"),
        ({"finetuning": {"freeze": []}}, "training: freeze is missing, which finetuning sets"),
    ],
)
def test_a_mistake_in_a_scale_is_one_line(tmp_path: Path, replacements: dict[str, Any], line: str) -> None:
    found = read_study(read_config(study_config(tmp_path, "reduced", **replacements)))[1]
    assert [line in problem and "reduced.yaml" in problem for problem in found] == [True], found


@pytest.fixture(scope="module")
def reduced() -> Study:
    """Return the study of the four papers at the reduced scale; opening it checks that every student can be trained."""
    return opened({"scale": "reduced"})


def test_the_reduced_scale_runs_students_of_every_paper_and_judges_no_best_of_a_grid(reduced: Study) -> None:
    assert {reduced.paper_of(name) for name in reduced.running} == {*reduced.papers} - {"pocket"}
    assert not any(gridded(reduced, table) for table in reduced.exhibits.values())


def test_a_student_of_released_weights_starts_from_the_first_layers_of_the_small_teacher(reduced: Study) -> None:
    student = reduced.students["mlkd2024-4"]  # reported: 312 wide, from the weights of TinyBERT
    teacher = reduced.models["all-minilm-l6"].architecture
    assert student.initialisation.truncated
    assert student.initialisation.of == "model"
    assert student.architecture.widths == teacher.widths
    assert (student.architecture.layers, student.architecture.heads) == (4, 12)
    assert reduced.students["mlkd2024-4-3-heads"].architecture.heads == 3
    (term,) = reduced.students["minilmv2-6x384-bert-large"].stages[0].terms
    assert term.options["heads"] == 48  # a divisor of the width, 144, which the reported 64 are not


def row_of(study: Study, table: str, student: str, **accuracies: float) -> dict[str, Line]:
    """Return the lines of a student's row, by column; over four seeds it has these mean accuracies."""
    scores: dict[tuple[str, str, int], Any] = {
        (student, task, seed): {"status": "ok", "metrics": {"accuracy": mean + (seed - 2.5) / 100}}
        for task, mean in accuracies.items()
        for seed in (1, 2, 3, 4)
    }
    lines = list(lines_of(collected(study, table, scores, paper=student.split("-")[0])[1]))
    row = next(line.row for line in lines if line.student == student)
    return {line.column: line for line in lines if line.row == row}


def test_an_average_is_over_the_tasks_that_the_scale_runs(reduced: Study) -> None:
    average = row_of(reduced, "table1", "wang2023-kd", qnli=0.6, sst2=0.7, mrpc=0.5)["Avg"]
    assert (average.status, average.mean) == ("ok", pytest.approx(60))
    assert average.note == "the mean of QNLI, SST-2, MRPC: this scale runs no other column of it"
    row = row_of(reduced, "table3", "udagawa2023-hs-last-3l-mono", sst2=0.7)
    glue = row["Avg. GLUE (Monolingual): 3L"]
    assert (glue.status, glue.mean, glue.n) == ("ok", pytest.approx(70), 4)
    assert glue.note == "the mean of sst2: this scale runs no other task of it"
    assert row["Avg. GLUE (Monolingual): 4L"].status == "missing"  # it runs, and has not yet
    assert row["Avg. XNLI (Multilingual): 3L"].status == "not-run"


def test_recorded_runs_are_of_the_settings_that_the_scale_has_now(reduced: Study) -> None:
    for paper, scale in reduced.recordings:
        study = opened({"papers": [paper], "scale": scale}) if scale != "reduced" else reduced
        assert recording_of(study, paper), f"record {paper} at {scale} anew: its settings have changed"
