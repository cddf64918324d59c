"""Judge a statement of a paper's text on one side: the numbers that the paper reports, or those of our runs.

Both sides use the same comparison. They differ in what a number x in the text requires of a value v from the cells:

- Reported side: v must be x, to its last digit or within the statement's `within`: |v - x| <= within + slack. The
  slack is the error that rounding of the reported cells can cause in a difference or a ratio; for a single cell, zero.
- Our side: v must have the sign of x and be at least as large, less the tolerance: sign(x) v >= |x| - within. Another
  run need not repeat a number to support the statement. Numbers of parameters do not depend on the seed, so they must
  meet x as on the reported side.

Without `within`, the tolerance is half a unit of the last reported digit of x. This is no significance test: of ours it
tells which way the means point, and `certainty.py` decides.

If a cell has no number, the others may still decide the statement: one column that contradicts it is enough, and so are
most columns if it is about most. Else the statement stays open, and the verdict says which way it points. If only a
test server can compute a score, our score on dev is used, unless the statement is about test sets alone.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from retort.formatters import number as formatted
from retort.judgement import groups
from retort.judgement.cells import CellValues, SeedScores, Verdict
from retort.judgement.comparisons import OPEN, TINY, Reached, Stated, comparisons
from retort.results.frames import lines_of, scores_by_seed
from retort.specs import catalogue
from retort.specs.exhibit import Exhibit
from retort.specs.paper import Statement
from retort.specs.reported import Number, read_number
from retort.study.reasons import Status

if TYPE_CHECKING:  # pandas takes long to import
    from numpy.typing import NDArray
    from pandas import DataFrame

REGISTERED = groups  # imported because it registers its comparisons
Key = tuple[str, str, str]  # table, row, column
KEY, NOWHERE = ("table", "row", "column"), ("", "", "")
Facts = Mapping[str, Any]  # what is known of a cell: some of `FACTS`
ALLOW_MISSING = {"against", "counterparts", "partners"}  # parameters of comparisons that take cells without a number
GROUPS = {"than", *ALLOW_MISSING}  # parameters that take the other cells
SHOWN = 3  # name at most so many rows without a number
ROUNDED = 2000  # resamples of what was rounded to the reported numbers
UNREPORTED = "nothing is reported"
NOT_AS_REPORTED = "ours is not what the row reports: {}"
DEV = "dev"
# unit -> reported decimals, for values that are not scores
DECIMALS = {"M": 1, "ms": 2, "times": 1, "%": 2, "rows": 0, "steps": 0, "p": 3}
# the columns of a frame of cells, with the values of a cell of which nothing is known
FACTS: Facts = {
    "value": math.nan,  # the mean; NaN without one
    "text": "",  # the mean as reported, with its standard deviation if there is one
    "half": 0.0,  # half a unit of the last reported digit
    "n": 0,  # runs that are averaged; 0 if unknown
    "std": math.nan,  # the standard deviation over them; NaN if unknown
    "unit": "",  # that of the frame; empty for a reported number
    "by_seed": (),  # (seed, score) of each run, if known
    "split": "",  # `DEV` for our score on dev of a cell that only a test server can score
    "status": "",  # what became of a cell of ours
    "reason": UNREPORTED,  # why it has no number
}


class Kind(StrEnum):
    """What numbers say of a claim, in the words of pages: the same whoever measured them."""

    SUPPORTED = "supported"
    TIED = "tied"  # not supported as reported, and not by more than rounding
    NOT_SUPPORTED = "not supported"
    BY_LENGTH = "depends on length"
    INCONCLUSIVE = "inconclusive"  # other runs, or cells without a number, may turn it
    NOT_TESTED = "not tested"  # no run has its numbers
    NOT_REPORTED = "not reported"  # of a paper's own numbers

    @property
    def is_decided(self) -> bool:
        """Whether the numbers agree with the claim, or with its opposite."""
        return self in (Kind.SUPPORTED, Kind.NOT_SUPPORTED)


def claim_frame(cells: Mapping[Key, Facts]) -> DataFrame:
    """Return a frame with a line for each cell: its table, row and column, and `FACTS`.

    The last line is that of all cells of which nothing is known, so that place -1 finds it.
    """
    import pandas as pd

    lines = [(*key, *{**FACTS, **facts}.values()) for key, facts in {**cells, NOWHERE: FACTS}.items()]
    frame = pd.DataFrame(lines, columns=[*KEY, *FACTS], dtype=object)  # other types of text are slow to and from NumPy
    return frame.astype(dict.fromkeys(("value", "half", "n", "std"), float))


def facts_of(number: Number, n: int, std: float | None, by_seed: SeedScores = (), unit: str = "") -> Facts:
    """Return what is known of a cell with a number over so many runs, as a line of a frame."""
    text = f"{number.text} ± {number.std_text}" if number.std_text else number.text
    return {
        "value": number.value, "text": text, "half": number.half, "n": n, "std": std, "by_seed": by_seed, "unit": unit,
    }  # fmt: skip


def facts_of_runs(
    mean: float, std: float | None, digits: int, n: int, by_seed: SeedScores = (), unit: str = "x100"
) -> Facts:
    """Return what is known of a cell of ours, a mean with so many reported digits."""
    number = Number(formatted(mean, digits), mean, "" if std is None else formatted(std, digits))
    return facts_of(number, n, std, by_seed, unit)


@dataclass(frozen=True)
class Side:
    """The numbers on which statements are judged: reported, ours or recorded.

    Args:
        frame: the cells (`claim_frame`).
        rule: the rule for a number in the text: `Stated` (must be met) or `Reached` (its sign and at least its size).
    """

    frame: DataFrame
    rule: type[Stated] = Stated

    @cached_property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The columns of the frame by name."""
        return {name: self.frame[name].to_numpy() for name in (*KEY, *FACTS)}

    @cached_property
    def places(self) -> dict[Key, int]:
        """The line of each cell in the frame."""
        return {key: line for line, key in enumerate(zip(*(self.arrays[name] for name in KEY), strict=True))}

    @cached_property
    def numbers(self) -> dict[Key, Facts]:
        """The cells that have a number, also one on dev, with what is known of them."""
        lines = zip(*(self.arrays[name].tolist() for name in FACTS), strict=True)
        every = {key: dict(zip(FACTS, line, strict=True)) for key, line in zip(self.places, lines, strict=True)}
        return {key: facts for key, facts in every.items() if not math.isnan(facts["value"])}

    def cells(self, keys: Sequence[Key]) -> CellValues:
        """Return cells with their numbers, the means alone."""
        lines = np.array([self.places.get(key, -1) for key in keys], int)
        return CellValues(np.array(keys, object).reshape(-1, 3), lines, self.arrays, self.arrays["value"][lines, None])

    def cells_of(self, statement: Statement) -> CellValues:
        """Return the cells of a statement, each once, in the order of their names.

        Scores on dev are no numbers of a statement about test sets alone.
        """
        cells = self.cells(sorted(set(statement.keys)))
        left_out = statement.test_alone & (cells.facts("split") == DEV)
        return replace(cells, values=np.where(left_out[:, None], math.nan, cells.values))

    def why(self, keys: Iterable[Key]) -> str:
        """Return a text that names the rows of cells without a number, grouped by reason."""
        rows: dict[str, dict[str, None]] = {}  # reason -> rows, each once
        for key in keys:
            rows.setdefault(self.arrays["reason"][self.places.get(key, -1)], {})[key[1]] = None
        return "; ".join(f"no number for {_list_few(list(names))}: {reason}" for reason, names in rows.items())


def _list_few(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def reported_numbers(exhibits: Mapping[str, Exhibit]) -> Side:
    """Return the numbers that a paper reports in its tables.

    Args:
        exhibits: the tables and figures of the paper by name.
    """
    return Side(claim_frame(_reported(exhibits)))


def recorded_numbers(exhibits: Mapping[str, Exhibit], units: Mapping[Key, str]) -> Side:
    """Return the numbers that a study of ours recorded, judged as those of any run.

    Args:
        exhibits: the tables and figures of the study by name.
        units: the unit of each cell, as frames have it.
    """
    found = {key: {**facts, "unit": units[key]} for key, facts in _reported(exhibits).items() if key in units}
    return Side(claim_frame(found), Reached)


def _reported(exhibits: Mapping[str, Exhibit]) -> dict[Key, Facts]:
    return {
        (name, one.row, one.column): facts_of(stated, one.runs, one.number.std, one.by_seed)
        for name, exhibit in exhibits.items()
        for one in exhibit.reported_cells()
        if one.number and (stated := one.stated)
    }


def recomputed_averages(side: Side, exhibits: Mapping[str, Exhibit]) -> Side:
    """Return the numbers of a paper with each average computed from the reported numbers of its row."""
    cells = dict(side.numbers)
    for name, exhibit in exhibits.items():
        for cell in exhibit.cells():
            key, parts = (name, cell.row, cell.column), [(name, cell.row, column) for column in cell.spec.mean_of]
            if key in cells and parts and all(part in side.numbers for part in parts):
                mean, half = (statistics.mean(side.numbers[part][fact] for part in parts) for fact in ("value", "half"))
                text = f"{mean:.2f}{''.join(cells[key]['text'].partition(' ±')[1:])}"
                cells[key] = {**cells[key], "value": mean, "text": text, "half": half}
    return replace(side, frame=claim_frame(cells))


def our_numbers(exhibits: Mapping[str, Exhibit], frames: Mapping[str, DataFrame]) -> Side:
    """Return the numbers of our runs, from the frames of some tables, and the reason for each cell that has none."""
    found = {
        (name, line.row, line.column): _facts_of_line(line, DECIMALS.get(line.unit, exhibits[name].digits))
        for name, frame in frames.items()
        for line in lines_of(frame)
    }
    return Side(claim_frame(found), Reached)


def _facts_of_line(line: Any, digits: int) -> Facts:
    """Return what a line of a frame says of its cell; our score on dev counts where only a server has others."""
    if line.differs:
        return {"reason": NOT_AS_REPORTED.format(line.differs)}
    state = {"status": line.status, "reason": "no number" if line.status == Status.OK else line.state}
    on_dev = line.status == Status.DEV or line.mean is None
    if on_dev and line.dev is not None:
        line = line._replace(mean=line.dev, std=None, n=0, by_seed="")
    if line.mean is None:
        return state
    facts = facts_of_runs(line.mean, line.std, digits, line.n, tuple(scores_by_seed(line.by_seed).items()), line.unit)
    return {**facts, **state, **({"text": f"dev {facts['text']}", "split": DEV} if on_dev else {})}


def sides_of(statement: Statement, cells: CellValues) -> tuple[CellValues, CellValues]:
    """Return the cells of a statement, and those that they are compared with, in its order.

    Args:
        statement: the statement.
        cells: all of its cells, each once.
    """
    places = {tuple(key): place for place, key in enumerate(cells.keys)}
    own, others = (
        cells[[places[key] for group in groups for key in group.keys]] for groups in (statement.cells, statement.than)
    )
    return own, others


def compare(statement: Statement, rule: type[Stated], cells: CellValues) -> Verdict:
    """Compare the cells of a statement, for each resample of their numbers.

    Args:
        statement: the statement.
        rule: the rule for a number in the text.
        cells: all of its cells, each once.
    """
    own, others = sides_of(statement, cells)
    number = read_number(statement.number)
    within = statement.within if statement.within is not None else number.half if number else 0.0
    needed = Stated if {*own.numbered.facts("unit")} == {"M"} else rule
    texts = {"stated": needed(number, within) if number else None, "both": (statement.number, statement.other)}
    given = {**texts, "allowed": statement.within, **dict.fromkeys(GROUPS, others)}
    needs = catalogue.comparisons()[statement.compare].options
    return comparisons[statement.compare](own, **{name: given[name] for name in needs})


def within_rounding(statement: Statement, side: Side) -> bool:
    """Return whether a statement may be true of the numbers that were rounded to the reported ones.

    A number in the text has its tolerance, which counts the rounding of cells.
    """
    if statement.number:
        return False
    cells = side.cells_of(statement)
    apart = np.cos(np.random.default_rng(0).uniform(0, math.pi, (len(cells), ROUNDED)))  # often nearly -1 or 1
    half = np.where(cells.facts("half") < 0.5, cells.facts("half"), 0.0)  # a whole number is a count, and exact
    values = cells.values + (1 - TINY) * half[:, None] * apart
    return bool(compare(statement, side.rule, replace(cells, values=values)).true.any())


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
    cells = side.cells_of(statement)
    return Coverage(len(cells.numbered) + diverged, len(cells))


def decide_statement(statement: Statement, side: Side) -> Verdict | str:
    """Return the verdict on a statement, or a text that says why its cells cannot decide it.

    `supported` of the verdict is None if the known numbers do not contradict the statement, but others are missing.
    """
    if not statement.compare:
        return statement.undecided or statement.but
    cells = side.cells_of(statement)
    missing = {tuple(key) for key in cells.keys[~cells.known]}
    if not missing:
        return compare(statement, side.rule, cells)
    why = side.why(key for key in statement.keys if key in missing)
    verdict = compare(statement, side.rule, cells) if allows_missing(statement) else OPEN
    return replace(verdict, missing=why) if verdict.numbers else why
