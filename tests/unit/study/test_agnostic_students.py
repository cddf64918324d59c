"""Tests of the task-agnostic students of the printed papers, against the papers' texts."""

from __future__ import annotations

from typing import Any

import pytest
from retort.plan import resolve
from retort.plan.sharing import grid_parts
from retort.settings.trainings import PointSettings
from retort.specs.config import ROOT, Config
from retort.specs.protocol import Protocol
from retort.specs.rows import Row
from retort.specs.yaml_reader import read_yaml
from retort.study import questions
from retort.study.cells import expand
from retort.study.load import open_study
from retort.study.study import Study
from retort.training.grid import choose

PAPERS = ["minilmv2", "udagawa2023"]
GLUE = ["mnli", "qqp", "qnli", "sst2", "cola", "stsb", "mrpc", "rte"]
ENGLISH, MULTILINGUAL = "wikipedia-bookcorpus-512", "cc100-512"


@pytest.fixture(scope="module")
def study() -> Study:
    """Return the study of the two papers, at the scale of the papers."""
    return open_study(Config(papers=PAPERS, scale="paper", precision="bfloat16"))


def stage(study: Study, name: str) -> Any:
    """Return the settings of a student's only stage."""
    (found,) = resolve.corpus_distillation(study, name).stages
    return found


def test_nothing_is_planned_any_more(study: Study) -> None:
    assert {slug for slug, _ in study.exhibits} == set(PAPERS)
    for exhibit in study.exhibits.values():
        assert not getattr(exhibit, "planned", None)
        assert not [row for row in getattr(exhibit, "rows", []) if isinstance(row, Row) and row.planned]


def test_every_score_that_a_table_shows_has_settings(study: Study) -> None:
    pairs = {(cell.student, cell.task) for cell in expand(study)}
    assert {task for _, task in pairs} == {*GLUE, "squad2", "xnli", "mlqa"}
    assert {student for student, _ in pairs} == set(study.students)
    for student, task in pairs:
        assert resolve.score(study, student, task).task.task_type == study.tasks[task].task_type


def test_no_two_students_are_distilled_alike(study: Study) -> None:
    """No two students are distilled alike: work that a table and a figure share belongs to one student."""
    found = [
        str(resolve.corpus_distillation(study, name)) for name, student in study.students.items() if student.stages
    ]
    assert len(set(found)) == len(found)


def test_every_student_says_where_its_paper_is_silent(study: Study) -> None:
    assert not [name for name, student in study.students.items() if not student.deviations]


@pytest.mark.parametrize(
    ("name", "pairs", "heads", "data"),
    [
        ("6x384-bert-base", [(6, 12)], 48, ENGLISH),
        ("6x768-bert-large", [(6, 21)], 64, ENGLISH),
        ("12x384-bert-large-wwm", [(12, 21)], 64, ENGLISH),
        ("12x768-roberta-large", [(12, 19)], 64, ENGLISH),
        ("6x384-roberta-base-24-heads", [(6, 12)], 24, ENGLISH),
        ("12x384-xlm-r-base", [(12, 12)], 48, MULTILINGUAL),
        ("6x384-xlm-r-large", [(6, 19)], 64, MULTILINGUAL),
        ("6x384-xlm-r-large-layer-3", [(6, 3)], 64, MULTILINGUAL),
    ],
)
def test_what_students_of_minilmv2_learn(study: Study, name: str, pairs: Any, heads: int, data: str) -> None:
    found = stage(study, f"minilmv2-{name}")
    (term,) = found.terms
    assert (found.data, term.objective, term.pairs) == (data, "relations", pairs)
    assert (term.options["heads"], term.options["pairs"]) == (heads, ["q-q", "k-k", "v-v"])
    assert study.students[f"minilmv2-{name}"].initialisation.random


def test_how_students_of_minilmv2_are_distilled(study: Study) -> None:
    plain = stage(study, "minilmv2-6x384-bert-base").schedule
    assert (plain.steps, plain.batch_size, plain.learning_rate) == (400_000, 256, 6e-4)
    assert plain.steps * plain.warmup_ratio == 4_000
    assert (plain.betas, plain.dropout, plain.weight_decay) == ((0.9, 0.999), 0.1, 0.01)
    many = stage(study, "minilmv2-6x384-xlm-r-base").schedule
    assert (many.steps, many.steps * many.warmup_ratio) == (1_000_000, 4_000)
    assert stage(study, "minilmv2-12x768-roberta-large").schedule.betas == (0.9, 0.98)
    assert study.corpora[ENGLISH].block == study.corpora[MULTILINGUAL].block == 512


@pytest.mark.parametrize(
    ("name", "task", "points", "epochs", "batch"),
    [
        ("6x384-bert-base", "mnli", 15, 3, 32),
        ("6x384-bert-base", "cola", 5, 25, 32),
        ("6x384-bert-base", "squad2", 4, 3, 32),
        ("6x384-xlm-r-base", "xnli", 4, 10, 64),
        ("6x384-xlm-r-base", "mlqa", 4, 4, 32),
        ("6x384-xlm-r-base-acl", "xnli", 2, 5, 128),
        ("6x384-xlm-r-base-acl", "mlqa", 2, 3, 32),
    ],
)
def test_how_students_of_minilmv2_are_fine_tuned(
    study: Study, name: str, task: str, points: int, epochs: int, batch: int
) -> None:
    found = resolve.grid(study, f"minilmv2-{name}", task)
    assert len(found.points) == points
    first = found.points[0].applied_to(found.schedule)
    assert (first.epochs, first.batch_size, first.warmup_ratio, first.weight_decay) == (
        epochs,
        batch,
        0.1,
        0.01,
    )
    one = task in ("xnli", "mlqa")  # the best single model on dev; elsewhere the mean of four runs
    assert len(study.protocols[study.students[f"minilmv2-{name}"].protocol].seeds) == (1 if one else 4)


def test_the_text_of_the_proceedings_fine_tunes_the_same_student(study: Study) -> None:
    found = resolve.corpus_distillation(study, "minilmv2-6x384-xlm-r-large-acl")
    assert found.parent == resolve.corpus_distillation(study, "minilmv2-6x384-xlm-r-large")
    assert found.stages == []


@pytest.mark.parametrize(
    ("name", "objective", "pairs"),
    [
        ("hs-layer-12-6l", "hidden-sequence", [(6, 12)]),
        ("hs-last-3l", "hidden-sequence", [(1, 10), (2, 11), (3, 12)]),
        ("hs-uniform-4l", "hidden-sequence", [(1, 3), (2, 6), (3, 9), (4, 12)]),
        ("hs-uniform-last-3l", "hidden-sequence", [(1, 4), (1, 10), (2, 8), (2, 11), (3, 12)]),
        ("minilmv2-layer-11-4l", "relations", [(4, 11)]),
        ("directminilm-layer-10-3l", "direct", [(3, 10)]),
        ("od-uniform-6l-distilbert", "soft-labels", []),
    ],
)
@pytest.mark.parametrize("language", ["mono", "multi"])
def test_what_students_of_udagawa2023_learn(study: Study, name: str, objective: str, pairs: Any, language: str) -> None:
    (term,) = stage(study, f"udagawa2023-{name}-{language}").terms
    assert (term.objective, term.pairs) == (objective, pairs)
    assert term.options.get("heads") == {"relations": 48, "direct": 12}.get(objective)


def test_how_students_of_udagawa2023_are_distilled(study: Study) -> None:
    def length(name: str) -> tuple[Any, ...]:
        found = stage(study, f"udagawa2023-{name}").schedule
        assert (found.warmup_ratio, found.betas) == (0.05, (0.9, 0.98))
        return found.epochs, found.learning_rate, found.batch_size

    assert length("hs-last-4l-mono") == (7, 5e-4, 30 * 32)
    assert length("minilmv2-layer-10-4l-mono") == (7, 5e-4, 30 * 32)
    assert length("od-last-4l-mono") == (3, 3e-4, 30 * 32)
    assert length("hs-last-4l-multi") == (7, 5e-4, 2 * 32)
    assert length("directminilm-layer-10-4l-multi") == (7, 8e-4, 2 * 32)
    assert length("od-last-4l-multi") == (3, 3e-4, 2 * 32)
    parent = study.students["udagawa2023-od-last-4l-multi"].initialisation.student
    assert parent == "udagawa2023-hs-last-4l-multi"


@pytest.mark.parametrize(
    ("language", "task", "epochs"),
    [("mono", "mnli", 3), ("mono", "cola", 6), ("multi", "cola", 10), ("multi", "rte", 3), ("multi", "xnli", 5)],
)
def test_students_of_udagawa2023_are_fine_tuned_without_a_grid(
    study: Study, language: str, task: str, epochs: int
) -> None:
    found = resolve.grid(study, f"udagawa2023-minilmv2-layer-12-6l-{language}", task)
    schedule = found.schedule
    assert found.points == [PointSettings()]
    assert (schedule.epochs, schedule.learning_rate, schedule.batch_size) == (epochs, 2e-5, 32)
    assert choose([], []) == PointSettings()  # without a grid there is no trial to choose from


def test_the_output_distribution_is_read_through_the_published_head(study: Study) -> None:
    name = "udagawa2023-od-last-4l-mono"
    assert resolve.corpus_distillation(study, name).teacher.as_json()["head"] == "published"
    assert questions.fitted_on(study, name) is None
    assert questions.corpus_of_output(study, "udagawa2023-hs-last-4l-mono") is None
    assert "head" not in resolve.corpus_distillation(study, "udagawa2023-hs-last-4l-mono").teacher.as_json()


def test_a_grid_of_a_task_stands_in_place_of_the_protocols(study: Study) -> None:
    protocol = Protocol.model_validate({
        "title": "t", "seeds": [5], "schedule": {"epochs": 3, "batch_size": 8, "learning_rate": 0.1},
        "grid": {"learning_rate": [0.1], "batch_size": [8], "seed": 2},
        "grids": {"long": {"learning_rate": [0.2, 0.3], "batch_size": [4], "seed": 3}},
    })  # fmt: skip
    assert protocol.grid_of("short") is protocol.grid
    grid = protocol.grid_of("long")
    assert grid is not None
    assert (len(grid.points()), grid.seed) == (2, 3)
    assert study.protocols["udagawa2023-mono"].grid_of("mnli") is None


def test_a_plan_lists_no_part_of_a_grid_that_is_not_there() -> None:
    study = open_study(Config(papers=["udagawa2023"], scale="paper"))
    assert grid_parts(study, "udagawa2023-mono-teacher", "mnli") == []


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


def test_relation_heads_divide_the_widths_of_the_reduced_scale() -> None:
    """Students of a large teacher have width 144 at this scale: 48 relation heads divide it, 64 do not."""
    small = open_study(Config(papers=PAPERS, scale="reduced"))
    assert small.running["minilmv2-6x384-bert-large"].stages[0].terms[0].options["heads"] == 48
