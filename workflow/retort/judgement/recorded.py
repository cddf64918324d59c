"""What a recorded run of smaller models or fewer steps says: its numbers, at two lengths, and the order of its rows.

Such a run neither supports nor refutes a paper, so its outcomes have words of their own (`tables/claims.py`) and name
the conditions of the run. A task on which its students stay at the commonest answer decides nothing. A claim that
turns when the trainings are longer depends on length.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from retort.judgement.cells import SeedScores, Values
from retort.judgement.certainty import RESAMPLES, SEED, AsIf, assumed_by, resampled_means, seed_scores
from retort.judgement.comparisons import Reached
from retort.judgement.judge import Facts, Key, Side, claim_frame, facts_of_runs
from retort.specs.exhibit import Exhibit
from retort.specs.paper import Recording
from retort.study.study import Study

NEAR = 3.0  # points above the commonest answer within which a student has hardly left it
MISSING = "not in the recorded run"
LEAST = 3  # rows that have an order worth a correlation


def conditions_of(study: Study, paper: str, replacements: Mapping[str, Any], tables: Iterable[str]) -> str:
    """Return at which length and on which teacher smaller students of some tables learn, as text.

    Args:
        study: the study.
        paper: the paper.
        replacements: what the scale of the run replaces.
        tables: the tables.
    """
    names = {cell.student for name in tables for cell in study.exhibits[paper, name].cells() if cell.scored}
    stages = [stage.data for name in names if name in study.students for stage in study.students[name].stages]
    training = {**replacements.get("training", {}), **replacements.get("training_of", {}).get(paper, {})}
    lengths = {
        "a stage": training.get("steps") if "task" in stages else None,
        "on a corpus": replacements.get("distillation", {}).get("steps") if {*stages} - {"task"} else None,
    }
    steps = " and ".join(f"{count:,} steps {where}" for where, count in lengths.items() if count)
    model = study.models.get(replacements.get("model", ""))
    layers = model.architecture.layers if model and model.architecture else None
    teacher = f"on a teacher of {layers} layers" if layers else "on smaller models" if model else ""
    return ", ".join(filter(None, (f"at {steps}" if steps else "", teacher))) or "with other settings"


# --- the numbers of a recorded run


def _tasks(exhibit: Exhibit) -> dict[str, set[tuple[str, str]]]:
    """Return column -> the (task, metric) pairs that it scores; without columns that are means of others."""
    found: dict[str, set[tuple[str, str]]] = {}
    for cell in exhibit.cells():
        if cell.scored and not cell.spec.mean_of:
            found.setdefault(cell.column, set()).update(cell.scored)
    return found


def at_floor(study: Study, paper: str, table: str, recording: Recording) -> dict[str, str]:
    """Return column -> why it decides nothing: no student is more than `NEAR` points above a constant answer."""
    rows, found = recording.tables.get(table, {}), {}
    for column, scored in _tasks(study.exhibits[paper, table]).items():
        means = [cells[column][0] for cells in rows.values() if column in cells]
        for task, metric in scored if len(scored) == 1 and means else ():
            facts = study.facts.get(task)
            floor = facts.floors.get(metric) if facts else None
            if floor is not None and max(means) < floor + NEAR:
                found[column] = (
                    f"{column} decides nothing: all students are within {NEAR:g} points of a constant answer "
                    f"({metric} {floor:.1f})"
                )
    return found


def _mean_over(cells: Sequence[Facts], runs: int) -> Facts:
    """Return the mean of cells of a row, its deviation and its scores by seed; tasks scatter independently."""
    mean, by_seed = statistics.mean(cell["value"] for cell in cells), seed_scores(cell["by_seed"] for cell in cells)
    stds, seeds = [cell["std"] for cell in cells], SeedScores()
    std = None if None in stds else math.hypot(*stds) / len(cells)
    if all(len(cell["by_seed"]) == by_seed.shape[1] > 1 for cell in cells):
        means = by_seed.mean(axis=0).tolist()
        seeds = tuple((seed, each) for (seed, _), each in zip(cells[0]["by_seed"], means, strict=True))
        std = statistics.stdev(means)
    return facts_of_runs(mean, std, 1, 1 if std is None else runs, seeds)


def side_of_recording(study: Study, paper: str, recording: Recording, tasks: Collection[str] | None = None) -> Side:
    """Return the numbers of a recorded run; a mean without a deviation counts as one run.

    Rows whose model is not what they report are left out, and so are columns that decide nothing.

    Args:
        study: the study.
        paper: the paper.
        recording: the recorded run.
        tasks: the only tasks that count; averages are taken over them. None for all.
    """
    cells: dict[Key, Facts] = {}
    for name, rows in recording.tables.items():
        exhibit, by_seed = study.exhibits[paper, name], recording.by_seed.get(name, {})
        stuck, scored = at_floor(study, paper, name, recording), _tasks(exhibit)
        dropped = {
            name for name, of in scored.items() if tasks is not None and not {task for task, _ in of} <= {*tasks}
        }
        for spec in sorted(exhibit.cells(), key=lambda cell: bool(cell.spec.mean_of)):
            values, key = rows.get(spec.row, {}).get(spec.column), (name, spec.row, spec.column)
            if values is None or spec.differs or spec.column in dropped:
                continue
            parts = [column for column in spec.spec.mean_of if column in rows[spec.row]]
            if spec.column in stuck or (parts and {*parts} <= {*stuck}):
                cells[key] = {"reason": stuck.get(spec.column) or stuck[parts[0]]}
                continue
            kept = [cells[name, spec.row, part] for part in parts if part not in dropped and part not in stuck]
            if not {*parts} & dropped:
                seeds = tuple(sorted(by_seed.get(spec.row, {}).get(spec.column, {}).items()))
                std, runs = (values[1], recording.runs) if values[1:] else (None, 1)
                cells[key] = facts_of_runs(values[0], std, exhibit.digits, runs, seeds)
            elif kept:
                cells[key] = _mean_over(kept, recording.runs)
    keys = (key for claim in study.claims.get(paper, {}).values() for key in claim.keys)
    return Side(claim_frame(cells | {key: {"reason": MISSING} for key in keys if key not in cells}), Reached)


# --- the order of rows


@dataclass(frozen=True)
class Order:
    """How the order of a table's rows in a recorded run agrees with that of the reported numbers.

    Args:
        rho: Spearman's rank correlation of the means over the columns.
        low: the 2.5 % quantile of rho over resamples of our means, whose deviations are those over seeds.
        high: the 97.5 % quantile.
        rows: how many rows are compared.
        tasks: the tasks that ran, whose mean is compared where the table reports them singly.
        reported: of how many tasks of the table.
        moved: the row whose place differs most, with its place here and as reported, from 1.
    """

    rho: float
    low: float
    high: float
    rows: int
    tasks: list[str]
    reported: int
    moved: tuple[str, int, int]

    def __str__(self) -> str:
        """Return the correlation with its interval and what it is of, as text."""
        over = f"{', '.join(self.tasks)}: {len(self.tasks)} of {self.reported} tasks"
        numbers = f"rank correlation {self.rho:.2f} [{self.low:.2f}, {self.high:.2f}]".replace("-", "\u2212")
        return f"{numbers} over {self.rows} rows; {over}"

    @property
    def words(self) -> str:
        """In which order the rows come, as far as the interval tells."""
        if self.low > 0:
            how = "" if math.isclose(self.rho, 1) else "nearly " if self.rho >= 0.7 else "partly "
            return f"{how}in the reported order"
        return "in another order" if self.high < 0 else "in no certain order"


def order_of(study: Study, paper: str, table: str, recording: Recording) -> Order | None:
    """Return how the order of a table's rows agrees with the reported one; None without three rows with both."""
    from scipy.stats import rankdata

    exhibit, side = study.exhibits[paper, table], side_of_recording(study, paper, recording)
    ours = {key[1:]: facts["value"] for key, facts in side.numbers.items() if key[0] == table}
    reported = {(cell.row, cell.column): cell.number.value for cell in exhibit.reported_cells() if cell.number}
    scored = {(cell.row, cell.column): frozenset(cell.scored) for cell in exhibit.cells() if not cell.spec.mean_of}
    counts = Counter(column for row, column in ours if scored.get((row, column)))
    names = [column for column, count in counts.items() if count >= LEAST]
    found = dict.fromkeys(row for row, _ in ours)
    rows = [row for row in found if all((row, name) in reported and (row, name) in ours for name in names)]
    if not names or len(rows) < LEAST or any(len({scored[row, name] for row in rows}) > 1 for name in names):
        return None
    # [rows]: the means over the columns, rounded because equal ones may differ in their last bits
    each = ([[of[row, name] for name in names] for row in rows] for of in (ours, reported))
    here, there = (np.mean(values, axis=1).round(9) for values in each)
    if np.ptp(here) == 0 or np.ptp(there) == 0:  # nothing to put in order
        return None
    cells = side.cells([(table, row, name) for row in rows for name in names])
    drawn = resampled_means(
        cells, assumed_by(study, paper, recording.distillations), AsIf(), RESAMPLES, np.random.default_rng(SEED)
    )
    means = drawn.reshape(len(rows), len(names), RESAMPLES).sum(axis=1)
    low, high = np.quantile(_rank_correlation(means, there), (0.025, 0.975))
    places = [rankdata(-means, method="min").astype(int).tolist() for means in (here, there)]
    ran = recording.replacements.get("tasks")
    known = list(dict.fromkeys(task for of in scored.values() for task, _ in sorted(of)))
    tasks = [task for task in known if ran is None or task in ran]
    return Order(
        float(_rank_correlation(here[:, None], there)[0]), float(low), float(high), len(rows), tasks,
        len(known), max(zip(rows, *places, strict=True), key=lambda one: abs(one[1] - one[2])),
    )  # fmt: skip


def _rank_correlation(means: Values, others: Values) -> Values:
    """Return [resamples]: Spearman's rho of [rows, resamples] with [rows]; 0 for a resample without an order."""
    from scipy.stats import rankdata

    ranks, fixed = (rankdata(each, axis=0) - (len(others) + 1) / 2 for each in (means, others))
    with np.errstate(invalid="ignore"):
        rho: Values = (fixed @ ranks) / np.sqrt((fixed @ fixed) * (ranks**2).sum(axis=0))
    return np.nan_to_num(rho)
