"""Collect the settings of every job of a study, under the names by which the Snakemake rules look them up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from retort.plan import resolve
from retort.plan.resolve_submission import predictions, submission, test_sets
from retort.settings import (
    ActivationSettings,
    CorpusDistillationSettings,
    FinetuneSettings,
    GridSettings,
    PredictionSettings,
    ProfileSettings,
    SourceSettings,
    SubmissionSettings,
    TaskDistillationSettings,
    TeacherHeadSettings,
    TeacherSettings,
    TokenizedCorpusSettings,
    TokenizedTaskSettings,
)
from retort.study.reading import readable
from retort.study.study import Study

Resolved = TypeVar("Resolved")


@dataclass(frozen=True)
class Params:
    """The settings of every job: by name, or by student, teacher or tokenizer and then by task or corpus."""

    sources: dict[str, SourceSettings]
    tasks: dict[str, dict[str, TokenizedTaskSettings]]
    corpora: dict[str, dict[str, TokenizedCorpusSettings]]
    teachers: dict[str, dict[str, TeacherSettings]]
    teacher_heads: dict[str, dict[str, TeacherHeadSettings]]
    activations: dict[str, dict[str, ActivationSettings]]
    distillations: dict[str, dict[str, TaskDistillationSettings]]
    students: dict[str, CorpusDistillationSettings]
    grids: dict[str, dict[str, GridSettings]]
    finetunings: dict[str, dict[str, FinetuneSettings]]
    predictions: dict[str, PredictionSettings]
    test_sets: dict[str, dict[str, TokenizedTaskSettings]]
    submission: SubmissionSettings
    profiles: dict[str, ProfileSettings]


def params(study: Study, pairs: Iterable[tuple[str, str]]) -> Params:
    """Return the settings of every job.

    Args:
        study: the study.
        pairs: the (student or teacher, task) pairs that are trained.
    """
    tasks = [name for name, task in study.tasks.items() if readable(study, name, task.used)]
    specific = {name: list[str]() for name, student in study.running.items() if student.distilled_on == "task"}
    agnostic = {name: list[str]() for name, student in study.running.items() if student.distilled_on == "corpus"}
    for student, task in pairs:
        for tasks_of in (specific, agnostic):
            if student in tasks_of:
                tasks_of[student].append(task)

    def each(
        names: dict[str, list[str]], settings_of: Callable[[Study, str, str], Resolved]
    ) -> dict[str, dict[str, Resolved]]:
        return {name: {other: settings_of(study, name, other) for other in others} for name, others in names.items()}

    corpora = list(study.corpora)
    on_tasks, on_corpora = dict.fromkeys(study.teachers, tasks), dict.fromkeys(study.teachers, corpora)
    sent = predictions(study)
    return Params(
        sources={name: resolve.fetched_content(study, name) for name in study.sources},
        tasks=each(dict.fromkeys(study.tokenizers, tasks), resolve.tokenized_task),
        corpora=each(dict.fromkeys(study.tokenizers, corpora), resolve.tokenized_corpus),
        teachers=each(on_tasks, resolve.teacher),
        teacher_heads=each(on_corpora, resolve.teacher_head),
        activations=each(on_tasks, resolve.activations),
        distillations=each(specific, resolve.task_distillation),
        students={name: resolve.corpus_distillation(study, name) for name in agnostic},
        grids=each(agnostic, resolve.grid),
        finetunings=each(agnostic, resolve.finetuning),
        predictions=sent,
        test_sets=each({name: list(sent) for name in study.tokenizers}, test_sets),
        submission=submission(study),
        profiles={name: resolve.profile(study, name) for name in (*study.running, *study.teachers)},
    )
