"""The plan: which files each job of data, teachers and students reads. Snakemake's rules ask it.

Every method that takes wildcards is an input function of a rule. Nothing here reads a result.
"""

from __future__ import annotations

import functools
import operator
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from snakemake.io import directory, temp

from retort.plan import resolve, resolve_data
from retort.plan.params import params
from retort.plan.settings_cells import check_settings_cells
from retort.settings import PointSettings
from retort.specs.config import Config, RunSources
from retort.specs.protocol import Grid
from retort.specs.task_files import UNKNOWN
from retort.study import questions
from retort.study.cells import expand
from retort.study.load import open_study
from retort.study.reading import sends, submitted
from retort.study.study import Study

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
        students = self.study.running
        self.task_specific = [name for name, student in students.items() if student.distilled_on == "task"]
        self.task_agnostic = [name for name, student in students.items() if student.distilled_on == "corpus"]
        sent = submitted(self.study)
        self.pairs = sorted({(cell.student, cell.task) for cell in self.cells} | set(sent))
        self.sends = bool(sent) and sends(self.study)
        self.settings = params(self.study, self.pairs)

    def at(self, address: str) -> Callable[[Wildcards], Any]:
        """Return a function from wildcards to the JSON values under an address, such as 'grids/{student}/{task}'.

        Rules use this instead of Snakemake's `lookup`, which walks through all settings. The settings of a job are
        converted once, however often Snakemake asks for them.
        """
        job_type, *names = address.split("/")

        @functools.cache
        def json_of(*keys: str) -> Any:
            return functools.reduce(operator.getitem, keys, getattr(self.settings, job_type)).model_dump(mode="json")

        return lambda wildcards: json_of(*(name.format(**wildcards) for name in names))

    @property
    def every_core(self) -> int:
        """The number of cores of this machine; 1 on a cluster, where a job has cores of its own.

        A job that asks for all of them runs alone. Snakemake reduces the number to the cores that it was given.
        """
        return 1 if self.config.cluster else os.cpu_count() or 1

    @staticmethod
    def pattern(names: Iterable[str]) -> str:
        """Return a regular expression that matches exactly these names; without names, it matches nothing."""
        return "|".join(re.escape(name) for name in sorted(names)) or "(?!)"

    @property
    def keeps(self) -> bool:
        """Whether weights of fine-tuned students are kept: for good, or until their test-set answers exist."""
        return self.config.keep_weights or self.sends

    def kept(self, path: str) -> Any:
        """Return how a rule declares an output folder of weights.

        Weights that are not kept have no output (an empty list). The folder is permanent if the configuration says
        `keep_weights`. Otherwise it is temporary: Snakemake deletes it after the last job that reads it.
        """
        stays = directory(path) if self.config.keep_weights else temp(directory(path))
        return stays if self.keeps else []

    # --- sources, tasks, corpora

    @property
    def made(self) -> list[str]:
        """The sources that are made from a seed."""
        return [name for name, source in self.study.sources.items() if source.location(self.config) == "made"]

    @property
    def fetched(self) -> list[str]:
        """The sources that are downloaded, or are folders of the user."""
        return sorted(set(self.study.sources) - set(self.made))

    def folder_of(self, source: str) -> str:
        """Return the folder of a source."""
        return f"results/sources/{source}"

    def task_source(self, wildcards: Wildcards) -> list[str]:
        """Return the folders of the sources of a task's splits."""
        return [self.folder_of(source) for source in self.study.tasks[wildcards.task].sources]

    def corpus_sources(self, wildcards: Wildcards) -> list[str]:
        """Return the folders of a corpus's sources, in the order of its settings."""
        return [self.folder_of(name) for name in resolve_data.corpus_sources(self.study, wildcards.corpus)]

    def corpus_parts(self, wildcards: Wildcards) -> list[str]:
        """Return the folders of the tokenised parts of a corpus, in order."""
        parts = self.study.corpora[wildcards.corpus].jobs.parts
        folder = f"results/tokenized/{wildcards.corpus}/{wildcards.tokenizer}"
        return [f"{folder}/{part}-of-{parts}" for part in range(1, parts + 1)]

    def tokenizer_folder(self, wildcards: Wildcards) -> str:
        """Return the folder with the files of a tokenizer; its name is that of a pre-trained model."""
        return self.folder_of(self.study.models[wildcards.tokenizer].source)

    def _tokenizer(self, teacher: str) -> str:
        """Return the name of a teacher's tokenizer; teachers can share one."""
        return self.study.tokenizer_of(self.study.teachers[teacher].model)

    def encoded(self, teacher: str, task: str) -> str:
        """Return the folder of a task encoded with a teacher's tokenizer."""
        return f"results/encoded/{task}/{self._tokenizer(teacher)}"

    def blocks(self, teacher: str, corpus: str) -> str:
        """Return the folder of a corpus packed into blocks with a teacher's tokenizer."""
        return f"results/corpora/{corpus}/{self._tokenizer(teacher)}"

    # --- teachers

    def teacher_encoded(self, wildcards: Wildcards) -> str:
        """Return the encoded task on which a teacher is fine-tuned."""
        return self.encoded(wildcards.teacher, wildcards.task)

    def teacher_blocks(self, wildcards: Wildcards) -> str:
        """Return the packed corpus on which a teacher's masked-LM head is fitted."""
        return self.blocks(wildcards.teacher, wildcards.corpus)

    def teacher_model(self, wildcards: Wildcards) -> str:
        """Return the folder of a teacher's pre-trained model."""
        return self.folder_of(self.study.model_of(wildcards.teacher).source)

    def teacher_tokenizer(self, wildcards: Wildcards) -> str:
        """Return the folder with the files of a teacher's tokenizer."""
        return self.folder_of(self.study.models[self._tokenizer(wildcards.teacher)].source)

    @property
    def teacher_score(self) -> str:
        """The path of a teacher's score file, with wildcards for teacher and task and the smallest of all seeds."""
        seeds = {teacher.seed for teacher in self.study.teachers.values()} or {1}
        return f"results/scores/{{teacher}}/{{task}}/seed-{min(seeds)}.json"

    # --- students

    def _teacher_of(self, wildcards: Wildcards) -> str:
        return self.study.students[wildcards.student].teacher

    def student_encoded(self, wildcards: Wildcards) -> str:
        """Return the encoded task of a student, with its teacher's tokenizer."""
        return self.encoded(self._teacher_of(wildcards), wildcards.task)

    def _reads_teacher(self, wildcards: Wildcards) -> bool:
        """Return whether a student reads its fine-tuned teacher: its weights or its activations."""
        return resolve.reads_teacher(self.study.students[wildcards.student])

    def student_teacher(self, wildcards: Wildcards) -> str | list[str]:
        """Return the teacher fine-tuned on the task; empty if the student does not read it."""
        model = f"results/teachers/{self._teacher_of(wildcards)}/{wildcards.task}/model"
        return model if self._reads_teacher(wildcards) else []

    def student_model(self, wildcards: Wildcards) -> str:
        """Return the folder of the pre-trained model of a student's teacher; it decides the model family."""
        return self.folder_of(self.study.model_of(self._teacher_of(wildcards)).source)

    def student_tokenizer(self, wildcards: Wildcards) -> str:
        """Return the folder with the files of the tokenizer of a student and its teacher, or of a teacher."""
        return self.folder_of(self.study.models[self.tokenizer_of(wildcards.student)].source)

    def tokenizer_of(self, name: str) -> str:
        """Return the name of the tokenizer of a student or teacher."""
        return self._tokenizer(self.study.teacher_of(name))

    def student_activations(self, wildcards: Wildcards) -> str | list[str]:
        """Return the folder of the stored activations of a student's teacher on a task.

        It is empty if the student does not read the teacher, or if the teacher runs beside the student: at a scale
        without `stores_activations`, or where the student reads what is not stored.
        """
        if not self.study.scale.stores_activations or not self._reads_teacher(wildcards):
            return []
        if not resolve.has_stored_activations(self.study, wildcards.student, wildcards.task):
            return []
        return f"results/activations/{self._teacher_of(wildcards)}/{wildcards.task}"

    def student_corpora(self, wildcards: Wildcards) -> list[str]:
        """Return the packed corpora of a student's stages, in the order of its settings."""
        student = self.study.students[wildcards.student]
        return [self.blocks(student.teacher, data) for data in dict.fromkeys(stage.data for stage in student.stages)]

    def student_teacher_head(self, wildcards: Wildcards) -> str:
        """Return the teacher's model for a task-agnostic student.

        If the student reads the teacher's output and the pre-trained model has no masked-LM head, this is the teacher
        with a fitted head; otherwise it is the pre-trained model.
        """
        corpus = questions.fitted_on(self.study, wildcards.student)
        teacher = self._teacher_of(wildcards)
        return f"results/teachers/{teacher}/{corpus}/model" if corpus else self.student_model(wildcards)

    def student_parent(self, wildcards: Wildcards) -> list[str]:
        """Return the student or published model from which a student starts; empty if there is none."""
        start = self.study.students[wildcards.student].initialisation
        if start.checkpoint:
            return [self.folder_of(self.study.models[start.checkpoint].source)]
        return [f"results/students/{start.student}/model"] if start.student else []

    def grid_parts(self, wildcards: Wildcards) -> list[str]:
        """Return the result files of the parts of a student's grid on a task; empty if there is no grid."""
        folder = f"results/trials/{wildcards.student}/{wildcards.task}"
        parts = number_of_parts(self.study, wildcards.student, wildcards.task, Path(folder))
        return [f"{folder}/{part}-of-{parts}.jsonl" for part in range(1, parts + 1)]

    def profile_model(self, wildcards: Wildcards) -> str:
        """Return the pre-trained model that has the same model family as a profiled architecture."""
        return self.folder_of(self.study.model_of(self.study.teacher_of(wildcards.student)).source)


WORK = 1e18  # FLOPs of a job, at most: a few hours of a GPU. A job takes a whole point, even if that is more


# FLOPs of a training step for each weight and token: two in the forward pass, four in the backward pass
FLOPS_PER_WEIGHT = 6


PART = re.compile(r"\d+-of-(\d+)\.jsonl")


def number_of_parts(study: Study, student: str, task: str, folder: Path) -> int:
    """Return the number of jobs of a grid, at most one for each point; 0 without a grid.

    The task's `grid_parts` decides, else the number of a finished grid, else the work. A finished grid keeps its number
    because the files' names hold it: with another number, the grid would be made again.

    Args:
        study: the study.
        student: the student that is fine-tuned.
        task: the task.
        folder: where the results of the parts are.
    """
    grid = study.protocols[study.students[student].protocol].grid_of(task)
    if grid is None:
        return 0
    parts = study.tasks[task].jobs.grid_parts or finished_parts(folder) or parts_by_work(study, student, task, grid)
    return min(parts, len(grid.points()))


def finished_parts(folder: Path) -> int | None:
    """Return the number of parts of a grid whose results are all in a folder; None if there is no such grid."""
    if not folder.is_dir():
        return None
    names = (path.name for path in folder.iterdir())
    parts = Counter(int(found[1]) for name in names if (found := PART.fullmatch(name)))
    return min((number for number, count in parts.items() if number == count), default=None)


def parts_by_work(study: Study, student: str, task: str, grid: Grid) -> int:
    """Return the number of parts that keeps each within WORK if every row has the task's maximum length."""
    spec, size = study.tasks[task], study.students[student].architecture
    schedule = study.protocols[study.students[student].protocol].for_task(task)
    schedules = [PointSettings(**point).applied_to(schedule) for point in grid.points()]
    rows = _training_rows(study, task)
    tokens = sum(each.steps_on(rows) * each.batch_size for each in schedules) * spec.max_length
    return max(1, -(-FLOPS_PER_WEIGHT * size.layers * size.layer_weights * tokens // int(WORK)))


def _training_rows(study: Study, task: str) -> int:
    """Return the number of training rows of a task; UNKNOWN if the study's files do not tell."""
    spec = study.tasks[task]
    if spec.train_split not in spec.splits:
        return UNKNOWN
    return spec.splits[spec.train_split].most(spec.subsets)
