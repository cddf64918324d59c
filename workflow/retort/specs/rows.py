"""Tables of models: what a column and a row say, what verdicts on them assume, and the cell where they meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo

from retort.registry import unknown_name
from retort.specs.base import Distinct, Flag, Name, Names, OptionalLabel, Real, Spec, StudentName, Text
from retort.specs.reported import AVERAGE, CHANGE, OF_A_MODEL, SHAPE, TIMED, Heading, Measure, TextRow, Timing

# Deviations are in points: a score times 100. A column's value wins over its table's, the table's over its paper's, and
# the paper's over the default, which `retort/judgement/statistics.md` explains.


class Points(Spec):
    """A number of points, and why it is this number.

    Args:
        points: scores are times 100.
        because: why this number.
    """

    points: Real = Field(gt=0, le=100)
    because: Text


ASSUMED_STD = Points(points=0.6, because="the root mean square of the 280 deviations that the papers report")
# Degrees of freedom of an assumed deviation: how well it is known. Deviations differ from cell to cell. If a true
# variance is 0.6^2 f / chi^2_f, a reported one over n runs is 0.6^2 F(n - 1, f); the 280 reported ones are most likely
# at f = 4.2. A difference with such a variance, over its assumed error, has Student's distribution with f degrees of
# freedom. So an assumption tells as much as the deviation over five runs would.
ASSUMED_FREEDOM = 4
# The standard deviation between distillations of one student, of which its fine-tunings tell nothing; its degrees of
# freedom; and the correlation of what one distillation is worth on two tasks: workflow/papers/luck measured all three.
ASSUMED_DISTILLATION_STD = Points(points=0.26, because="the root mean square of three tasks in our study of it")
DISTILLATION_FREEDOM = 13
TASK_CORRELATION = 0.04


class Judging(Spec):
    """The key of a paper, a table or a column that verdicts on scores use.

    Args:
        assumed_std: the standard deviation over runs where no cell of the column has one; next to those it counts as
            one more; else the one of the table, then of the paper, 0.6.
        assumed_distillation_std: the standard deviation between distillations of a student, where a side has one; else
            the one of the table, then of the paper, then that which our study of it measured.
    """

    assumed_std: Points | None = None
    assumed_distillation_std: Points | None = None


@dataclass(frozen=True)
class AssumedSpread:
    """What is assumed of the runs of a cell, in points.

    Args:
        std: their standard deviation, if none is known.
        distillation_std: that between distillations.
        student: the student whose one distillation all runs share; empty if each run is trained from its beginning, or
            if the runs are several distillations.
    """

    std: float
    distillation_std: float = 0.0
    student: str = ""


def assumed_spread(levels: Iterable[Judging], student: str = "") -> AssumedSpread:
    """Return what the first of some levels that gives a deviation assumes, else the default.

    Args:
        levels: a column, its table and its paper.
        student: the student whose one distillation all runs of the cell share.
    """
    levels = list(levels)
    std = next((level.assumed_std for level in levels if level.assumed_std), ASSUMED_STD)
    between = (level.assumed_distillation_std for level in levels if level.assumed_distillation_std)
    return AssumedSpread(std.points, next(between, ASSUMED_DISTILLATION_STD).points, student)


class Column(Judging, Measure, Heading):
    """A column: one task and one metric, or a number computed from other columns; the metric is always explicit.

    Args:
        mean_of: the columns of this table whose mean the paper reports.
        change_from: the column from which the column before it is a change, in %.
        variant: joined by a dash to the name of the row's student.
    """

    mean_of: Distinct[Text] = []
    change_from: str = ""
    variant: Name = ""

    def _wrong(self) -> Iterator[str]:
        if bool(self.metric) + bool(self.mean_of) + bool(self.tasks) + bool(self.change_from) > 1:
            yield "only one of 'metric', 'mean_of', 'tasks' and 'change_from' says what a column holds"


Columns = Annotated[list[Column], Field(min_length=1, description="from left to right")]  # of papers/columns.yaml


def _named(columns: Any, info: ValidationInfo) -> Any:
    """Return a list of columns; where a table names one of papers/columns.yaml, return that."""
    if not isinstance(columns, str) or not isinstance(info.context, Names):
        return columns
    if columns not in (lists := info.context.entries["columns"]):
        raise ValueError(str(unknown_name("list of columns", columns, lists)))
    return lists[columns]


_LIST = Annotated[str, Field(description="an entry of workflow/papers/columns.yaml")]
NamedColumns = Annotated[Columns, BeforeValidator(_named, json_schema_input_type=Columns | _LIST)]  # of a table


class Row(Measure, TextRow):
    """A row: one student or teacher under its reported label, or numbers that the paper quotes from elsewhere.

    Args:
        student: the student or teacher that is run.
        students: a column's variant -> the student or teacher that is run; none in the other columns.
        best_of: further students: each column shows the one of them and of `student` whose mean on dev is best.
        planned: the name that the row's student will have; nothing is run yet.
        quoted: whose number it is, as the paper cites it; with a student, ours stands next to it.
        model: one name for what a quoted row shows, in whatever table.
        differs: in what the student that is run is not what the row reports, such as: without augmentation; its cells
            then get no verdict.
        baseline: no distillation objective: left out of the paired tests.
    """

    student: StudentName = ""
    students: dict[Name, StudentName] = {}
    best_of: Distinct[StudentName] = []
    planned: StudentName = ""
    quoted: OptionalLabel = ""
    model: Name = ""
    differs: OptionalLabel = ""
    baseline: Flag = False

    def _wrong(self) -> Iterator[str]:
        ways = sum(map(bool, (self.student, self.students, self.planned)))
        if ways > 1 or not (ways or self.quoted):
            yield f"row '{self.label}' needs one of 'student', 'planned' and 'quoted'"
        if self.model and not self.quoted:
            yield f"row '{self.label}': 'model' names what a quoted row shows"
        if self.best_of and (not self.student or self.student in self.best_of):
            yield f"row '{self.label}': 'best_of' names students next to the one of 'student'"
        if self.differs and not ways:
            yield f"row '{self.label}': 'differs' is of a row that is run"

    @property
    def identity(self) -> str:
        """The name of the row's model, whether it is run or not; empty if a quoted row gives none."""
        return self.model if self.quoted else self.student or self.planned

    def student_at(self, variant: str) -> str:
        """Return the student or teacher that is run in a column of this variant; empty if none is."""
        return self.students.get(variant, "") if self.students else with_variant(self.student, variant)

    def recorded_at(self, variant: str) -> str:
        """Return the name under which a recorded run of ours keeps a column of this variant; empty if none is run.

        It is the row's student, without the variant, or else that of the column.
        """
        return self.student or self.students.get(variant, "")

    @property
    def tested(self) -> bool:
        """Whether paired tests compare the row: it is one model, neither quoted nor a baseline."""
        return not (self.quoted or self.baseline or self.best_of)


def with_variant(name: str, variant: str) -> str:
    """Return the name of a model in a column of this variant."""
    return f"{name}-{variant}" if name and variant else name


@dataclass(frozen=True)
class CellSpec:
    """One cell of a table, or one point of a figure: which model it shows and what it measures.

    Args:
        row: the name of its row.
        column: the name of its column.
        student: the student or teacher whose score or profile the cell shows; empty if none is run.
        task: the task of a score; empty for a number of the model.
        metric: what is measured.
        spec: the column.
        identity: the name of the model, whether it is run or not; empty if it has none.
        subset: the rows of the task that are scored by themselves, such as a language; empty for all of it.
        measurement: how a latency or a speed-up is measured.
        split: the split of a score; empty for the task's evaluation split.
        tasks: task -> metric, if the number is a mean over tasks; else empty.
        quoted: whose number the paper quotes in this cell; empty for one of its own.
        differs: in what the model that is run is not what the row reports; empty if it is.
        best_of: 'grid' if the reported number is the best of a grid on dev; else empty.
        others: further students, if the cell shows the one that is best on dev.
        before: the name of the column on the left; a cell with a relative change compares it with another column.
    """

    row: str
    column: str
    student: str
    task: str
    metric: str
    spec: Column
    identity: str = ""
    subset: str = ""
    measurement: Timing = field(default_factory=Timing)
    split: str = ""
    tasks: Mapping[str, str] = field(default_factory=dict)
    quoted: str = ""
    differs: str = ""
    best_of: str = ""
    others: tuple[str, ...] = ()
    before: str = ""

    @property
    def students(self) -> tuple[str, ...]:
        """The students or teachers whose scores the cell may show."""
        return (self.student, *self.others) if self.student else ()

    @property
    def scored(self) -> list[tuple[str, str]]:
        """The (task, metric) pairs of the scores in the cell; empty if it shows no score of a model that is run."""
        if not self.student:
            return []
        if self.tasks:
            return list(self.tasks.items())
        if not self.task or self.metric in (*OF_A_MODEL, AVERAGE, CHANGE):
            return []
        return [(self.task, f"{self.metric}/{self.subset}" if self.subset else self.metric)]

    @property
    def is_timed(self) -> bool:
        """Whether the cell shows the latency or the speed-up of a model that is run."""
        return bool(self.student) and self.metric in TIMED

    @property
    def of_shape(self) -> bool:
        """Whether the number follows from the model's architecture alone (layers, hidden)."""
        return self.metric in SHAPE

    @property
    def profiled(self) -> bool:
        """Whether the number comes from a profile of the model: its size or its speed."""
        return self.metric in OF_A_MODEL and not self.of_shape
