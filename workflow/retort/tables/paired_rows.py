"""Compare two rows of a table of scores by a paired t-test, over the tasks and seeds that both have a score of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from retort.errors import RetortError
from retort.formatters import number
from retort.registry import unknown
from retort.specs.exhibit import Exhibit
from retort.study.cells import score_address
from retort.study.questions import seeds_of
from retort.study.study import Study
from retort.tables.collect import Scores, read_scores, value_of
from retort.tables.compare import Comparison, paired
from retort.tables.tidy import Status, sentence

CHOICES = (
    "a pair is a task and a seed that both rows have a score of; each task by the first column that shows it; "
    "scores times 100, and every pair weighs the same; two-sided; not corrected for further comparisons"
)
Key = tuple[str, str, int]  # variant, task, seed


def row_values(study: Study, table: Exhibit, row: str, scores: Scores) -> dict[Key, float]:
    """Return the scores times 100 of a row by (variant, task, seed); the first cell that shows a task gives its score.

    A seed without a score or with an undefined metric is left out.
    """
    sources: dict[tuple[str, str], tuple[str, str]] = {}
    for cell in table.cells():
        for task, metric in cell.scored if cell.row == row else []:
            sources.setdefault((cell.spec.variant, task), (cell.student, metric))
    values = {}
    for (variant, task), (student, metric) in sources.items():
        for seed in seeds_of(study, student):
            record = scores.get((student, task, seed))
            value = value_of(record, metric) if record else None
            if value is not None:
                values[variant, task, seed] = value
    return values


def paired_values(first: Mapping[Key, float], second: Mapping[Key, float]) -> Comparison:
    """Return the paired t-test over the (variant, task, seed) keys that both rows have."""
    shared = sorted(first.keys() & second.keys())
    return paired([first[key] for key in shared], [second[key] for key in shared])


def _read(study: Study, table: Exhibit, row: str) -> Scores:
    """Read those scores of a row that have been run."""
    pairs = {(cell.student, task) for cell in table.cells() if cell.row == row for task, _ in cell.scored}
    addresses = [score_address(student, task, seed) for student, task in pairs for seed in seeds_of(study, student)]
    return read_scores(study, sorted(path for path in addresses if Path(path).is_file()))


def _values(study: Study, table: Exhibit, address: str, name: str) -> dict[Key, float]:
    row = table.compared_rows()[name]
    if not row.student:
        why = f"is quoted ({row.quoted})" if row.quoted else "has no student yet"
        raise RetortError(f"row '{name}' of {address} {why}", "name a row that is run")
    values = row_values(study, table, name, _read(study, table, name))
    if not values:
        raise RetortError(f"row '{name}' of {address} has no scores here", "run the study first")
    return values


def compare_rows(study: Study, address: str, first: str, second: str) -> list[str]:
    """Return lines with the mean difference of two rows, t, p, the number of pairs, and the choices behind them.

    Args:
        study: the study.
        address: the table: 'paper/table'.
        first: label of the row from which the other is subtracted.
        second: label of the row that is subtracted.

    Raises:
        RetortError: there is no such table or row, a row has no scores, or the two have no task and seed in common.
    """
    exhibits = {f"{paper}/{name}": exhibit for (paper, name), exhibit in study.exhibits.items()}
    tables = {name: exhibit for name, exhibit in exhibits.items() if exhibit.compared_rows()}
    if address not in tables:
        raise unknown("table of scores", address, tables)
    table = tables[address]
    for row in (first, second):
        if row not in table.compared_rows():
            raise unknown(f"row of {address}", row, table.compared_rows())
    values, others = (_values(study, table, address, row) for row in (first, second))
    test = paired_values(values, others)
    tasks = ", ".join(dict.fromkeys(task for _, task, _ in sorted(values.keys() & others.keys())))
    if test.mean is None:
        raise RetortError(f"'{first}' and '{second}' have no task and seed in common", "run both on one task")
    spread = "" if test.std is None else f", standard deviation {number(test.std, 2)}"
    result = sentence(test.status, test.reason)
    if test.status is Status.OK:
        result = f"t = {number(test.t, 3)}, p = {test.p:.4g} ({test.n - 1} degrees)"
    return [
        f"{address}: {first}, less {second}",
        f"mean difference {number(test.mean, 2)}{spread}, n = {test.n} pairs ({tasks})",
        result,
        f"choices: {CHOICES}",
    ]
