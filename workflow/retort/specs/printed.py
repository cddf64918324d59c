"""What a paper prints: cells as text, the numbers in them, and what each number measures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, model_validator

from retort.specs.base import Name, Spec, Text

NOTHING = {"-", "–"}  # a cell in which a paper prints no value
AVERAGE, CHANGE = "average", "change"
# metrics of an architecture, not of a task, with the unit of the tidy CSV
OF_A_MODEL = {
    "parameters": "M",
    "without_embeddings": "M",
    "latency": "ms",
    "speed-up": "times",
    "layers": "layers",
    "hidden": "units",
}
SHAPE = ("layers", "hidden")  # those that a model's architecture tells; the others take a profile
# what papers call a metric; another word asks for `because`
WORDS = {
    "accuracy": {"Acc", "Accuracy"},
    "f1": {"F1"},
    "exact": {"EM", "Exact Match"},
    "matthews": {"Mcc", "Matthews Corr"},
    "pearson": {"Pearson"},
    "spearman": {"Spearman"},
}
_VALUE = r"[+-]?\d{1,3}(?:,\d{3})+|[+-]?\d+(?:\.\d+)?(?:e-?\d+)?"
_NUMBER = re.compile(
    rf"(?P<text>×?(?P<value>{_VALUE})(?P<unit>[Mk%×])?)"
    r"(?:\s*±\s*(?P<after>\d+(?:\.\d+)?)|\s*\((?P<within>\d+(?:\.\d+)?)\))?"
)


@dataclass(frozen=True)
class Number:
    """A number as a paper prints it.

    Args:
        text: as printed, with its unit and without its standard deviation ('109M', '×2.0', '76.30').
        std_text: the standard deviation as printed; empty where there is none.
    """

    text: str
    value: float
    std_text: str = ""

    @property
    def std(self) -> float | None:
        """The standard deviation, where one is printed."""
        return float(self.std_text) if self.std_text else None

    @property
    def half(self) -> float:
        """Half a unit of the last printed digit: how far the value may be from the one that was rounded."""
        digits, _, exponent = re.sub(r"[^\d.e-]", "", self.text).partition("e")
        return 0.5 * 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))

    def is_size(self, size: float) -> bool:
        """Whether the number is `size`, rounded or cut: '8.5k' is 8,551 and 8,599."""
        unit = 1000 if self.text.endswith("k") else 1
        return (self.value - self.half) * unit - 1e-9 <= size < (self.value + 2 * self.half) * unit


def read_number(text: str) -> Number | None:
    """The number that a cell holds; None where it holds words or nothing."""
    found = _NUMBER.fullmatch(text.strip())
    if not found:
        return None
    return Number(found["text"], float(found["value"].replace(",", "")), found["after"] or found["within"] or "")


@dataclass(frozen=True)
class PublishedCell:
    """One printed cell: the names of its row and column, its text, and its number where it holds one."""

    row: str
    column: str
    text: str
    number: Number | None


class Measure(Spec):
    """What a number measures: the columns of a table say it, or its rows, or each a part of it."""

    task: Name = ""
    part: Name = Field(default="", description="a part of the task that is scored by itself: a language, matched, ...")
    metric: str = ""
    split: Literal["", "dev", "test"] = Field(default="", description="which split; else the table's")
    tasks: dict[Name, Text] = Field(default={}, description="task -> metric: a printed mean over tasks not shown here")
    printed: str = Field(default="", description="the paper's own word for the metric")
    because: str = Field(default="", description="why the metric is not what that word means")

    @model_validator(mode="after")
    def _explained(self) -> Measure:
        odd = bool(self.printed) and self.printed not in WORDS.get(self.metric, ())
        if odd and not self.because:
            raise ValueError(f"'{self.printed}' is not a word for {self.metric or 'no metric'}; say why in 'because'")
        if self.because and not odd:
            raise ValueError("'because' explains why 'printed' and 'metric' differ, and here they do not")
        return self


class Heading(Spec):
    """A column of text, under the heading that spans it."""

    label: Text
    heading: str = ""

    @property
    def name(self) -> str:
        """What the column is called wherever it stands alone."""
        return f"{self.heading}: {self.label}" if self.heading else self.label


class TextRow(Spec):
    """A row of cells as printed; its label may have several parts, one for each column of the stub, split by ' / '."""

    label: Text
    group: str = Field(default="", description="the heading or row under which the label stands")
    cells: str = Field(default="", description="as printed, split by ' | '")

    @property
    def texts(self) -> list[str]:
        """The text of each cell; empty where the table has no printed cells."""
        return [cell.strip() for cell in self.cells.split("|")] if self.cells else []


def row_names(rows: Iterable[TextRow]) -> list[str]:
    """What each row is called wherever it stands alone: its label, after its group where labels repeat."""
    rows = list(rows)
    labels = [row.label for row in rows]
    return [f"{row.group}: {row.label}" if labels.count(row.label) > 1 else row.label for row in rows]


def twice(what: str, names: list[str]) -> None:
    """Nothing; the names are all different.

    Raises:
        ValueError: one stands twice.
    """
    found = sorted({name for name in names if names.count(name) > 1})
    if found:
        raise ValueError(f"{what} '{found[0]}' stands twice")


class Titled(Spec):
    """What every table and figure says of itself."""

    title: Text
    question: Text
    caption: str = ""


class TextTable(Spec):
    """What every table with printed rows has: a stub, and the number of numbers that its rows must hold."""

    stub: list[Text] = Field(default=[], description="the headings of the parts of a row's label")
    numbers: int = Field(default=0, ge=0, description="printed numbers, counted in the paper; standard deviations not")

    def headings(self) -> list[Heading]:
        """The columns of the printed cells."""
        raise TypeError(f"{type(self).__name__} has no columns")

    def lines(self) -> list[TextRow]:
        """The rows."""
        raise TypeError(f"{type(self).__name__} has no rows")

    def check_cells(self) -> None:
        """Nothing; every row has a cell a column, names are unique, and no number is missing.

        Raises:
            ValueError: a row is too short or too long, a name stands twice, or the count is another.
        """
        columns, rows = self.headings(), self.lines()
        names = row_names(rows)
        twice("column", [column.name for column in columns])
        twice("row", names)
        for name, row in zip(names, rows, strict=True):
            if row.texts and len(row.texts) != len(columns):
                raise ValueError(f"row '{name}' has {len(row.texts)} cells for {len(columns)} columns")
        found = sum(cell.number is not None for cell in self.printed_cells())
        if found != self.numbers:
            raise ValueError(f"the rows hold {found} numbers, and 'numbers' says {self.numbers}")

    def printed_cells(self) -> list[PublishedCell]:
        """Every cell of every row as printed."""
        columns, rows = self.headings(), self.lines()
        return [
            PublishedCell(name, column.name, text, read_number(text))
            for name, row in zip(row_names(rows), rows, strict=True)
            for column, text in zip(columns, row.texts, strict=False)
        ]
