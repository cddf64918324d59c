"""Cells as the comparisons of claims take them: names next to an array of numbers; and the verdict that they return.

The numbers are an array [cells, resamples]: each column is judged by itself, all of them at once. One column holds the
means, or thousands hold resamples from their distributions. Texts are of the first column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Flags = NDArray[Any]  # of booleans
Objects = NDArray[np.object_]
Places = NDArray[np.intp]
SeedScores = tuple[tuple[int, float], ...]  # (seed, score), sorted


@dataclass(frozen=True)
class CellValues:
    """Cells of a statement with resamples of their numbers, or with one number each: the means.

    Args:
        keys: [cells, 3]: the table, row and column of each.
        lines: [cells]: the line of each in `arrays`.
        arrays: the columns of a frame of cells (`judge.claim_frame`) by name.
        values: [cells, resamples]: the numbers; NaN for a cell without one.
    """

    keys: Objects
    lines: Places
    arrays: Mapping[str, NDArray[Any]]
    values: Values

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, which: Any) -> CellValues:
        """Return some of the cells: those at places, or those that a mask of booleans keeps."""
        return CellValues(self.keys[which], self.lines[which], self.arrays, self.values[which])

    @property
    def rows(self) -> Objects:
        """The row of each cell."""
        return self.keys[:, 1]

    @property
    def columns(self) -> Objects:
        """The column of each cell."""
        return self.keys[:, 2]

    @property
    def places(self) -> list[str]:
        """The row and column of each cell, as text."""
        return [f"{row}, {column}" for _, row, column in self.keys]

    @property
    def known(self) -> Flags:
        """Whether each cell has a number."""
        return ~np.isnan(self.values[:, 0])

    @property
    def numbered(self) -> CellValues:
        """The cells that have a number."""
        return self[self.known]

    def facts(self, name: str) -> NDArray[Any]:
        """Return what one of the arrays says of the cells."""
        return self.arrays[name][self.lines]

    @property
    def texts(self) -> list[str]:
        """The numbers as text: 'SST-2: 91.2 ± 0.1 (KD)'."""
        told = zip(self.columns, self.facts("text"), self.rows, strict=True)
        return [f"{column}: {text} ({row})" for column, text, row in told]


@dataclass(frozen=True)
class Pairs:
    """Pairs of cells: each of one side with one of the other."""

    own: CellValues
    other: CellValues

    def __len__(self) -> int:
        return len(self.own)

    def __getitem__(self, which: Any) -> Pairs:
        return Pairs(self.own[which], self.other[which])

    @cached_property
    def gap(self) -> Values:
        """[pairs, resamples]: the first number minus the second."""
        return self.own.values - self.other.values

    @property
    def known(self) -> Flags:
        """Whether both cells of each pair have a number."""
        return ~np.isnan(self.gap[:, 0])

    @property
    def numbered(self) -> Pairs:
        """The pairs in which both cells have a number."""
        return self[self.known]

    @property
    def names(self) -> list[str]:
        """The column and the two rows of each pair."""
        named = zip(self.own.columns, self.own.rows, self.other.rows, strict=True)
        return [f"{column}: {row} against {rival}" for column, row, rival in named]

    @property
    def texts(self) -> list[str]:
        """The pairs as text: 'SST-2: 91.2 (KD) against 90.1 (No distillation)'."""
        told = zip(self.own.texts, self.other.facts("text"), self.other.rows, strict=True)
        return [f"{own} against {text} ({row})" for own, text, row in told]


class Parts(NamedTuple):
    """Named parts of a statement, and [parts, resamples] whether each is meant; equal names are one part."""

    names: Sequence[str] = ()
    flags: Flags = np.zeros((0, 1), bool)


class Ballot(NamedTuple):
    """Columns of which more than half must be as stated.

    Each has candidates, [candidates, resamples], of which one that is so suffices; a column without a number may have
    none.

    Args:
        good: of each column, what makes it as stated by itself: all of its pairs together, or one row.
        bad: of each column, what contradicts it by itself: one pair, or one of the other rows.
        name: what it is about, such as one of the other rows.
    """

    good: Sequence[Flags]
    bad: Sequence[Flags]
    name: str = "most"


@dataclass(frozen=True)
class Verdict:
    """The result of a comparison, for each resample.

    Args:
        true: [resamples]: whether the statement is true of the cells that have a number.
        numbers: the cells that decide, with their numbers, as text; empty if too few have one to say anything.
        open: [resamples]: whether cells without a number may turn that.
        result: the one computed number that decides, as text; empty if there is no single one.
        pair: the two cells that decide; None if they are not exactly two.
        missing: which cells have no number, and why, as text.
        wrong: the parts that contradict the statement, such as pairs or columns; none for a statement without parts.
        alone: for a statement about the best of several rows, gains or pairs of columns: those that fulfil it by
            themselves.
        ballots: for a statement about most columns: the columns; of several ballots, each must be won.
        diverged: for a statement that trainings diverge: the number of cells whose training did.
    """

    true: Flags
    numbers: str
    open: Flags = field(default_factory=lambda: np.array([False]))
    result: str = ""
    pair: Pairs | None = None
    missing: str = ""
    wrong: Parts = field(default_factory=Parts)
    alone: Parts = field(default_factory=Parts)
    ballots: Sequence[Ballot] = ()
    diverged: int = 0

    @property
    def supported(self) -> bool | None:
        """Whether the statement is true of the first resample; None if cells without a number leave that open."""
        return None if self.open[0] else bool(self.true[0])

    @property
    def points_to(self) -> bool | None:
        """Whether the statement is true of those cells of the first resample that have a number; None if none tells."""
        return bool(self.true[0]) if self.numbers else None
