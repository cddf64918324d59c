"""The jobs that a table needs: their result paths as the plan has them, their FLOPs, and whether they are done."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace

from retort.cost import work
from retort.cost.data import Volume
from retort.plan.plan import Plan
from retort.settings import Settings
from retort.study.cells import score_address
from retort.study.questions import seeds_of
from retort.tables.collect import difference

# the rule that makes a result, by the path of the result; jobs for data, tables and figures do no matrix products
ADDRESSES = {
    "score": re.compile(r"results/scores/(?P<student>[^/]+)/(?P<task>[^/]+)/seed-(?P<seed>\d+)\.json"),
    "teacher": re.compile(r"results/teachers/(?P<teacher>[^/]+)/(?P<data>[^/]+)/model"),
    "activations": re.compile(r"results/activations/(?P<teacher>[^/]+)/(?P<task>[^/]+)"),
    "student": re.compile(r"results/students/(?P<student>[^/]+)/model"),
    "grid": re.compile(r"results/trials/(?P<student>[^/]+)/(?P<task>[^/]+)/(?P<part>\d+)-of-(?P<parts>\d+)\.jsonl"),
    "profile": re.compile(r"results/profiles/(?P<student>[^/]+)\.json"),
}


@dataclass(frozen=True)
class Job:
    """One job that trains or runs a model.

    Args:
        address: the path of its result.
        product: what it makes: a key of `ADDRESSES`, or 'head'.
        flops: its FLOPs.
        needs: the result paths of the jobs that it depends on.
        settings: the settings that its result must hold to count as done; None where the result is a folder or a list
            of trials, whose settings are not checked here.
    """

    address: str
    product: str
    flops: float
    needs: tuple[str, ...] = ()
    settings: Settings | None = None

    @cached_property
    def done(self) -> bool:
        """Whether the result exists and was made with the settings of the study."""
        if not Path(self.address).exists():
            return False
        if self.settings is None:
            return True
        try:
            recorded = json.loads(Path(self.address).read_text(encoding="utf-8"))["settings"]
        except (ValueError, KeyError, TypeError):
            return False
        return difference(recorded, self.settings.as_json()) is None


def _listed(*inputs: str | list[str]) -> tuple[str, ...]:
    return tuple(path for each in inputs for path in ([each] if isinstance(each, str) else each))


class Jobs:
    """The jobs of a study, looked up by the path of their result.

    Args:
        plan: the plan of the study.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.study = plan, plan.study
        self.volume = Volume(plan.study)
        self.known: dict[str, Job | None] = {}

    def at(self, address: str) -> Job | None:
        """Return the job that makes a file or folder; None if that job neither trains nor runs a model."""
        if address not in self.known:
            self.known[address] = self._job(address)
        return self.known[address]

    def _job(self, address: str) -> Job | None:
        makers: dict[str, Callable[..., Job | None]] = {
            "score": self._score,
            "teacher": self._teacher,
            "activations": self._activations,
            "student": self._student,
            "grid": self._grid,
            "profile": self._profile,
        }
        for product, pattern in ADDRESSES.items():
            match = pattern.fullmatch(address)
            if match:
                return makers[product](address, **match.groupdict())
        return None

    def behind(self, addresses: list[str], stop_at_done: bool = False) -> Iterator[Job]:
        """Yield the jobs that make these files, and all jobs that those depend on, each once.

        Args:
            addresses: the paths of the files.
            stop_at_done: leave out jobs that are done, and jobs that only they depend on.
        """
        seen, waiting = set[str](), list(reversed(addresses))
        while waiting:
            job = self.at(waiting.pop())
            if job is None or job.address in seen or (stop_at_done and job.done):
                continue
            seen.add(job.address)
            waiting += reversed(job.needs)
            yield job

    def _vocabulary(self, student: str) -> str:
        return self.study.teachers[self.study.students[student].teacher].model

    def _score(self, address: str, student: str, task: str, seed: str) -> Job:
        if student in self.study.teachers:
            return self._fine_tuned(address, student, task)
        names, model = SimpleNamespace(student=student, task=task, seed=seed), self._vocabulary(student)
        if student in self.plan.task_specific:
            activations = self.plan.student_activations(names)
            distillation = self.plan.settings.distillations[student][task]
            needs = _listed(self.plan.student_teacher(names), activations, self.plan.student_parent(names))
            cost = work.task_distillation(distillation, task, self.volume, model, teacher_runs=not activations)
            return Job(address, "score", cost, needs, distillation)
        finetuning = self.plan.settings.finetunings[student][task]
        needs = _listed(f"results/students/{student}/model", self.plan.grid_parts(names))
        return Job(address, "score", work.finetuning(finetuning, task, self.volume, model), needs, finetuning)

    def _fine_tuned(self, address: str, teacher: str, task: str) -> Job:
        settings, model = self.plan.settings.teachers[teacher][task], self.study.teachers[teacher].model
        return Job(address, "teacher", work.teacher(settings, task, self.volume, model), (), settings)

    def _teacher(self, address: str, teacher: str, data: str) -> Job | None:
        if data in self.study.tasks:  # one job makes a teacher and its score; the score holds the settings
            return self.at(score_address(teacher, data, seeds_of(self.study, teacher)[0]))
        settings, model = self.plan.settings.teacher_heads[teacher][data], self.study.teachers[teacher].model
        return Job(address, "head", work.head(settings, data, self.volume, model))

    def _activations(self, address: str, teacher: str, task: str) -> Job:
        settings, model = self.plan.settings.activations[teacher][task], self.study.teachers[teacher].model
        needs = (f"results/teachers/{teacher}/{task}/model",)
        return Job(address, "activations", work.activations(settings, task, self.volume, model), needs)

    def _student(self, address: str, student: str) -> Job:
        names, settings = SimpleNamespace(student=student), self.plan.settings.students[student]
        needs = _listed(self.plan.student_teacher_head(names), self.plan.student_parent(names))
        cost = work.corpus_distillation(settings, self.volume, self._vocabulary(student))
        return Job(address, "student", cost, needs)

    def _grid(self, address: str, student: str, task: str, part: str, parts: str) -> Job:
        settings = self.plan.settings.grids[student][task]
        cost = work.grid(settings, int(part), int(parts), task, self.volume, self._vocabulary(student))
        return Job(address, "grid", cost, (f"results/students/{student}/model",))

    def _profile(self, address: str, student: str) -> Job:
        settings = self.plan.settings.profiles[student]
        return Job(address, "profile", work.profile(settings), (), settings)
