"""Judge a statement of a paper's text on one side: the numbers that the paper prints, or those of our runs.

Both sides use the same comparison. They differ in what a number x in the text requires of a value v from the cells:

- Published side: v must be x, to its last digit or within the statement's `within`: |v - x| <= within + slack. The
  slack is the error that rounding of the printed cells can cause in a difference or a ratio; for a single cell, zero.
- Our side: v must have the sign of x and be at least as large, less the tolerance: sign(x) v >= |x| - within. Another
  run need not repeat a number to support the statement. Numbers of parameters do not depend on the seed, so they must
  meet x as on the published side.

Without `within`, the tolerance is half a unit of the last printed digit of x. This is no significance test: of ours it
tells which way the means lean, and `certainty.py` decides.

If a cell has no number, the others may still decide the statement: one column that contradicts it is enough, and so are
most columns if it is about most. Else the statement stays open, and the verdict says which way it leans. If only a
test server can compute a score, our score on dev is used, unless the statement is about test sets alone.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial

from retort.formatters import number as formatted
from retort.judgement import groups
from retort.judgement.comparisons import ABSENT, OPEN, NumberedCell, Reached, Stated, Verdict, comparisons
from retort.results.tidy import Line
from retort.specs import catalogue
from retort.specs.exhibit import Exhibit
from retort.specs.paper import Statement
from retort.specs.printed import Number, read_number
from retort.study.reasons import Status

REGISTERED = groups  # imported because it registers its comparisons
Key = tuple[str, str, str]  # table, row, column
ALLOW_MISSING = {"against", "counterparts", "partners"}  # parameters of comparisons that take cells without a number
GROUPS = {"than", *ALLOW_MISSING}  # parameters that take the other cells
SHOWN = 3  # name at most so many rows without a number
UNPRINTED = "nothing is printed"
NOT_AS_PRINTED = "ours is not what the row prints: {}"
# unit -> printed decimals, for values that are not scores
DECIMALS = {"M": 1, "ms": 2, "times": 1, "%": 2, "rows": 0, "steps": 0, "p": 3}


class Kind(StrEnum):
    """What numbers say of a claim. The words for it depend on whose numbers they are (`tables/claims.py`)."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "open"  # other runs, or cells without a number, may turn it
    TURNS = "depends on length"
    WITHOUT = "no numbers"


@dataclass(frozen=True)
class Side:
    """The numbers on which statements are judged: published, ours or recorded.

    Args:
        cells: the cells that have a number.
        reasons: cell -> why it has no number, if known.
        rule: the rule for a number in the text: `Stated` (must be met) or `Reached` (its sign and at least its size).
        dev: our scores on dev of cells that only a test server can score.
        diverged: cells without a number because a training diverged.
    """

    cells: Mapping[Key, NumberedCell]
    reasons: Mapping[Key, str]
    rule: type[Stated] = Stated
    dev: Mapping[Key, NumberedCell] = field(default_factory=dict)
    diverged: frozenset[Key] = frozenset()

    def numbers(self, key: Key) -> NumberedCell:
        """Return a cell; its number is `ABSENT` if it has none."""
        return self.cells.get(key) or NumberedCell(*key, ABSENT, diverged=key in self.diverged)

    def both(self, statement: Statement) -> tuple[list[NumberedCell], list[NumberedCell]]:
        """Return the cells of a statement, and those that they are compared with."""
        own, others = (
            [self.numbers(key) for group in groups for key in group.keys]
            for groups in (statement.cells, statement.than)
        )
        return own, others

    def missing(self, keys: Iterable[Key]) -> list[Key]:
        """Return the cells that have no number, each once."""
        return [key for key in dict.fromkeys(keys) if key not in self.cells]

    def why(self, keys: list[Key]) -> str:
        """Return a text that names the rows of cells without a number, grouped by reason."""
        rows: dict[str, dict[str, None]] = {}  # reason -> rows, each once
        for key in keys:
            rows.setdefault(self.reasons.get(key, UNPRINTED), {})[key[1]] = None
        return "; ".join(f"no number for {_list_few(list(names))}: {reason}" for reason, names in rows.items())


NOTHING = Side({}, {})


def _list_few(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def printed_numbers(exhibits: Mapping[str, Exhibit]) -> Side:
    """Return the numbers that a paper prints in its tables, or that a study of ours recorded.

    Args:
        exhibits: the tables and figures of the paper by name.
    """
    numbers = {}
    for name, exhibit in exhibits.items():
        for cell in exhibit.published_cells():
            if cell.number:
                key = (name, cell.row, cell.column)
                numbers[key] = NumberedCell(
                    *key, exhibit.as_stated(cell.number), cell.runs, std=cell.number.std, by_seed=cell.by_seed
                )
    return Side(numbers, {})


def recomputed_averages(side: Side, exhibits: Mapping[str, Exhibit]) -> Side:
    """Return the numbers of a paper with each average computed from the printed numbers of its row."""
    cells = dict(side.cells)
    for name, exhibit in exhibits.items():
        for cell in exhibit.cells():
            key, parts = (name, cell.row, cell.column), [(name, cell.row, column) for column in cell.spec.mean_of]
            if key in cells and parts and all(part in side.cells for part in parts):
                numbers = [side.cells[part].number for part in parts]
                mean = statistics.mean(number.value for number in numbers)
                error = statistics.mean(number.half for number in numbers)
                cells[key] = replace(cells[key], number=Number(f"{mean:.2f}", mean, cells[key].number.std_text, error))
    return replace(side, cells=cells)


def our_numbers(exhibits: Mapping[str, Exhibit], lines: Mapping[str, list[Line]]) -> Side:
    """Return the numbers of our runs, from the lines of some tables, and the reason for each cell that has none."""
    numbers: dict[Key, NumberedCell] = {}
    dev: dict[Key, NumberedCell] = {}
    reasons, diverged = {}, set()
    for name, lines_of in lines.items():
        for line in lines_of:
            key, digits = (name, line.row, line.column), DECIMALS.get(line.unit, exhibits[name].digits)
            if line.differs:
                reasons[key] = NOT_AS_PRINTED.format(line.differs)
                continue
            if line.mean is not None:
                std = "" if line.std is None else formatted(line.std, digits)
                number = Number(formatted(line.mean, digits), line.mean, std)
                cell = NumberedCell(*key, number, line.n, line.unit, line.std, by_seed=line.by_seed)
                if line.status is not Status.DEV:
                    numbers[key] = cell
                    continue
                dev[key] = replace(cell, number=replace(number, text=f"dev {number.text}", error=number.half))
            reasons[key] = "no number" if line.status is Status.OK else line.state
            if line.status is Status.DIVERGED:
                diverged.add(key)
            if line.dev is not None:
                text = Number(f"dev {formatted(line.dev, digits)}", line.dev, error=0.0)
                dev[key] = NumberedCell(*key, text, unit=line.unit)
    return Side(numbers, reasons, Reached, dev, frozenset(diverged))


def with_dev(statement: Statement, side: Side) -> Side:
    """Add our scores on dev to the numbers of a side, unless the statement is about test sets alone."""
    return side if statement.test_alone else replace(side, cells={**side.dev, **side.cells})


def comparison_of(statement: Statement, side: Side) -> Callable[[], Verdict]:
    """Return a function that compares the cells of a statement by the values that they have when it is called.

    Args:
        statement: the statement.
        side: the side; it gives the rule for a number in the text, and the cells.
    """
    own, others = side.both(statement)
    number = read_number(statement.number)
    within = statement.within if statement.within is not None else number.half if number else 0.0
    rule = Stated if all(cell.unit == "M" for cell in own) else side.rule
    texts = {"stated": rule(number, within) if number else None, "both": (statement.number, statement.other)}
    given = {**texts, "allowed": statement.within, **dict.fromkeys(GROUPS, others)}
    needs = catalogue.comparisons()[statement.compare].options
    return partial(comparisons[statement.compare], own, **{name: given[name] for name in needs})


def allows_missing(statement: Statement) -> bool:
    """Return whether the statement's comparison takes cells without a number: over columns, or over cells in order."""
    entry = catalogue.comparisons()[statement.compare]
    return not entry.facts.get("whole") and (not entry.options or not ALLOW_MISSING.isdisjoint(entry.options))


@dataclass(frozen=True)
class Coverage:
    """How many of the cells of a statement have a number."""

    known: int
    cells: int

    def __str__(self) -> str:
        """Return the counts as text, such as '3 of 9 cells'."""
        return f"{self.known} of {self.cells} cell{'s' * (self.cells != 1)}"


def coverage_of(statement: Statement, side: Side, diverged: int = 0) -> Coverage:
    """Count the cells of a statement that have a number; our score on dev may be one.

    Args:
        statement: the statement.
        side: the numbers.
        diverged: the number of cells that count too, because their training diverged and the statement is about that.
    """
    keys = set(statement.keys)
    return Coverage(len(keys) - len(with_dev(statement, side).missing(keys)) + diverged, len(keys))


def decide_statement(statement: Statement, side: Side) -> Verdict | str:
    """Return the verdict on a statement, or a text that says why its cells cannot decide it.

    `holds` of the verdict is None if the known numbers do not contradict the statement, but others are missing.
    """
    if not statement.compare:
        return statement.undecided or statement.but
    side = with_dev(statement, side)
    compared = comparison_of(statement, side)
    missing = side.missing(statement.keys)
    if not missing:
        return compared()
    verdict = compared() if allows_missing(statement) else OPEN
    return replace(verdict, missing=side.why(missing)) if verdict.numbers else side.why(missing)
