"""Compare two rows of a table of scores by paired tests, over the tasks and seeds that have a score in both rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from retort.errors import RetortError
from retort.formatters import number
from retort.judgement.difference import TESTS, Comparison, Differences, paired_test
from retort.registry import quote_commas, unknown_name
from retort.results.collect import Scores, read_scores, value_of
from retort.results.score_files import Record
from retort.specs.exhibit import Exhibit
from retort.study.addresses import score_files
from retort.study.questions import runs_on, seeds_of
from retort.study.reasons import Status, sentence
from retort.study.study import Study

if TYPE_CHECKING:  # pandas takes long to import
    from pandas import DataFrame

CHOICES = (
    "a pair is a task and a seed that both rows have a score of; each task by the first column that shows it; "
    "scores times 100; two-sided; not corrected for further comparisons"
)
ABSENT = "no score"
PAIR = ["variant", "task", "seed"]


def _row_frame(found: Mapping[tuple[str, str, int], float | str]) -> DataFrame:
    """Return the scores of a row, times 100, by variant, task and seed; `reason` says why a run has none."""
    import pandas as pd

    lines = [(math.nan, score) if isinstance(score, str) else (score, "") for score in found.values()]
    return pd.DataFrame(lines, pd.MultiIndex.from_tuples(found, names=PAIR), ["score", "reason"]).sort_index()


def row_scores(study: Study, table: Exhibit, row: str, scores: Scores) -> DataFrame:
    """Return the scores of a row (`_row_frame`); of several cells that show a task, the first one counts."""
    sources: dict[tuple[str, str], tuple[str, str]] = {}
    for cell in table.cells():
        for task, metric in cell.scored if cell.row == row else []:
            sources.setdefault((cell.spec.variant, task), (cell.student, metric))
    found: dict[tuple[str, str, int], float | str] = {}
    for (variant, task), (student, metric) in sources.items():
        for seed in seeds_of(study, student) if runs_on(study, student, task) else []:
            record = scores.get((student, task, seed))
            value = value_of(record, metric) if record else None
            found[variant, task, seed] = _why(record) if value is None else value
    return _row_frame(found)


def _why(record: Record | None) -> str:
    if record is None:
        return ABSENT
    return f"diverged at step {record['step']}" if record["status"] == Status.DIVERGED else "not defined"


def recorded_scores(study: Study, address: str, table: Exhibit, row: str) -> DataFrame:
    """Return the scores of a row in the recorded run of the study's scale; its means where it has no scores by seed.

    Raises:
        RetortError: no run is recorded, or the row has no number in it.
    """
    paper, _, name = address.partition("/")
    ours = study.papers[paper].ours
    recording = study.record_of(paper) if ours else study.recordings.get((paper, study.config.scale))
    if recording is None:
        raise RetortError(f"no run of {paper} at scale {study.config.scale} is recorded", "name another with --config")
    values: dict[tuple[str, str, int], float | str] = {}
    for cell in table.cells():
        if cell.row == row and len(cell.scored) == 1:
            key = study.names(paper).short(cell.student) if ours else row
            mean = dict(enumerate(recording.tables.get(name, {}).get(key, {}).get(cell.column, [])[:1]))
            by_seed = recording.by_seed.get(name, {}).get(key, {}).get(cell.column) or mean
            for seed, score in by_seed.items():
                values.setdefault((cell.spec.variant, cell.scored[0][0], seed), score)
    if not values:
        raise RetortError(f"row '{row}' of {address} has no recorded scores", "compare rows that were run")
    return _row_frame(values)


def paired_differences(first: DataFrame, second: DataFrame) -> Differences:
    """Return task -> the differences first minus second, one for each seed with a score in both rows."""
    apart = (first["score"] - second["score"]).dropna().sort_index()
    return {group: values.tolist() for group, values in apart.groupby(level=PAIR[:2])}  # type: ignore[misc]


def left_out(rows: Mapping[str, DataFrame]) -> str:
    """Return how many pairs of task and seed two rows lack, and which runs are the reason; empty if none is lacking.

    Runs that were never made are counted, not listed.
    """
    without = [(row, *line) for row, frame in rows.items() for line in frame[frame["score"].isna()].itertuples()]
    named = [
        f"{row} on {'-'.join(filter(None, key[:2]))}, seed {key[2]}: {why}"
        for row, key, _, why in without
        if why != ABSENT
    ]
    absent = len(without) - len(named)
    named += [f"{absent} run{'s' * (absent > 1)} without a score"] if absent else []
    count = len({key for _, key, *_ in without})
    return f"{count} pair{'s' * (count > 1)} left out: {'; '.join(named)}" if count else ""


def _scores(study: Study, address: str, table: Exhibit, row: str) -> DataFrame:
    """Return the scores of a row, from the files that exist."""
    scored = {(cell.student, task) for cell in table.cells() if cell.row == row for task, _ in cell.scored}
    files = sorted(path for pair in scored for path in score_files(study, *pair) if Path(path).is_file())
    scores = row_scores(study, table, row, read_scores(study, files))
    if scores["score"].isna().all():
        raise RetortError(f"row '{row}' of {address} has no scores here", "name a row that is run, and run it")
    return scores


def _result(test: Comparison) -> str:
    if (apart := test.difference) is None:
        return sentence(test.status, test.reason)
    t, degrees = number(apart.value / apart.error, 3), number(apart.freedom, 1).removesuffix(".0")
    return f"t = {t}, p = {test.p:.4g} ({degrees} degrees)"


def _lines(address: str, rows: Iterable[str], differences: Differences, without: str) -> list[str]:
    first, second = rows
    all_pairs = paired_test(differences)
    spread = "" if all_pairs.std is None else f", standard deviation {number(all_pairs.std, 2)}"
    tasks = ", ".join(dict.fromkeys(task for _, task in differences))
    return [
        f"{address}: {quote_commas(first)}, less {quote_commas(second)}",
        f"mean difference {number(all_pairs.mean, 2)}{spread}, n = {all_pairs.n} pairs ({tasks})",
        *(f"{test.title}: {_result(test.run(differences))}" for test in TESTS),
        *(test.explanation for test in TESTS),
        *filter(None, [without]),
        f"choices: {CHOICES}",
    ]


def compare_rows(study: Study, address: str, both: tuple[str, str], recorded: bool = False) -> list[str]:
    """Return lines with the mean difference of two rows, the result of each paired test, and the choices behind them.

    Args:
        study: the study.
        address: the table: 'paper/table'.
        both: labels of two rows; the second is subtracted from the first.
        recorded: compare the recorded run, and not the scores that are here.

    Raises:
        RetortError: there is no such table or row, a row has no scores, or the two have no task and seed in common.
    """
    tables = {"/".join(key): exhibit for key, exhibit in study.exhibits.items() if exhibit.compared_rows()}
    if address not in tables:
        raise unknown_name("table of scores", address, tables)
    table, (first, second) = tables[address], both
    for row in both:
        if row not in table.compared_rows():
            raise unknown_name(f"row of {address}", row, table.compared_rows())
    found = recorded_scores if recorded else _scores
    scores = {row: found(study, address, table, row) for row in both}
    differences = paired_differences(scores[first], scores[second])
    if not differences:
        raise RetortError(f"'{first}' and '{second}' have no task and seed in common", "run both on one task")
    lines = _lines(address, both, differences, left_out(scores))
    return [*lines, "scores of the recorded run; its means, where it keeps no scores by seed"] if recorded else lines
