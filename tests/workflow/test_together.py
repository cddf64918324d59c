"""Students of one teacher that are distilled side by side: the bytes of students alone, and what a change re-runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import snakemake
from tests.tiny.edit import AGNOSTIC, STUDENTS, add, change
from tests.tiny.make import make_study
from tests.workflow.test_incremental import planned, restoring

pytestmark = pytest.mark.workflow

STUDENT = """{name}:
  title: Values of the corpus
  teacher: tiny-teacher
  protocol: short-agnostic
  architecture: {{layers: 2, heads: 3, hidden: 24, intermediate: 48}}
  initialisation: {{layers: [2, 4]}}
  stages:
    - data: sentences
      steps_factor: {steps}
      terms: [{{objective: value-relation, mapping: last, weight: {weight}}}]
"""
NAMES = ("narrow", "values", "more")
RATES = {"values": "weight: 2.0}]", "more": "weight: 4.0}]"}
ROW = "  - {{student: tiny-{name}, label: {name}}}\n"
ALL = [f"results/trials/tiny-{name}/mood/1-of-1.jsonl" for name in NAMES]


def make(folder: Path, students_together: int) -> Path:
    """Make a tiny study of three students of one teacher, with different numbers of steps."""
    make_study(folder, students_together=students_together)
    for name, weight, steps in (("values", 2.0, 0.5), ("more", 4.0, 1.0)):
        add_student(folder, name, weight, steps)
    add(folder / "study", "papers/tiny/table4.yaml", ROW.format(name="narrow"))
    return folder


def add_student(folder: Path, name: str, weight: float, steps: float) -> None:
    add(folder / "study", STUDENTS, STUDENT.format(name=name, weight=weight, steps=steps))
    add(folder / "study", "papers/tiny/table4.yaml", ROW.format(name=name))


def model(folder: Path, name: str) -> Path:
    return folder / f"results/students/tiny-{name}/model/model.safetensors"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a study whose students were distilled side by side, and tried on a task."""
    folder = make(tmp_path_factory.mktemp("together"), 4)
    said = snakemake(folder, *ALL).stderr
    assert "distill_students(tiny-teacher_1): done: 3 students" in said
    return folder


@pytest.fixture
def study(made: Path) -> Iterator[Path]:
    yield from restoring(made)


def test_the_bytes_are_those_of_students_alone(made: Path, tmp_path: Path) -> None:
    alone = make(tmp_path / "alone", 1)
    targets = [f"results/students/tiny-{name}/model" for name in NAMES]
    assert "tiny-teacher_1" not in snakemake(alone, *targets).stderr
    for name in NAMES:
        assert model(made, name).read_bytes() == model(alone, name).read_bytes()
        cards = [(model(folder, name).parent / "README.md").read_text() for folder in (made, alone)]
        assert cards[0] == cards[1]
        assert "\n- Made-up rated sentences: as the owner of the folder says\n" in cards[0]


def test_one_student_changes_then_two_and_the_grid_of_all(study: Path) -> None:
    change(study / "study", STUDENTS, RATES["values"], "weight: 3.0}]")
    jobs, outputs = planned(study, *ALL)
    assert jobs == {"distill_students": 1, "save_student": 1, "run_grid": 1}
    assert outputs == {"results/distilled/tiny-values", "results/students/tiny-values/model", ALL[1]}
    change(study / "study", STUDENTS, RATES["more"], "weight: 3.0}]")
    assert planned(study, *ALL)[0] == {"distill_students": 1, "save_student": 2, "run_grid": 2}
    change(study / "study", AGNOSTIC, "learning_rate: [1.0e-3, 2.0e-3]", "learning_rate: [2.0e-3]")
    jobs, outputs = planned(study, *ALL)
    assert jobs == {"distill_students": 1, "save_student": 2, "run_grid": 3}
    assert "results/students/tiny-narrow/model" not in outputs


def test_a_run_after_a_change_leaves_the_others_as_they_are(study: Path) -> None:
    before = model(study, "narrow").stat().st_mtime_ns, model(study, "values").read_bytes()
    for name in ("values", "more"):
        change(study / "study", STUDENTS, RATES[name], "weight: 3.0}]")
    said = snakemake(study, *ALL).stderr
    assert "done: 2 students" in said
    assert model(study, "narrow").stat().st_mtime_ns == before[0]
    assert model(study, "values").read_bytes() != before[1]
    assert planned(study, *ALL) == ({}, set())
