"""Tests of the study in miniature: what stays as reported, and how narrow models become."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from retort.cost.estimates import Estimates
from retort.cost.jobs import Jobs
from retort.judgement.judge import Kind
from retort.plan.plan import Plan
from retort.report.outcome import Files, Shown
from retort.results.frames import concatenated, for_claims, frame_of, lines_of, withhold_verdicts, write
from retort.run.rehearsal.rehearse import distinct_trainings, family
from retort.settings.trainings import TaskDistillationSettings
from retort.specs.config import RunSources, read_config
from retort.study import questions
from retort.study.reasons import Status
from retort.study.study import Study
from retort.tables.base import Inputs, table_of
from retort.tables.claims import judge_all

from tests.paper_results import all_lines
from tests.tiny.edit import PROTOCOL, set_value


def plan_at(scale: str) -> Plan:
    """Return the plan of the four papers at a scale, with all sources."""
    return Plan(read_config({"scale": scale, "precision": "float32"}), lambda study: RunSources())


@pytest.fixture(scope="module")
def reported() -> Plan:
    """Return the plan at scale paper."""
    return plan_at("paper")


@pytest.fixture(scope="module")
def miniature() -> Plan:
    """Return the plan at scale rehearsal."""
    return plan_at("rehearsal")


def what_stays(study: Study, name: str) -> list[object]:
    """Return what a student in miniature has in common with the reported one."""
    student = study.students[name]
    shape, teacher = student.architecture, study.model_of(student.teacher).architecture
    terms = [[term.model_dump() for term in stage.terms] for stage in student.stages]
    return [shape.layers, shape.heads, teacher.layers, teacher.heads, student.initialisation, terms]


def test_depths_heads_objectives_mappings_and_starts_stay_as_reported(reported: Plan, miniature: Plan) -> None:
    assert list(reported.study.running) == list(miniature.study.running)
    assert reported.pairs == miniature.pairs
    assert reported.sends is miniature.sends is True
    for name in reported.study.running:
        assert what_stays(reported.study, name) == what_stays(miniature.study, name), name


def test_what_is_reported_narrower_than_its_teacher_stays_narrower(reported: Plan, miniature: Plan) -> None:
    for name in reported.study.running:
        teacher = reported.study.students[name].teacher
        pairs = [(plan.study.students[name].architecture, plan.study.model_of(teacher).architecture)
                 for plan in (reported, miniature)]  # fmt: skip
        (wide, wide_teacher), (narrow, narrow_teacher) = pairs
        assert (wide.hidden < wide_teacher.hidden) == (narrow.hidden < narrow_teacher.hidden), name
        assert (wide.widths == wide_teacher.widths) == (narrow.widths == narrow_teacher.widths), name
        assert narrow.hidden <= wide.hidden / 1.5


@pytest.mark.slow
def test_grids_have_two_points_and_students_one_seed_or_two_if_paired_tests_compare_them(
    reported: Plan, miniature: Plan
) -> None:
    for student, task in [pair for pair in reported.pairs if pair[0] in reported.task_agnostic]:
        points = len(reported.settings.grids[student][task].points)
        assert len(miniature.settings.grids[student][task].points) == min(points, 2), (student, task)
    assert {cell.seed for cell in miniature.cells} <= {cell.seed for cell in reported.cells}
    seeds = {name: questions.seeds_of(miniature.study, name) for name in miniature.study.running}
    assert seeds["wang2023-kd"] == seeds["wang2023-att-kl-1-2-3"] == [1, 2]
    assert {student for student, each in seeds.items() if each != [1]} == {
        name for name, student in miniature.study.students.items() if student.protocol == "wang2023"
    }


def test_sources_are_made_models_are_narrow_and_timed_for_a_few_passes(reported: Plan, miniature: Plan) -> None:
    for name, profile in miniature.settings.profiles.items():
        assert profile.architecture.hidden <= 256 < reported.settings.profiles[name].architecture.hidden, name
        assert profile.passes == 1 < reported.settings.profiles[name].passes
    jobs = Jobs(miniature, Estimates(miniature))
    made = [jobs.at(f"results/sources/{name}") for name in miniature.study.sources]
    assert {job and job.rule.name for job in made} == {"make_source"}


def test_learning_rates_stay_below_1_and_apart(study_folder: Path, here: Path) -> None:
    set_value(study_folder, PROTOCOL, "schedule", "learning_rate", to=0.5)
    set_value(study_folder, PROTOCOL, "tasks", "mood", to={"learning_rate": 0.01})
    set_value(study_folder, PROTOCOL, "grids", to={"rating": {"learning_rate": [0.02, 0.01, 0.001], "seed": 1}})
    plan = Plan(read_config({"papers": ["tiny"], "study": str(study_folder), "scale": "rehearsal"}))
    searched = plan.settings.distillations["tiny-kd"]["rating"].grid
    assert searched
    assert len({rate for point in searched.points for field, rate in point if field == "learning_rate"}) == 2
    for task in ("mood", "rating"):
        settings = plan.settings.distillations["tiny-kd"][task]
        assert TaskDistillationSettings.model_validate(settings.as_json()) == settings


def start_of(study: Study, name: str) -> tuple[str, ...]:
    """Return the keys of a student's initialisation."""
    return tuple(sorted(key for key, value in study.students[name].initialisation.model_dump().items() if value))


def test_distinct_trainings_meet_every_objective_mapping_start_family_and_task(miniature: Plan) -> None:
    study, chosen = miniature.study, distinct_trainings(miniature)
    students = {address.split("/")[2] for address in chosen}
    assert len(chosen) == len(set(chosen)) < len(miniature.pairs) / 4

    def met(names: set[str]) -> set[object]:
        terms = [term for name in names for stage in study.students[name].stages for term in stage.terms]
        starts = {start_of(study, name) for name in names}
        mappings = {term.mapping if isinstance(term.mapping, str) else tuple(term.mapping or {}) for term in terms}
        return starts | mappings | {term.objective for term in terms} | {family(study, name) for name in names}

    assert met(students) == met(set(miniature.study.running))
    scored = {tuple(address.split("/")[2:4]) for address in chosen if "/scores/" in address}
    assert {task for _, task in scored} == {task for name, task in miniature.pairs if name in study.students}


def test_few_distinct_trainings_have_a_large_teacher(miniature: Plan) -> None:
    study = miniature.study
    teachers = [study.students[address.split("/")[2]].teacher for address in distinct_trainings(miniature)]
    assert 0 < [study.model_of(teacher).architecture.layers for teacher in teachers].count(24) < 5


LINE = {"paper": "p", "table": "table1", "unit": "x100", "reported": 70.0, "mean": 50.0, "n": 1, "verdict": "differs"}
ONE = frame_of([{**LINE, "p": 0.01, "low": 1.0}])


def test_numbers_of_a_rehearsal_have_a_mark_no_verdict_and_decide_no_claim(reported: Plan, miniature: Plan) -> None:
    (line,) = lines_of(withhold_verdicts(miniature.study, "mlkd2024", ONE))
    assert (line.mean, line.verdict, line.p, line.low) == (50.0, "", None, None)
    assert line.note.startswith("rehearsed")
    both = frame_of([LINE, {**LINE, "mean": None, "dev": 50.0}])
    for line in lines_of(for_claims(miniature.study, {"table1": both})["table1"]):
        assert (line.mean, line.dev, line.reported) == (None, None, 70.0)
        assert "rehearsed" in line.state
    assert withhold_verdicts(reported.study, "mlkd2024", ONE).equals(ONE)
    assert for_claims(reported.study, {"table1": ONE})["table1"].equals(ONE)


def test_the_page_of_a_rehearsal_counts_no_verdict_and_no_claim(miniature: Plan, tmp_path: Path) -> None:
    study, files = miniature.study, Files(tmp_path)
    names = {name for claim in study.claims["wang2023"].values() for name in claim.tables}
    for name in names:
        lines = table_of(study, "wang2023", name).collect(Inputs(study, "wang2023", name, {}, {}))
        write(files.csv("wang2023", name), lines.assign(mean=50.0, status=Status.OK.value))
    shown = Shown(replace(study, recordings={}), "wang2023", files)
    shown.judged = judge_all(shown.study, "wang2023", shown.of_claims)
    (side,) = shown.sides.values()  # this run has no column
    reported = [one.verdict for one in side.judgements]
    assert {item.ours.verdict for item in shown.judged} == {Kind.NOT_TESTED}
    assert 0 < reported.count(Kind.SUPPORTED) < len(reported)  # the report decides most, and some are false


@pytest.mark.slow
def test_every_cell_has_a_number_once_everything_has_run(reported: Plan, miniature: Plan) -> None:
    lines = concatenated({"/".join(key): frame for key, frame in all_lines(miniature).items()})
    without = lines[lines["mean"].isna() & lines["dev"].isna() & (lines["text"] == "")]
    assert len(lines) > 2500
    assert set(lines["metric"]) >= {"p", "p-holm", "p-tasks-fixed", "p-tasks-random", "latency", "change"}
    # quoted: a number of other work's; as reported: a text of the paper that shows no setting or count of ours
    assert set(without["status"]) <= {Status.QUOTED, Status.AS_REPORTED}
