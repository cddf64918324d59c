"""Compare any two rows of a table of scores by a paired t-test over the scores that have been run."""

from __future__ import annotations

from pathlib import Path

from retort.errors import RetortError
from retort.registry import unknown
from retort.specs.printed import row_names
from retort.specs.rows import Row
from retort.specs.table import ScoresTable
from retort.study.cells import score_address
from retort.study.questions import seeds_of
from retort.study.study import Study
from retort.tables.collect import Scores, read_scores
from retort.tables.compare import Key, paired_values, row_values
from retort.tables.numbers import number
from retort.tables.tidy import Status, sentence

CHOICES = (
    "a pair is a task and a seed that both rows have a score of; each task by the first column that shows it; "
    "scores times 100, and every pair weighs the same; two-sided; not corrected for further comparisons"
)


def _scores(study: Study, table: ScoresTable, row: str) -> Scores:
    """Read those scores of a row that have been run."""
    cells = {(place.student, task) for place in table.places() if place.row == row for task, _ in place.scored}
    addresses = [score_address(student, task, seed) for student, task in cells for seed in seeds_of(study, student)]
    return read_scores(study, sorted(path for path in addresses if Path(path).is_file()))


def _rows(table: ScoresTable) -> dict[str, Row]:
    return dict(zip(row_names(table.rows), table.rows, strict=True))


def _values(study: Study, table: ScoresTable, which: str, row: str) -> dict[Key, float]:
    rows = _rows(table)
    if not rows[row].student:
        why = f"is quoted ({rows[row].quoted})" if rows[row].quoted else "has no student yet"
        raise RetortError(f"row '{row}' of {which} {why}", "name a row that is run")
    values = row_values(study, table, row, _scores(study, table, row))
    if not values:
        raise RetortError(f"row '{row}' of {which} has no scores here", "run the study first")
    return values


def compare_rows(study: Study, which: str, first: str, second: str) -> list[str]:
    """Return lines with the mean difference of two rows, t, p, the number of pairs, and the choices behind them.

    Args:
        study: the study.
        which: 'paper/table'.
        first: label of the row from which the other is subtracted.
        second: label of the row that is subtracted.

    Raises:
        RetortError: there is no such table or row, a row has no scores, or the two have no task and seed in common.
    """
    tables = {f"{paper}/{name}": table for (paper, name), table in study.exhibits.items()}
    scored = {name: table for name, table in tables.items() if isinstance(table, ScoresTable)}
    if which not in scored:
        raise unknown("table of scores", which, scored)
    for row in (first, second):
        if row not in (rows := _rows(scored[which])):
            raise unknown(f"row of {which}", row, rows)
    one, other = (_values(study, scored[which], which, row) for row in (first, second))
    test = paired_values(one, other)
    tasks = ", ".join(dict.fromkeys(task for _, task, _ in sorted(one.keys() & other.keys())))
    if test.mean is None:
        raise RetortError(f"'{first}' and '{second}' have no task and seed in common", "run both on one task")
    spread = "" if test.std is None else f", standard deviation {number(test.std, 2)}"
    found = sentence(test.status, test.reason)
    if test.status is Status.OK:
        found = f"t = {number(test.t, 3)}, p = {test.p:.4g} ({test.n - 1} degrees)"
    return [
        f"{which}: {first}, less {second}",
        f"mean difference {number(test.mean, 2)}{spread}, n = {test.n} pairs ({tasks})",
        found,
        f"choices: {CHOICES}",
    ]
