"""Tests of the settings of students: what they start from, what a stage changes on a task, and rows that are cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from retort.data.batches import TaskBatches
from retort.data.encoded import Encoded
from retort.plan import resolve, resolve_data
from retort.plan.plan import Plan
from retort.specs.config import Config
from retort.specs.protocol import Schedule
from retort.study.load import open_study
from retort.study.study import Study

from tests.tiny.edit import problems, set_value, write

STUDENTS, PROTOCOL = "papers/tiny/students.yaml", "protocols/short.yaml"
ENCODER = {"title": "A random encoder", "source": "encoder", "vocabulary": 90}
TWO = {"layers": 2, "heads": 3, "hidden": 24, "intermediate": 48}


@pytest.fixture
def study_folder(study_folder: Path) -> Path:
    """Return the tiny study with added released models of two layers."""
    narrow = {**TWO, "embedding": 8}
    for name, architecture, vocabulary in (("small", TWO, 90), ("foreign", TWO, 91), ("narrow", narrow, 90)):
        model = {**ENCODER, "architecture": architecture, "vocabulary": vocabulary}
        write(study_folder, f"models/{name}.yaml", model)
    return study_folder


def change(study_folder: Path, student: str, **fields: Any) -> None:
    """Set these fields of a student."""
    for name, value in fields.items():
        set_value(study_folder, STUDENTS, student, name, to=value)


def config(study_folder: Path) -> Config:
    """Return the configuration of the study."""
    return Config(papers=["tiny"], study=str(study_folder))


def opened(study_folder: Path) -> Study:
    """Return the study."""
    return open_study(config(study_folder))


BLOCKS = "it is for the rows of tasks, not for the blocks of a corpus; leave it out"
# the keys of students.yaml, their value, how the line begins
MISTAKES: list[tuple[tuple[str | int, ...], Any, str]] = [
    (("kd", "initialisation"), {"checkpoint": "narrow"},
     "kd.initialisation.checkpoint: 'narrow' has embedding: 8, the student's architecture embedding: none"),
    (("kd", "initialisation"), {"checkpoint": "foreign"},
     "kd.initialisation.checkpoint: 'foreign' has a vocabulary of 91 tokens, teacher 'tiny-teacher' one of 90"),
    (("kd", "architecture"), {**TWO, "embedding": 8},
     "kd.initialisation.layers: a student of width 24 x 48 with embeddings of 8 cannot take layers of a teacher of 24"),
    (("kd", "stages", 0, "tasks"), {"moood": {"steps": 3}},
     "kd.stages.1.tasks.moood: no task is called 'moood'; did you mean 'mood'?"),
    (("attention", "stages", 1, "terms", 0, "not_on"), ["mood"],
     "attention.stages.2: not_on: no term is left on 'mood'"),
    (("narrow", "stages", 0, "schedule"), {"pad_to_max_length": True},
     f"narrow.stages.1: schedule.pad_to_max_length: {BLOCKS}"),
    (("narrow", "stages", 0, "schedule"), {"max_train_samples": 9},
     f"narrow.stages.1: schedule.max_train_samples: {BLOCKS}"),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "to", "said"), MISTAKES)
def test_a_mistake_gets_one_clear_line(study_folder: Path, keys: tuple[str | int, ...], to: Any, said: str) -> None:
    set_value(study_folder, STUDENTS, *keys, to=to)
    (found,) = problems(study_folder)
    assert found.startswith(f"study/{STUDENTS}: {said}")
    assert "\n" not in found


def test_the_protocol_of_a_corpus_has_no_batches_of_like_lengths(study_folder: Path) -> None:
    set_value(study_folder, PROTOCOL, "tasks", "sentences", to={"group_by_length": False})
    assert problems(study_folder) == [f"study/{PROTOCOL}: tasks.sentences.group_by_length: {BLOCKS}"]


def test_a_parent_that_reads_other_tokens(study_folder: Path) -> None:
    other = {"title": "Another", "model": "foreign", "protocol": "short"}
    set_value(study_folder, "papers/tiny/paper.yaml", "teachers", "other", to=other)
    change(study_folder, "narrow", teacher="tiny-other")
    said = "predicting.initialisation.student: 'tiny-narrow' has a vocabulary of 91 tokens"
    assert any(said in line for line in problems(study_folder))


def test_truncated_is_the_first_layers(study_folder: Path) -> None:
    change(study_folder, "kd", initialisation={"truncated": True})
    change(study_folder, "attention", initialisation={"layers": [1, 2]})
    study = opened(study_folder)
    assert resolve.reads_teacher(study.students["tiny-kd"])
    for name in ("tiny-kd", "tiny-attention"):
        start = resolve.task_distillation(study, name, "mood").initialisation.as_json()
        assert start == {"layers": [1, 2], "of": "teacher", "student": None, "random": False}


def test_settings_name_what_a_student_starts_from(study_folder: Path) -> None:
    change(study_folder, "kd", architecture={**TWO, "heads": 6}, initialisation={"checkpoint": "small"})
    change(study_folder, "narrow", architecture=TWO, initialisation={"checkpoint": "small"})
    change(study_folder, "predicting", architecture=TWO)
    study = opened(study_folder)
    reported = resolve_data.model_settings(study, "small")
    assert resolve.task_distillation(study, "tiny-kd", "mood").parent == reported
    assert resolve.corpus_distillation(study, "tiny-predicting").as_json()["parent"]["parent"] == reported.as_json()
    assert "parent" not in resolve.task_distillation(study, "tiny-attention", "mood").as_json()
    assert "embedding" not in reported.as_json()["architecture"]
    assert resolve_data.model_settings(study, "narrow").architecture.embedding == 8


def test_the_plan_has_the_folder_that_a_student_starts_from(study_folder: Path) -> None:
    change(study_folder, "kd", initialisation={"checkpoint": "small"})
    plan = Plan(config(study_folder))
    folders = [plan.parent(f"tiny-{name}") for name in ("kd", "attention", "narrow", "predicting")]
    assert folders == [["results/sources/encoder"], [], [], ["results/students/tiny-narrow/model"]]


def schedules(study_folder: Path, student: str, task: str) -> list[dict[str, Any]]:
    """Return the schedule of each stage of a student."""
    settings = resolve.task_distillation(opened(study_folder), student, task)
    return [stage.schedule.model_dump() for stage in settings.stages]


def test_a_schedule_without_a_length_says_nothing_of_it() -> None:
    given = {"steps": 3, "batch_size": 2, "learning_rate": 0.1}
    assert "max_length" not in Schedule(**given).model_dump()
    assert Schedule(**given, max_length=9).model_dump()["max_length"] == 9


def test_what_a_stage_changes_on_a_task_wins(study_folder: Path) -> None:
    before = {task: schedules(study_folder, "tiny-attention", task) for task in ("mood", "rating")}
    change = {"batch_size": 5, "learning_rate": 0.5, "group_by_length": False}
    set_value(study_folder, STUDENTS, "attention", "stages", 1, "schedule", to=change)
    on_rating = {"rating": {"epochs": 2, "learning_rate": 0.25}}
    set_value(study_folder, STUDENTS, "attention", "stages", 1, "tasks", to=on_rating)
    after = {task: schedules(study_folder, "tiny-attention", task) for task in before}
    assert [stages[0] for stages in after.values()] == [stages[0] for stages in before.values()]
    assert after["mood"][1] == {**before["mood"][1], **change}
    expected = {**before["rating"][1], **change, "learning_rate": 0.25, "epochs": 2.0}
    assert after["rating"][1] == {key: value for key, value in expected.items() if key != "steps"}


def test_a_term_may_be_left_out_on_a_task(study_folder: Path) -> None:
    term = {"objective": "value-relation", "mapping": "uniform", "not_on": ["rating"]}
    set_value(study_folder, STUDENTS, "attention", "stages", 0, "terms", 1, to=term)
    study = opened(study_folder)
    for task, objectives in (("mood", ["attention-kl", "value-relation"]), ("rating", ["attention-kl"])):
        first = resolve.task_distillation(study, "tiny-attention", task).stages[0]
        assert [term.objective for term in first.terms] == objectives


@pytest.mark.parametrize("pairs", [False, True])
def test_only_single_texts_are_cut(study_folder: Path, pairs: bool) -> None:
    set_value(study_folder, STUDENTS, "kd", "stages", 0, "tasks", to={"mood": {"max_length": 8}})
    set_value(study_folder, PROTOCOL, "tasks", "mood", to={"max_length": 9})
    if pairs:
        set_value(study_folder, "tasks/mood.yaml", "read", "local", "columns", "pair", to="id")
    lines = problems(study_folder)
    said = "tasks.mood.max_length: only single texts are cut, and the rows of 'mood' hold two"
    assert [said in line for line in lines] == ([True, True] if pairs else [])


@pytest.mark.parametrize("pairs", [False, True])
def test_a_grid_may_cut_single_texts_and_their_activations_are_not_stored(study_folder: Path, pairs: bool) -> None:
    set_value(study_folder, PROTOCOL, "grids", to={"mood": {"max_length": [8, 12]}})
    if pairs:
        set_value(study_folder, "tasks/mood.yaml", "read", "local", "columns", "pair", to="id")
        said = "grids.mood.max_length: only single texts are cut, and the rows of 'mood' hold two"
        assert problems(study_folder) == [f"study/{PROTOCOL}: {said}"]
    else:
        study = opened(study_folder)
        stored = [resolve.reads_what_can_be_stored(study, "tiny-kd", task) for task in ("mood", "rating")]
        assert stored == [False, True]


def counting(padding: bool) -> list[dict[str, Any]]:
    """Return the terms of a stage that counts padding, or does not."""
    return [{"objective": "hidden-sequence", "mapping": "last", "options": {"count_padding": padding}}]


@pytest.mark.parametrize(
    ("keys", "to", "stored"),
    [
        (("title",), "as it is", True),
        (("stages", 0, "tasks"), {"mood": {"max_length": 8}}, False),
        (("stages", 0, "tasks"), {"rating": {"max_length": 8}}, True),
        (("stages", 0, "terms"), counting(padding=False), True),
        (("stages", 0, "terms"), counting(padding=True), False),
        (("stages", 0, "teacher_dropout"), True, False),
        (("pooler_relu",), True, False),
    ],
)
def test_activations_are_stored_of_whole_rows_of_a_fixed_teacher_as_it_is(
    study_folder: Path, keys: tuple[str | int, ...], to: Any, stored: bool
) -> None:
    set_value(study_folder, STUDENTS, "kd", *keys, to=to)
    assert resolve.reads_what_can_be_stored(opened(study_folder), "tiny-kd", "mood") is stored


@pytest.mark.parametrize("stores", [False, True])
def test_a_scale_says_whether_activations_are_stored(study_folder: Path, stores: bool) -> None:
    write(study_folder, "scales/paper.yaml", {"title": "Here", "papers": "ours", "stores_activations": stores})
    plan = Plan(Config(papers=["tiny"], study=str(study_folder), scale="paper"))
    assert plan.reads_stored_activations("tiny-kd", "mood") is stores


def test_the_metric_that_chooses_is_that_of_the_protocol(study_folder: Path) -> None:
    assert resolve.grid(opened(study_folder), "tiny-narrow", "mood").metric_for_best_model == "accuracy"
    set_value(study_folder, PROTOCOL, "metric_for_best_model", to={"mood": "f1"})
    assert any("metric_for_best_model.mood: no metric is called 'f1'" in line for line in problems(study_folder))


@pytest.mark.parametrize("best", [True, False])
def test_the_best_epoch_is_chosen_on_tasks_and_never_on_a_corpus(study_folder: Path, best: bool) -> None:
    set_value(study_folder, PROTOCOL, "schedule", "load_best_model_at_end", to=best)
    study = opened(study_folder)
    metric = "accuracy" if best else None
    assert resolve.teacher(study, "tiny-teacher", "mood").metric_for_best_model == metric
    assert resolve.task_distillation(study, "tiny-kd", "mood").stages[0].metric_for_best_model == metric
    assert resolve.corpus_distillation(study, "tiny-narrow").stages[0].metric_for_best_model is None


@pytest.mark.parametrize("best", [True, False])
def test_a_grid_may_try_whether_a_teacher_takes_its_best_epoch(study_folder: Path, best: bool) -> None:
    set_value(study_folder, PROTOCOL, "schedule", "load_best_model_at_end", to=best)
    set_value(study_folder, PROTOCOL, "grid", to={"load_best_model_at_end": [False, True]})
    teacher = resolve.teacher(opened(study_folder), "tiny-teacher", "mood")
    assert teacher.grid is not None
    assert [teacher.at(point).metric_for_best_model for point in teacher.grid.points] == [None, "accuracy"]
    assert teacher.at(teacher.grid.points[1]).schedule.load_best_model_at_end


def test_cut_rows_keep_their_start_and_their_last_token() -> None:
    rows = [[2, 11, 12, 13, 3], [2, 3], [2, 21, 22, 3], [2, 31, 32, 33, 34, 3]]
    ids = np.array([token for row in rows for token in row], np.int32)
    offsets = np.cumsum([0, *map(len, rows)])
    whole = Encoded(ids, np.zeros(len(ids), np.uint8), offsets, np.arange(4), {"more": np.ones(4)})
    assert whole.cut(None) is whole.cut(6) is whole
    short = whole.cut(4)
    found = [short.input_ids[start:end].tolist() for start, end in zip(short.offsets, short.offsets[1:], strict=False)]
    assert found == [[2, 11, 12, 3], [2, 3], [2, 21, 22, 3], [2, 31, 32, 3]]
    assert len(short.token_type_ids) == len(short.input_ids) == int(short.offsets[-1])
    assert short.labels.tolist() == [0, 1, 2, 3]
    batch = TaskBatches(short, 4, seed=1)[0]
    ends = batch.input_ids[range(4), batch.attention_mask.sum(1) - 1]
    assert batch.input_ids.shape == (4, 4)
    assert ends.tolist() == [3, 3, 3, 3]
