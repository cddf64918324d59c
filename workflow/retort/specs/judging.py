"""What verdicts on scores assume: a margin, and a standard deviation where none is known.

Both are in points: a score times 100. A column's value wins over its table's, the table's over its paper's, and the
paper's over the defaults of this module, which `retort/tables/README.md` explains.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from retort.specs.base import Real, Spec, Text


class Points(Spec):
    """A number of points, and why it is this number."""

    points: Real = Field(gt=0, le=100, description="scores are times 100")
    because: Text = Field(description="why this number")


MARGIN = Points(
    points=1.0,
    because="four runs a side with the median of the deviations that the papers print, 0.4, can show it with a power "
    "of 80 %",
)
ASSUMED_STD = Points(points=0.6, because="the root mean square of the 280 deviations that the papers print")
# Degrees of freedom of an assumed deviation: how well it is known. Deviations differ from cell to cell. If a true
# variance is 0.6^2 f / chi^2_f, a printed one over n runs is 0.6^2 F(n - 1, f); the 280 printed ones are most likely at
# f = 4.2. A difference with such a variance, over its assumed error, has Student's distribution with f degrees of
# freedom. So an assumption tells as much as the deviation over five runs would.
ASSUMED_FREEDOM = 4


class Judging(Spec):
    """The keys of a paper, a table or a column that verdicts on scores use."""

    margin: Points | None = Field(
        default=None, description="two means within it count as equal; else the one of the table, then of the paper, 1"
    )
    assumed_std: Points | None = Field(
        default=None,
        description="the standard deviation over runs where neither side has one; else the one of the table, then of "
        "the paper, 0.6",
    )


def margin_of(levels: Iterable[Judging]) -> Points:
    """Return the margin of the first of some levels that gives one, else the default."""
    return next((level.margin for level in levels if level.margin), MARGIN)


def assumed_std_of(levels: Iterable[Judging]) -> Points:
    """Return the assumed standard deviation of the first of some levels that gives one, else the default."""
    return next((level.assumed_std for level in levels if level.assumed_std), ASSUMED_STD)
