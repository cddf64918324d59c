"""Whether two numbers agree: verdicts from the spread over seeds, paired t-tests, Holm's correction."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

from retort.specs.book import Book
from retort.specs.expand import seeds_of
from retort.specs.table import ScoresTable, TestsTable
from retort.tables.collect import Scores, summary, value_of
from retort.tables.tidy import OK, Line

RULE = (
    "A cell 'agrees' when ours and the published mean are at most 2 standard errors apart, is 'close' up to 4, and "
    "'differs' beyond; the standard error comes from the standard deviation over seeds, pooled over the whole column."
)
NO_VARIANCE = "no variance"
AGREES, CLOSE, DIFFERS = "agrees", "close", "differs"


def pooled(deviations: Iterable[tuple[float | None, int]]) -> float | None:
    """The pooled sample standard deviation of (deviation, number of runs); None where none is of two runs or more."""
    known = [(std, n) for std, n in deviations if std is not None and n >= 2]
    freedom = sum(n - 1 for _, n in known)
    return math.sqrt(sum((n - 1) * std**2 for std, n in known) / freedom) if freedom else None


def spread(lines: Iterable[Line]) -> float | None:
    """The pooled standard deviation of a column, ours and published; None where every cell has one seed."""
    return pooled((std, line.n) for line in lines for std in (line.std, line.published_std))


def standard_error(spread_of: float, n: int, other: int) -> float:
    """The standard error of the difference of two means over n and `other` seeds."""
    return spread_of * math.sqrt(1 / n + 1 / other)


def score_verdict(line: Line, column: Iterable[Line]) -> str:
    """'agrees', 'close' or 'differs'; empty where a number or any spread is lacking."""
    spread_of = spread(column)
    if line.mean is None or line.published is None or spread_of is None or not line.task:
        return ""
    error = standard_error(spread_of, line.n, line.n)
    apart = abs(line.mean - line.published)
    return AGREES if apart <= 2 * error else CLOSE if apart <= 4 * error else DIFFERS


def exact_verdict(line: Line, decimals: int) -> str:
    """'agrees' where two counts are equal as printed; machines differ, so a time has no verdict."""
    if line.unit != "M" or line.mean is None or line.published is None:
        return ""
    digits = min(decimals, len(f"{line.published:.10g}".partition(".")[2]))  # a paper may print fewer
    return AGREES if round(line.mean, digits) == round(line.published, digits) else DIFFERS


def verdicts(lines: list[Line], decimals: int) -> dict[tuple[str, str], str]:
    """The verdict of each (row, column) of a scores or profiles table."""
    columns: dict[str, list[Line]] = {}
    for line in lines:
        columns.setdefault(line.column, []).append(line)
    return {
        (line.row, line.column): score_verdict(line, columns[line.column])
        if line.unit == "x100"
        else exact_verdict(line, decimals)
        for line in lines
    }


def holm(p: list[float]) -> list[float]:
    """The p-values corrected for their number by Holm's step-down procedure, in their own order."""
    corrected, largest = [0.0] * len(p), 0.0
    for rank, index in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        largest = max(largest, min(1.0, (len(p) - rank) * p[index]))
        corrected[index] = largest
    return corrected


@dataclass(frozen=True)
class Comparison:
    """A paired t-test of two rows; p is None where it cannot be had, `status` says why."""

    mean: float | None
    std: float | None
    n: int
    p: float | None
    status: str


def paired(first: list[float], second: list[float]) -> Comparison:
    """The two-sided paired t-test of equally long lists."""
    from scipy.stats import ttest_rel

    differences = [a - b for a, b in zip(first, second, strict=True)]
    found = summary(differences)
    if len(differences) < 2:
        return Comparison(**found, p=None, status="missing (fewer than two pairs)")
    if max(differences) - min(differences) < 1e-9:  # of values times 100: equal but for rounding
        return Comparison(**found, p=None, status=NO_VARIANCE)
    return Comparison(**found, p=float(ttest_rel(first, second).pvalue), status=OK)


def _values(book: Book, table: ScoresTable, scores: Scores, student: str) -> dict[tuple[str, int], float]:
    """Scores times 100 by (task, seed), each task by the first cell that shows it."""
    metrics: dict[str, str] = {}
    for task, metric in table.scores_of(student):
        metrics.setdefault(task, metric)
    found = {}
    for task, metric in metrics.items():
        for seed in seeds_of(book, student):
            record = scores.get((student, task, seed))
            value = value_of(record, metric) if record else None
            if value is not None:
                found[task, seed] = value
    return found


def test_lines(book: Book, paper: str, name: str, scores: Scores) -> list[Line]:
    """Three lines a pair of rows: the mean difference, p, and p after Holm; `task` names the table compared."""
    spec = book.exhibits[paper, name]
    assert isinstance(spec, TestsTable)
    lines: list[Line] = []
    for of in spec.of:
        table = book.exhibits[paper, of]
        if isinstance(table, ScoresTable):
            lines += _lines_of(book, (paper, name, of), table, scores, spec.published.get(of, {}))
    return lines


def _lines_of(
    book: Book, place: tuple[str, str, str], table: ScoresTable, scores: Scores, published: dict[str, list[float]]
) -> list[Line]:
    paper, name, of = place
    rows = [row for row in table.rows if row.student and not row.baseline]
    values = {row.student: _values(book, table, scores, row.student) for row in rows}
    pairs = list(itertools.combinations(rows, 2))
    tests = []
    for a, b in pairs:
        shared = sorted(values[a.student].keys() & values[b.student].keys())
        tests.append(paired([values[a.student][key] for key in shared], [values[b.student][key] for key in shared]))
    corrected = iter(holm([test.p for test in tests if test.p is not None]))
    lines = []
    for (a, b), test in zip(pairs, tests, strict=True):
        printed = published.get(f"{a.student} vs {b.student}") or published.get(f"{b.student} vs {a.student}")
        theirs = printed[0] if printed else None
        kept = {"n": test.n, "status": test.status, "scale": book.config.scale}
        where = (paper, name, a.label, b.label, a.student, of)
        lines += [
            Line(*where, "difference", "x100", None, None, test.mean, test.std, **kept),  # type: ignore[arg-type]
            Line(*where, "p", "p", theirs, None, test.p, None, **kept),  # type: ignore[arg-type]
            Line(*where, "p-holm", "p", None, None, next(corrected) if test.p is not None else None, None, **kept),  # type: ignore[arg-type]
        ]
    return lines
