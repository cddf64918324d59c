"""Tests of a study's cost: jobs and hours of each table, what is done already, and the command that prints them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from retort import checksums
from retort.checksums import Maker
from retort.cli import main
from retort.cost import measured
from retort.cost.jobs import Job, Jobs
from retort.cost.overview import Bill, bills_of, selected_exhibits, targets_of, with_models, work_of
from retort.cost.speed import Speed
from retort.plan.plan import Plan
from retort.plan.rule import Rule
from retort.settings.inputs import settings_section
from retort.specs.config import read_config
from retort.study.addresses import answers_address, name_of_seeds, score_file

PRINTED = Rule("profile_student", {"profile": "{student}"})


@pytest.fixture
def plan(study_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Return the plan of the tiny study, of which nothing has been run."""
    monkeypatch.chdir(study_folder.parent)
    return Plan(read_config({"papers": ["tiny"], "study": str(study_folder), "precision": "float32"}))


def job_of(plan: Plan, path: str) -> Job:
    """Return the job that makes a file."""
    job = Jobs(plan).at(path)
    assert job
    return job


def billed(plan: Plan, *names: str) -> dict[str, Bill]:
    """Return the bill of each table, by name."""
    targets = targets_of(plan, selected_exhibits(plan.study, list(names)), whole=not names)
    return {bill.name: bill for bill in bills_of(Jobs(plan), targets)}


RECORDED = "results/activations/tiny-teacher/mood/1"


def numbers(bill: Bill) -> tuple[int, int, int]:
    """Return how many jobs with a model a table needs, shares with an earlier one, and still has to run."""
    return len(with_models(bill.own)), len(with_models(bill.shared)), len(with_models(bill.left))


def write_scores(plan: Plan, student: str, task: str, *seeds: int) -> Path:
    """Write scores with the study's settings under these seeds to the file that has its name from them."""
    path = Path(score_file(student, task, name_of_seeds([*seeds])))
    path.parent.mkdir(parents=True, exist_ok=True)
    settings = plan.settings.teachers if student in plan.study.teachers else plan.settings.distillations
    Path(answers_address(str(path))).write_text("{}")
    path.write_text(json.dumps([{"settings": settings[student][task].as_json(), "seed": seed} for seed in seeds]))
    return path


def test_a_student_on_a_task(plan: Plan) -> None:
    job = job_of(plan, "results/scores/tiny-kd/mood/1-2.json")
    # 16 tokens; 2 layers of 4 x 24 x 24 + 2 x 24 x 48 weights, of which the last uses 24 x 24 + 2 x 24 x 48 for one
    # token alone; pooler and 2 classes
    once = 2 * (9216 * 16 - 2880 * 15) + 2 * 4 * 16**2 * 24 + 2 * 24 * (24 + 2)
    # two seeds; 40 rows are scored
    assert job.estimate.work.flops == 2 * (3 * 6 * 8 * once + 40 * once)
    assert set(job.inputs) >= {"results/teachers/tiny-teacher/mood/1", RECORDED}
    # one pass of the teacher's four layers, over rows that no file counts
    passed = 10_000 * (2 * (18432 * 16 - 2880 * 15) + 4 * 4 * 16**2 * 24 + 2 * 24 * (24 + 2))
    assert job_of(plan, RECORDED).estimate.work.flops == passed


def test_a_student_on_a_corpus(plan: Plan) -> None:
    masked = 0.15 * 16
    student = 2 * 2048 * 16 + 4 * 16**2 * 16 + 2 * 16 * (16 + 90) * masked
    teacher = 2 * 18432 * 16 + 4 * 4 * 16**2 * 24 + 2 * 24 * (24 + 90) * masked
    found = job_of(plan, "results/distilled/tiny-predicting").estimate.work.flops
    assert found == pytest.approx(3 * 8 * (3 * student + teacher))  # half of six steps


def test_jobs_are_counted_in_the_first_table_that_needs_them(plan: Plan) -> None:
    found = billed(plan)
    # table 1: a teacher, its stored activations and two students on each of two tasks
    assert {name: numbers(bill)[:2] for name, bill in found.items() if "table" in name} == {
        "tiny/table1": (8, 0),
        "tiny/table4": (5, 0),  # a head, two students on the corpus, a grid, and the seeds of its best point
        "tiny/table2": (2, 0),
        "tiny/table3": (0, 8),
    }
    shared, own = with_models(found["tiny/table3"].shared), with_models(found["tiny/table1"].own)
    assert work_of(shared).flops == pytest.approx(work_of(own).flops)
    # the table, its teacher and students; the encoded task twice, the sources of texts and model
    assert len(found["tiny/table1"].own) == 8 + 5
    assert len(found["total"].own) == len({job.key for job in Jobs(plan).behind(["reports/index.html"])})
    assert numbers(billed(plan, "tiny/table3")["tiny/table3"])[:2] == (8, 0)  # alone, it pays for all


def test_what_is_done_is_not_left(plan: Plan) -> None:
    for student, seeds in {"tiny-kd": (1, 2), "tiny-attention": (1, 2), "tiny-teacher": (1,)}.items():
        write_scores(plan, student, "mood", *seeds)
    assert numbers(billed(plan)["tiny/table1"]) == (7, 0, 4)  # and no student reads activations on mood any more


def test_a_job_is_done_if_all_seeds_have_scores_of_the_present_settings(plan: Plan) -> None:
    path = Path("results/scores/tiny-kd/mood/1-2.json")
    found = [job_of(plan, str(path)).done]
    write_scores(plan, "tiny-kd", "mood", 1)  # another file
    found.append(job_of(plan, str(path)).done)
    write_scores(plan, "tiny-kd", "mood", 1, 2)
    found.append(job_of(plan, str(path)).done)
    first, second = json.loads(path.read_text())
    other = {**second, "settings": {**second["settings"], "precision": "bfloat16"}}
    for text in (json.dumps([first, other]), json.dumps([first, {}]), "{"):
        path.write_text(text)
        found.append(job_of(plan, str(path)).done)
    assert found == [False, False, True, False, False, False]


def test_a_profile_is_done_if_it_has_the_present_settings(plan: Plan) -> None:
    path = Path("results/profiles/tiny-kd.json")
    path.parent.mkdir(parents=True)
    settings = plan.settings.profiles["tiny-kd"].as_json()
    found = []
    for record in ({"settings": settings}, {"settings": {**settings, "runs": 99}}):
        path.write_text(json.dumps(record))
        found.append(job_of(plan, str(path)).done)
    assert found == [True, False]


def test_a_student_and_a_grid_are_done_unless_they_were_made_with_other_settings(plan: Plan) -> None:
    student, grid = Path("results/students/tiny-narrow/model"), Path("results/trials/tiny-kd/rating/1-of-1.jsonl")
    student.mkdir(parents=True)
    grid.parent.mkdir(parents=True)
    grid.write_text("")
    maker = Maker(commit="", code="")
    found = [(job_of(plan, str(student)).done, job_of(plan, str(grid)).done)]
    own = plan.settings.students["tiny-narrow"], plan.settings.distillations["tiny-kd"]["rating"]
    for narrow, kd in (own, [settings.model_copy(update={"precision": "bfloat16"}) for settings in own]):
        (student / "README.md").write_text(settings_section(narrow))
        checksums.take(grid, "", maker, [], {}, settings=checksums.digest_of(kd.as_json()))
        found.append((job_of(plan, str(student)).done, job_of(plan, str(grid)).done))
    assert found == [(True, True), (True, True), (False, False)]


def test_what_finished_jobs_took_stands_next_to_what_was_predicted(plan: Plan) -> None:
    path = write_scores(plan, "tiny-kd", "mood", 1, 2)
    write_scores(plan, "tiny-attention", "mood", 1, 2)  # they do not tell what they took
    speed = Speed(1e6, 1e12, 99.0, "a test")
    jobs = with_models(billed(plan)["tiny/table1"].own)
    assert list(measured.rows(jobs, speed)) == []
    took = [{"seconds": 1800.0, "max_rss_mb": 2000}, {"seconds": 900.0, "max_rss_mb": 1000, "max_gpu_mb": 4000}]
    path.write_text(json.dumps([score | own for score, own in zip(json.loads(path.read_text()), took, strict=True)]))
    heading, row = measured.rows(jobs, speed)
    estimate = job_of(plan, str(path)).estimate
    assert (heading[2:4], row[:3]) == (["hours", "predicted"], ["  distill_on_task", "1", "0.75"])
    assert float(row[3]) == pytest.approx(estimate.work.flops / 1e6 / 3600, rel=0.1)  # without the start of the job
    assert row[4:7] == ["2.1 GB", f"{estimate.ram / 1e9:.1f} GB", "4.2 GB"]


def test_the_command(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    Path("config.yaml").write_text(json.dumps(plan.config.model_dump(include={"papers", "study", "precision"})))
    assert main(["cost", "--config", "config.yaml", "--flops", "1e9"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].split() == ["table", "jobs", "done", "CPU", "hours", "shared", "left", "other", "hours", "FLOPs"]
    assert said[1].split()[:3] == ["tiny/table1", "13", "0"]
    largest = said[said.index("Largest jobs:") + 1 :][:5]
    assert all("(tiny-" in line and " h " in line and "GB of RAM" in line for line in largest)
    assert "One device at 1e+09 FLOP/s and 2.5e+09 bytes/s: given with --flops." in "\n".join(said)
    assert "mood 10,000 rows of 16 tokens" in said[-1]
    with pytest.raises(SystemExit, match="2"):
        main(["cost", "--config", "config.yaml", "--flops", "-1"])
    assert "argument --flops: -1 is no number above 0" in capsys.readouterr().err
    assert main(["cost", "--config", "config.yaml", "tiny/tabel1"]) == 2
    assert "no table or figure of 'tiny' is called 'tabel1'; did you mean 'table1'?" in capsys.readouterr().err
