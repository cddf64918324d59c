"""The study: every task, model, protocol, student, table and figure of its YAML files, as data."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from pathlib import Path

from retort.specs.across import Across, Answer, Facts
from retort.specs.base import Names
from retort.specs.config import Chosen, Config, RunSources
from retort.specs.corpus import Corpus
from retort.specs.exhibit import Exhibit
from retort.specs.model import MadeSource, Model
from retort.specs.paper import Paper, Recording, Replication, Statement
from retort.specs.protocol import Protocol
from retort.specs.rows import Column
from retort.specs.scale import Scale
from retort.specs.source import HubSource, Source
from retort.specs.student import Student, Teacher
from retort.specs.task import Task


def _by_number(name: str) -> list[str]:
    """Return a key that sorts table9 before table10."""
    return [text.zfill(9) for text in re.split(r"(\d+)", name)]


@dataclass
class Study:
    """A study: all specs by name.

    A student or teacher is called `<paper>-<slug>`. The key of a table or figure is (paper, name of the file).
    """

    config: Config
    folders: dict[str, Path] = field(default_factory=dict)  # paper -> its folder, whether it is opened or not
    sources: dict[str, Source | MadeSource] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    corpora: dict[str, Corpus] = field(default_factory=dict)
    protocols: dict[str, Protocol] = field(default_factory=dict)
    papers: dict[str, Paper] = field(default_factory=dict)
    students: dict[str, Student] = field(default_factory=dict)
    teachers: dict[str, Teacher] = field(default_factory=dict)
    exhibits: dict[tuple[str, str], Exhibit] = field(default_factory=dict)
    claims: dict[str, dict[str, Statement]] = field(default_factory=dict)
    statements: dict[str, dict[str, Statement]] = field(default_factory=dict)
    recordings: dict[tuple[str, str], Recording] = field(default_factory=dict)  # (paper, scale) -> a run of ours
    records: dict[tuple[str, str], Recording] = field(default_factory=dict)  # (study of ours, precision) -> a run
    replications: dict[tuple[str, str], Replication] = field(default_factory=dict)  # (paper, file) -> by others
    facts: dict[str, Facts] = field(default_factory=dict)
    columns: dict[str, list[Column]] = field(default_factory=dict)  # the lists of columns that tables share
    with_columns: set[tuple[str, str]] = field(default_factory=set)  # (paper, table) that name such a list
    across: dict[str, Across] = field(default_factory=dict)  # question -> the rows of each paper that answer it
    answers: dict[str, Answer] = field(default_factory=dict)  # name -> a reader's question and its answer
    scales: dict[str, Scale] = field(default_factory=dict)  # those to choose from
    scale: Scale = field(default_factory=lambda: Scale(title="as reported"))
    unrun: dict[str, str] = field(default_factory=dict)  # paper that is shown and not run -> why; may be empty
    not_run: dict[str, str] = field(default_factory=dict)  # student or teacher not run at this scale -> why
    distillations: dict[str, dict[int, str]] = field(default_factory=dict)  # student -> seed -> a further student
    further: dict[str, tuple[str, int]] = field(default_factory=dict)  # such a student -> whose distillation, its seed
    untuned: set[str] = field(default_factory=set)  # students and teachers that take no part in their protocol's grid
    files: dict[tuple[str, str], Path] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)  # student -> the key of its entry, which may be a family's
    unscaled: Study | None = None  # what it was before a scale changed it; None where none did

    def copied(self) -> Study:
        """Return a copy whose entries can be replaced, added and removed: the study's own stay."""
        copied = copy.copy(self)
        vars(copied).update({name: copy.copy(x) for name, x in vars(self).items() if isinstance(x, dict | set)})
        return copied

    def record_of(self, paper: str) -> Recording | None:
        """Return the recorded run whose numbers a study of ours reports; None if there is none.

        It is that in the precision of this run, else one in another precision, which shares no training with it.
        """
        runs = {precision: run for (slug, precision), run in self.records.items() if slug == paper}
        return runs.get(self.config.resolved_precision(), next(iter(runs.values()), None))

    def place_of(self, paper: str, exhibit: str) -> tuple[Path, str]:
        """Return the file of a table or figure, and the key under which it stands there, for messages.

        The key is empty for a file of its own, and ends in ': ' in a paper.yaml.
        """
        path = self.files["exhibits", f"{paper}/{exhibit}"]
        noun = "tables" if exhibit.startswith("table") else "figures"
        return path, f"{noun}.{exhibit}: " if path.name == "paper.yaml" else ""

    def model_of(self, teacher: str) -> Model:
        """Return the pre-trained model of a teacher."""
        return self.models[self.teachers[teacher].model]

    def teacher_of(self, name: str) -> str:
        """Return the name of a student's teacher; a teacher is its own."""
        return name if name in self.teachers else self.students[name].teacher

    def budget_of(self, name: str) -> Chosen | None:
        """Return what a budget runs of a student, of each of its distillations, or of a teacher; None if nothing."""
        student, _ = self.further.get(name, (name, 0))
        return self.config.budget.runs.get(student) if self.config.budget else None

    def apply(self, run: RunSources) -> None:
        """Apply what a run decided about its sources: the commits that it asked for, and what it leaves out."""
        self.config = self.config.model_copy(update={"run_sources": run})
        for name, commit in run.commits.items():
            source = self.sources.get(name)
            if isinstance(source, HubSource):
                self.sources[name] = source.at(commit)

    def tokenizer_of(self, model: str) -> str:
        """Return the name of the model whose tokenizer a pre-trained model uses, often its own."""
        return self.models[model].tokenizer or model

    @property
    def tokenizers(self) -> list[str]:
        """The models whose tokenizers encode tasks and corpora, sorted by name."""
        return sorted({self.tokenizer_of(model) for model in self.models})

    def paper_of(self, name: str) -> str:
        """Return the paper to which a student or teacher belongs."""
        return self.files["students" if name in self.students else "teachers", name].parent.name

    def names(self, paper: str) -> Names:
        """Return the names of students and teachers that the files of a paper can use."""
        own = [
            name.removeprefix(f"{paper}-") for name in (*self.teachers, *self.students) if self.paper_of(name) == paper
        ]
        return Names({"papers": dict.fromkeys(self.folders)}, paper, own)

    def is_of_others(self, name: str) -> bool:
        """Return whether a student or teacher belongs to a published paper, and not to one of our own studies."""
        return not self.papers[self.paper_of(name)].ours

    def judges(self, paper: str) -> bool:
        """Return whether the scores of a paper get verdicts against its reported ones.

        They get none where a scale trains other models than the paper reports. The reported numbers of our own studies
        are of such runs themselves.
        """
        return self.scale.judged or (self.papers[paper].ours and not self.scale.miniature)

    def scale_of(self, paper: str) -> str:
        """Return the scale at which a paper is run; empty for one that is only shown."""
        return "" if paper in self.unrun else self.config.scale

    @property
    def running_papers(self) -> list[str]:
        """The papers that are run at this scale; the others are only shown."""
        return [paper for paper in self.papers if paper not in self.unrun]

    @property
    def written(self) -> Study:
        """The study as its files describe it, without the changes that a scale makes."""
        return self.unscaled or self

    @property
    def running(self) -> dict[str, Student]:
        """The students that run at this scale."""
        return {name: student for name, student in self.students.items() if name not in self.not_run}

    def trained_on(self, name: str) -> str:
        """Return what a student's stages train on, 'task' or 'corpus'; empty for a teacher or without stages."""
        student = self.students.get(name)
        return student.distilled_on if student and student.stages else ""

    def exhibits_of(self, paper: str) -> list[str]:
        """Return the names of a paper's tables and figures in the order of the report: `show`, then the others."""
        first = self.papers[paper].show
        others = {name for slug, name in self.exhibits if slug == paper} - set(first)
        return [*first, *sorted(others, key=_by_number)]
