"""Compare two rows of a table of scores by paired tests, over the tasks and seeds that have a score in both rows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from retort.errors import RetortError
from retort.formatters import number
from retort.judgement.certainty import assumed_by
from retort.judgement.difference import TESTS, Comparison, Differences, paired_test
from retort.registry import quote_commas, unknown_name
from retort.results.collect import Scores, read_scores, value_of
from retort.results.score_files import Record
from retort.specs.exhibit import Exhibit
from retort.study.addresses import score_files
from retort.study.distillations import distillations_of, trained_anew
from retort.study.questions import runs_on, seeds_of
from retort.study.reasons import Status
from retort.study.study import Study

if TYPE_CHECKING:  # pandas takes long to import
    from pandas import DataFrame

CHOICES = (
    "a pair is a task and a seed that both rows have a score of; each task by the first column that shows it; "
    "scores times 100; two-sided; not corrected for further comparisons"
)
ABSENT = "no score"
ONCE = (
    "One distillation a row: the first two tests assume that distillations of a student differ by a standard deviation "
    "of {:.2g} points; further distillations would tell."
)
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
        if runs_on(study, student, task):
            names = distillations_of(study, student) or {0: student}  # by the seed of the distillation, if it has one
            each = {first: _by_seed(study, scores, name, task, metric) for first, name in names.items()}
            several = {first: _mean(by_seed) for first, by_seed in each.items()}
            units = several if len(each) > 1 else next(iter(each.values()))
            found |= {(variant, task, seed): value for seed, value in units.items()}
    return _row_frame(found)


def _by_seed(study: Study, scores: Scores, student: str, task: str, metric: str) -> dict[int, float | str]:
    """Return seed -> score, or why it has none."""
    found: dict[int, float | str] = {}
    for seed in seeds_of(study, student):
        record = scores.get((student, task, seed))
        value = value_of(record, metric) if record else None
        found[seed] = _why(record) if value is None else value
    return found


def _mean(by_seed: Mapping[int, float | str]) -> float | str:
    """Return the mean of the fine-tunings of a distillation, or why one of them has no score."""
    lacking = next((value for value in by_seed.values() if isinstance(value, str)), "")
    return lacking or statistics.fmean(float(value) for value in by_seed.values())


def distillation_variance(study: Study, paper: str, table: str, rows: Iterable[str]) -> float:
    """Return the variance of a difference of rows, on one task, by the one distillation of each of their students."""
    assumed, exhibit = assumed_by(study, paper), study.exhibits[paper, table]
    of_rows = []
    for row in rows:
        cells = [cell for cell in exhibit.cells() if cell.row == row and cell.scored]
        spreads = [assumed((table, row, cell.column)) for cell in cells]
        of_rows.append([spread.distillation_std**2 * bool(spread.student) for spread in spreads])
    return sum(statistics.fmean(variances) for variances in of_rows if variances)


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
    of, names = table.compared_rows()[row], study.names(paper)
    for cell in table.cells():
        if cell.row == row and len(cell.scored) == 1:
            key = names.short(of.recorded_at(cell.spec.variant)) if ours else row
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
    cells = [cell for cell in table.cells() if cell.row == row and cell.student]
    scored = {(name, task) for cell in cells for name in trained_anew(study, cell.student) for task, _ in cell.scored}
    files = sorted(path for pair in scored for path in score_files(study, *pair) if Path(path).is_file())
    scores = row_scores(study, table, row, read_scores(study, files))
    if scores["score"].isna().all():
        raise RetortError(f"row '{row}' of {address} has no scores here", "name a row that is run, and run it")
    return scores


def _result(test: Comparison) -> str:
    if (apart := test.difference) is None:
        return f"no p-value: {test.reason}"
    t, degrees = number(apart.value / apart.error, 3), number(apart.freedom, 1).removesuffix(".0")
    return f"t = {t}, p = {test.p:.4g} ({degrees} degrees)"


def _lines(address: str, rows: Iterable[str], differences: Differences, without: str, luck: float) -> list[str]:
    first, second = rows
    all_pairs = paired_test(differences)
    spread = "" if all_pairs.std is None else f", standard deviation {number(all_pairs.std, 2)}"
    tasks = ", ".join(dict.fromkeys(task for _, task in differences))
    return [
        f"{address}: {quote_commas(first)}, less {quote_commas(second)}",
        f"mean difference {number(all_pairs.mean, 2)}{spread}, n = {all_pairs.n} pairs ({tasks})",
        *(f"{test.title}: {_result(test.run(differences, luck))}" for test in TESTS),
        *(test.explanation for test in TESTS),
        *([ONCE.format(math.sqrt(luck / 2))] if luck else []),
        *filter(None, [without]),
        f"choices: {CHOICES}",
    ]


def compare_rows(study: Study, address: str, rows: Sequence[str], recorded: bool = False) -> list[str]:
    """Return lines with the mean difference of two rows, the result of each paired test, and the choices behind them.

    Args:
        study: the study.
        address: the table: 'paper/table'.
        rows: labels of two rows; the second is subtracted from the first. Of one row: the scores of the recorded run
            are subtracted from those that are here.
        recorded: compare two rows of the recorded run, and not of the scores that are here.

    Raises:
        RetortError: there is no such table or row, a row has no scores, or the two have no task and seed in common.
    """
    tables = {"/".join(key): exhibit for key, exhibit in study.exhibits.items() if exhibit.compared_rows()}
    if address not in tables:
        raise unknown_name("table of scores", address, tables)
    table = tables[address]
    for row in rows:
        if row not in table.compared_rows():
            raise unknown_name(f"row of {address}", row, table.compared_rows())
    found = recorded_scores if recorded else _scores
    scores = [(row, found(study, address, table, row)) for row in rows]
    if len(rows) == 1:
        scores.append((f"{rows[0]} (as recorded)", recorded_scores(study, address, table, rows[0])))
    (first, one), (second, other) = scores
    differences = paired_differences(one, other)
    if not differences:
        raise RetortError(f"'{first}' and '{second}' have no task and seed in common", "run both on one task")
    paper, _, name = address.partition("/")
    luck = distillation_variance(study, paper, name, rows if rows[1:] else [*rows, *rows])
    lines = _lines(address, (first, second), differences, left_out(dict(scores)), luck)
    return [*lines, "scores of the recorded run; its means, where it keeps no scores by seed"] if recorded else lines
