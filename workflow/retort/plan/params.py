"""Collect the settings of every job of a study, under the names by which the Snakemake rules look them up."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from retort.plan import resolve, resolve_data
from retort.plan.versions import VERSIONS
from retort.settings import (
    ActivationSettings,
    CorpusDistillationSettings,
    FinetuneSettings,
    GridSettings,
    PredictionSettings,
    ProfileSettings,
    SourceSettings,
    SubmissionSettings,
    SubmittedTask,
    TaskDistillationSettings,
    TeacherHeadSettings,
    TeacherSettings,
    TokenizedCorpusSettings,
    TokenizedTaskSettings,
)
from retort.study.questions import submitted_splits
from retort.study.reading import readable
from retort.study.study import Study

Resolved = TypeVar("Resolved")


class OnDemand(Mapping[str, Resolved]):
    """Settings by name, each resolved at its first use: a job on a cluster uses few of a study's thousands.

    Args:
        names: the names.
        resolve: returns the settings of a name; called once for each name at most.
    """

    def __init__(self, names: Iterable[str], resolve: Callable[[str], Resolved]) -> None:
        self._names = dict.fromkeys(names)
        self._resolve = functools.cache(resolve)

    def __getitem__(self, name: str) -> Resolved:
        if name not in self._names:
            raise KeyError(name)
        return self._resolve(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


Nested = Mapping[str, Mapping[str, Resolved]]


@dataclass(frozen=True)
class Params:
    """The settings of every job: by name, or by student, teacher or tokenizer and then by task or corpus."""

    sources: Mapping[str, SourceSettings]
    tasks: Nested[TokenizedTaskSettings]
    corpora: Nested[TokenizedCorpusSettings]
    teachers: Nested[TeacherSettings]
    teacher_heads: Nested[TeacherHeadSettings]
    activations: Nested[ActivationSettings]
    distillations: Nested[TaskDistillationSettings]
    students: Mapping[str, CorpusDistillationSettings]
    grids: Nested[GridSettings]
    finetunings: Nested[FinetuneSettings]
    predictions: dict[str, PredictionSettings]
    test_sets: Nested[TokenizedTaskSettings]
    submission: SubmissionSettings
    profiles: Mapping[str, ProfileSettings]

    def resolve_all(self) -> None:
        """Resolve the settings of every job, so that an error in one of them comes before the first job.

        Raises:
            RetortError: settings of a job cannot be resolved.
        """
        for field in fields(self):
            _resolve_each(getattr(self, field.name))


def _resolve_each(settings: Any) -> None:
    """Resolve all settings in nested mappings."""
    if isinstance(settings, Mapping):
        for name in settings:
            _resolve_each(settings[name])


def params(study: Study, pairs: Iterable[tuple[str, str]]) -> Params:
    """Return the settings of every job, each resolved at its first use.

    Args:
        study: the study.
        pairs: the (student or teacher, task) pairs that are trained.
    """
    tasks = [name for name, task in study.tasks.items() if readable(study, name, task.used)]
    specific = {name: list[str]() for name, student in study.running.items() if student.distilled_on == "task"}
    agnostic = {name: list[str]() for name, student in study.running.items() if student.distilled_on == "corpus"}
    for student, task in pairs:
        for tasks_by_student in (specific, agnostic):
            if student in tasks_by_student:
                tasks_by_student[student].append(task)

    def nested(names: dict[str, list[str]], resolve_one: Callable[[Study, str, str], Resolved]) -> Nested[Resolved]:
        def inner(name: str) -> Mapping[str, Resolved]:
            return OnDemand(names[name], functools.partial(resolve_one, study, name))

        return OnDemand(names, inner)

    corpora = list(study.corpora)
    on_tasks, on_corpora = dict.fromkeys(study.teachers, tasks), dict.fromkeys(study.teachers, corpora)
    sent = predictions(study)
    return Params(
        sources=OnDemand(study.sources, functools.partial(resolve_data.fetched_content, study)),
        tasks=nested(dict.fromkeys(study.tokenizers, tasks), resolve_data.tokenized_task),
        corpora=nested(dict.fromkeys(study.tokenizers, corpora), resolve_data.tokenized_corpus),
        teachers=nested(on_tasks, resolve.teacher),
        teacher_heads=nested(on_corpora, resolve.teacher_head),
        activations=nested(on_tasks, resolve.activations),
        distillations=nested(specific, resolve.task_distillation),
        students=OnDemand(agnostic, functools.partial(resolve.corpus_distillation, study)),
        grids=nested(agnostic, resolve.grid),
        finetunings=nested(agnostic, resolve.finetuning),
        predictions=sent,
        test_sets=nested({name: list(sent) for name in study.tokenizers}, test_sets),
        submission=submission(study),
        profiles=OnDemand((*study.running, *study.teachers), functools.partial(resolve.profile, study)),
    )


def predictions(study: Study) -> dict[str, PredictionSettings]:
    """Return the settings of the test-set predictions: task -> settings, for each task that can be submitted."""
    return {
        name: PredictionSettings(
            task=resolve_data.task(study, name, submitted_splits(spec)),
            precision=study.config.resolved_precision(),
            stage=VERSIONS["predict"],
        )
        for name, spec in study.tasks.items()
        if spec.submission and readable(study, name, submitted_splits(spec))
    }


def test_sets(study: Study, model_name: str, name: str) -> TokenizedTaskSettings:
    """Return the settings of a task's test sets, encoded with the tokenizer of a model."""
    task = resolve_data.task(study, name, submitted_splits(study.tasks[name]))
    return TokenizedTaskSettings(task=task, tokenizer=resolve_data.tokenizer(study, model_name))


def submission(study: Study) -> SubmissionSettings:
    """Return the settings of a zip: all files that the server takes, and the files and label names of each task."""
    tasks = {
        name: SubmittedTask(
            files=spec.submission.files,
            label_names=spec.submission.label_names or spec.labels,
            bounds=spec.bounds,
        )
        for name, spec in study.tasks.items()
        if spec.submission
    }
    return SubmissionSettings(
        tasks=tasks, server_files=sorted(file for task in tasks.values() for file in task.files.values())
    )
