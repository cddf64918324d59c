"""The plan: the checked study with its cells, the settings of every job, and the paths that several rules share.

Nothing here reads a result.
"""

from __future__ import annotations

import functools
import operator
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from snakemake.io import directory, temp

from retort.errors import RetortError
from retort.plan import resolve, resolve_data
from retort.plan.resolve_data import VERSIONS
from retort.plan.rule import apart
from retort.plan.settings_cells import check_settings_cells
from retort.settings.inputs import TokenizedTaskSettings
from retort.settings.trainings import PredictionSettings, SubmissionSettings, SubmittedTask
from retort.specs.config import Config, RunSources
from retort.study.cells import expand, sent_runs, submitted
from retort.study.load import open_study
from retort.study.questions import fitted_on, further_timings, has_files, seeds_of, submitted_splits
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

        tasks = [name for name, spec in study.tasks.items() if has_files(study, name, spec.read_splits)]
        sent = predictions(study)
        tasks_of = defaultdict[str, list[str]](list)
        for name, task in pairs:
            tasks_of[name].append(task)
        students = study.running.items()
        running = (name for name in study.teachers if name not in study.not_run)
        teachers = dict.fromkeys((*running, *(student.teacher for _, student in students)))
        specific = {name: tasks_of[name] for name, student in students if student.distilled_on == "task"}
        agnostic = {name: tasks_of[name] for name, student in students if student.distilled_on == "corpus"}
        self.sources = OnDemand(study.sources, functools.partial(resolve_data.fetched_content, study))
        self.tasks = nested(dict.fromkeys(study.tokenizers, tasks), resolve_data.tokenized_task)
        self.corpora = nested(dict.fromkeys(study.tokenizers, study.corpora), resolve_data.tokenized_corpus)
        self.teachers = nested(dict.fromkeys(teachers, tasks), resolve.teacher)
        self.teacher_heads = nested(dict.fromkeys(teachers, study.corpora), resolve.teacher_head)
        self.distillations = nested(specific, resolve.task_distillation)
        self.students = OnDemand(agnostic, functools.partial(resolve.corpus_distillation, study))
        self.grids = nested(agnostic, lambda _, name, task: resolve.grid(study, name, task, self.students[name]))
        self.finetunings = nested(agnostic, lambda _, name, task: resolve.finetuned(self.grids[name][task]))
        self.predictions = sent
        self.test_sets = nested(dict.fromkeys(study.tokenizers, sent), test_sets)
        self.submission = submission(study)
        profile = functools.partial(resolve.profile, study, timings=further_timings(study))
        self.profiles = OnDemand((*study.running, *teachers), profile)

    def resolve_all(self) -> None:
        """Resolve the settings of every job, so that an error in one of them comes before the first job.

        Raises:
            RetortError: settings of a job cannot be resolved.
        """
        _resolve_each(vars(self))


def _resolve_each(settings: Any) -> None:
    """Resolve all settings in nested mappings."""
    if isinstance(settings, Mapping):
        for name in settings:
            _resolve_each(settings[name])


def predictions(study: Study) -> dict[str, PredictionSettings]:
    """Return the settings of the test-set predictions: task -> settings, for each task that can be submitted."""
    return {
        name: PredictionSettings(
            task=resolve_data.task_settings(study, name, submitted_splits(spec)),
            precision=study.config.resolved_precision(),
            stage=VERSIONS["predict"],
        )
        for name, spec in study.tasks.items()
        if spec.submission and has_files(study, name, submitted_splits(spec))
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


Wildcards = Any


class Plan:
    """A checked study with its cells and the settings of every job.

    Args:
        config: the checked configuration.
        decide: returns which sources a run has, and at which commit; called with the study before anything is planned.
            Only the main process of a run gives it; other processes read the decision in the configuration.

    Raises:
        StudyError: the YAML files have problems; the error lists every problem of every file.
    """

    def __init__(self, config: Config, decide: Callable[[Study], RunSources] | None = None) -> None:
        self.study = open_study(config, check_settings_cells)
        if decide:
            self.study.apply(decide(self.study))
        self.config = self.study.config
        self.cells = expand(self.study)
        students = self.study.running.items()
        self.task_specific = [name for name, student in students if student.distilled_on == "task"]
        self.task_agnostic = [name for name, student in students if student.distilled_on == "corpus"]
        self.trained = {*self.study.running, *self.study.teachers}
        sent = submitted(self.study)
        self.pairs = sorted({(cell.student, cell.task) for cell in self.cells} | set(sent))
        self.sends = bool(sent) and self.study.scale.submissions
        self.settings = Params(self.study, self.pairs)
        self.groups: dict[str, list[str]] = {}  # group -> the students, two or more, that a job distils side by side
        self.group_of: dict[str, str] = {}
        self.activations: dict[str, list[str]] = {}  # folder of stored activations -> the students that read it
        self.activations_read: dict[tuple[str, str], str] = {}  # (student, task) -> that folder

    def share(self, groups: Mapping[str, list[str]], seeds: Mapping[str, list[str]]) -> None:
        """Set which work shares a job.

        Args:
            groups: group -> the students that a job distils side by side.
            seeds: '<student>/<task>' -> the seeds of each of its jobs, where several jobs share them.
        """
        self.groups = dict(groups)
        self.group_of = {student: group for group, students in groups.items() for student in students}
        self.config = self.study.config = self.config.model_copy(update={"seeds_divided": dict(seeds)})

    def share_activations(self, folders: Mapping[str, list[str]]) -> None:
        """Set which students read the same stored activations.

        Args:
            folders: results/activations/<teacher>/<task>/<number> -> the students.
        """
        self.activations = dict(folders)
        self.activations_read = {
            (student, folder.split("/")[-2]): folder for folder, students in folders.items() for student in students
        }

    def at(self, job_type: str, *names: str) -> Callable[[Wildcards], Any]:
        """Return a function from wildcards to the settings of a job as JSON values, such as of 'grids'.

        Rules use this instead of Snakemake's `lookup`, which walks through all settings. The settings of a job are
        converted once, however often Snakemake asks for them.

        Args:
            job_type: an attribute of the plan's settings.
            names: the wildcards that lead to the settings of one job, such as 'student' and 'task'.
        """

        @functools.cache
        def json_of(*keys: str) -> Any:
            try:
                return functools.reduce(operator.getitem, keys, getattr(self.settings, job_type)).model_dump(
                    mode="json"
                )
            except KeyError:  # a file that is asked for by name, and that no table of the run has
                why = "; ".join(self.config.run_sources.missing.values()) or "`retort list` names what there is"
                raise RetortError(f"nothing runs for {', '.join(keys)}", why) from None

        return lambda wildcards: json_of(*(getattr(wildcards, name) for name in names))

    def alone(self, names: Collection[str]) -> str:
        """Return a regular expression that matches these students or teachers, and no other that is trained.

        A name that nobody has may match, too: the input functions refuse it.
        """
        return apart(names, self.trained.difference(names))

    @property
    def every_core(self) -> int:
        """The number of cores of this machine; 1 on a cluster, where a job has cores of its own.

        A job that asks for all of them runs alone. Snakemake reduces the number to the cores that it was given.
        """
        return 1 if self.config.cluster else os.cpu_count() or 1

    @property
    def keeps(self) -> bool:
        """Whether weights of fine-tuned students are kept: for good, or until their test-set answers exist."""
        return self.config.keep_weights or self.sends

    def reads_weights(self, wildcards: Wildcards, output: Any) -> list[int]:
        """Return the seeds of a student on a task whose weights are read: by the user, or to answer test sets.

        It asks for `output`, so that Snakemake does not compare the value: another one never runs a job again.
        """
        if self.config.keep_weights:
            return seeds_of(self.study, wildcards.student)
        answers = self.sends and wildcards.task in self.settings.predictions
        return [seed for name, seed in self.sent if name == wildcards.student] if answers else []

    def kept(self, path: str) -> Any:
        """Return how a rule declares an output folder of weights.

        Weights that are not kept have no output (an empty list). The folder is permanent if the configuration says
        `keep_weights`. Otherwise it is temporary: Snakemake deletes it after the last job that reads it.
        """
        stays = directory(path) if self.config.keep_weights else temp(directory(path))
        return stays if self.keeps else []

    @functools.cached_property
    def sent(self) -> set[tuple[str, int]]:
        """The (student, seed) runs whose answers on test sets are sent to a server."""
        runs = {run for exhibit in self.study.exhibits.values() for run in sent_runs(self.study, exhibit)}
        return {(student, seed) for student, _, seed in runs}

    def model_folder(self, model: str) -> str:
        """Return the folder with the files of a pre-trained model; a tokenizer has the name of such a model."""
        return source_folder(self.study.models[model].source)

    def pretrained_folder(self, name: str) -> str:
        """Return the folder of the pre-trained model of a teacher, or of a student's teacher; it decides the family."""
        return source_folder(self.study.model_of(self.study.teacher_of(name)).source)

    def tokenizer_of(self, name: str) -> str:
        """Return the name of the tokenizer of a student or teacher; several can share one."""
        return self.study.tokenizer_of(self.study.teachers[self.study.teacher_of(name)].model)

    def tokenizer_folder(self, name: str) -> str:
        """Return the folder with the files of the tokenizer of a student or teacher."""
        return self.model_folder(self.tokenizer_of(name))

    def encoded(self, name: str, task: str) -> str:
        """Return the folder of a task encoded with the tokenizer of a student or teacher."""
        return f"results/encoded/{task}/{self.tokenizer_of(name)}"

    def blocks(self, name: str, corpus: str) -> str:
        """Return the folder of a corpus packed into blocks with the tokenizer of a student or teacher."""
        return f"results/corpora/{corpus}/{self.tokenizer_of(name)}"

    def parent(self, student: str) -> list[str]:
        """Return the student or released model from which a student starts; empty if there is none."""
        start = self.study.students[student].initialisation
        if start.checkpoint:
            return [self.model_folder(start.checkpoint)]
        return [f"results/students/{start.student}/model"] if start.student else []

    def corpora(self, student: str) -> list[str]:
        """Return the folders of the packed corpora that a student is distilled on, in the order of its stages."""
        data = dict.fromkeys(stage.data for stage in self.study.students[student].stages)
        return [self.blocks(student, name) for name in data]

    def corpus_teacher(self, student: str) -> str:
        """Return the teacher of a task-agnostic student: with a fitted head if it reads one that the model lacks."""
        corpus = fitted_on(self.study, student)
        fitted = f"results/teachers/{self.study.teacher_of(student)}/{corpus}/model"
        return fitted if corpus else self.pretrained_folder(student)

    def teacher(self, student: str, task: str) -> str | list[str]:
        """Return the teacher fine-tuned on the task; empty if the student reads neither its weights nor activations."""
        spec = self.study.students[student]
        return self.teacher_on_task(spec.teacher, task) if resolve.reads_teacher(spec) else []

    def teacher_on_task(self, teacher: str, task: str) -> str:
        """Return the folder of a teacher that is fine-tuned on a task, under its one seed."""
        return f"results/teachers/{teacher}/{task}/{self.study.teachers[teacher].seed}"

    def reads_stored_activations(self, student: str, task: str) -> bool:
        """Return whether a student reads stored activations of its teacher on a task.

        Else it reads none, or the teacher runs next to it: at a scale without `stores_activations`, or where it reads
        what cannot be stored.
        """
        return self.study.scale.stores_activations and resolve.reads_what_can_be_stored(self.study, student, task)


def source_folder(source: str) -> str:
    """Return the folder of a source."""
    return f"results/sources/{source}"


def relative_to_here(path: Path) -> str:
    """Return a path relative to the current folder if it lies below it, else unchanged; Snakemake prints paths so."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
