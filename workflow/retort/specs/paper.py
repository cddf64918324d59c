"""A paper: title, teachers, order; statements of its text; recorded runs; replications.

A paper has two files of statements in the same format. `claims.yaml` holds the paper's claims (who beats whom, and by
how much); they are judged on the paper's numbers and on ours. `audit.yaml` holds statements that can only be compared
with the published paper: whether a number in the text equals the one in a table, or the one elsewhere in the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from retort.specs import catalogue
from retort.specs.base import (
    BySeed,
    Day,
    Deviation,
    Distinct,
    Flag,
    Label,
    Name,
    Named,
    OptionalLabel,
    OptionalText,
    Real,
    Settings,
    Spec,
    Text,
    Whole,
)
from retort.specs.protocol import Protocol
from retort.specs.reported import read_number
from retort.specs.rows import Judging
from retort.specs.source import Commit
from retort.specs.student import Teacher

SWAPPED = {"below": "above", "lower": "above", "less": "above", "above": "below"}


def _not_swapped(name: str) -> str:
    """Return the name of a comparison; if another one takes the two sides in the other order, say so."""
    known = catalogue.comparisons()
    others = {name.replace(word, other) for word, other in SWAPPED.items() if word in name}.intersection(known)
    if name not in known and others:
        raise ValueError(f"no comparison is called '{name}'; take '{min(others)}', and swap 'cells' and 'than'")
    return name


ComparisonName = Annotated[
    Name, AfterValidator(_not_swapped), catalogue.registered("comparison", catalogue.comparisons)
]


class Cells(Spec):
    """The cells where the given rows and columns of one table or figure meet, row by row.

    Args:
        table: a table or figure of the paper.
        rows: names of rows.
        columns: names of columns.
    """

    table: Name
    rows: Distinct[Named] = Field(min_length=1)
    columns: Distinct[Named] = Field(min_length=1)

    @property
    def keys(self) -> list[tuple[str, str, str]]:
        """The (table, row, column) of each cell."""
        return [(self.table, row, column) for row in self.rows for column in self.columns]


def _as_reported(number: str) -> str:
    if number and read_number(number) is None:
        raise ValueError(f"'{number}' is not a number as papers report it")
    return number


class Reading(Spec):
    """Another way to read a claim: what it takes the claim to say, and what it compares in place of the claim's own.

    Args:
        says: how the claim is read, as a part of a sentence.
        compare: the comparison, if it is not the claim's.
        number: the number in the text, if it is not the claim's.
        within: how far the number may be off.
        cells: the cells, if they are not the claim's.
        than: the cells that they are compared with, if not the claim's.
    """

    says: Text
    compare: ComparisonName = ""
    number: Annotated[OptionalLabel, AfterValidator(_as_reported)] = ""
    within: Real | None = Field(default=None, ge=0, le=1000)
    cells: list[Cells] = []
    than: list[Cells] = []


MOST_WORDS = 25  # of a quote


def _short(text: str) -> str:
    if (words := len(text.split())) > MOST_WORDS:
        raise ValueError(f"a quote has at most {MOST_WORDS} words, not {words}; … stands for what is left out")
    return text


class Quote(Spec):
    """The sentence of a paper's text that makes a claim, verbatim.

    Args:
        text: the words of the paper; … stands for words, formulas or a page break that are left out.
        section: where they stand.
    """

    text: Annotated[Text, AfterValidator(_short)]
    section: Text


class Reply(Spec):
    """What an author of a paper replies to a claim or a finding; pages show it next to it.

    Args:
        by: who replies.
        date: the day of the reply, such as 2026-12-01.
        text: the reply, in the author's words.
    """

    by: Label
    date: Day
    text: Text

    @property
    def sentence(self) -> str:
        """The reply with its author and day."""
        return f"Reply of {self.by}, {self.date}: {self.text}"


class Statement(Spec):
    """What a paper's text says about its numbers, in our words, and the cells that confirm or contradict it.

    Args:
        quote: claims.yaml of a published paper: the sentence in the paper's words.
        says: the statement, in our words.
        where: where in the paper it stands, such as a section.
        contrary: a study of ours: what was learnt if the numbers show that the statement is false.
        compare: the comparison that the cells are put to.
        about: of methods, so that another distillation of a student is another draw, or of these students alone.
        number: the number in the text, as reported.
        within: how far the number may be off; else its last digit.
        cells: the cells of tables that the statement is about.
        than: the cells that are compared with the others.
        other: the number that the paper gives elsewhere in its text.
        why: what may explain a difference.
        reading: where the sentence has several readings: which one was taken, and why.
        other_readings: claims.yaml: name -> another reading; the audit lists those that the reported numbers
            contradict.
        test_alone: the sentence is about test sets: our scores on dev cannot stand in for theirs.
        undecided: what would decide the statement, if neither the paper nor the study has numbers of it.
        but: audit.yaml: what is wrong with it or left unsaid, where no comparison of numbers shows it.
        built: audit.yaml: 'differently' if other papers build the models of 'cells' in another way, though the settings
            here are equal.
        because: audit.yaml: in what they are built differently.
        sort: audit.yaml: of what sort the finding of 'but' is, if not that something is left unsaid.
        reply: what an author of the paper replies to it.
    """

    quote: Quote | None = None
    says: Text
    where: Text
    contrary: OptionalText = ""
    compare: ComparisonName = ""
    about: Literal["method", "students"] = "method"
    number: OptionalLabel = ""
    within: Real | None = Field(default=None, ge=0, le=1000)
    cells: list[Cells] = []
    than: list[Cells] = []
    other: OptionalLabel = ""
    why: OptionalText = ""
    reading: OptionalText = ""
    other_readings: dict[Name, Reading] = {}
    test_alone: Flag = False
    undecided: OptionalText = ""

    but: OptionalText = ""
    built: Literal["", "differently"] = ""
    because: OptionalText = ""
    sort: Literal["", "wrong", "cannot both be right", "unusual"] = ""
    reply: Reply | None = None

    def _wrong(self) -> Iterator[str]:
        if [bool(self.cells), bool(self.other), bool(self.undecided), bool(self.but)].count(True) != 1:
            yield (
                "a statement is held against 'cells' of tables or against the 'other' number of a text; if there is "
                "neither, 'undecided' says what would decide a claim, and 'but' in audit.yaml what is wrong with a text"
            )
        if bool(self.compare) == bool(self.undecided or self.but or self.built):
            yield "a statement names the comparison in 'compare', unless it has 'undecided', 'but' or 'built'"
        if bool(self.built) != bool(self.because):
            yield "'built: differently' and 'because' belong together"
        if self.sort and not self.but:
            yield "'sort' is that of the finding of 'but'"
        if self.cells:
            _as_reported(self.number)
        elif self.other_readings:
            yield "'other_readings' are of a claim that has 'cells'"

    def read_as(self, reading: Reading) -> Statement:
        """Return the statement in another reading: what the reading gives replaces what the statement has."""
        own = {name: getattr(reading, name) for name in reading.model_fields_set}
        says = f"{self.says.removesuffix('.')}; read as: {reading.says}."
        return self.model_copy(update={**own, "says": says, "other_readings": {}})

    @property
    def keys(self) -> list[tuple[str, str, str]]:
        """The (table, row, column) of each cell, of those that are compared with others first."""
        return [key for group in (*self.cells, *self.than) for key in group.keys]

    @property
    def tables(self) -> list[str]:
        """The names of the tables and figures with which the statement is compared."""
        return list(dict.fromkeys(cells.table for cells in (*self.cells, *self.than)))


Recorded = Annotated[list[Real], Field(min_length=1, max_length=2)]
Sample = Annotated[list[Annotated[Whole, Field(ge=0)]], Field(min_length=2, max_length=2)]


class Addition(Spec):
    """Rows that a later run has added to a recorded run of the same scale.

    Args:
        run: machine, commit, versions, precision and date of the later run.
        rows: table -> the rows that it added.
    """

    run: dict[Text, Text]
    rows: dict[Name, Distinct[Text]] = Field(min_length=1)


class Recording(Spec):
    """One file of a paper's folder `recorded`: a run of ours, with its scores by seed.

    Of a published paper, the file is named as the scale. Its numbers stand next to those of whoever runs this scale,
    and never among the reported ones. Of a study of ours, it is named as the precision, and its numbers are the
    reported ones of whoever runs the study in this precision.

    Args:
        run: machine, commit, versions, precision and date of the run.
        replacements: what the scale put in place of what the papers report; {} for a study of ours.
        runs: over how many runs a mean with a deviation is.
        distillations: of each student that is distilled on a corpus; with several, these are the runs.
        samples: task -> split -> [rows, rows of the whole set], of splits that were read in part; {}: none was.
        tables: table -> row -> column -> [mean] or [mean, standard deviation], times 100; of a study of ours as in
            'means' of the table.
        by_seed: table -> row -> column -> seed -> score; older recordings lack it.
        by_run: the same by the seeds of distillation and fine-tuning, such as '1/11'; of several distillations.
        added: rows of later runs, each with the run that they are from.
        causes: claim -> the known cause of its outcome in this run, as a sentence; kept by `record`.
    """

    run: dict[Text, Text]
    replacements: Settings = {}
    runs: Whole = Field(ge=1)
    distillations: Whole = Field(default=1, ge=1)
    samples: dict[Name, dict[Name, Sample]] | None = None
    tables: dict[Name, dict[Text, dict[Text, Recorded]]] = Field(min_length=1)
    by_seed: dict[Name, dict[Text, dict[Text, BySeed]]] = {}
    by_run: dict[Name, dict[Text, dict[Text, dict[Text, Real]]]] = {}
    added: list[Addition] = []
    causes: dict[Name, Text] = {}


Aspect = Literal["method", "teacher", "student", "corpus", "steps", "grid", "split", "metric", "runs"]


class ReplicatedRow(Spec):
    """What a source reports for one row of a table.

    Args:
        where: where in the source it stands, such as 'README, Results'.
        runs: over how many runs a number is a mean; 0: the source does not say.
        numbers: column -> the number as the source reports it, with its deviation if there is one.
    """

    where: Label
    runs: Whole = Field(default=0, ge=0, le=1000)
    numbers: dict[Text, Annotated[Label, AfterValidator(_as_reported)]] = Field(min_length=1)


class Replication(Spec):
    """One file of a paper's folder `replications`: what others measured of models that the paper reports numbers of.

    Args:
        who: the repository, paper or thread, such as 'bloomberg/minilmv2.bb'.
        url: where it is.
        read: the day on which it was read.
        commit: of a repository: the commit that was read.
        same: in what it does as the paper does, in a few words each; of other aspects it says nothing.
        differs: in what it differs from the paper, in a few words each.
        tables: table of the paper -> its row -> what the source reports for it.
    """

    who: Label
    url: Annotated[Label, StringConstraints(pattern=r"^https://\S+$")]
    read: Day
    commit: Commit | None = None
    same: dict[Aspect, Label] = {}
    differs: dict[Aspect, Label] = {}
    tables: dict[Name, dict[Text, ReplicatedRow]] = Field(min_length=1)

    def _wrong(self) -> Iterator[str]:
        yield from (f"'{aspect}' is in 'same' and in 'differs'" for aspect in self.same if aspect in self.differs)


class Choice(Spec):
    """An entry of a deviations.yaml: what was chosen where the paper is silent, or differs, and for which students.

    Args:
        students: names of students; * stands for any text, [0-9] for a digit.
        excluded: names of students to leave out again.
        texts: what was chosen, and why.
    """

    students: Distinct[Text] = Field(min_length=1)
    excluded: list[Text] = Field(default=[], alias="except")
    texts: list[Deviation] = Field(min_length=1)

    def concerns(self, student: str) -> bool:
        """Return whether the choice was made for a student, given by its short name."""
        included, excluded = (
            any(fnmatchcase(student, pattern) for pattern in patterns) for patterns in (self.students, self.excluded)
        )
        return included and not excluded


class Paper(Judging):
    """The paper.yaml of one paper: its reference, its teachers, and the order of its tables and figures.

    Args:
        title: what it is, in one line.
        reference: authors, year, where it was published.
        not_at: scale at which nothing of the paper runs -> why.
        ours: a study of ours: its reported numbers are those of a recorded run.
        teachers: name -> teacher.
        tables: tables without a file of their own: name -> what the file would hold.
        figures: figures without a file of their own: name -> what the file would hold.
        protocols: protocols next to those of workflow/protocols.
        claims: claims next to those of claims.yaml, if it exists.
        show: tables and figures that the report begins with, in order; the others follow by name.
    """

    title: Label
    reference: Text
    not_at: dict[Name, Text] = {}
    ours: Flag = False
    teachers: dict[Name, Teacher] = {}
    tables: dict[Name, Any] = {}
    figures: dict[Name, Any] = {}
    protocols: dict[Name, Protocol] = {}
    claims: dict[Name, Statement] = {}
    show: Distinct[Name] = []
