"""What a paper's text says of its numbers, held against the cells: a comparison is a function, a statement is data."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from retort.audit.base import TINY, Finding, Looked, Printed, checks
from retort.errors import RetortError
from retort.registry import Registry
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


Comparison = Callable[[Statement, list[Named], list[Named]], Verdict]
comparisons: Registry[Comparison] = Registry("comparison")


def said(statement: Statement) -> Number:
    """The number in the text.

    Raises:
        RetortError: the statement gives none.
    """
    number = read_number(statement.number)
    if number is None:
        raise RetortError(f"'{statement.number}' is not a number as papers print it", "give it in 'number'")
    return number


def near(statement: Statement, value: float, slack: float = 0.0) -> Verdict:
    """Whether a value, known up to `slack`, is the number of the text."""
    number = said(statement)
    allowed = slack + (number.half if statement.within is None else statement.within) + TINY
    digits = max(1, len(number.text.partition(".")[2].rstrip("%×Mk")))
    return Verdict(abs(value - number.value) <= allowed, f"{value:.{digits}f}")


@comparisons.register("value")
def value(statement: Statement, cells: list[Named], than: list[Named]) -> Verdict:
    """The cell is the number."""
    return Verdict(near(statement, cells[0].number.value).holds, cells[0].number.text)


@comparisons.register("difference")
def difference(statement: Statement, cells: list[Named], than: list[Named]) -> Verdict:
    """The cell less the other is the number."""
    return near(statement, cells[0].number.value - than[0].number.value)


@comparisons.register("percent")
def percent(statement: Statement, cells: list[Named], than: list[Named]) -> Verdict:
    """The cell is the number in per cent of the other."""
    one, other = cells[0].number, than[0].number
    share = 100 * one.value / other.value
    return near(statement, share, share * (one.half / one.value + other.half / other.value))


@comparisons.register("times")
def times(statement: Statement, cells: list[Named], than: list[Named]) -> Verdict:
    """The cell is the number times the other."""
    one, other = cells[0].number, than[0].number
    ratio = one.value / other.value
    return near(statement, ratio, ratio * (one.half / one.value + other.half / other.value))


@comparisons.register("at-least-percent")
def at_least_percent(statement: Statement, cells: list[Named], than: list[Named]) -> Verdict:
    """The cell is more than the number in per cent of the other."""
    share = 100 * cells[0].number.value / than[0].number.value
    return Verdict(share > said(statement).value, f"{share:.1f}")


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
def above(statement: Statement, cells: list[Named], than: list[Named]) -> Verdict:
    """In every column each of the cells is above each of the others."""
    return _verdict(_failures(cells, than, least=False))


@comparisons.register("not-below")
def not_below(statement: Statement, cells: list[Named], than: list[Named]) -> Verdict:
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
def not_rising(statement: Statement, cells: list[Named], than: list[Named]) -> Verdict:
    """The cells in their order never rise."""
    return _steps(cells, lambda a, b: b > a)


@comparisons.register("not-falling")
def not_falling(statement: Statement, cells: list[Named], than: list[Named]) -> Verdict:
    """The cells in their order never fall."""
    return _steps(cells, lambda a, b: b < a)


@comparisons.register("two-texts")
def two_texts(statement: Statement, cells: list[Named], than: list[Named]) -> Verdict:
    """The text gives the same at both places."""
    return Verdict(statement.number == statement.other, statement.other)


def _named(given: Printed, paper: str, listed: list[Cells]) -> list[Named]:
    """The cells of a statement; one without a number is left out."""
    found = []
    for part in listed:
        table = given.book.exhibits[paper, part.table]
        cells = {(cell.row, cell.column): cell.number for cell in getattr(table, "published_cells", list)()}
        found += [Named(part.row, name, number) for name in part.columns if (number := cells[part.row, name])]
    return found


@checks.register("texts")
def texts(given: Printed) -> Looked:
    """What a paper's text says of its numbers is what its tables print."""
    found, count = [], 0
    for paper, statements in given.book.statements.items():
        for statement in statements.values():
            count += 1
            cells, than = (_named(given, paper, side) for side in (statement.cells, statement.than))
            verdict = comparisons[statement.compare](statement, cells, than)
            if not verdict.holds:
                tables = ", ".join(dict.fromkeys(label_of(part.table) for part in statement.cells))
                place = f"{statement.where}, against {tables}" if tables else statement.where
                says = f"{statement.says} ({statement.number})" if statement.number else statement.says
                found.append(Finding(paper, place, says, verdict.found, statement.why))
    return Looked(count, found)
