"""Simulations of how often claims about most columns, and about ranges, are wrongly decided.

Run it as a module to print the table of `workflow/retort/judgement/statistics.md`, which a test compares with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from retort.judgement.cells import Verdict
from retort.judgement.certainty import LEVEL, AsIf, resampled_means, shares_in
from retort.judgement.comparisons import comparisons
from retort.specs.rows import AssumedSpread

from tests.claim_coverage import cells_of

SEED, DRAWN, TABLES = 20261128, 1000, 400
FAR = 9.0  # standard errors, at which hardly any draw turns a column
Rule = Callable[
    [Verdict], tuple[bool, bool]
]  # the means, then resamples of them -> whether the claim is shown, refuted


@dataclass(frozen=True)
class Truth:
    """A claim, and the true means behind its table, in standard errors of the difference of two cells.

    Args:
        told: what is true, for the table.
        compare: the comparison.
        own: row -> its true means, column by column.
        others: the same of the rows that they are compared with.
        runs: of each row; their scores are independent.
    """

    told: str
    compare: str
    own: Mapping[str, Sequence[float]]
    others: Mapping[str, Sequence[float]]
    runs: int = 4

    def verdict(self, draw: np.random.Generator) -> Verdict:
        """Return the verdict on the means of one simulated table, and on resamples of them."""
        rows = {**self.own, **self.others}
        keys = np.array([("table", row, f"{at}") for row, means in rows.items() for at in range(len(means))], object)
        normal = draw.standard_normal((len(keys), self.runs))
        scores = np.concatenate([*rows.values()])[:, None] + np.sqrt(self.runs / 2) * normal
        cells = cells_of(scores, keys=keys)
        drawn = resampled_means(cells, lambda _: AssumedSpread(0.6), AsIf(), DRAWN, draw)
        cells = replace(cells, values=np.hstack([cells.values, drawn]))
        own = np.isin(cells.rows, [*self.own])
        return comparisons[self.compare](cells[own], against=cells[~own])


def as_before(verdict: Verdict) -> tuple[bool, bool]:
    """Return the decision by the share of the resamples in which the whole claim is true, or false."""
    means, share = bool(verdict.true[0]), float(verdict.true[1:].mean())
    return means and share >= 1 - LEVEL / 2, not means and share <= LEVEL / 2


def as_now(verdict: Verdict) -> tuple[bool, bool]:
    """Return the decision of `certainty.py`."""
    means, shares = bool(verdict.true[0]), shares_in(verdict)
    return means and shares.shows_true, not means and shares.shows_false


def decided(truth: Truth, *rules: Rule, tables: int = TABLES) -> list[float]:
    """Return how often each rule shows a claim to be true, and to be false, in per cent."""
    draw = np.random.default_rng(SEED)
    verdicts = (truth.verdict(draw) for _ in range(tables))
    found = [[shown for rule in rules for shown in rule(verdict)] for verdict in verdicts]
    shares: list[float] = (100 * np.mean(found, axis=0)).tolist()
    return shares


def most(told: str, gaps: Sequence[float], rows: str = "A", runs: int = 4) -> Truth:
    """Return "A is above B in most columns", or "the best of A, C, ... is", the further ones never better than B."""
    own = {row: gaps if row == "A" else np.minimum(gaps, 0.0).tolist() for row in rows}
    return Truth(told, "best-mostly-above" if len(rows) > 1 else "mostly-above", own, {"B": [0.0] * len(gaps)}, runs)


def ranges(told: str, own: Sequence[Sequence[float]], other: Sequence[float], runs: int = 4) -> Truth:
    """Return "each of some objectives varies less over its starts than another"."""
    sides = ({f"{at} / {start}": [mean] for at, means in enumerate(side) for start, mean in enumerate(means)}
             for side in (own, [other]))  # fmt: skip
    first, second = sides
    return Truth(told, "varies-less", first, {f"other {row}": means for row, means in second.items()}, runs)


def pooled(truth: Truth) -> Truth:
    """Return a truth about ranges with the starts of all objectives in one."""
    return replace(truth, own={row.replace(" / ", ", "): means for row, means in truth.own.items()})


TRUTHS = [
    most("three of seven columns far above, four equal", [FAR] * 3 + [0.0] * 4),
    most("the same, best of three rows", [FAR] * 3 + [0.0] * 4, "ACD"),
    most("three far below, four hardly above", [-FAR] * 3 + [0.01] * 4),
    most("four far above, three equal", [FAR] * 4 + [0.0] * 3),
    most("all seven above by 3", [3.0] * 7),
    most("all seven above by 3", [3.0] * 7, runs=20),
    ranges("two objectives over 1, 3 apart; the other over 1.5", [[0, 0.5, 1], [3, 3.5, 4]], [0, 0.75, 1.5], runs=20),
    ranges("all three objectives over 9", [[0, 4.5, 9], [0, 4.5, 9]], [0, 4.5, 9], runs=20),
    ranges("one over 9, twice at its top; the other over 9", [[0, 9, 9]], [0, 4.5, 9], runs=20),
    ranges("two objectives constant, the other over 9", [[0, 0, 0], [1, 1, 1]], [0, 4.5, 9], runs=20),
    ranges("two objectives constant, the other over 9", [[0, 0, 0], [1, 1, 1]], [0, 4.5, 9]),
]


def table() -> str:
    """Return the table as Markdown."""
    lines = ["| what is true | runs | *supported*, by resamples | *not supported* | *supported* | *not supported* |",
             "| --- | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for truth in TRUTHS:
        if truth.compare == "varies-less":
            shares = [*decided(pooled(truth), as_before), *decided(truth, as_now)]
        else:
            shares = decided(truth, as_before, as_now)
        lines.append(f"| {truth.told} | {truth.runs} | {' | '.join(f'{share:.0f}' for share in shares)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
