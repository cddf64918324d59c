"""Tests of what shares a job: students that are distilled side by side, seeds of a student, points of a grid."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from retort.checksums import Maker, Parent, take
from retort.cost.estimates import Estimates
from retort.cost.jobs import Jobs
from retort.errors import RetortError
from retort.plan import sharing
from retort.plan.plan import Plan
from retort.plan.reads import InputFunctions
from retort.plan.sharing import (
    companions_of,
    divided_seeds,
    folders_read,
    grid_parts,
    jobs_of,
    remembered_group,
    settings_of_group,
    student_is_made,
    students_in,
)
from retort.settings.inputs import settings_section
from retort.specs.config import Config, read_config
from retort.study.addresses import names_of_seeds, score_file_of_seed
from retort.study.load import open_study

from tests.tiny.edit import AGNOSTIC, STUDENTS, TASK, add, set_value

FIRST, SECOND = "tiny-narrow", "tiny-second"
FOLDER = Path("results/trials/tiny-predicting/mood")
TWO_LAYERS = {"layers": 2, "heads": 3, "hidden": 24, "intermediate": 48}
STARTED = {
    "terms": [{"objective": "hidden-sequence", "mapping": "last"}],
    "initialisation": {"student": "tiny-narrow"},
    "architecture": {"layers": 1, "heads": 2, "hidden": 16, "intermediate": 32},
}
FITTED = {"terms": [{"objective": "soft-labels"}]}  # their teacher gets a masked-LM head


@pytest.fixture(scope="module")
def paper() -> Plan:
    """Return the plan at scale paper."""
    return Plan(Config(scale="paper", students_together=8))


# rules of the papers that the first run leaves out, and why
DISTILLS, GRID = "distill_students", "run_grid"
LEFT_OUT = dict.fromkeys(("encode_test", "predict_test", "write_submission"), "a server scores what they make")


def plan_of(study_folder: Path, **changes: Any) -> Plan:
    """Return the plan of the tiny study with a second student, which differs from the first in these keys."""
    stage: dict[str, Any] = {"data": "sentences", "terms": [{"objective": "value-relation", "mapping": "last"}]}
    student: dict[str, Any] = {"title": "t", "teacher": "tiny-teacher", "protocol": "short", "stages": [stage]}
    student |= {"initialisation": {"random": True}, "architecture": TWO_LAYERS}
    stage |= {key: value for key, value in changes.items() if key not in student}
    student |= {key: value for key, value in changes.items() if key in student}
    add(study_folder, STUDENTS, f"second: {json.dumps(student)}\n")
    for name in ("narrow", "second"):
        add(study_folder, "papers/tiny/table4.yaml", f"  - {{student: tiny-{name}, label: {name}}}\n")
    return Plan(read_config({"papers": ["tiny"], "study": str(study_folder), "precision": "float32"}))


@pytest.mark.parametrize(
    ("changes", "together"),
    [
        ({}, True),
        ({"schedule": {"learning_rate": 0.01}}, True),
        ({"steps_factor": 0.5}, True),
        ({"schedule": {"freeze": []}}, True),
        ({"schedule": {"dropout": 0.3}}, True),
        ({"schedule": {"batch_size": 4}}, False),
        ({"teacher_dropout": True}, False),
        (FITTED, False),
        (STARTED, False),
        ({"stages": []}, False),
    ],
)
def test_students_that_see_the_same_batches_are_companions(
    study_folder: Path, changes: dict[str, Any], together: bool
) -> None:
    plan = plan_of(study_folder, **changes)
    jobs = [job for job in jobs_of(plan, plan.task_agnostic) if FIRST in job]
    assert jobs == ([[FIRST, SECOND]] if together else [])


def test_a_job_on_another_machine_has_the_companions_that_the_run_was_planned_with(study_folder: Path) -> None:
    assert companions_of(plan_of(study_folder)) == {"tiny-teacher_1": [FIRST, SECOND]}
    config = {"papers": ["tiny"], "study": str(study_folder), "companions": {"tiny-teacher_7": [SECOND, FIRST]}}
    assert companions_of(Plan(read_config(config))) == config["companions"]


def test_only_students_that_are_still_to_be_made_have_companions(study_folder: Path, here: Path) -> None:
    plan = plan_of(study_folder)
    settings = plan.settings.students[FIRST]
    corpus, folder = Path("results/corpora/sentences/encoder"), Path(f"results/students/{FIRST}/model")

    def made() -> bool:
        return student_is_made(FIRST, settings, [str(corpus)])

    assert not made()
    Path(f"results/scores/{FIRST}/mood").mkdir(parents=True)
    assert not made()  # folders of a job that was begun
    score = Path(f"results/scores/{FIRST}/mood/1-2.json")
    score.write_text("{}")
    assert made()  # the folder was deleted after the scores were made
    score.unlink()
    folder.mkdir(parents=True)
    assert made()  # it does not tell how it was made
    (folder / "README.md").write_text(f"# A model\n\n{settings_section(settings)}")
    assert made()
    assert companions_of(plan) == {}
    (folder / "README.md").write_text(f"# A model\n\n{settings_section(settings.model_copy(update={'seed': 9}))}")
    assert not made()
    assert companions_of(plan) == {"tiny-teacher_1": [FIRST, SECOND]}
    (folder / "README.md").write_text(f"# A model\n\n{settings_section(settings)}")
    corpus.mkdir(parents=True)
    (corpus / "data").write_text("old")
    maker = Maker(commit="c", code="d")
    parent = take(corpus, "build_corpus", maker, [], {})
    read = {str(corpus): Parent(commit="c", code="d", sha256=parent.digest)}
    take(folder, f"distill_students({FIRST})", maker, [], read)
    assert made()
    (corpus / "data").write_text("new")
    take(corpus, "build_corpus", maker, [], {})
    assert not made()


def test_a_finished_student_keeps_the_group_that_it_was_distilled_in_and_no_other_group_has_its_name(
    study_folder: Path, here: Path
) -> None:
    plan, finished = plan_of(study_folder), Path("results/students/tiny-predicting/model")
    finished.mkdir(parents=True)
    (finished / "README.md").write_text("# A model")
    assert remembered_group("tiny-predicting") == ""  # without checksums, nothing tells it
    take(finished, "distill_students(tiny-teacher_1)", Maker(commit="c", code="d"), [], {})
    assert remembered_group("tiny-predicting") == "tiny-teacher_1"
    groups = companions_of(plan)
    assert groups == {"tiny-teacher_2": [FIRST, SECOND]}
    plan.share(groups, {})
    reads, students = InputFunctions(plan), (FIRST, SECOND, "tiny-predicting")
    found = [reads.distilled_group(SimpleNamespace(student=student)) for student in students]
    assert found == [f"results/distilled/tiny-teacher_{number}" for number in (2, 2, 1)]
    assert [students_in(plan, f"tiny-teacher_{number}") for number in (2, 1)] == [[FIRST, SECOND], ["tiny-predicting"]]
    with pytest.raises(RetortError, match="no students are distilled as the group 'tiny-teacher_3'; see `retort list`"):
        students_in(plan, "tiny-teacher_3")


def test_the_group_of_a_student_alone_has_its_name(study_folder: Path, here: Path) -> None:
    plan = plan_of(study_folder, teacher_dropout=True)
    assert InputFunctions(plan).distilled_group(SimpleNamespace(student=SECOND)) == f"results/distilled/{SECOND}"
    assert students_in(plan, SECOND) == [SECOND]
    settings = settings_of_group(plan)(SimpleNamespace(group=SECOND), None)
    assert settings == {SECOND: plan.settings.students[SECOND].as_json()}


def test_a_folder_that_a_stopped_run_left_is_of_a_group_only_with_the_settings_of_now(
    study_folder: Path, here: Path
) -> None:
    def left(plan: Plan, group: str, name: str, **changed: int) -> None:
        """Leave a distilled student, as a job does whose run was killed before the student was saved."""
        folder = Path("results/distilled", group, name)
        folder.mkdir(parents=True, exist_ok=True)
        settings = plan.settings.students[name].model_copy(update=changed)
        (folder / "README.md").write_text(f"# A model\n\n{settings_section(settings)}")

    plan = plan_of(study_folder)
    left(plan, "tiny-teacher_1", FIRST)
    assert companions_of(plan) == {"tiny-teacher_2": [FIRST, SECOND]}  # the folder lacks a companion
    left(plan, "tiny-teacher_1", SECOND)
    assert companions_of(plan) == {"tiny-teacher_1": [FIRST, SECOND]}
    left(plan, "tiny-teacher_1", SECOND, seed=9)
    assert companions_of(plan) == {"tiny-teacher_2": [FIRST, SECOND]}
    alone = Plan(plan.config.model_copy(update={"students_together": 1}))
    left(alone, SECOND, SECOND)
    assert companions_of(alone) == {}
    left(alone, SECOND, SECOND, seed=9)
    assert companions_of(alone) == {"tiny-teacher_2": [SECOND]}
    alone.share(companions_of(alone), {})
    assert InputFunctions(alone).distilled_group(SimpleNamespace(student=SECOND)) == "results/distilled/tiny-teacher_2"
    assert students_in(alone, "tiny-teacher_2") == [SECOND]


def test_all_students_of_a_group_read_what_its_first_one_reads(study_folder: Path, here: Path) -> None:
    plan = plan_of(study_folder)
    plan.share(companions_of(plan), {})
    jobs = Jobs(plan, Estimates(plan))
    job = jobs.at("results/distilled/tiny-teacher_1")
    assert job
    assert job.name == "distill_students(tiny-teacher_1)"
    for student in (FIRST, SECOND):
        assert sorted(set(job.inputs)) == sorted(set(folders_read(plan, student)))
        saved = jobs.at(f"results/students/{student}/model")
        assert saved
        assert saved.inputs == ("results/distilled/tiny-teacher_1",)


def test_memory_divides_students_among_jobs(paper: Plan) -> None:
    students = max(jobs_of(paper, paper.task_agnostic), key=len)
    assert len(students) > 5
    parts = jobs_of(paper, students, lambda names: len(names) <= 2)
    assert [name for part in parts for name in part] == students[: 2 * len(parts)]
    assert len(students) - 2 * len(parts) in (0, 1)  # one that is left over is distilled alone
    assert jobs_of(paper, students, lambda names: False) == []


@pytest.mark.parametrize(
    ("most", "hours", "divided"),
    [
        (None, 100, ["1-2-3"]),
        (3, 1, ["1-2-3"]),
        (2.9, 1, ["1-2", "3"]),
        (2, 1, ["1-2", "3"]),
        (2, 1.2, ["1", "2", "3"]),  # two together would take too long
        (2, 1.9, ["1", "2", "3"]),
        (2, 50, ["1", "2", "3"]),
        (2, 0.0, ["1-2-3"]),
    ],
)
def test_the_seeds_of_a_student_are_divided_by_its_longest_task(
    most: float | None, hours: float, divided: list[str], config: dict[str, Any]
) -> None:
    plan = Plan(read_config({**config, "hours_of_seeds": most}))
    plan.share({}, divided_seeds(plan, lambda _, task: hours if task == "mood" else hours / 2))
    assert [names_of_seeds(plan.study, "tiny-kd", task) for task in ("mood", "rating")] == [divided] * 2
    assert names_of_seeds(plan.study, "tiny-teacher", "mood") == ["1"]


def test_each_job_of_seeds_has_a_file_and_a_log_of_its_own_in_all_processes_of_a_run(config: dict[str, Any]) -> None:
    plan = Plan(read_config({**config, "hours_of_seeds": 2}))
    divided = divided_seeds(plan, lambda *_: 1.0)
    assert divided == {
        f"{student}/{task}": ["1-2", "3"] for student in ("tiny-attention", "tiny-kd") for task in ("mood", "rating")
    }
    assert divided_seeds(Plan(read_config({**config, "seeds_divided": divided})), lambda *_: 50.0) == divided
    plan.share({}, divided)
    jobs = Jobs(plan, Estimates(plan))
    found = [jobs.at(score_file_of_seed(plan.study, "tiny-kd", "mood", seed)) for seed in (1, 2, 3)]
    assert [job.key for job in found if job] == [
        f"results/logs/distill_on_task/tiny-kd.mood.{seeds}.log" for seeds in ("1-2", "1-2", "3")
    ]
    assert [job.name for job in found if job] == [
        f"distill_on_task(tiny-kd, mood, {seeds})" for seeds in ("1-2", "1-2", "3")
    ]
    assert [job.result for job in found if job] == [
        f"results/scores/tiny-kd/mood/{seeds}.json" for seeds in ("1-2", "1-2", "3")
    ]
    assert jobs.at("results/scores/tiny-kd/mood/seed-3.json") is None


def test_finished_scores_keep_their_division_and_a_further_seed_is_trained_with_them(config: dict[str, Any]) -> None:
    folder = Path("results/scores/tiny-kd/mood")
    folder.mkdir(parents=True)
    for seeds in ("1", "2-3"):
        (folder / f"{seeds}.json").write_text("[]")
        (folder / f"{seeds}.answers.json").write_text("{}")
    for most in (None, 2):
        plan = Plan(read_config({**config, "hours_of_seeds": most}))
        assert divided_seeds(plan, lambda *_: 1.0)["tiny-kd/mood"] == ["1", "2-3"]
    (folder / "2-3.json").unlink()  # a seed that is not there is divided anew, with the others
    assert divided_seeds(Plan(read_config(config)), lambda *_: 1.0) == {}


def parts(study_folder: Path) -> int:
    """Return the number of jobs of the grid."""
    paths = grid_parts(open_study(Config(papers=["tiny"], study=str(study_folder))), "tiny-predicting", "mood")
    assert paths == [f"{FOLDER}/{part}-of-{len(paths)}.jsonl" for part in range(1, len(paths) + 1)]
    return len(paths)


def test_task_and_work_and_a_finished_grid_decide_the_parts_of_a_grid(
    study_folder: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_value(study_folder, AGNOSTIC, "grid", "learning_rate", to=[0.001, 0.002, 0.003])
    set_value(study_folder, AGNOSTIC, "grid", "batch_size", to=[8, 16])
    assert parts(study_folder) == 1
    # six points of 6 steps of 8 or 16 rows of 16 tokens; 6 FLOPs for each of the weights of a layer of 16 x 32
    work = 6 * (4 * 16**2 + 2 * 16 * 32) * 3 * 6 * (8 + 16) * 16
    for most, expected in ((work, 1), (work - 1, 2), (work / 3.5, 4), (1, 6)):
        monkeypatch.setattr(sharing, "WORK", most)
        assert parts(study_folder) == expected
    FOLDER.mkdir(parents=True)
    for part in (1, 2, 3):
        (FOLDER / f"{part}-of-4.jsonl").write_text("")
    assert parts(study_folder) == 6  # one of four is not finished
    (FOLDER / "4-of-4.jsonl").write_text("")
    assert parts(study_folder) == 4
    for said, expected in ((2, 2), (9, 6)):
        set_value(study_folder, TASK, "jobs", to={"grid_parts": said})
        assert parts(study_folder) == expected
    set_value(study_folder, AGNOSTIC, "grid", to=None)
    assert parts(study_folder) == 0


def test_the_first_run_has_every_kind_of_rule_that_the_papers_have(paper: Plan) -> None:
    """Whoever types `make run` sees the whole chain: several students in one job of the corpus, a grid in parts."""
    ours = Plan(Config())
    reported, pocket = (list(Jobs(plan).behind(["reports/index.html"])) for plan in (paper, ours))
    missing = {job.rule.name for job in reported} - {job.rule.name for job in pocket}
    assert missing == LEFT_OUT.keys()
    assert any(len(settings_of_group(ours)(job.wildcards, None)) > 1 for job in pocket if job.rule.name == DISTILLS)
    grids = {
        (job.wildcards.student, job.wildcards.task): job.wildcards.parts for job in pocket if job.rule.name == GRID
    }
    assert {task for _, task in grids} == {"tweets", "reviews"}
    assert set(grids.values()) == {"2"}
