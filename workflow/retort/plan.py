"""The plan: which file each table needs, and which files each job reads. What the rules ask, answered by the book.

Every method that takes wildcards is an input function of a rule; nothing here reads a result.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import reduce
from pathlib import Path
from typing import Any

from snakemake.io import directory, temp

from retort.specs import heads
from retort.specs import settings as resolve
from retort.specs.book import open_book
from retort.specs.config import Config
from retort.specs.expand import Cell, expand, profiled, score_address
from retort.specs.needs import sends, submitted
from retort.specs.params import params
from retort.specs.table import ScoresTable, TestsTable

Wildcards = Any


class Plan:
    """A checked book with its cells and the settings of every job.

    Args:
        config: the checked configuration.

    Raises:
        BookError: with every problem of every file.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.book = open_book(config)
        self.list = expand(self.book)
        students = self.book.running
        self.on_task = [name for name, student in students.items() if student.road == "task"]
        self.on_corpus = [name for name, student in students.items() if student.road == "corpus"]
        sent = submitted(self.book)
        self.pairs = sorted({(cell.student, cell.task) for cell in self.list} | set(sent))
        self.sends = bool(sent) and sends(self.book)
        self.settings = params(self.book, self.pairs)

    def at(self, address: str) -> Callable[[Wildcards], Any]:
        """From wildcards to the settings at an address, such as 'grids/{student}/{task}'; `lookup` walks them all."""
        keys = address.split("/")
        return lambda wildcards: reduce(lambda inside, key: inside[key.format(**wildcards)], keys, self.settings)

    @property
    def every_core(self) -> int:
        """The cores of this machine: a job that claims them runs alone; Snakemake cuts them to what it was given."""
        return os.cpu_count() or 1

    @staticmethod
    def pattern(names: Iterable[str]) -> str:
        """A regular expression that matches just these names; one that matches nothing where there are none."""
        return "|".join(re.escape(name) for name in sorted(names)) or "(?!)"

    @property
    def keeps(self) -> bool:
        """Whether the weights of fine-tuned students stay, for good or until their answers are written down."""
        return self.config.keep_weights or self.sends

    def kept(self, path: str) -> Any:
        """An output folder of weights: none, one that stays, or one that goes when nothing reads it any more."""
        stays = directory(path) if self.config.keep_weights else temp(directory(path))
        return stays if self.keeps else []

    # --- sources, tasks, corpora

    def _folder(self, source: str) -> str:
        return f"results/sources/{source}"

    def task_source(self, wildcards: Wildcards) -> list[str]:
        """The sources of a task's splits."""
        return [self._folder(source) for source in self.book.tasks[wildcards.task].sources]

    def corpus_sources(self, wildcards: Wildcards) -> list[str]:
        """The sources of a corpus, in the order in which its settings name them."""
        return [self._folder(name) for name in resolve.corpus_sources(self.book, wildcards.corpus)]

    def model_folder(self, wildcards: Wildcards) -> str:
        """The files of a pre-trained model."""
        return self._folder(self.book.models[wildcards.model].source)

    def encoded(self, teacher: str, task: str) -> str:
        """A task, encoded with the vocabulary of a teacher."""
        return f"results/encoded/{task}/{self.book.teachers[teacher].model}"

    def blocks(self, teacher: str, corpus: str) -> str:
        """A corpus, packed with the vocabulary of a teacher."""
        return f"results/corpora/{corpus}/{self.book.teachers[teacher].model}"

    # --- teachers

    def teacher_encoded(self, wildcards: Wildcards) -> str:
        """The encoded task that a teacher is fine-tuned on."""
        return self.encoded(wildcards.teacher, wildcards.task)

    def teacher_blocks(self, wildcards: Wildcards) -> str:
        """The corpus that a teacher gets a head on."""
        return self.blocks(wildcards.teacher, wildcards.corpus)

    def teacher_model(self, wildcards: Wildcards) -> str:
        """The pre-trained model of a teacher."""
        return self._folder(self.book.model_of(wildcards.teacher).source)

    @property
    def teacher_score(self) -> str:
        """The address of a teacher's score: its one seed stands in the name."""
        seeds = {teacher.seed for teacher in self.book.teachers.values()} or {1}
        return f"results/scores/{{teacher}}/{{task}}/seed-{min(seeds)}.json"

    # --- students

    def _teacher_of(self, wildcards: Wildcards) -> str:
        return self.book.students[wildcards.student].teacher

    def student_encoded(self, wildcards: Wildcards) -> str:
        """The encoded task of a student."""
        return self.encoded(self._teacher_of(wildcards), wildcards.task)

    def _learns(self, wildcards: Wildcards) -> bool:
        return resolve.reads_teacher(self.book.students[wildcards.student])

    def student_teacher(self, wildcards: Wildcards) -> str | list[str]:
        """The fine-tuned teacher of a student on a task; none where the student reads nothing of it."""
        if not self._learns(wildcards):
            return []
        return f"results/teachers/{self._teacher_of(wildcards)}/{wildcards.task}/model"

    def student_model(self, wildcards: Wildcards) -> str:
        """The pre-trained model of a student's teacher, which gives its family and vocabulary."""
        return self._folder(self.book.model_of(self._teacher_of(wildcards)).source)

    def student_taps(self, wildcards: Wildcards) -> str | list[str]:
        """The recorded taps of a student's teacher; none where the teacher runs beside the student, or is not read."""
        kept = self.config.scale == "pocket" and resolve.recorded(self.book, wildcards.student, wildcards.task)
        if not (kept and self._learns(wildcards)):
            return []
        return f"results/taps/{self._teacher_of(wildcards)}/{wildcards.task}"

    def student_corpora(self, wildcards: Wildcards) -> dict[str, str]:
        """The corpora of a student's stages, by name."""
        student = self.book.students[wildcards.student]
        return {stage.data: self.blocks(student.teacher, stage.data) for stage in student.stages}

    def student_teacher_head(self, wildcards: Wildcards) -> str:
        """The teacher of a task-agnostic student: with a masked-LM head where its output is read and it has none."""
        corpus = heads.fitted_on(self.book, wildcards.student)
        teacher = self._teacher_of(wildcards)
        return f"results/teachers/{teacher}/{corpus}/model" if corpus else self.student_model(wildcards)

    def student_parent(self, wildcards: Wildcards) -> list[str]:
        """The student or the published model that a student starts from, where it does."""
        start = self.book.students[wildcards.student].initialisation
        if start.checkpoint:
            return [self._folder(self.book.models[start.checkpoint].source)]
        return [f"results/students/{start.student}/model"] if start.student else []

    def grid_parts(self, wildcards: Wildcards) -> list[str]:
        """The parts of a student's grid on a task; none where there is no grid to choose from."""
        grid = self.book.protocols[self.book.students[wildcards.student].protocol].grid_of(wildcards.task)
        if grid is None:
            return []
        parts = min(self.book.tasks[wildcards.task].jobs.grid_parts, len(grid.points()))
        folder = f"results/trials/{wildcards.student}/{wildcards.task}"
        return [f"{folder}/{part}-of-{parts}.jsonl" for part in range(1, parts + 1)]

    def profile_model(self, wildcards: Wildcards) -> str:
        """The pre-trained model whose family a profiled architecture belongs to."""
        name = wildcards.student
        teacher = name if name in self.book.teachers else self.book.students[name].teacher
        return self._folder(self.book.model_of(teacher).source)

    # --- tables and figures

    def exhibit_file(self, paper: str, name: str) -> str:
        """The YAML file of a table or figure."""
        return self.shown(self.book.files["exhibits", f"{paper}/{name}"])

    def shown(self, path: Path) -> str:
        """A path as Snakemake prints it: from the current folder, where it lies below."""
        here = Path.cwd()
        return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)

    def _cells(self, paper: str, name: str) -> list[Cell]:
        exhibit = self.book.exhibits[paper, name]
        names = exhibit.of if isinstance(exhibit, TestsTable) else [name]
        return [cell for cell in self.list if cell.paper == paper and cell.table in names]

    def scores(self, paper: str, name: str) -> list[str]:
        """The score files that a table or figure reads."""
        return sorted({score_address(cell.student, cell.task, cell.seed) for cell in self._cells(paper, name)})

    def profiles(self, paper: str, name: str) -> list[str]:
        """The profile files that a table or figure reads."""
        return sorted(
            {f"results/profiles/{student}.json" for student in profiled(self.book, self.book.exhibits[paper, name])}
        )

    def table_file(self, wildcards: Wildcards) -> str:
        """The YAML file of a table."""
        return self.exhibit_file(wildcards.paper, wildcards.table)

    def table_compares(self, wildcards: Wildcards) -> list[Any]:
        """What a table of tests takes from the tables that it compares: their rows, and each task's first metric."""
        exhibit = self.book.exhibits[wildcards.paper, wildcards.table]
        tables = [self.book.exhibits[wildcards.paper, name] for name in getattr(exhibit, "of", [])]
        compared = [
            (table, [row for row in table.rows if row.student]) for table in tables if isinstance(table, ScoresTable)
        ]
        return [
            [[row.student, row.label, row.baseline] for row in rows]
            + [list(pair) for row in rows[:1] for pair in table.scores_of(row.student)]
            for table, rows in compared
        ]

    def table_scores(self, wildcards: Wildcards) -> list[str]:
        """The score files of a table."""
        return self.scores(wildcards.paper, wildcards.table)

    def table_profiles(self, wildcards: Wildcards) -> list[str]:
        """The profile files of a table."""
        return self.profiles(wildcards.paper, wildcards.table)

    def figure_file(self, wildcards: Wildcards) -> str:
        """The YAML file of a figure."""
        return self.exhibit_file(wildcards.paper, wildcards.figure)

    def figure_scores(self, wildcards: Wildcards) -> list[str]:
        """The score files of a figure."""
        return self.scores(wildcards.paper, wildcards.figure)

    def figure_profiles(self, wildcards: Wildcards) -> list[str]:
        """The profile files of a figure."""
        return self.profiles(wildcards.paper, wildcards.figure)

    def figure_tables(self, wildcards: Wildcards) -> list[str]:
        """The tidy files of the tables that a figure draws."""
        of = getattr(self.book.exhibits[wildcards.paper, wildcards.figure], "of", None)
        return [f"results/tables/{wildcards.paper}/{of}.csv"] if of else []

    def claims_file(self, wildcards: Wildcards) -> str:
        """The claims of a paper."""
        return self.shown(self.book.folder / "papers" / wildcards.paper / "claims.yaml")

    def claim_tables(self, wildcards: Wildcards) -> list[str]:
        """The tidy files that a paper's claims are judged on."""
        names = sorted({name for claim in self.book.claims.get(wildcards.paper, {}).values() for name in claim.tables})
        return [f"results/tables/{wildcards.paper}/{name}.csv" for name in names]
