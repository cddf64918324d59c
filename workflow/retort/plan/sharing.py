"""What shares a job: companions, seeds of a student, points of a grid.

Companions share batches: their teacher makes one pass over each batch for all. Only students that are still
to be distilled have companions. So a finished student never waits for a job of companions, and a change of one student
re-runs only what depends on that student.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from retort import checksums
from retort.checksums import Checksums
from retort.errors import RetortError
from retort.plan.plan import Plan
from retort.settings.inputs import settings_in
from retort.settings.trainings import CorpusDistillationSettings, points_of
from retort.specs.protocol import SearchGrid
from retort.specs.student import Student
from retort.specs.task_files import UNKNOWN
from retort.study import questions
from retort.study.addresses import name_of_seeds, names_in_files
from retort.study.questions import seeds_of, start_lineage
from retort.study.study import Study

Wildcards = Any
Fits = Callable[[list[str]], bool]  # whether one job can distil these students as companions
Hours = Callable[[str, str], float]  # predicted hours of a student on a task under one seed

WORK = 1e18  # FLOPs of a part of a grid, at most: a few hours of a GPU. A job takes a whole point, even if that is more
FLOPS_PER_WEIGHT = 6  # of a training step for each weight and token: two in the forward pass, four in the backward pass
PART = re.compile(r"\d+-of-(\d+)\.jsonl")
GROUP = re.compile(r"distill_students\((.+)\)")  # the job that made a student, in its checksums


def folders_read(plan: Plan, student: str) -> list[str]:
    """Return the folders that the distillation of a task-agnostic student reads; companions read the same."""
    own = [plan.corpus_teacher(student), plan.pretrained_folder(student), plan.tokenizer_folder(student)]
    return [*plan.corpora(student), *own, *plan.parent(student)]


def companions_of(plan: Plan, fits: Fits = lambda students: True) -> dict[str, list[str]]:
    """Return the students of each job of companions by its group; all processes of a run have the same.

    The name of a group has the teacher, and a number that no finished student remembers. A student without companions
    has a group of its own if a stopped run left its folder with other settings: Snakemake would take that as made.

    Args:
        plan: the plan of the study.
        fits: tells whether one job can distil some students as companions.
    """
    if plan.config.companions is not None:
        return plan.config.companions
    asked = {ancestor for student, _ in plan.pairs for ancestor in start_lineage(plan.study, student)}
    unmade = [
        name
        for name in plan.task_agnostic
        if name in asked and not student_is_made(name, plan.settings.students[name], folders_read(plan, name))
    ]
    taken = set(map(remembered_group, set(plan.task_agnostic) - set(unmade)))
    groups, together = dict[str, list[str]](), jobs_of(plan, unmade, fits)
    is_free = functools.partial(group_is_free, settings_of=lambda name: plan.settings.students[name].as_json())
    alone = ([name] for name in sorted(set(unmade).difference(*together)) if not is_free(name, [name]))
    for members in [*together, *alone]:
        teacher = plan.study.students[members[0]].teacher
        names = (f"{teacher}_{number}" for number in itertools.count(1))  # no student has such a name
        free = (name for name in names if name not in taken | groups.keys() and is_free(name, members))
        groups[next(free)] = members
    return groups


def group_is_free(group: str, members: Iterable[str], settings_of: Callable[[str], object]) -> bool:
    """Return whether the folder of a group has no student yet, or each that is asked for, with the settings of now.

    Args:
        group: the group.
        members: the students that are asked for.
        settings_of: returns the settings of a student, as JSON values.
    """
    folder = Path("results/distilled", group)
    held = {path.parent.name: settings_in(path) for path in folder.glob("*/README.md")}
    return not held or all(held.get(name) == settings_of(name) for name in members)


def students_in(plan: Plan, group: str) -> list[str]:
    """Return the students that one job distils: one that is alone, planned companions, or those that remember a group.

    Raises:
        RetortError: the plan has no such group.
    """
    if group in plan.task_agnostic:
        return [group]
    members = plan.groups.get(group) or [name for name in plan.task_agnostic if remembered_group(name) == group]
    if not members:
        raise RetortError(f"no students are distilled as the group '{group}'", "see `retort list`")
    return members


def settings_of_group(plan: Plan) -> Callable[[Wildcards, Any], dict[str, object]]:
    """Return a function from wildcards to the settings of each student of a group, as JSON values.

    It asks for `output`, so that Snakemake does not compare the value with that of an earlier run: `save_student`
    asks for a student anew if its settings change, and other companions change nothing.
    """

    def settings(wildcards: Wildcards, output: Any) -> dict[str, object]:
        return {name: plan.settings.students[name].as_json() for name in students_in(plan, wildcards.group)}

    return settings


def remembered_group(student: str) -> str:
    """Return the group in which a finished student was distilled; empty if that is not known.

    A student keeps it. With another input, Snakemake would distil it again, although other companions change nothing.
    """
    made = checksums.whole(Path("results/students") / student / "model")
    found = GROUP.fullmatch(made.job) if made else None
    return found[1] if found else ""


def jobs_of(plan: Plan, students: Iterable[str], fits: Fits = lambda students: True) -> list[list[str]]:
    """Return the companions, job by job; a student without companions is left out.

    Companions are shown by the same tables, so that a run of one table distils no student that it does not need.

    Args:
        plan: the plan of the study.
        students: task-agnostic students.
        fits: tells whether one job can distil some students as companions.
    """
    alike, shown = defaultdict[tuple[Any, ...], list[str]](list), _exhibits_of(plan)
    for name in students:
        if batches := _batch_settings(plan.settings.students[name]):
            alike[shown.get(name), *batches, *folders_read(plan, name)].append(name)
    jobs = (job for members in alike.values() for job in _divide(members, plan.config.students_together, fits))
    return [job for job in jobs if len(job) > 1]


def _batch_settings(settings: CorpusDistillationSettings) -> tuple[Any, ...] | None:
    """Return the settings that companions have in common: they decide the batches and the teacher's activations.

    None stands for a student without companions: it has no stages, or its teacher keeps dropout, which draws from the
    student's random state.
    """
    if not settings.stages or any(stage.teacher_dropout for stage in settings.stages):
        return None
    stages = tuple((stage.data, stage.schedule.batch_size, stage.schedule.micro_batch) for stage in settings.stages)
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


def student_is_made(student: str, settings: CorpusDistillationSettings, inputs: Iterable[str]) -> bool:
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
        made_from_it = (os.walk(Path("results", each, student)) for each in ("trials", "scores"))
        return any(names for folders in made_from_it for _, _, names in folders)
    recorded = settings_in(folder / "README.md")
    if recorded is not None and recorded != settings.as_json():
        return False
    recorded_sums = checksums.whole(folder)
    return recorded_sums is None or all(is_unchanged(recorded_sums, path) for path in inputs)


def is_unchanged(recorded_sums: Checksums, path: str) -> bool:
    """Return whether an input still has the recorded digest; True if one of the two digests is not known."""
    now = checksums.whole(Path(path))
    return path not in recorded_sums.parents or now is None or recorded_sums.parents[path].sha256 == now.digest


def divided_seeds(plan: Plan, hours: Hours = lambda student, task: 0.0) -> dict[str, list[str]]:
    """Return '<student>/<task>' -> the seeds of each job, such as ['11-12', '13'], where several jobs share them.

    All processes of a run have the same. Finished scores keep their division, because the files' names hold it.

    Args:
        plan: the plan of the study.
        hours: predicts the hours of a student on a task under one seed.
    """
    decided, most = plan.config.seeds_divided, plan.config.hours_of_seeds
    if decided is not None:
        return decided
    longest, divided = defaultdict[str, float](float), {}  # hours of a seed on the task that takes longest
    for student, task in plan.pairs if most is not None else ():
        if student in plan.study.running:
            longest[student] = max(longest[student], hours(student, task))
    for student, task in plan.pairs:
        seeds = seeds_of(plan.study, student)
        names = names_in_files(student, task, seeds)
        if not names and most is not None and (taken := longest[student]):
            each = math.ceil(len(seeds) / math.ceil(len(seeds) / max(1, int(most // taken))))
            names = [name_of_seeds(seeds[first : first + each]) for first in range(0, len(seeds), each)]
        if len(names) > 1:
            divided[f"{student}/{task}"] = names
    return divided


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
