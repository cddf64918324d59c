"""Collect the settings of every job of a study, under the names by which the Snakemake rules look them up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from retort.plan import resolve
from retort.plan.resolve_submission import submission, tests
from retort.study.reading import readable
from retort.study.study import Study

Settings = dict[str, Any]


def _of_teachers(study: Study, tasks: list[str]) -> tuple[Settings, Settings]:
    teachers: Settings = {name: {} for name in study.teachers}
    activations: Settings = {name: {} for name in study.teachers}
    for name in study.teachers:
        for task in tasks:
            teachers[name][task] = resolve.teacher(study, name, task)
            activations[name][task] = resolve.activations(study, name, task)
        for corpus in study.corpora:
            teachers[name][corpus] = resolve.teacher(study, name, corpus)
    return teachers, activations


def params(study: Study, pairs: Iterable[tuple[str, str]]) -> Settings:
    """Return the settings of every job: type of job -> name, or student or teacher and task -> settings.

    Args:
        study: the study.
        pairs: the (student or teacher, task) pairs that are trained.
    """
    tasks = [name for name, task in study.tasks.items() if readable(study, name, task.used)]
    teachers, activations = _of_teachers(study, tasks)
    pairs, roads = list(pairs), {name: student.distilled_on for name, student in study.running.items()}

    def by_pair(distilled_on: str, of: Callable[[Study, str, str], Settings]) -> Settings:
        found: Settings = {name: {} for name in roads if roads[name] == distilled_on}
        for student, task in pairs:
            if student in found:
                found[student][task] = of(study, student, task)
        return found

    return {
        "sources": {name: resolve.source(study, name) for name in study.sources},
        "tasks": {name: resolve.task(study, name) for name in tasks},
        "corpora": {name: resolve.corpus(study, name) for name in study.corpora},
        "teachers": teachers,
        "activations": activations,
        "distillations": by_pair("task", resolve.on_task),
        "students": {name: resolve.on_corpus(study, name) for name in roads if roads[name] == "corpus"},
        "grids": by_pair("corpus", resolve.grid),
        "finetunings": by_pair("corpus", resolve.finetune),
        "tests": tests(study),
        "submission": submission(study),
        "profiles": {name: resolve.profile(study, name) for name in (*study.running, *study.teachers)},
    }
