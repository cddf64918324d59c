"""What shares a job: companions, seeds of a student, points of a grid.

Companions share batches: their teacher makes one pass over each batch for all. Only students that are still
to be distilled have companions. So a finished student never waits for a job of companions, and a change of one student
re-runs only what depends on that student.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from retort import checksums
from retort.checksums import Checksums
from retort.plan.plan import Plan
from retort.plan.rule import paths_in
from retort.settings.inputs import settings_in
from retort.settings.trainings import CorpusDistillationSettings, points_of
from retort.specs.protocol import SearchGrid
from retort.specs.student import Student
from retort.specs.task_files import UNKNOWN
from retort.study import questions
from retort.study.questions import seeds_of, start_lineage
from retort.study.study import Study

Wildcards = Any
Fits = Callable[[list[str]], bool]  # whether one job can distil these students as companions
Hours = Callable[[str, str], float]  # predicted hours of a student on a task under one seed

WORK = 1e18  # FLOPs of a part of a grid, at most: a few hours of a GPU. A job takes a whole point, even if that is more
FLOPS_PER_WEIGHT = 6  # of a training step for each weight and token: two in the forward pass, four in the backward pass
PART = re.compile(r"\d+-of-(\d+)\.jsonl")


def inputs_of(plan: Plan) -> dict[str, Callable[[Wildcards], Any]]:
    """Return the input functions of a distillation on corpora by name; companions have the same inputs."""
    study = plan.study

    def corpora(of: Wildcards) -> list[str]:
        return [
            plan.blocks(of.student, data) for data in dict.fromkeys(s.data for s in study.students[of.student].stages)
        ]

    def teacher(of: Wildcards) -> str:
        """Return the teacher with a fitted head if the student reads one that the pre-trained model lacks."""
        corpus = questions.fitted_on(study, of.student)
        fitted = f"results/teachers/{study.teacher_of(of.student)}/{corpus}/model"
        return fitted if corpus else plan.pretrained_folder(of.student)

    return {
        "corpora": corpora,
        "teacher": teacher,
        "model": lambda of: plan.pretrained_folder(of.student),
        "tokenizer": lambda of: plan.tokenizer_folder(of.student),
        "parent": lambda of: plan.parent(of.student),
    }


def companions_of(plan: Plan, fits: Fits = lambda students: True) -> dict[str, list[str]]:
    """Return the students of each job of companions, two or more, by its label; all processes of a run have the same.

    The label names the teacher, and the number among the teacher's jobs.

    Args:
        plan: the plan of the study.
        fits: tells whether one job can distil some students as companions.
    """
    if plan.config.companions is not None:
        return plan.config.companions
    settings, inputs = plan.settings.students, inputs_of(plan).values()
    unmade, asked = [], {ancestor for student, _ in plan.pairs for ancestor in start_lineage(plan.study, student)}
    for name in (name for name in plan.task_agnostic if name in asked):
        read = [path for give in inputs for path in paths_in(give(SimpleNamespace(student=name)))]
        if not is_made(name, settings[name], read):
            unmade.append(name)
    labelled, numbers = dict[str, list[str]](), Counter[str]()
    for members in jobs_of(plan, unmade, fits):
        teacher = plan.study.students[members[0]].teacher
        numbers[teacher] += 1
        labelled[f"{teacher}.{numbers[teacher]}"] = members
    return labelled


def jobs_of(plan: Plan, students: Iterable[str], fits: Fits = lambda students: True) -> list[list[str]]:
    """Return the companions, job by job; a student without companions is left out.

    Companions are shown by the same tables, so that a run of one table distils no student that it does not need.

    Args:
        plan: the plan of the study.
        students: task-agnostic students.
        fits: tells whether one job can distil some students as companions.
    """
    alike, shown, inputs = defaultdict[tuple[Any, ...], list[str]](list), _exhibits_of(plan), inputs_of(plan).values()
    for name in students:
        if batches := _batch_settings(plan.settings.students[name]):
            read = [str(give(SimpleNamespace(student=name))) for give in inputs]
            alike[shown.get(name), *batches, *read].append(name)
    jobs = (job for members in alike.values() for job in _divide(members, plan.config.students_together, fits))
    return [job for job in jobs if len(job) > 1]


def _batch_settings(settings: CorpusDistillationSettings) -> tuple[Any, ...] | None:
    """Return the settings that companions have in common: they decide the batches and the teacher's activations.

    None stands for a student without companions: it has no stages, or its teacher keeps dropout, which draws from the
    student's random state.
    """
    if not settings.stages or any(stage.teacher_dropout for stage in settings.stages):
        return None
    stages = tuple((stage.data, stage.schedule.batch_size) for stage in settings.stages)
    corpora = tuple(corpus.model_dump_json() for corpus in settings.corpora.values())
    return stages, corpora, settings.teacher.model_dump_json(), settings.seed, settings.precision


def _divide(students: list[str], most: int, fits: Fits) -> list[list[str]]:
    """Divide students evenly among jobs with at most `most` students each, and halve each job that does not fit."""
    jobs = math.ceil(len(students) / most)
    each, longer = divmod(len(students), jobs)
    ends = [number * each + min(number, longer) for number in range(jobs + 1)]
    evenly = [students[first:last] for first, last in itertools.pairwise(ends)]
    halved = [[job] if len(job) == 1 or fits(job) else _divide(job, math.ceil(len(job) / 2), fits) for job in evenly]
    return list(itertools.chain.from_iterable(halved))


def _exhibits_of(plan: Plan) -> dict[str, frozenset[tuple[str, str]]]:
    """Return student -> the tables and figures that show it, or a student that starts from it."""
    shown = defaultdict[str, set[tuple[str, str]]](set)
    for student, exhibit in {(cell.student, (cell.paper, cell.table)) for cell in plan.cells}:
        for ancestor in start_lineage(plan.study, student):
            shown[ancestor].add(exhibit)
    return {student: frozenset(exhibits) for student, exhibits in shown.items()}


def is_made(student: str, settings: CorpusDistillationSettings, inputs: Iterable[str]) -> bool:
    """Return whether the folder of a task-agnostic student needs no distillation.

    A folder that is gone counts as made if scores or grid results of the student exist: maybe nobody needs it any more.
    A folder without recorded settings or checksums counts as made, too.

    Args:
        student: its name.
        settings: the settings of its distillation.
        inputs: the folders that its distillation reads.
    """
    folder = Path("results/students") / student / "model"
    if not folder.is_dir():
        made_from_it = (Path("results", each, student).rglob("*.json*") for each in ("trials", "scores"))
        return any(True for paths in made_from_it for _ in paths)
    recorded = settings_in(folder / "README.md")
    if recorded is not None and recorded != settings.as_json():
        return False
    recorded_sums = checksums.whole(folder)
    return recorded_sums is None or all(_is_unchanged(recorded_sums, path) for path in inputs)


def _is_unchanged(recorded_sums: Checksums, path: str) -> bool:
    """Return whether an input still has the recorded digest; True if one of the two digests is not known."""
    now = checksums.whole(Path(path))
    return path not in recorded_sums.parents or now is None or recorded_sums.parents[path].sha256 == now.digest


def divided_seeds(plan: Plan, hours: Hours = lambda student, task: 0.0) -> dict[str, int]:
    """Return student -> number of jobs of its seeds, for students with several; all processes of a run have the same.

    The seeds of a student are divided alike on all of its tasks: by the task that takes longest.

    Args:
        plan: the plan of the study.
        hours: predicts the hours of a student on a task under one seed.
    """
    decided, most = plan.config.seeds_divided, plan.config.hours_of_seeds
    if decided is not None or most is None:
        return decided or {}
    longest, running = defaultdict[str, float](float), plan.study.running
    for student, task in plan.pairs:
        if student in running:
            longest[student] = max(longest[student], hours(student, task))
    jobs = {}
    for student, taken in longest.items():
        count = len(seeds_of(plan.study, student))
        jobs[student] = math.ceil(count / max(1, int(most // taken) if taken else count))
    return {student: number for student, number in jobs.items() if number > 1}


def students_by_seeds(plan: Plan, students: Iterable[str], divided: dict[str, int]) -> dict[tuple[int, ...], list[str]]:
    """Return seeds of a job -> the students among these that have such jobs.

    Args:
        plan: the plan of the study.
        students: the students.
        divided: student -> number of jobs of its seeds; one where it is left out.
    """
    by_seeds = defaultdict[tuple[int, ...], list[str]](list)
    for student in students:
        seeds = seeds_of(plan.study, student)
        each = math.ceil(len(seeds) / divided.get(student, 1))
        for first in range(0, len(seeds), each):
            by_seeds[tuple(seeds[first : first + each])].append(student)
    return dict(by_seeds)


def grid_parts(study: Study, student: str, task: str) -> list[str]:
    """Return the result files of the parts of a student's or teacher's grid on a task; empty without a grid.

    A part has at least one point. The task's `grid_parts` decides how many there are, else the number of a finished
    grid, else the work. A finished grid keeps its number because the files' names hold it: with another number, the
    grid would be made again.
    """
    folder = Path("results/trials", student, task)
    grid = questions.grid_of(study, student, task)
    if grid is None:
        return []
    parts = study.tasks[task].jobs.grid_parts or _finished_parts(folder) or _parts_by_work(study, student, task, grid)
    number = min(parts, len(grid.points()))
    return [f"{folder}/{part}-of-{number}.jsonl" for part in range(1, number + 1)]


def _finished_parts(folder: Path) -> int | None:
    """Return the number of parts of a grid whose results are all in a folder; None if there is no such grid."""
    names = (path.name for path in folder.iterdir()) if folder.is_dir() else ()
    parts = Counter(int(found[1]) for name in names if (found := PART.fullmatch(name)))
    return min((number for number, count in parts.items() if number == count), default=None)


def _parts_by_work(study: Study, student: str, task: str, grid: SearchGrid) -> int:
    """Return the number of parts that keeps each within WORK if every row has the task's maximum length."""
    spec, model = study.tasks[task], study.students.get(student) or study.model_of(student)
    stages = max(1, len(model.stages)) if isinstance(model, Student) and model.distilled_on == "task" else 1
    size, schedule = model.architecture, questions.protocol_of(study, student).for_task(task)
    schedules = [point.applied_to(schedule) for point in points_of(grid)]
    drawn = spec.train_split not in spec.splits  # then the study's files do not tell the number of rows
    rows = UNKNOWN if drawn else spec.splits[spec.train_split].most(spec.subsets)
    tokens = stages * sum(each.steps_on(rows) * each.batch_size for each in schedules) * spec.max_length
    return max(1, -(-FLOPS_PER_WEIGHT * size.layers * size.layer_weights * tokens // int(WORK)))
