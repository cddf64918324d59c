"""The settings of every job of a study, under the names by which the rules look them up."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from retort.plan import resolve, resolve_data
from retort.plan.resolve_data import VERSIONS
from retort.settings.inputs import TokenizedRowSetSettings, TokenizedTaskSettings
from retort.settings.trainings import PredictionSettings, SubmissionSettings, SubmittedTask
from retort.study.questions import readable, submitted_splits, training_rows_of
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


class Params:
    """The settings of every job: by name, or by student, teacher or tokenizer and then by task or corpus.

    Args:
        study: the study.
        pairs: the (student or teacher, task) pairs that are trained.
    """

    def __init__(self, study: Study, pairs: Iterable[tuple[str, str]]) -> None:
        def nested(
            names: Mapping[str, Iterable[str]], resolve_one: Callable[[Study, str, str], Resolved]
        ) -> OnDemand[OnDemand[Resolved]]:
            return OnDemand(names, lambda name: OnDemand(names[name], functools.partial(resolve_one, study, name)))

        tasks = [name for name, spec in study.tasks.items() if readable(study, name, spec.used)]
        sent = predictions(study)
        tasks_of = defaultdict[str, list[str]](list)
        for name, task in pairs:
            tasks_of[name].append(task)
        students = study.running.items()
        specific = {name: tasks_of[name] for name, student in students if student.distilled_on == "task"}
        agnostic = {name: tasks_of[name] for name, student in students if student.distilled_on == "corpus"}
        self.sources = OnDemand(study.sources, functools.partial(resolve_data.fetched_content, study))
        self.tasks = nested(dict.fromkeys(study.tokenizers, tasks), resolve_data.tokenized_task)
        self.corpora = nested(dict.fromkeys(study.tokenizers, study.corpora), resolve_data.tokenized_corpus)
        self.training_rows = OnDemand(study.training_rows, functools.partial(_row_sets, study, specific))
        self.teachers = nested(dict.fromkeys(study.teachers, tasks), resolve.teacher)
        self.teacher_heads = nested(dict.fromkeys(study.teachers, study.corpora), resolve.teacher_head)
        self.activations = nested(dict.fromkeys(study.teachers, tasks), resolve.activations)
        self.distillations = nested(specific, resolve.task_distillation)
        self.students = OnDemand(agnostic, functools.partial(resolve.corpus_distillation, study))
        self.grids = nested(agnostic, lambda _, name, task: resolve.grid(study, name, task, self.students[name]))
        self.finetunings = nested(agnostic, lambda _, name, task: resolve.finetuned(self.grids[name][task]))
        self.predictions = sent
        self.test_sets = nested(dict.fromkeys(study.tokenizers, sent), test_sets)
        self.submission = submission(study)
        self.profiles = OnDemand((*study.running, *study.teachers), functools.partial(resolve.profile, study))

    def resolve_all(self) -> None:
        """Resolve the settings of every job, so that an error in one of them comes before the first job.

        Raises:
            RetortError: settings of a job cannot be resolved.
        """
        _resolve_each(vars(self))


def _row_sets(
    study: Study, specific: Mapping[str, Iterable[str]], name: str
) -> OnDemand[OnDemand[TokenizedRowSetSettings]]:
    """Return the settings of a set of training rows: by task, and then by tokenizer.

    Args:
        study: the study.
        specific: task-specific student -> the tasks that it is trained on.
        name: the name of the set.
    """
    tokenizers = defaultdict[str, set[str]](set)
    for student, tasks in specific.items():
        if name in training_rows_of(study.students[student]):
            for task in tasks:
                tokenizers[task].add(study.tokenizer_of(study.teachers[study.students[student].teacher].model))

    def of_task(task: str) -> OnDemand[TokenizedRowSetSettings]:
        return OnDemand(sorted(tokenizers[task]), functools.partial(resolve_data.tokenized_row_set, study, name, task))

    return OnDemand(tokenizers, of_task)


def _resolve_each(settings: Any) -> None:
    """Resolve all settings in nested mappings."""
    if isinstance(settings, Mapping):
        for name in settings:
            _resolve_each(settings[name])


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
    return resolve_data.tokenized_task(study, model_name, name, submitted_splits(study.tasks[name]))


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
    files = sorted(file for task in tasks.values() for file in task.files.values())
    return SubmissionSettings(tasks=tasks, server_files=files)
