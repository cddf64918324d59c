"""Verdicts on the cells of a table: our mean agrees with the published one, differs from it, or neither is shown.

Each cell is judged by itself, by the variance of its own runs. `README.md` beside this file gives the reasons, and how
often the verdicts are wrong.

- The variance of the difference d, ours minus published, is the sum of s^2 / n of both sides, each with its own n, and
  h^2 / 3 for the rounding of the printed number, where h is half a unit of its last digit. Its interval is Welch's.
- A cell agrees if d is shown to lie within the margin: two one-sided tests at 5 %.
- Else it differs if p < 0.05 after Holm's correction over all judged cells of the table.
- Else it is inconclusive. `runs_needed` is then the number of runs of ours with which equal means would be shown to
  agree with a power of 80 %.

If a side lacks its deviation or number of runs, `spreads` assumes one, and the verdict states the assumption. If both
sides lack a deviation, the assumed one has finite degrees of freedom, since it differs from cell to cell
(`specs/rows.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from retort.judgement.difference import INFINITE, LEVEL, Difference, Part, holm, power_of_equivalence, welch
from retort.results.tidy import Line, Status
from retort.specs.exhibit import Exhibit
from retort.specs.rows import ASSUMED_FREEDOM, Judging, assumed_std_of, margin_of

AGREES, DIFFERS, INCONCLUSIVE = "agrees", "differs", "inconclusive"
REPEATS, REPRODUCES = "repeats", "reproduces"  # of the same run as a recorded one (`repeats.py`)
VERDICTS = (REPEATS, REPRODUCES, AGREES, DIFFERS, INCONCLUSIVE)
POWER = 0.8
MOST_RUNS = 1000  # more runs than this are not counted
NO_RUNS = "none"
HOPELESS = "with that, no number of runs of ours shows equal means to agree with a power of 80 %"
TINY = 1e-9
Limits = Callable[[Line], tuple[float, float]]  # a line -> its margin and its assumed standard deviation


@dataclass(frozen=True)
class Spread:
    """The standard deviation of single runs, and the degrees of freedom of its estimate."""

    std: float
    freedom: float


@dataclass(frozen=True)
class Spreads:
    """The spreads of both sides. If one side takes that of the other, they share one estimate, which counts once.

    Args:
        ours: spread of our runs; None if the published one stands for both.
        published: spread of the published runs; None if ours stands for both.
        assumes: what was assumed, as text.
    """

    ours: Spread | None
    published: Spread | None
    assumes: tuple[str, ...] = ()

    def parts(self, n: float, published_n: int) -> list[Part]:
        """Return the parts of the variance of a difference of means over `n` and `published_n` runs."""
        sides = [(side, runs) for side, runs in ((self.ours, n), (self.published, published_n)) if side]
        if len(sides) == 2:
            return [Part(side.std**2 / runs, side.freedom) for side, runs in sides]
        ((shared, _),) = sides
        return [Part(shared.std**2 * (1 / n + 1 / published_n), shared.freedom)]

    def with_runs(self, n: float) -> Spreads:
        """Return the spreads after `n` runs of ours, if our deviation stays as it is now."""
        (known, *_) = filter(None, (self.ours, self.published))
        return replace(self, ours=Spread(known.std, n - 1))


def limits_of(exhibit: Exhibit, paper: Judging) -> Limits:
    """Return a function from a line of a table to its margin and its assumed standard deviation."""

    def limits(line: Line) -> tuple[float, float]:
        levels = [*exhibit.judging(line.column), paper]
        return margin_of(levels).points, assumed_std_of(levels).points

    return limits


def _known(std: float | None, n: int) -> bool:
    return std is not None and n >= 2


def spreads(line: Line, assumed: float) -> Spreads:
    """Return the spreads of both sides of a cell.

    - If both sides have a deviation, each keeps its own.
    - If one side has none, it takes that of the other: equal variances.
    - If neither has one, or both are zero (which tells nothing about other runs), both take `assumed`, as one estimate
      with ASSUMED_FREEDOM degrees of freedom.
    """
    n, published_n = line.n, _published_runs(line)
    ours, published = line.std, line.published_std
    known = _known(ours, n), _known(published, published_n)
    if all(known) and (ours or published):
        return Spreads(Spread(ours or 0.0, n - 1), Spread(published or 0.0, published_n - 1))
    if known[0] and ours and not known[1]:
        return Spreads(Spread(ours, n - 1), None, ("published deviation taken to be ours",))
    if known[1] and published and not known[0]:
        return Spreads(None, Spread(published, published_n - 1), ("our deviation taken to be the published one",))
    return Spreads(Spread(assumed, ASSUMED_FREEDOM), None, (f"both deviations taken to be {assumed:g}",))


def _published_runs(line: Line) -> int:
    """Return the number of runs behind a published mean; if unknown, 2 if a deviation is printed, else 1."""
    return line.published_n or (2 if line.published_std is not None else 1)


def _rounding(line: Line) -> Part:
    # the rounding error is uniform between -h and h: variance (2 h)^2 / 12
    return Part((line.published_half or 0.0) ** 2 / 3, INFINITE)


def is_comparable(line: Line) -> bool:
    """Return whether a line is a score with both means, of the printed model and split."""
    both = line.mean is not None and line.published is not None
    return line.unit == "x100" and both and line.status is Status.OK and not line.differs


def difference(line: Line, known: Spreads) -> Difference:
    """Return the difference of both means of a comparable line, ours minus published."""
    value = (line.mean or 0.0) - (line.published or 0.0)
    return welch(value, [*known.parts(line.n, _published_runs(line)), _rounding(line)])


def runs_needed(line: Line, known: Spreads, margin: float) -> str:
    """Return with how many runs of ours equal means would be shown to agree with a power of 80 %, or 'none'.

    The number is larger than that of the existing runs. It is 'none' if the error of the published mean alone is too
    large for the margin.
    """
    import numpy as np

    n = np.arange(line.n + 1, MOST_RUNS + 1)
    parts = [*known.with_runs(n).parts(n, _published_runs(line)), _rounding(line)]  # type: ignore[arg-type]
    apart = welch(np.zeros(len(n)), parts)
    enough = power_of_equivalence(apart.error, apart.freedom, margin) >= POWER
    return str(n[enough.argmax()]) if enough.any() else NO_RUNS


def size_verdict(line: Line) -> str:
    """Return 'agrees' if a number of parameters, rounded like the printed one, equals it; else 'differs'.

    The verdict is empty for any other unit than 'M', and for another model. Times have none, since machines differ.
    """
    if line.unit != "M" or line.mean is None or line.published is None or line.differs:
        return ""
    return AGREES if abs(line.mean - line.published) <= (line.published_half or 0.0) + TINY else DIFFERS


def _test(line: Line, margin: float, assumed: float) -> Line:
    """Add interval and p-values to a comparable line."""
    known = spreads(line, assumed)
    assumes = [*filter(None, [line.best_of]), *known.assumes]
    if not line.published_n:
        assumes.append(f"published over {_published_runs(line)} run{'s' * (_published_runs(line) > 1)}, not stated")
    apart = difference(line, known)
    low, high = map(float, apart.interval())
    p, p_equivalence = float(apart.p()), float(apart.p_equivalence(margin))
    return replace(
        line, low=low, high=high, p=p, p_equivalence=p_equivalence, margin=margin, assumes="; ".join(assumes)
    )


def _decide(line: Line, p_holm: float, assumed: float) -> Line:
    """Add the verdict to a line with p-values."""
    line = replace(line, p_holm=p_holm)
    if (line.p_equivalence or 0.0) < LEVEL:
        return replace(line, verdict=AGREES)
    if p_holm < LEVEL:
        return replace(line, verdict=DIFFERS)
    if line.rerun is not None:  # a best of a grid: more runs of its point do not make it surer
        return replace(line, verdict=INCONCLUSIVE)
    needed = runs_needed(line, spreads(line, assumed), line.margin or 0.0)
    hopeless = [HOPELESS] if line.assumes and needed == NO_RUNS else []
    assumes = "; ".join([line.assumes, *hopeless])
    return replace(line, verdict=INCONCLUSIVE, runs_needed=needed, assumes=assumes)


def judge_lines(lines: Iterable[Line], limits: Limits) -> list[Line]:
    """Add verdicts to the lines of a table; to those of scores, also intervals and p-values.

    Args:
        lines: the lines of one table, which are the family of tests of Holm's correction.
        limits: the margin and the assumed standard deviation of a line.
    """
    tested = [_test(line, *limits(line)) if is_comparable(line) else line for line in lines]
    return [
        replace(line, verdict=size_verdict(line)) if p_holm is None else _decide(line, p_holm, limits(line)[1])
        for line, p_holm in zip(tested, holm([line.p for line in tested]), strict=True)
    ]


def rule(lines: list[Line]) -> str:
    """Return sentences that explain the verdicts of a table; empty if no score of it was judged."""
    tested = [line for line in lines if line.p is not None]
    if not tested:
        return ""
    margins = " or ".join(f"{margin:g}" for margin in sorted({line.margin for line in tested if line.margin}))
    return (
        "In brackets: the 95 % interval of the difference, by Welch, with the rounding of the print. A cell 'agrees' "
        f"when the difference is shown to be within {margins} point{'s' * (margins != '1')} (two one-sided tests at "
        f"5 %); else it 'differs' when p < 0.05 after Holm's correction over {len(tested)} cells; else it is "
        "'inconclusive', with the runs of ours that would show equal means to agree with a power of 80 %; without a "
        "number, none would, as the published mean alone is too uncertain."
    )
