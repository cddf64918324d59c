"""Verdicts on the cells of a table: our mean agrees with the published one, differs from it, or neither is shown.

Each cell is judged by its own difference. How much a deviation over few runs is worth, the others of its column tell.
`README.md` beside this file gives the reasons, and how often the verdicts are wrong.

- The variance of the difference d, ours minus published, is the sum of v / n of both sides, each with its own n, and
  h^2 / 3 for the rounding of the printed number, where h is half a unit of its last digit.
- v is a weighted mean of the variance over the runs of the side and of the one of its column (`Spread`). A side without
  a deviation has the one of its column, or that of the other side if this is larger; the verdict states it.
- A cell agrees if d is shown to lie within the margin: two one-sided tests at 5 %.
- Else it differs if p < 0.05 after Holm's correction over all judged cells of the table.
- Else it is inconclusive. `runs_needed` is then the number of runs of ours with which equal means would be shown to
  agree with a power of 80 %.

Whoever runs a study of ours has the seeds, the first weights and the batches of the recorded run. So the difference is
formed under each seed. Its spread is that of rounding on another machine, and not that of training.

- A cell repeats the recorded run if its score under each seed has the recorded digits.
- Else it reproduces it if its mean differs by at most the margin, and the paired t-test over the seeds shows no shift:
  p >= 0.05 after Holm's correction over all cells of the table that have such a test. With one seed, or with equal
  differences under all seeds, there is no test, and the margin decides alone.
- Else it has the verdict of any other cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from retort.judgement.difference import (
    LEVEL,
    Comparison,
    MeanDifference,
    Numbers,
    VariancePart,
    holm_corrected,
    mean_is_zero,
    power_of_equivalence,
)
from retort.results.tidy import Line
from retort.specs.exhibit import Exhibit
from retort.specs.rows import ASSUMED_FREEDOM, Judging, assumed_std_of
from retort.study.reasons import Status

AGREES, DIFFERS, INCONCLUSIVE = "agrees", "differs", "inconclusive"
REPEATS, REPRODUCES = "repeats", "reproduces"  # of the same run as a recorded one (`judge_repeats`)
VERDICTS = (REPEATS, REPRODUCES, AGREES, DIFFERS, INCONCLUSIVE)
MARGIN = 1.0  # points: two means within it count as equal
POWER = 0.8
BORROWED = 3  # degrees of freedom that a variance borrows from its column, at most
MOST_RUNS = 1000  # more runs than this are not counted
NO_RUNS = "none"
HOPELESS = "with that, no number of runs of ours shows equal means to agree with a power of 80 %"
TINY = 1e-9
AssumedStd = Callable[[Line], float]  # a line -> the standard deviation that its table assumes, in points


@dataclass(frozen=True)
class Sample:
    """The runs of one side of a cell, ours or the published ones.

    Args:
        n: how many there are.
        variance: their sample variance; None if it is not known, or zero, which tells nothing about other runs.
    """

    n: Numbers
    variance: Numbers | None

    @property
    def freedom(self) -> Numbers:
        """The degrees of freedom of its variance."""
        return 0 if self.variance is None else self.n - 1


Samples = tuple[Sample, Sample]  # ours and the published one


@dataclass(frozen=True)
class Spread:
    """What the judged cells of a column tell about the spread of single runs.

    Args:
        std: the mean of their standard deviations, weighted by degrees of freedom, and of the assumed one.
        cells: how many cells have a deviation.
    """

    std: Numbers
    cells: int

    @classmethod
    def of(cls, assumed: Numbers, cells: Sequence[Samples]) -> Spread:
        """Return what cells tell; the `assumed` deviation counts with ASSUMED_FREEDOM degrees of freedom."""
        stds = [(side.variance**0.5, side.freedom) for cell in cells for side in cell if side.variance is not None]
        stds.append((assumed, ASSUMED_FREEDOM))
        total = sum(freedom for _, freedom in stds)
        known = sum(any(side.variance is not None for side in cell) for cell in cells)
        return cls(sum(std * freedom / total for std, freedom in stds), known)

    def assumed(self, sides: Samples) -> Numbers:
        """Return the variance of a side that has none: that of the column, or of the other side if this is larger."""
        import numpy as np

        return reduce(np.maximum, [side.variance for side in sides if side.variance is not None], self.std**2)

    def part(self, side: Sample, assumed: Numbers) -> VariancePart:
        """Return the variance of the mean of a side.

        A variance over runs is moderated (Smyth, 2004): b degrees of freedom are borrowed from the column. b is at most
        BORROWED, the number of other cells with a deviation, and twice the degrees of freedom of the side.

        Args:
            side: the runs.
            assumed: the variance of a side that has none.
        """
        import numpy as np

        if side.variance is None:
            return VariancePart(assumed / side.n, ASSUMED_FREEDOM)
        borrowed = np.minimum(min(BORROWED, max(self.cells - 1, 0)), 2 * side.freedom)
        freedom = borrowed + side.freedom
        return VariancePart((borrowed * self.std**2 + side.freedom * side.variance) / freedom / side.n, freedom)


def difference(value: Numbers, sides: Samples, column: Spread, half: float) -> MeanDifference:
    """Return the difference of two means.

    Its degrees of freedom are the fewer of both sides. Those of Welch are too many if the side with fewer runs has a
    small variance by luck.

    Args:
        value: ours minus published.
        sides: the runs.
        column: what the column of the cell tells.
        half: half a unit of the last printed digit. The rounding error is uniform between -half and half.
    """
    import numpy as np

    ours, published = (column.part(side, column.assumed(sides)) for side in sides)
    error = np.sqrt(ours.variance + published.variance + half**2 / 3)
    return MeanDifference(value, error, np.minimum(ours.freedom, published.freedom))


def assumed_in(exhibit: Exhibit, paper: Judging) -> AssumedStd:
    """Return a function from a line of a table to its assumed standard deviation."""
    return lambda line: assumed_std_of([*exhibit.judging(line.column), paper]).points


def samples_of(line: Line) -> Samples:
    """Return the runs of both sides of a cell."""
    ours, published = (
        Sample(n, std**2 if std and n > 1 else None)
        for n, std in ((line.n, line.std), (_published_runs(line), line.published_std))
    )
    return ours, published


def columns_of(lines: Iterable[Line], assumed: AssumedStd) -> dict[str, Spread]:
    """Return column -> what its cells tell, from the comparable lines of a table."""
    columns: dict[str, list[Line]] = {}
    for line in lines:
        columns.setdefault(line.column, []).append(line)
    return {name: Spread.of(assumed(cells[0]), list(map(samples_of, cells))) for name, cells in columns.items()}


def _assumptions(line: Line, column: Spread) -> Iterable[str]:
    """Yield what the test of a line assumes."""
    sides = samples_of(line)
    without = [name for name, side in zip(("our", "published"), sides, strict=True) if side.variance is None]
    if without:
        which = "both deviations" if len(without) == 2 else f"{without[0]} deviation"
        yield f"{which} taken to be {column.assumed(sides) ** 0.5:.2g}"
    if not line.published_n:
        yield f"published over {_published_runs(line)} run{'s' * (_published_runs(line) > 1)}, not stated"


def _published_runs(line: Line) -> int:
    """Return the number of runs behind a published mean; if unknown, 2 if a deviation is printed, else 1."""
    return line.published_n or (2 if line.published_std is not None else 1)


def is_comparable(line: Line) -> bool:
    """Return whether a line is a score with both means, of the printed model and split."""
    both = line.mean is not None and line.published is not None
    return line.unit == "x100" and both and line.status is Status.OK and not line.differs


def runs_needed(line: Line, column: Spread) -> str:
    """Return with how many runs of ours equal means would be shown to agree with a power of 80 %, or 'none'.

    The number is larger than that of the existing runs, and our deviation stays as it is. It is 'none' if the error of
    the published mean alone is too large for the margin.
    """
    import numpy as np

    ours, published = samples_of(line)
    n = np.arange(line.n + 1, MOST_RUNS + 1)
    more = Sample(n, ours.variance or column.assumed((ours, published)))
    apart = difference(0.0, (more, published), column, line.published_half or 0.0)
    enough = power_of_equivalence(apart.error, apart.freedom, MARGIN) >= POWER
    return str(n[enough.argmax()]) if enough.any() else NO_RUNS


def size_verdict(line: Line) -> str:
    """Return 'agrees' if a number of parameters, rounded like the printed one, equals it; else 'differs'.

    The verdict is empty for any other unit than 'M', and for another model. Times have none, since machines differ.
    """
    if line.unit != "M" or line.mean is None or line.published is None or line.differs:
        return ""
    return AGREES if abs(line.mean - line.published) <= (line.published_half or 0.0) + TINY else DIFFERS


def _test(line: Line, column: Spread) -> Line:
    """Add interval and p-values to a comparable line."""
    value = (line.mean or 0.0) - (line.published or 0.0)
    apart = difference(value, samples_of(line), column, line.published_half or 0.0)
    low, high = map(float, apart.interval())
    assumes = "; ".join(filter(None, [line.best_of, *_assumptions(line, column)]))
    p, p_equivalence = float(apart.p()), float(apart.p_equivalence(MARGIN))
    return replace(line, low=low, high=high, p=p, p_equivalence=p_equivalence, assumes=assumes)


def _decide(line: Line, p_holm: float, column: Spread) -> Line:
    """Add the verdict to a line with p-values."""
    line = replace(line, p_holm=p_holm)
    if (line.p_equivalence or 0.0) < LEVEL:
        return replace(line, verdict=AGREES)
    if p_holm < LEVEL:
        return replace(line, verdict=DIFFERS)
    if line.rerun is not None:  # a best of a grid: more runs of its point do not make it surer
        return replace(line, verdict=INCONCLUSIVE)
    needed = runs_needed(line, column)
    hopeless = [HOPELESS] if line.assumes and needed == NO_RUNS else []
    assumes = "; ".join([line.assumes, *hopeless])
    return replace(line, verdict=INCONCLUSIVE, runs_needed=needed, assumes=assumes)


def judge_lines(lines: Iterable[Line], assumed: AssumedStd) -> list[Line]:
    """Add verdicts to the lines of a table; to those of scores, also intervals and p-values.

    Args:
        lines: the lines of one table, which are the family of tests of Holm's correction.
        assumed: the standard deviation of a line whose column has none.
    """
    lines = list(lines)
    columns = columns_of(filter(is_comparable, lines), assumed)
    tested = [_test(line, columns[line.column]) if is_comparable(line) else line for line in lines]
    return [
        replace(line, verdict=size_verdict(line)) if p_holm is None else _decide(line, p_holm, columns[line.column])
        for line, p_holm in zip(tested, holm_corrected([line.p for line in tested]), strict=True)
    ]


def verdict_rules(lines: list[Line]) -> list[str]:
    """Return sentences that explain the verdicts of a table; none if no score of it was judged."""
    tested, found = [line for line in lines if line.p is not None], []
    if any(line.verdict not in (REPEATS, REPRODUCES) for line in tested):
        found.append(
            "In brackets: the 95 % interval of the difference, with the rounding of the print; a deviation over few "
            "runs borrows from those of its column. A cell 'agrees' "
            f"when the difference is shown to be within {MARGIN:g} point (two one-sided tests at "
            f"5 %); else it 'differs' when p < 0.05 after Holm's correction over {len(tested)} cells; else it is "
            "'inconclusive', with the runs of ours that would show equal means to agree with a power of 80 %; without "
            "a number, none would, as the published mean alone is too uncertain."
        )
    if any(line.verdict in (REPEATS, REPRODUCES) for line in lines):
        found.append(
            "A cell 'repeats' the recorded run when each seed has its digits. It 'reproduces' it when, under the same "
            f"seeds, its mean is within {MARGIN:g} point of the recorded one, and a paired t-test "
            "over the seeds shows no shift (p < 0.05 after Holm's correction over the table); in brackets then: the "
            "95 % interval of the paired difference."
        )
    return found


# --- a run that was recorded before: the same study with the same seeds, compared seed by seed


DIGITS, DIGIT = 5, 1e-5  # decimals of a recorded score
SAME, PAIRED = "the same digits as the recorded run", "paired with the recorded run, seed by seed"


def seed_differences(line: Line) -> list[float]:
    """Return ours minus recorded under each seed; empty if the two runs do not have the same seeds."""
    ours, recorded = (dict(line.by_seed), dict(line.published_by_seed))
    if not recorded or ours.keys() != recorded.keys() or not is_comparable(line):
        return []
    return [round(ours[seed], DIGITS) - score for seed, score in recorded.items()]


def judge_repeats(lines: list[Line]) -> list[Line]:
    """Give the lines of a table that repeat or reproduce a recorded run this verdict; the others keep theirs."""
    apart = list(map(seed_differences, lines))
    tests = [mean_is_zero([values]) for values in apart]
    shifts = holm_corrected([test.p for test in tests])

    def decide(line: Line, values: list[float], test: Comparison, p: float | None) -> Line:
        if values and max(map(abs, values)) < DIGIT / 2:
            zero = (line.mean or 0.0) - (line.published or 0.0)
            return replace(line, verdict=REPEATS, low=zero, high=zero, assumes=SAME, runs_needed="")
        if test.mean is None or abs(test.mean) > MARGIN + TINY or (p is not None and p < LEVEL):
            return line
        low, high = map(float, test.difference.interval()) if test.difference else (None, None)
        return replace(line, verdict=REPRODUCES, low=low, high=high, assumes=PAIRED, runs_needed="")

    return [decide(*one) for one in zip(lines, apart, tests, shifts, strict=True)]
