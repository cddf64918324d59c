"""Tests of which students share stored activations: those with something still to make, and what a stopped run left."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from retort.checksums import Maker, Parent, digest_of, take, whole
from retort.cost.jobs import Jobs
from retort.errors import RetortError
from retort.plan.plan import Plan
from retort.plan.reads import InputFunctions
from retort.plan.shared_activations import leftovers, settings_of_activations, shared_activations
from retort.specs.config import read_config
from retort.study.addresses import answers_address, score_files, students_of_activations

KD, ATTENTION, TEACHER = "tiny-kd", "tiny-attention", Path("results/teachers/tiny-teacher/mood/1")
FIRST, SECOND = (f"results/activations/tiny-teacher/mood/{number}" for number in (1, 2))
MAKER = Maker(commit="c", code="d")


@pytest.fixture
def plan(config: dict[str, Any], here: Path) -> Plan:
    """Return the plan of the tiny study, in a folder that holds the teacher of its task alone."""
    make(TEACHER, "weights")
    return planned(config)


def planned(config: dict[str, Any], **changes: Any) -> Plan:
    """Return a plan in which it is decided what shares a job."""
    return Jobs(Plan(read_config({**config, **changes}))).plan


def on_mood(plan: Plan, *claimed: str) -> dict[str, list[str]]:
    """Return which students read which stored activations on one task."""
    return {folder: students for folder, students in shared_activations(plan, claimed).items() if "/mood/" in folder}


def make(folder: Path, content: str, parents: dict[str, Parent] | None = None) -> None:
    """Write a file to a folder and take its checksums, as a job would that reads these parents."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "file").write_text(content)
    take(folder, "made", MAKER, [], parents or {})


def parent_of(path: Path) -> Parent:
    """Return what a job notes of a result that it reads."""
    found = whole(path)
    assert found
    return Parent(commit="c", code="d", sha256=found.digest)


def score(plan: Plan, student: str, folder: str, settings: object = None) -> Path:
    """Write a score that was made from stored activations, with the settings of the study or with others."""
    path = Path(score_files(plan.study, student, "mood")[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[]")
    Path(answers_address(str(path))).write_text("{}")
    digest = digest_of(settings or plan.settings.distillations[student]["mood"].as_json())
    read = {str(TEACHER): parent_of(TEACHER), folder: Parent(commit="c", code="d", sha256="gone")}
    take(path, "made", MAKER, [], read, settings=digest)
    return path


def store(plan: Plan, path: str, *students: str, **changes: Any) -> None:
    """Make a folder of stored activations for some students, as a stopped run leaves it."""
    folder = Path(path)
    folder.mkdir(parents=True)
    held = {name: {**plan.settings.distillations[name]["mood"].as_json(), **changes} for name in students}
    students_of_activations(folder).write_text(json.dumps(held))
    make(folder, "tensors", {str(TEACHER): parent_of(TEACHER)})


def test_all_students_of_a_teacher_on_a_task_share_its_activations(plan: Plan) -> None:
    assert on_mood(plan) == {FIRST: [ATTENTION, KD]}
    reads, of = InputFunctions(plan), SimpleNamespace(student=KD, task="mood", seeds="1-2-3", part="1", parts="2")
    assert reads.activations_of_seeds(of) == reads.activations_of_grid(of) == FIRST
    settings = settings_of_activations(plan)(SimpleNamespace(teacher="tiny-teacher", task="mood", number="1"), None)
    assert settings.keys() == {ATTENTION, KD}


def test_what_is_made_keeps_the_activations_that_it_was_made_from(plan: Plan, config: dict[str, Any]) -> None:
    score(plan, KD, FIRST)
    later = planned(config)
    assert on_mood(later) == {SECOND: [ATTENTION]}
    reads = InputFunctions(later)
    for student, folder in {KD: FIRST, ATTENTION: SECOND}.items():
        assert reads.activations_of_seeds(SimpleNamespace(student=student, task="mood", seeds="1-2-3")) == folder
    of = SimpleNamespace(teacher="tiny-teacher", task="mood", number="1")
    assert settings_of_activations(later)(of, None).keys() == {KD}
    with pytest.raises(RetortError, match="no student reads results/activations/tiny-teacher/mood/3"):
        settings_of_activations(later)(SimpleNamespace(teacher="tiny-teacher", task="mood", number="3"), None)


@pytest.mark.parametrize("change", ["settings", "teacher", "no checksums", "no score", "no answers"])
def test_what_is_made_otherwise_is_made_again(plan: Plan, config: dict[str, Any], change: str) -> None:
    path = score(plan, KD, FIRST, settings={"schedule": "other"} if change == "settings" else None)
    if change == "teacher":
        make(TEACHER, "other weights")
    if change == "no checksums":
        (path.parent / f".{path.name}.checksums.json").unlink()
    if change in ("no score", "no answers"):
        (path if change == "no score" else Path(answers_address(str(path)))).unlink()
    assert on_mood(planned(config)) == {FIRST: [ATTENTION] if change == "no checksums" else [ATTENTION, KD]}


def test_students_read_on_what_a_stopped_run_has_left(plan: Plan, config: dict[str, Any]) -> None:
    store(plan, FIRST, KD, ATTENTION)
    score(plan, KD, FIRST)
    later = planned(config)
    assert on_mood(later) == {FIRST: [ATTENTION]}
    assert leftovers(later, ()) == []
    of = SimpleNamespace(teacher="tiny-teacher", task="mood", number="1")
    assert settings_of_activations(later)(of, None).keys() == {ATTENTION, KD}  # if it has to be made anew
    assert on_mood(planned(config), FIRST) == {SECOND: [ATTENTION]}  # another run is at work on it


@pytest.mark.parametrize("change", ["other settings", "another student", "another teacher", "no settings", "damage"])
def test_what_is_left_of_something_else_is_not_read(plan: Plan, config: dict[str, Any], change: str) -> None:
    changes = {"precision": "bfloat16"} if change == "other settings" else {}
    store(plan, FIRST, KD if change == "another student" else ATTENTION, **changes)
    score(plan, KD, FIRST)
    if change == "another teacher":
        make(TEACHER, "other weights")
    if change == "no settings":
        students_of_activations(Path(FIRST)).unlink()
    if change == "damage":
        (Path(FIRST) / ".checksums.json").write_text("{")
    later = planned(config)
    assert on_mood(later) == {SECOND: [ATTENTION, KD] if change == "another teacher" else [ATTENTION]}
    assert leftovers(later, ()) == [Path(FIRST)]
    assert leftovers(later, [FIRST]) == []


def test_jobs_have_what_the_run_has_decided(plan: Plan, config: dict[str, Any]) -> None:
    decided = {"results/activations/tiny-teacher/mood/7": [KD]}
    of_job = planned(config, activations=decided)
    assert of_job.activations == decided
    assert of_job.activations_read == {(KD, "mood"): "results/activations/tiny-teacher/mood/7"}
