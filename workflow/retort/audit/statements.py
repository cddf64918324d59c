"""What a paper's text says of its numbers, held against the cells: a comparison is a function, a statement is data."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from retort.audit.base import TINY, Finding, Looked, Printed, checks
from retort.registry import Registry
from retort.specs import catalogue
from retort.specs.audit import Cells, Statement
from retort.specs.printed import Number, read_number
from retort.tables.layout import label_of


@dataclass(frozen=True)
class Named:
    """One cell of a statement: its row, its column, its number."""

    row: str
    column: str
    number: Number


@dataclass(frozen=True)
class Verdict:
    """What the cells say: whether the statement holds, and the number or the cells that decide."""

    holds: bool
    found: str


# What a comparison needs beside the cells are its keyword-only parameters: `said`, `than`, `both`.
Comparison = Callable[..., Verdict]
comparisons: Registry[Comparison] = Registry("comparison")


@dataclass(frozen=True)
class Said:
    """The number in the text, and how far it may be off: half of its last digit where nothing else is allowed."""

    number: Number
    within: float

    def is_near(self, value: float, slack: float = 0.0) -> Verdict:
        """Whether a value, known up to `slack`, is the number."""
        digits = max(1, len(self.number.text.partition(".")[2].rstrip("%×Mk")))
        return Verdict(abs(value - self.number.value) <= slack + self.within + TINY, f"{value:.{digits}f}")


def _ratio(one: Number, other: Number) -> tuple[float, float]:
    """The ratio of two printed numbers, and how far rounding may have moved it."""
    ratio = one.value / other.value
    return ratio, ratio * (one.half / one.value + other.half / other.value)


@comparisons.register("value")
def value(cells: list[Named], *, said: Said) -> Verdict:
    """The cell is the number."""
    return Verdict(said.is_near(cells[0].number.value).holds, cells[0].number.text)


@comparisons.register("difference")
def difference(cells: list[Named], *, said: Said, than: list[Named]) -> Verdict:
    """The cell less the other is the number."""
    return said.is_near(cells[0].number.value - than[0].number.value)


@comparisons.register("percent")
def percent(cells: list[Named], *, said: Said, than: list[Named]) -> Verdict:
    """The cell is the number in per cent of the other."""
    ratio, slack = _ratio(cells[0].number, than[0].number)
    return said.is_near(100 * ratio, 100 * slack)


@comparisons.register("times")
def times(cells: list[Named], *, said: Said, than: list[Named]) -> Verdict:
    """The cell is the number times the other."""
    return said.is_near(*_ratio(cells[0].number, than[0].number))


@comparisons.register("at-least-percent")
def at_least_percent(cells: list[Named], *, said: Said, than: list[Named]) -> Verdict:
    """The cell is more than the number in per cent of the other."""
    share = 100 * cells[0].number.value / than[0].number.value
    return Verdict(share > said.number.value, f"{share:.1f}")


def _failures(cells: list[Named], than: list[Named], least: bool) -> list[str]:
    """Pairs of one column in which the first is not above the second; equal ones pass where `least` is set."""
    return [
        f"{one.column}: {one.number.text} ({one.row}) against {other.number.text} ({other.row})"
        for one in cells
        for other in than
        if one.column == other.column
        and (one.number.value < other.number.value or (not least and one.number.value == other.number.value))
    ]


def _verdict(failures: list[str]) -> Verdict:
    more = f"; and {len(failures) - 3} more" if len(failures) > 3 else ""
    return Verdict(not failures, "; ".join(failures[:3]) + more)


@comparisons.register("above")
def above(cells: list[Named], *, than: list[Named]) -> Verdict:
    """In every column each of the cells is above each of the others."""
    return _verdict(_failures(cells, than, least=False))


@comparisons.register("not-below")
def not_below(cells: list[Named], *, than: list[Named]) -> Verdict:
    """In every column each of the cells is at least each of the others."""
    return _verdict(_failures(cells, than, least=True))


def _steps(cells: list[Named], wrong: Callable[[float, float], bool]) -> Verdict:
    """Whether no step from a cell to the next is wrong."""
    return _verdict(
        [
            f"{a.number.text} ({a.row}, {a.column}), then {b.number.text} ({b.row}, {b.column})"
            for a, b in itertools.pairwise(cells)
            if wrong(a.number.value, b.number.value)
        ]
    )


@comparisons.register("not-rising")
def not_rising(cells: list[Named]) -> Verdict:
    """The cells in their order never rise."""
    return _steps(cells, lambda a, b: b > a)


@comparisons.register("not-falling")
def not_falling(cells: list[Named]) -> Verdict:
    """The cells in their order never fall."""
    return _steps(cells, lambda a, b: b < a)


@comparisons.register("two-texts")
def two_texts(cells: list[Named], *, both: tuple[str, str]) -> Verdict:
    """The text gives the same at both places."""
    return Verdict(both[0] == both[1], both[1])


def _named(given: Printed, paper: str, listed: list[Cells]) -> list[Named]:
    """The cells of a statement; one without a number is left out."""
    found = []
    for part in listed:
        cells = {(cell.row, cell.column): cell.number for cell in given.tables[paper, part.table].printed_cells()}
        found += [Named(part.row, name, number) for name in part.columns if (number := cells[part.row, name])]
    return found


def judge(given: Printed, paper: str, statement: Statement) -> Verdict:
    """What the tables of a paper, or another place of its text, say of a statement."""
    number = read_number(statement.number)
    within = statement.within if statement.within is not None else number.half if number else 0.0
    offered = {
        "said": Said(number, within) if number else None,
        "than": _named(given, paper, statement.than),
        "both": (statement.number, statement.other),
    }
    needs = catalogue.comparisons()[statement.compare].options
    return comparisons[statement.compare](
        _named(given, paper, statement.cells), **{name: offered[name] for name in needs}
    )


@checks.register("texts")
def texts(given: Printed) -> Looked:
    """What a paper's text says of its numbers is what its tables print."""
    found, count = [], 0
    for paper, statements in given.statements.items():
        for statement in statements.values():
            count += 1
            verdict = judge(given, paper, statement)
            if not verdict.holds:
                tables = ", ".join(dict.fromkeys(label_of(part.table) for part in statement.cells))
                place = f"{statement.where}, against {tables}" if tables else statement.where
                says = f"{statement.says} ({statement.number})" if statement.number else statement.says
                found.append(Finding(paper, place, says, verdict.found, statement.why))
    return Looked(count, found)
