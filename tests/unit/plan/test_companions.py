"""Tests of which students are distilled side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from retort.checksums import Maker, Parent, take
from retort.cost.jobs import Job, Jobs
from retort.plan.companion_groups import Companions, is_made, jobs_of
from retort.plan.plan import Plan
from retort.settings.card import section
from retort.specs.config import Config, read_config
from retort.study.questions import lineage

from tests.tiny.edit import STUDENTS, add

FIRST, SECOND = "tiny-narrow", "tiny-second"
ROW = "  - {{student: tiny-{name}, label: {name}}}\n"


@pytest.fixture(scope="module")
def paper() -> Plan:
    """Return the plan at scale paper."""
    return Plan(Config(scale="paper", students_together=8))


def plan_of(study_folder: Path, **changes: Any) -> Plan:
    """Return the plan of the tiny study with a second student, which differs from the first in these keys."""
    stage: dict[str, Any] = {"data": "sentences", "terms": [{"objective": "value-relation", "mapping": "last"}]}
    student = {
        "title": "t", "teacher": "tiny-teacher", "protocol": "short", "initialisation": {"random": True},
        "architecture": {"layers": 2, "heads": 3, "hidden": 24, "intermediate": 48}, "stages": [stage],
    }  # fmt: skip
    stage |= {key: value for key, value in changes.items() if key not in student}
    student |= {key: value for key, value in changes.items() if key in student}
    add(study_folder, STUDENTS, f"second: {json.dumps(student)}\n")
    for name in ("narrow", "second"):
        add(study_folder, "papers/tiny/table4.yaml", ROW.format(name=name))
    return Plan(read_config({"papers": ["tiny"], "study": str(study_folder), "precision": "float32"}))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"schedule": {"learning_rate": 0.01}},
        {"steps_factor": 0.5},
        {"schedule": {"freeze": []}},
        {"schedule": {"dropout": 0.3}},
    ],
)
def test_students_that_see_the_same_batches_are_companions(study_folder: Path, changes: dict[str, Any]) -> None:
    plan = plan_of(study_folder, **changes)
    assert jobs_of(plan, plan.task_agnostic) == [[FIRST, SECOND]]


@pytest.mark.parametrize(
    "changes",
    [
        {"schedule": {"batch_size": 4}},
        {"teacher_dropout": True},
        {"terms": [{"objective": "soft-labels"}]},  # another teacher: with a masked-LM head
        {
            "terms": [{"objective": "hidden-sequence", "mapping": "last"}],
            "initialisation": {"student": "tiny-narrow"},
            "architecture": {"layers": 1, "heads": 2, "hidden": 16, "intermediate": 32},
        },
        {"stages": []},
    ],
)
def test_students_that_do_not_have_no_companions(study_folder: Path, changes: dict[str, Any]) -> None:
    plan = plan_of(study_folder, **changes)
    assert [job for job in jobs_of(plan, plan.task_agnostic) if FIRST in job] == []


def test_the_jobs_of_the_papers_hold_each_student_once(paper: Plan) -> None:
    jobs, settings = jobs_of(paper, paper.task_agnostic), paper.settings.students
    members = [name for job in jobs for name in job]
    assert len(set(members)) == len(members) > 150
    for job in jobs:
        assert 2 <= len(job) <= 8
        for values in (
            {settings[name].seed for name in job},
            {settings[name].teacher.model_dump_json() for name in job},
            {tuple((stage.data, stage.schedule.batch_size) for stage in settings[name].stages) for name in job},
        ):
            assert len(values) == 1
        parents = {paper.study.students[name].initialisation.student for name in job}
        assert not parents & set(job)


@pytest.mark.parametrize(("name", "table"), [("minilmv2", "table1"), ("udagawa2023", "table3")])
def test_a_table_distils_no_student_that_it_does_not_show(paper: Plan, name: str, table: str) -> None:
    shown = {cell.student for cell in paper.cells if (cell.paper, cell.table) == (name, table)}
    needed = {ancestor for student in shown for ancestor in lineage(paper.study, student)}
    jobs = Jobs(paper).behind([f"reports/{name}/{table}.html"])
    distilled = [name for job in jobs if job.rule.kind.startswith("distill_") for name in students_of(job)]
    assert len(distilled) == len(set(distilled)) > 5
    assert set(distilled) == needed & set(paper.task_agnostic)


def students_of(job: Job) -> list[str]:
    """Return the task-agnostic students that a job distils."""
    return list(job.rule.students) or ([] if "task" in job.rule.wildcards else [job.wildcards.student])


def test_a_job_on_another_machine_has_the_companions_that_the_run_was_planned_with(study_folder: Path) -> None:
    plan = plan_of(study_folder)
    groups = {"tiny-teacher.1": [FIRST, SECOND]}
    assert Companions(plan).groups == groups
    config = {"papers": ["tiny"], "study": str(study_folder), "companions": {"tiny-teacher.7": [SECOND, FIRST]}}
    assert Companions(Plan(read_config(config))).groups == config["companions"]


def test_only_students_that_are_still_to_be_made_have_companions(
    study_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = plan_of(study_folder)
    settings = plan.settings.students[FIRST]
    corpus, folder = Path("results/corpora/sentences/encoder"), Path(f"results/students/{FIRST}/model")

    def made() -> bool:
        return is_made(FIRST, settings, [str(corpus)])

    assert not made()
    Path(f"results/scores/{FIRST}/mood").mkdir(parents=True)
    assert not made()  # folders of a job that was begun
    score = Path(f"results/scores/{FIRST}/mood/seed-1.json")
    score.write_text("{}")
    assert made()  # the folder was deleted after the scores were made
    score.unlink()
    folder.mkdir(parents=True)
    assert made()  # it does not tell how it was made
    (folder / "README.md").write_text(f"# A model\n\n{section(settings)}")
    assert made()
    assert Companions(plan).groups == {}
    (folder / "README.md").write_text(f"# A model\n\n{section(settings.model_copy(update={'seed': 9}))}")
    assert not made()
    assert Companions(plan).groups == {"tiny-teacher.1": [FIRST, SECOND]}
    (folder / "README.md").write_text(f"# A model\n\n{section(settings)}")
    corpus.mkdir(parents=True)
    (corpus / "data").write_text("old")
    maker = Maker(commit="c", code="d")
    parent = take(corpus, "build_corpus", maker, [], {})

    take(folder, "distill_student", maker, [], {str(corpus): Parent(commit="c", code="d", sha256=parent.digest)})
    assert made()
    (corpus / "data").write_text("new")
    take(corpus, "build_corpus", maker, [], {})
    assert not made()


def test_memory_divides_students_among_jobs(paper: Plan) -> None:
    students = max(jobs_of(paper, paper.task_agnostic), key=len)
    assert len(students) > 5
    parts = jobs_of(paper, students, lambda names: len(names) <= 2)
    assert [name for part in parts for name in part] == students[: 2 * len(parts)]
    assert len(students) - 2 * len(parts) in (0, 1)  # one that is left over is distilled alone
    assert jobs_of(paper, students, lambda names: False) == []
