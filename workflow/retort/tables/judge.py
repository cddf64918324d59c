"""A statement put to its cells: on the numbers that a paper prints, and on those of our runs.

Both sides are put to the same comparison. They differ in what a number in the text asks for:

- On the published numbers it has to be met: to its last digit, or as near as the statement's `within` allows.
- On ours a difference, a share, a ratio or a value has to have its sign and to be at least as large, less `within` (or
  half of its last digit): another run need not repeat a number to bear out what it is given for. Numbers of parameters
  are no matter of luck, and have to be met as on the published side.

A statement cannot be decided where one of its cells has no number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from retort.specs import catalogue
from retort.specs.audit import Cells, Statement, shown
from retort.specs.printed import Number, read_number
from retort.tables.comparisons import Named, Reached, Said, Verdict, comparisons
from retort.tables.numbers import number as written
from retort.tables.tidy import OK, Line

Key = tuple[str, str, str]  # table, row, column
SHOWN = 3  # rows that are named of many without a number
UNPRINTED = "nothing is printed"
# decimals of what is no score
DECIMALS = {"M": 1, "ms": 2, "times": 1, "%": 2}


@dataclass(frozen=True)
class Side:
    """The numbers that statements are judged on.

    Args:
        cells: every cell that has a number.
        reasons: why a cell has none, where more is known than that there is none.
        asks: what a number in the text asks for.
    """

    cells: Mapping[Key, Named]
    reasons: Mapping[Key, str]
    asks: type[Said] = Said

    def missing(self, keys: Iterable[Key]) -> list[Key]:
        """Which of some cells have no number."""
        return [key for key in dict.fromkeys(keys) if key not in self.cells]

    def why(self, keys: list[Key]) -> str:
        """The rows of cells without a number, by the reason."""
        rows: dict[str, list[str]] = {}
        for key in keys:
            listed = rows.setdefault(self.reasons.get(key, UNPRINTED), [])
            listed += [key[1]] if key[1] not in listed else []
        return "; ".join(f"no number of {_few(names)}: {reason}" for reason, names in rows.items())


def _few(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def published(exhibits: Mapping[str, Any], lines: Mapping[str, list[Line]] | None = None) -> Side:
    """What a paper prints in its tables, or what a study of ours recorded; a figure prints no number.

    Args:
        exhibits: the tables and figures of the paper by name.
        lines: their tidy lines, which know over how many seeds a recorded number is a mean.
    """
    runs = {(name, line.row, line.column): line.n for name, listed in (lines or {}).items() for line in listed}
    found = {}
    for name, exhibit in exhibits.items():
        for cell in getattr(exhibit, "published_cells", list)():
            if cell.number:
                key = (name, cell.row, cell.column)
                printed = cell.number if exhibit.numbers else _short(cell.number, exhibit.decimals)
                found[key] = Named(*key, printed, getattr(exhibit, "runs", 0) or runs.get(key, 0))
    return Side(found, {})


def _short(number: Number, decimals: int) -> Number:
    std = "" if number.std is None else f"{number.std:.{decimals}f}"
    return Number(f"{number.value:.{decimals}f}", number.value, std)


def ours(exhibits: Mapping[str, Any], lines: Mapping[str, list[Line]]) -> Side:
    """The numbers of our runs, and why a cell has none."""
    found, reasons = {}, {}
    for name, listed in lines.items():
        decimals = getattr(exhibits[name], "decimals", 1)
        every = [line.status for line in listed if not line.column]  # one line for all points of a planned figure
        for row, column in _places(exhibits[name]) if every else []:
            reasons[name, row, column] = every[0]
        for line in listed:
            key, digits = (name, line.row, line.column), DECIMALS.get(line.unit, decimals)
            if line.mean is None:
                reasons[key] = line.status if line.status != OK else "no number"
                continue
            std = "" if line.std is None else written(line.std, digits)
            found[key] = Named(*key, Number(written(line.mean, digits), line.mean, std), line.n, line.unit)
    return Side(found, reasons, Reached)


def _places(exhibit: Any) -> list[tuple[str, str]]:
    return [(row, column) for row, columns in shown(exhibit).items() for column in columns]


def _keys(listed: list[Cells]) -> list[Key]:
    return [key for part in listed for key in part.places]


def decide(statement: Statement, side: Side) -> Verdict | str:
    """What the cells say of a statement, or why they cannot."""
    cells, than = _keys(statement.cells), _keys(statement.than)
    missing = side.missing([*cells, *than])
    if missing:
        return side.why(missing)
    named = [side.cells[key] for key in cells]
    number = read_number(statement.number)
    within = statement.within if statement.within is not None else number.half if number else 0.0
    asks = Said if all(cell.unit == "M" for cell in named) else side.asks
    offered = {
        "said": asks(number, within) if number else None,
        "than": [side.cells[key] for key in than],
        "against": [side.cells[key] for key in than],
        "both": (statement.number, statement.other),
        "allowed": statement.within,
    }
    needs = catalogue.comparisons()[statement.compare].options
    return comparisons[statement.compare](named, **{name: offered[name] for name in needs})
