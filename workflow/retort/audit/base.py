"""What every check looks through, and what it returns.

A check looks through printed numbers and returns what cannot be right, or cannot both be. A finding says what is
printed, what it would have to be, where, and why; it does not say which of two numbers is the wrong one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from retort.registry import Registry
from retort.specs.audit import Facts, Statement
from retort.specs.book import Book
from retort.specs.printed import AVERAGE, Number, TextTable
from retort.specs.rows import Place
from retort.specs.table import ProfilesTable, ScoresTable
from retort.tables.layout import label_of
from retort.tables.published import printed_tables

TINY = 1e-9  # what binary fractions add to a distance of exactly half a digit


@dataclass(frozen=True)
class Entry:
    """One printed number: where it stands, what it measures, and over how many runs it is a mean (0: unknown)."""

    paper: str
    table: str
    place: Place
    number: Number
    runs: int

    @property
    def where(self) -> str:
        """The place in words."""
        return f"{label_of(self.table)}, {self.place.row}, {self.place.column}"

    @property
    def measure(self) -> tuple[str, ...]:
        """What is measured; equal for two entries that should print the same of one model."""
        place = self.place
        if place.metric == AVERAGE:
            metrics = {task: metric.partition("/")[0] for task, metric in place.tasks.items()}  # columns name no part
            return (place.split, AVERAGE, *sorted(f"{task} {metric}" for task, metric in metrics.items()))
        inputs = place.spec.part if place.spec.part != place.part else ""  # of a latency: the row says the batch
        return (place.split if place.task else "", place.metric, place.task, place.part, inputs)


def entries_of(paper: str, name: str, table: ScoresTable | ProfilesTable) -> list[Entry]:
    """Every printed number of a table of models."""
    columns = {column.name: column for column in table.columns}
    numbers = {(cell.row, cell.column): cell.number for cell in table.printed_cells()}
    found = []
    for place in table.places():
        number = numbers.get((place.row, place.column))
        if number is None:
            continue
        if place.spec.mean_of and not place.tasks:  # a mean over columns is one over their tasks
            tasks = {columns[label].task: columns[label].metric for label in place.spec.mean_of}
            place = replace(place, tasks=tasks)
        found.append(Entry(paper, name, place, number, table.runs))
    return found


@dataclass(frozen=True)
class Finding:
    """One thing that cannot be right: the place, what is printed there, what it would have to be, and why."""

    paper: str
    place: str
    printed: str
    other: str
    why: str


@dataclass(frozen=True)
class Looked:
    """How many things a check looked at, and what it found."""

    count: int
    findings: list[Finding]


@dataclass(frozen=True)
class Printed:
    """What a check looks through.

    Args:
        tables: every printed table by paper and name.
        entries: every printed number of a table of models.
        statements: what each paper's text says and claims of its numbers.
        facts: what the data sets are.
    """

    tables: dict[tuple[str, str], TextTable]
    entries: list[Entry]
    statements: dict[str, list[Statement]]
    facts: dict[str, Facts]

    def rows(self) -> dict[tuple[str, str, str], dict[str, Entry]]:
        """The entries of each row by their column."""
        found: dict[tuple[str, str, str], dict[str, Entry]] = {}
        for entry in self.entries:
            found.setdefault((entry.paper, entry.table, entry.place.row), {})[entry.place.column] = entry
        return found


Check = Callable[[Printed], Looked]
checks: Registry[Check] = Registry("check")


def by_column(listed: Iterable[Entry]) -> dict[tuple[str, str, str], list[Entry]]:
    """Entries by paper, table and column."""
    found: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in listed:
        found.setdefault((entry.paper, entry.table, entry.place.column), []).append(entry)
    return found


def span(listed: list[Entry]) -> str:
    """The smallest and the largest of some numbers as printed."""
    texts = [entry.number.text for entry in sorted(listed, key=lambda entry: entry.number.value)]
    return texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[-1]}"


def printed(book: Book) -> Printed:
    """What the checks look through: all that papers printed, nothing of a study of ours."""
    tables = printed_tables(book)
    return Printed(
        tables,
        [
            entry
            for (paper, name), table in tables.items()
            if isinstance(table, (ScoresTable, ProfilesTable))
            for entry in entries_of(paper, name, table)
        ],
        {
            paper: [*book.claims.get(paper, {}).values(), *book.statements.get(paper, {}).values()]
            for paper, spec in book.papers.items()
            if not spec.ours
        },
        book.facts,
    )


def audit(book: Book) -> dict[str, Looked]:
    """What every check found, by its name."""
    given = printed(book)
    return {name: checks[name](given) for name in checks}


def as_text(looked: dict[str, Looked]) -> str:
    """Every finding as a line, under what its check holds the numbers against."""
    lines = []
    for name, result in looked.items():
        lines += [f"{name}: {first_line(name)} {len(result.findings)} of {result.count} do not hold."]
        for one in result.findings:
            why = f" ({one.why})" if one.why else ""
            lines.append(f"  {one.paper}, {one.place}: {one.printed}; but {one.other}{why}")
        lines.append("")
    return "\n".join([*lines, f"{sum(len(result.findings) for result in looked.values())} findings"])


def first_line(name: str) -> str:
    """What a check holds the numbers against."""
    return (checks[name].__doc__ or "").splitlines()[0]
