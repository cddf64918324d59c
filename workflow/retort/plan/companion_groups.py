"""Which students are distilled side by side in one job, so that their teacher makes one pass over each batch for all.

Only students that are still to be distilled have companions. So a finished student never waits for a job of companions,
and a change of one student re-runs only what depends on that student.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from retort import checksums
from retort.checksums import Checksums
from retort.errors import RetortError
from retort.plan.plan import Plan
from retort.plan.rule import paths_in
from retort.settings import CorpusDistillationSettings
from retort.settings.card import settings_in
from retort.study.questions import lineage

Wildcards = Any
Fits = Callable[[list[str]], bool]  # whether one job can distil these students side by side


def _any_number(students: list[str]) -> bool:
    return True


class Companions:
    """The jobs that distil students side by side: label of a job -> its students.

    Args:
        plan: the plan of the study.
        fits: tells whether one job can distil some students side by side.
    """

    def __init__(self, plan: Plan, fits: Fits = _any_number) -> None:
        self.plan, self.fits = plan, fits

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """The students of each job, two or more, by its label; all processes of a run read the same ones."""
        decided = self.plan.config.companions
        return self._label_jobs(self.unmade(self.plan.task_agnostic)) if decided is None else decided

    @cached_property
    def grouped(self) -> set[str]:
        """The students that are distilled beside others."""
        return {student for students in self.groups.values() for student in students}

    def unmade(self, students: Iterable[str]) -> list[str]:
        """Return the students that have to be distilled, for the first time or again."""
        settings = self.plan.settings.students
        return [name for name in students if not is_made(name, settings[name], self._inputs(name))]

    def _inputs(self, student: str) -> list[str]:
        wildcards = SimpleNamespace(student=student)
        return [path for give in self.inputs.values() for path in paths_in(give(wildcards))]

    def _label_jobs(self, students: list[str]) -> dict[str, list[str]]:
        """Return the students of each job by its label: the teacher, and the number among the teacher's jobs."""
        labelled, numbers = dict[str, list[str]](), Counter[str]()
        for members in jobs_of(self.plan, students, self.fits):
            teacher = self.plan.study.students[members[0]].teacher
            numbers[teacher] += 1
            labelled[f"{teacher}.{numbers[teacher]}"] = members
        return labelled

    @property
    def inputs(self) -> dict[str, Callable[[Wildcards], Any]]:
        """What a student is distilled from, name -> function of wildcards; companions have the same."""
        return inputs_of(self.plan)

    def of_first(self, students: list[str], give: Callable[[Wildcards], Any]) -> Callable[[Wildcards], Any]:
        """Return an input function of a rule without wildcards: what it gives for the first of some students."""
        return lambda wildcards: give(SimpleNamespace(student=students[0]))

    def settings(self, students: Iterable[str]) -> dict[str, Any]:
        """Return student -> settings of its distillation, as JSON values."""
        return {name: self.plan.settings.students[name].as_json() for name in students}


def inputs_of(plan: Plan) -> dict[str, Callable[[Wildcards], Any]]:
    """Return the input functions of a distillation on corpora by name."""
    return {
        "corpora": plan.student_corpora,
        "teacher": plan.student_teacher_head,
        "model": plan.student_model,
        "tokenizer": plan.student_tokenizer,
        "parent": plan.student_parent,
    }


def jobs_of(plan: Plan, students: Iterable[str], fits: Fits = _any_number) -> list[list[str]]:
    """Return the students that can be distilled side by side, job by job; a student without companions is left out.

    Companions are shown by the same tables, so that a run of one table distils no student that it does not need.

    Args:
        plan: the plan of the study.
        students: task-agnostic students.
        fits: tells whether one job can distil some students side by side.
    """
    alike, shown = defaultdict[tuple[Any, ...], list[str]](list), _exhibits_of(plan)
    for name in students:
        if batches := _batch_settings(plan.settings.students[name]):
            wildcards = SimpleNamespace(student=name)
            inputs = [str(give(wildcards)) for give in inputs_of(plan).values()]
            alike[shown.get(name), *batches, *inputs].append(name)
    most = plan.config.students_together
    jobs = (job for members in alike.values() for job in _divide(members, most, fits))
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
    jobs = _divide_evenly(students, math.ceil(len(students) / most))
    halved = [[job] if len(job) == 1 or fits(job) else _divide(job, math.ceil(len(job) / 2), fits) for job in jobs]
    return list(itertools.chain.from_iterable(halved))


def _divide_evenly(students: list[str], jobs: int) -> list[list[str]]:
    """Divide students among jobs whose sizes differ by at most one."""
    each, longer = divmod(len(students), jobs)
    ends = [number * each + min(number, longer) for number in range(jobs + 1)]
    return [students[first:last] for first, last in itertools.pairwise(ends)]


def _exhibits_of(plan: Plan) -> dict[str, frozenset[tuple[str, str]]]:
    """Return student -> the tables and figures that show it, or a student that starts from it."""
    own, shown = defaultdict[str, set[tuple[str, str]]](set), defaultdict[str, set[tuple[str, str]]](set)
    for cell in plan.cells:
        own[cell.student].add((cell.paper, cell.table))
    for name, exhibits in own.items():
        for ancestor in lineage(plan.study, name):
            shown[ancestor] |= exhibits
    return {student: frozenset(exhibits) for student, exhibits in shown.items()}


# Check whether a task-agnostic student is up to date: made with its present settings from its present inputs.


def is_made(student: str, settings: CorpusDistillationSettings, inputs: Iterable[str]) -> bool:
    """Return whether the folder of a student needs no distillation.

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
    recorded_sums = _checksums(folder)
    return recorded_sums is None or all(_is_unchanged(recorded_sums, path) for path in inputs)


def _is_unchanged(recorded_sums: Checksums, path: str) -> bool:
    """Return whether an input still has the recorded digest; True if one of the two digests is not known."""
    now = _checksums(Path(path))
    return path not in recorded_sums.parents or now is None or recorded_sums.parents[path].sha256 == now.digest


def _checksums(path: Path) -> Checksums | None:
    try:
        return checksums.read(path)
    except RetortError:
        return None
