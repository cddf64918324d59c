"""Verdicts on the cells of a table: our mean agrees with the reported one, differs from it, or neither is shown.

Each cell is judged by its own difference. How much a deviation over few runs is worth, the others of its column tell.
`statistics.md` next to this file gives the reasons, and how often the verdicts are wrong.

- The variance of the difference d, ours minus reported, is the sum of v / n of both sides, each with its own n, and
  h^2 / 3 for the rounding of the reported number, where h is half a unit of its last digit.
- v is a weighted mean of the variance over the runs of the side and of the one of its column (`Spread`). A side without
  a deviation has the one of its column, or that of the other side if this is larger; the verdict states it.
- If all runs of a side are fine-tunings of one distillation, they do not tell how far off another distillation would
  be: its variance is assumed (`specs/rows.py`) and added. If a side has several distillations, these are its runs, each
  by the mean of its fine-tunings.
- A cell agrees if d is shown to lie within the margin: two one-sided tests at 5 %.
- Else it differs if p < 0.05 after Holm's correction over all judged cells of the table.
- Else it is inconclusive. `runs_needed` is then the number of runs of ours with which equal means would be shown to
  agree with a power of 80 %.

Whoever runs a study of ours has the seeds, the first weights and the batches of the recorded run. So the difference is
formed under each seed. Its spread is that of rounding on another machine, and not that of training.

- A cell is reproduced exactly if its score under each seed has the recorded digits.
- Else it is reproduced if its mean differs by at most the margin, and the paired t-test over the seeds shows no shift:
  p >= 0.05 after Holm's correction over all cells of the table that have such a test. With one seed, or with equal
  differences under all seeds, there is no test, and the margin decides alone.
- Else it has the verdict of any other cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from retort.judgement.difference import (
    LEVEL,
    MeanDifference,
    Numbers,
    VariancePart,
    holm_corrected,
    mean_is_zero,
    power_of_equivalence,
)
from retort.results.frames import joined, lines_of, scores_by_seed, with_lines
from retort.specs.exhibit import Exhibit
from retort.specs.rows import ASSUMED_FREEDOM, DISTILLATION_FREEDOM, AssumedSpread, Judging, assumed_spread
from retort.study.reasons import Status

if TYPE_CHECKING:
    from pandas import DataFrame, Series

AGREES, DIFFERS, INCONCLUSIVE = "agrees", "differs", "inconclusive"
EXACT, REPRODUCED = "reproduced exactly", "reproduced"  # of the same run as a recorded one (`judge_repeats`)
SAME_NUMBER = {EXACT: "=", REPRODUCED: "≈"}  # their signs, where the two numbers are rounded alike
VERDICTS = (EXACT, REPRODUCED, AGREES, DIFFERS, INCONCLUSIVE)
MARGIN = 1.0  # points: two means within it count as equal
POWER = 0.8
BORROWED = 3  # degrees of freedom that a variance borrows from its column, at most
MOST_RUNS = 1000  # more runs than this are not counted
NO_RUNS = "none"
HOPELESS = "with that, no number of runs of ours shows equal means to agree with a power of 80 %"
NEEDS_DISTILLATIONS = "needs further distillations"
ONE_DISTILLATION = "one distillation a side, whose deviation is taken to be {:.2g}"
TINY = 1e-9
Assumed = Callable[[str], AssumedSpread]  # a column -> what its table assumes of the spread of runs


# --- the difference of two means, for all cells of a table at once


@dataclass(frozen=True)
class Runs:
    """The runs of one side of each cell, ours or the reported ones. The last axis of each array is the cells.

    Args:
        n: how many there are.
        variance: their sample variance; NaN if it is not known, or zero, which tells nothing about other runs.
    """

    n: Numbers
    variance: Numbers

    @classmethod
    def of(cls, n: Numbers, std: Numbers) -> Runs:
        """Return the runs of cells from their numbers and their standard deviations."""
        import numpy as np

        n, std = np.asarray(n), np.asarray(std, dtype=float)
        return cls(n, np.where((std > 0) & (n > 1), std**2, np.nan))

    @property
    def known(self) -> Numbers:
        """Whether the variance is known."""
        return self.variance > 0

    @property
    def freedom(self) -> Numbers:
        """The degrees of freedom of the variance; 0 if it is not known."""
        return self.known * (self.n - 1)


@dataclass(frozen=True)
class Spread:
    """What the cells of its column tell of the spread of single runs, for each cell.

    Args:
        std: the mean of the column's standard deviations, weighted by degrees of freedom, and of the assumed one, which
            has ASSUMED_FREEDOM of them.
        cells: how many cells of the column have a deviation.
    """

    std: Numbers
    cells: Numbers

    @classmethod
    def of(cls, ours: Runs, reported: Runs, columns: Numbers, assumed: Numbers) -> Spread:
        """Return what the columns of a table tell.

        Args:
            ours: our runs of each cell.
            reported: the reported ones.
            columns: the number of each cell's column: (cells,).
            assumed: the standard deviation that its table assumes of each cell: (cells,).
        """
        import numpy as np

        same = (columns[:, None] == columns).astype(float)  # a sum over the cells of a column: x @ same
        freedom, weighted = ASSUMED_FREEDOM, ASSUMED_FREEDOM * assumed
        for side in (ours, reported):
            freedom = freedom + side.freedom @ same
            weighted = weighted + (side.freedom * np.sqrt(np.nan_to_num(side.variance))) @ same
        return cls(weighted / freedom, (ours.known | reported.known).astype(float) @ same)

    def assumed_variance(self, ours: Runs, reported: Runs) -> Numbers:
        """Return the variance of a side that has none: that of the column, or of the other side if this is larger."""
        import numpy as np

        return np.fmax(np.fmax(ours.variance, reported.variance), self.std**2)

    def part(self, side: Runs, assumed: Numbers) -> VariancePart:
        """Return the variance of the mean of a side.

        A variance over runs is moderated (Smyth, 2004): b degrees of freedom are borrowed from the column. b is at most
        BORROWED, the number of other cells with a deviation, and twice the degrees of freedom of the side.

        Args:
            side: the runs.
            assumed: the variance of a side that has none.
        """
        import numpy as np

        borrowed = np.minimum(np.clip(self.cells - 1, 0, BORROWED), 2 * side.freedom)
        freedom = np.where(side.known, borrowed + side.freedom, ASSUMED_FREEDOM)
        moderated = (borrowed * self.std**2 + side.freedom * np.nan_to_num(side.variance)) / freedom
        return VariancePart(np.where(side.known, moderated, assumed) / side.n, freedom)


def difference(
    value: Numbers, ours: Runs, reported: Runs, column: Spread, half: Numbers, luck: Numbers = 0.0
) -> MeanDifference:
    """Return the difference of two means, of each cell.

    Its degrees of freedom are the fewer of both sides. Those of Welch are too many if the side with fewer runs has a
    small variance by luck.

    Args:
        value: ours minus reported.
        ours: our runs.
        reported: the reported ones.
        column: what the columns of the cells tell.
        half: half a unit of the last reported digit. The rounding error is uniform between -half and half.
        luck: the variance between distillations of the sides whose runs share one.
    """
    import numpy as np

    assumed = column.assumed_variance(ours, reported)
    mine, theirs = column.part(ours, assumed), column.part(reported, assumed)
    error = np.sqrt(mine.variance + theirs.variance + half**2 / 3 + luck)
    freedom = np.minimum(mine.freedom, theirs.freedom)
    return MeanDifference(value, error, np.where(luck > 0, np.minimum(freedom, DISTILLATION_FREEDOM), freedom))


def decisions(apart: MeanDifference) -> tuple[Numbers, Numbers, Numbers]:
    """Return p, p after Holm's correction over the last axis, and p of equivalence, on which verdicts rest."""
    p = apart.p()
    return p, holm_corrected(p), apart.p_equivalence(MARGIN)


def verdict_of(p_holm: Numbers, p_equivalence: Numbers) -> Numbers:
    """Return the verdict on each cell from its p-values."""
    import numpy as np

    return np.select([p_equivalence < LEVEL, p_holm < LEVEL], [AGREES, DIFFERS], INCONCLUSIVE)


def runs_needed(ours: Runs, reported: Runs, column: Spread, half: Numbers, luck: Numbers = 0.0) -> list[str]:
    """Return with how many runs of ours equal means would be shown to agree with a power of 80 %, or 'none', by cell.

    The number is larger than that of the existing runs, and our deviation stays as it is. It is 'none' if the error of
    the reported mean alone is too large for the margin, or that of one distillation.
    """
    import numpy as np

    n = np.arange(2, MOST_RUNS + 1)[:, None]  # (numbers of runs, cells)
    assumed = column.assumed_variance(ours, reported)
    more = Runs(n, np.where(ours.known, ours.variance, assumed))
    apart = difference(0.0, more, reported, column, half, luck)
    enough = (power_of_equivalence(apart.error, apart.freedom, MARGIN) >= POWER) & (n > ours.n)
    return [str(2 + first) if any_ else NO_RUNS for first, any_ in zip(enough.argmax(0), enough.any(0), strict=True)]


# --- the verdicts of a table


def assumed_in(exhibit: Exhibit, paper: Judging) -> Assumed:
    """Return a function from a column of a table to what is assumed of the spread of its runs."""
    return lambda column: assumed_spread([*exhibit.judging(column), paper])


def is_comparable(frame: DataFrame) -> Series[bool]:
    """Return which lines are scores with both means, of the reported model and split."""
    both = frame["mean"].notna() & frame["reported"].notna() & (frame["differs"] == "")
    return both & (frame["unit"] == "x100") & (frame["status"] == Status.OK)


def reported_runs(frame: DataFrame) -> Series[int]:
    """Return the number of runs behind each reported mean; if unknown, 2 if a deviation is reported, else 1."""
    stated = frame["reported_n"]
    return stated.where(stated > 0, 1 + frame["reported_std"].notna())


def size_verdicts(frame: DataFrame) -> Series[str]:
    """Return 'agrees' if a number of parameters, rounded like the reported one, equals it; else 'differs'.

    The verdict is empty for any other unit than 'M', and for another model. Times have none, since machines differ.
    """
    apart = (frame["mean"] - frame["reported"]).abs()
    judged = (frame["unit"] == "M") & apart.notna() & (frame["differs"] == "")
    agrees = apart <= frame["reported_half"].fillna(0.0) + TINY
    return agrees.map({True: AGREES, False: DIFFERS}).where(judged, "")


# whether our deviation is known, and the reported one -> which are not
WITHOUT = {(False, False): "both deviations", (False, True): "our deviation", (True, False): "reported deviation"}


def _assumptions(ours: Runs, reported: Runs, column: Spread, stated: Numbers) -> list[str]:
    """Return what the test of each cell assumes, as text."""
    taken, texts = column.assumed_variance(ours, reported) ** 0.5, []
    for mine, theirs, std, n, runs in zip(ours.known, reported.known, taken, stated, reported.n, strict=True):
        without = WITHOUT.get((bool(mine), bool(theirs)))
        unstated = "" if n else f"reported over {runs} run{'s' * bool(runs > 1)}, not stated"
        texts.append(joined(f"{without} taken to be {std:.2g}" if without else "", unstated))
    return texts


def _distillation_variance(cells: DataFrame, assumed: Numbers) -> Numbers:
    """Return the variance between distillations of the sides of each cell whose runs share one distillation."""
    sides = sum((cells[name] == 1).to_numpy(int) for name in ("distillations", "reported_distillations"))
    return sides * assumed**2


def judge_lines(frame: DataFrame, assumed: Assumed) -> DataFrame:
    """Return the frame of a table with its verdicts; those of scores have intervals and p-values, too.

    Args:
        frame: the lines of one table, which are the family of tests of Holm's correction.
        assumed: a column -> what is assumed of the spread of its runs.
    """
    import numpy as np

    frame = frame.assign(verdict=size_verdicts(frame))
    cells = frame[is_comparable(frame)]
    if cells.empty:
        return frame
    ours, reported = Runs.of(cells["n"], cells["std"]), Runs.of(reported_runs(cells), cells["reported_std"])
    spreads = [assumed(name) for name in cells["column"]]
    luck = _distillation_variance(cells, np.array([spread.distillation_std for spread in spreads]))
    column = Spread.of(ours, reported, cells["column"].factorize()[0], np.array([spread.std for spread in spreads]))
    half = cells["reported_half"].fillna(0.0).to_numpy()
    apart = difference((cells["mean"] - cells["reported"]).to_numpy(), ours, reported, column, half, luck)
    low, high = apart.interval()
    p, p_holm, p_equivalence = decisions(apart)
    stated = _assumptions(ours, reported, column, cells["reported_n"])
    once = [ONE_DISTILLATION.format(each.distillation_std) * bool(own) for each, own in zip(spreads, luck, strict=True)]
    assumes = [joined(*texts) for texts in zip(cells["best_of"], stated, once, strict=True)]
    tested = cells.assign(
        low=low, high=high, p=p, p_holm=p_holm, p_equivalence=p_equivalence, assumes=assumes,
        verdict=verdict_of(p_holm, p_equivalence),
    )  # fmt: skip
    # of a best of a grid, more runs of its point do not make it surer
    left = (tested["verdict"] == INCONCLUSIVE) & tested["rerun"].isna()
    if left.any():
        at = left.to_numpy()
        some = Runs(ours.n[at], ours.variance[at]), Runs(reported.n[at], reported.variance[at])
        needed = runs_needed(*some, Spread(column.std[at], column.cells[at]), half[at], luck[at])
        tested.loc[left, "runs_needed"] = needed
        hopeless = left & (tested["assumes"] != "") & (tested["runs_needed"] == NO_RUNS)
        tested.loc[hopeless, "assumes"] += f"; {HOPELESS}"
        tested.loc[hopeless & (luck > 0), "assumes"] += f": {NEEDS_DISTILLATIONS}"
    return with_lines(frame, tested)


def verdict_rules(frame: DataFrame) -> list[str]:
    """Return sentences that explain the verdicts of a table; none if no score of it was judged."""
    tested, found = frame[frame["p"].notna()], []
    if not tested["verdict"].isin((EXACT, REPRODUCED)).all():
        found.append(
            "In brackets: the 95 % interval of the difference, with the rounding of the reported number; a deviation "
            "over few runs borrows from those of its column. A cell 'agrees' "
            f"when the difference is shown to be within {MARGIN:g} point (two one-sided tests at "
            f"5 %); else it 'differs' when p < 0.05 after Holm's correction over {len(tested)} cells; else it is "
            "'inconclusive', with the runs of ours that would show equal means to agree with a power of 80 %; without "
            "a number, none would, as the reported mean alone is too uncertain."
        )
    if frame["verdict"].isin((EXACT, REPRODUCED)).any():
        found.append(
            "A cell is 'reproduced exactly' when each seed has its digits. It is 'reproduced' when, under the same "
            f"seeds, its mean is within {MARGIN:g} point of the recorded one, and a paired t-test "
            "over the seeds shows no shift (p < 0.05 after Holm's correction over the table); in brackets then: the "
            "95 % interval of the paired difference. A number with the same digits as the recorded one stands "
            "once, with '=' where it is reproduced exactly and '≈' where it is reproduced."
        )
    return found


# --- a run that was recorded before: the same study with the same seeds, compared seed by seed


DIGITS, DIGIT = 5, 1e-5  # decimals of a recorded score
SAME, PAIRED = "the same digits as the recorded run", "paired with the recorded run, seed by seed"


def seed_differences(line: Any) -> list[float]:
    """Return ours minus recorded under each seed, of a comparable line; empty if the two runs have other seeds."""
    ours, recorded = scores_by_seed(line.by_seed), scores_by_seed(line.reported_by_seed)
    if not recorded or ours.keys() != recorded.keys():
        return []
    return [round(ours[seed], DIGITS) - score for seed, score in recorded.items()]


def judge_repeats(frame: DataFrame) -> DataFrame:
    """Return the frame of a table in which lines that reproduce a recorded run have this verdict."""
    pairs = frame[is_comparable(frame) & (frame["reported_by_seed"] != "")]
    apart = {at: seed_differences(line) for at, line in zip(pairs.index, lines_of(pairs), strict=True)}
    apart = {at: values for at, values in apart.items() if values}
    tests = {at: mean_is_zero([values]) for at, values in apart.items()}
    shifts = holm_corrected([float("nan") if test.p is None else test.p for test in tests.values()])
    shown, found = frame["mean"] - frame["reported"], {}
    for (at, test), p in zip(tests.items(), shifts, strict=True):
        if max(map(abs, apart[at])) < DIGIT / 2:
            found[at] = (EXACT, shown[at], shown[at], SAME)
        elif abs(test.mean or 0.0) <= MARGIN + TINY and not p < LEVEL:
            ends = map(float, test.difference.interval()) if test.difference else (float("nan"),) * 2
            found[at] = (REPRODUCED, *ends, PAIRED)
    if not found:
        return frame
    verdict, low, high, assumes = map(list, zip(*found.values(), strict=True))
    changed = frame.loc[list(found)].assign(verdict=verdict, low=low, high=high, assumes=assumes, runs_needed="")
    return with_lines(frame, changed)
