"""Which students are distilled side by side in one job, so that their teacher makes one pass over each batch for all.

Only students that are still to be distilled have companions. So a finished student never waits for a job of companions,
and a change of one student re-runs only what depends on that student.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from retort.plan.exhibits import Exhibits
from retort.plan.made import is_made
from retort.plan.plan import Plan
from retort.settings import CorpusDistillationSettings
from retort.study.needs import lineage

Wildcards = Any
Fits = Callable[[list[str]], bool]  # whether one job can distil these students side by side
STUDENT = re.compile(r"results/(?:students|scores|trials|answers)/(?P<student>[^/]+)/")
EXHIBIT = re.compile(r"(?:results/tables|reports)/(?P<paper>[^/]+)/(?P<exhibit>(?:table|figure)[a-z0-9-]*)\.")


def _any_number(students: list[str]) -> bool:
    return True


class Companions(Mapping[str, list[str]]):
    """The jobs that distil students side by side: name of a job -> its students; the rules ask it.

    Args:
        plan: the plan of the study.
        targets: returns the files that the user asks for by name, none if that is everything; called when the first
            job is planned.
        fits: tells whether one job can distil some students side by side.
    """

    def __init__(self, plan: Plan, targets: Callable[[], Iterable[str]] = tuple, fits: Fits = _any_number) -> None:
        self.plan, self.targets, self.fits = plan, targets, fits

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """The students of each job, two or more, by the name of the job; all processes of a run read the same ones."""
        decided = self.plan.config.companions
        return self._name_jobs(self.unmade(needed_students(self.plan, self.targets()))) if decided is None else decided

    def __getitem__(self, job: str) -> list[str]:
        return self.groups[job]

    def __iter__(self) -> Iterator[str]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    @cached_property
    def _group_of(self) -> dict[str, str]:
        return {student: name for name, students in self.groups.items() for student in students}

    def unmade(self, students: Iterable[str]) -> list[str]:
        """Return the students that have to be distilled, for the first time or again."""
        settings = self.plan.settings.students
        return [name for name in students if not is_made(name, settings[name], self._inputs(name))]

    def _inputs(self, student: str) -> list[str]:
        return [*common_inputs(self.plan, student), *parent_of(self.plan, student)]

    def _name_jobs(self, students: list[str]) -> dict[str, list[str]]:
        """Return the students of each job by its name: the teacher, and the number among the teacher's jobs."""
        named, numbers = dict[str, list[str]](), Counter[str]()
        for members in jobs_of(self.plan, students, self.fits):
            teacher = self.plan.study.students[members[0]].teacher
            numbers[teacher] += 1
            named[f"{teacher}.{numbers[teacher]}"] = members
        return named

    def _first(self, wildcards: Wildcards) -> Wildcards:
        """Return the wildcards of the first student of a job; all of them have the same teacher and corpora."""
        return SimpleNamespace(student=self.groups[wildcards.companions][0])

    def before(self, wildcards: Wildcards) -> list[str]:
        """Return the stamp file of the job that distils a student beside others; empty if no job does."""
        group = self._group_of.get(wildcards.student)
        return [f"results/together/{group}.done"] if group else []

    def corpora(self, wildcards: Wildcards) -> dict[str, str]:
        """Return the packed corpora of a job's students by name."""
        return self.plan.student_corpora(self._first(wildcards))

    def teacher(self, wildcards: Wildcards) -> str:
        """Return the teacher's model."""
        return self.plan.student_teacher_head(self._first(wildcards))

    def model(self, wildcards: Wildcards) -> str:
        """Return the pre-trained model of the teacher."""
        return self.plan.student_model(self._first(wildcards))

    def tokenizer(self, wildcards: Wildcards) -> str:
        """Return the folder with the files of the tokenizer."""
        return self.plan.student_tokenizer(self._first(wildcards))

    def parents(self, wildcards: Wildcards) -> list[str]:
        """Return the models that the students of a job start from."""
        return sorted({folder for folder in self.parent_of_each(wildcards).values() if folder})

    def parent_of_each(self, wildcards: Wildcards) -> dict[str, str | None]:
        """Return student -> the model that it starts from, None if there is none, for the students of a job."""
        each = {name: parent_of(self.plan, name) for name in self.groups[wildcards.companions]}
        return {name: next(iter(folders), None) for name, folders in each.items()}

    def settings(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return student -> settings of its distillation, as JSON values, for the students of a job."""
        return {name: self.plan.settings.students[name].as_json() for name in self.groups[wildcards.companions]}


def parent_of(plan: Plan, student: str) -> list[str]:
    """Return the folder of the model that a student starts from; empty if there is none."""
    return plan.student_parent(SimpleNamespace(student=student))


def common_inputs(plan: Plan, student: str) -> list[str]:
    """Return the folders that a student shares with its companions: corpora, teacher, pre-trained model, tokenizer."""
    wildcards = SimpleNamespace(student=student)
    return [
        *plan.student_corpora(wildcards).values(),
        plan.student_teacher_head(wildcards),
        plan.student_model(wildcards),
        plan.student_tokenizer(wildcards),
    ]


def jobs_of(plan: Plan, students: Iterable[str], fits: Fits = _any_number) -> list[list[str]]:
    """Return the students that can be distilled side by side, job by job; a student without companions is left out.

    Args:
        plan: the plan of the study.
        students: task-agnostic students.
        fits: tells whether one job can distil some students side by side.
    """
    alike = defaultdict[tuple[Any, ...], list[str]](list)
    for name in students:
        if batches := _batch_settings(plan.settings.students[name]):
            alike[*batches, *common_inputs(plan, name)].append(name)
    most = plan.config.students_together
    jobs = (job for members in alike.values() for job in _divide(members, most, fits))
    return [job for job in jobs if len(job) > 1]


def _batch_settings(settings: CorpusDistillationSettings) -> tuple[Any, ...] | None:
    """Return the settings that companions have in common: they decide the batches and the teacher's activations.

    None stands for a student without companions: it has no stages, or its teacher keeps dropout, which draws from the
    student's random state. A student and its ancestors differ in the number of ancestors, so they are never companions.
    """
    if not settings.stages or any(stage.teacher_dropout for stage in settings.stages):
        return None
    stages = tuple((stage.data, stage.schedule.batch_size) for stage in settings.stages)
    corpora = tuple(corpus.model_dump_json() for corpus in settings.corpora.values())
    return (
        stages,
        corpora,
        settings.teacher.model_dump_json(),
        settings.seed,
        settings.precision,
        _count_ancestors(settings),
    )


def _count_ancestors(settings: CorpusDistillationSettings) -> int:
    """Return the number of students in the chain of initialisations above a student."""
    parent = settings.parent
    return 1 + _count_ancestors(parent) if isinstance(parent, CorpusDistillationSettings) else 0


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


def needed_students(plan: Plan, targets: Iterable[str]) -> list[str]:
    """Return the task-agnostic students that some files may need; all of them if a file's path names no student.

    Args:
        plan: the plan of the study.
        targets: the files that the user asks for by name; all if empty.
    """
    names, targets = set[str](), list(targets)
    if not targets:
        return plan.task_agnostic
    for target in targets:
        student, exhibit = STUDENT.match(target), EXHIBIT.match(target)
        if student:
            names.add(student["student"])
        elif exhibit and (exhibit["paper"], exhibit["exhibit"]) in plan.study.exhibits:
            names |= _scored_models(plan, exhibit["paper"], exhibit["exhibit"])
        else:
            return plan.task_agnostic
    needed = {each for name in names for each in lineage(plan.study, name)}
    return [name for name in plan.task_agnostic if name in needed]


def _scored_models(plan: Plan, paper: str, name: str) -> set[str]:
    """Return the students and teachers whose scores a table or figure reads, itself or through tables that it draws."""
    exhibits, names = Exhibits(plan), [name, *plan.study.exhibits[paper, name].draws()]
    scores = (STUDENT.match(path) for each in names for path in exhibits.scores(paper, each))
    return {score["student"] for score in scores if score}
