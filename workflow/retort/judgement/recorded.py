"""What a recorded run of smaller models or fewer steps says: its numbers, at two lengths, and the order of its rows.

Such a run neither supports nor refutes a paper, so its outcomes have words of their own (`tables/claims.py`) and name
the conditions of the run. A task on which its students stay at the commonest answer decides nothing. A claim that
turns when the trainings are longer depends on length.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from retort.formatters import number as formatted
from retort.judgement.certainty import DRAWS, SEED, assumed_by, drawn_means
from retort.judgement.comparisons import NumberedCell, Reached
from retort.judgement.judge import Key, Side
from retort.specs.exhibit import Exhibit
from retort.specs.paper import Recording
from retort.specs.printed import Number
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


def _mean_over(cells: list[NumberedCell]) -> tuple[Number, float | None, tuple[tuple[int, float], ...]]:
    """Return the mean of cells of a row, its deviation and its scores by seed; tasks scatter independently."""
    mean = statistics.mean(cell.number.value for cell in cells)
    stds = [cell.std for cell in cells if cell.std is not None]
    std = math.sqrt(sum(one**2 for one in stds)) / len(cells) if len(stds) == len(cells) else None
    by_seed = [dict(cell.by_seed) for cell in cells]
    seeds = sorted(by_seed[0]) if all(one.keys() == by_seed[0].keys() for one in by_seed) else []
    scores = tuple((seed, statistics.mean(one[seed] for one in by_seed)) for seed in seeds)
    if len(scores) > 1:
        std = statistics.stdev(score for _, score in scores)
    return Number(formatted(mean, 1), mean, "" if std is None else formatted(std, 1)), std, scores


def side_of_recording(study: Study, paper: str, recording: Recording, tasks: Collection[str] | None = None) -> Side:
    """Return the numbers of a recorded run; a mean without a deviation counts as one run.

    Rows whose model is not what they print are left out, and so are columns that decide nothing.

    Args:
        study: the study.
        paper: the paper.
        recording: the recorded run.
        tasks: the only tasks that count; averages are taken over them. None for all.
    """
    cells: dict[Key, NumberedCell] = {}
    keys = {key for claim in study.claims.get(paper, {}).values() for key in claim.keys}
    reasons = dict.fromkeys(keys, MISSING)
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
                reasons[key] = stuck.get(spec.column) or stuck[parts[0]]
                continue
            std = values[1] if values[1:] else None
            texts = [formatted(value, exhibit.digits) for value in values]
            number = Number(texts[0], values[0], "" if std is None else texts[1])
            scores = tuple(sorted(by_seed.get(spec.row, {}).get(spec.column, {}).items()))
            kept = [cells[name, spec.row, part] for part in parts if part not in dropped and part not in stuck]
            if kept and {*parts} & dropped:
                number, std, scores = _mean_over(kept)
            elif {*parts} & dropped:
                continue
            runs = 1 if std is None else recording.runs
            cells[key] = NumberedCell(*key, number, runs, "x100", std, by_seed=scores)
    return Side(cells, reasons, Reached)


# --- the order of rows


@dataclass(frozen=True)
class Order:
    """How the order of a table's rows in a recorded run agrees with that of print.

    Args:
        rho: Spearman's rank correlation of the means over the columns.
        low: the 2.5 % quantile of rho over draws of our means, whose deviations are those over seeds.
        high: the 97.5 % quantile.
        rows: how many rows are compared.
        tasks: the tasks that ran, whose mean is compared where the table prints them singly.
        printed: of how many tasks of the table.
        moved: the row whose place differs most, with its place here and in print, from 1.
    """

    rho: float
    low: float
    high: float
    rows: int
    tasks: list[str]
    printed: int
    moved: tuple[str, int, int]

    def __str__(self) -> str:
        """Return the correlation with its interval and what it is of, as text."""
        over = f"{', '.join(self.tasks)}: {len(self.tasks)} of {self.printed} tasks"
        return f"rho {self.rho:.2f} [{self.low:.2f}, {self.high:.2f}] over {self.rows} rows; {over}"

    @property
    def words(self) -> str:
        """Whether the rows stand in the printed order, as far as the interval tells."""
        if self.low > 0:
            return "rows nearly in the printed order" if self.rho >= 0.7 else "rows lean to the printed order"
        return "rows not in the printed order" if self.high < 0 else "order of rows not decided"


def order_of(study: Study, paper: str, table: str, recording: Recording) -> Order | None:
    """Return how the order of a table's rows agrees with print; None without three rows that have both numbers."""
    from scipy.stats import rankdata, spearmanr

    exhibit, side = study.exhibits[paper, table], side_of_recording(study, paper, recording)
    scored = {(cell.row, cell.column): frozenset(cell.scored) for cell in exhibit.cells() if not cell.spec.mean_of}
    columns = Counter(key[2] for key in side.cells if key[0] == table and scored.get(key[1:]))
    names = [column for column, count in columns.items() if count >= LEAST]
    printed = {
        (cell.row, cell.column): exhibit.as_stated(cell.number).value
        for cell in exhibit.published_cells()
        if cell.number
    }
    rows = [
        row
        for row in dict.fromkeys(key[1] for key in side.cells if key[0] == table)
        if all((row, name) in printed and (table, row, name) in side.cells for name in names)
    ]
    if len(rows) < LEAST or any(len({scored[row, name] for row in rows}) > 1 for name in names):
        return None
    cells = {(table, row, name): side.cells[table, row, name] for row in rows for name in names}
    drawn = drawn_means(cells, assumed_by(study, paper), 0, DRAWS, np.random.default_rng(SEED))
    here, there = (
        [statistics.mean(of[row, name] for name in names) for row in rows]
        for of in ({key[1:]: cell.number.value for key, cell in cells.items()}, printed)
    )
    if not names or len({*here}) < 2 or len({*there}) < 2:  # nothing to put in order
        return None
    ranks = rankdata([sum(drawn[table, row, name] for name in names) for row in rows], axis=0)  # [rows, draws]
    ranks, fixed = ranks - ranks.mean(axis=0), rankdata(there) - (len(rows) + 1) / 2
    with np.errstate(invalid="ignore"):
        rhos = (fixed @ ranks) / np.sqrt((fixed @ fixed) * (ranks**2).sum(axis=0))
    low, high = np.quantile(np.nan_to_num(rhos), (0.025, 0.975))
    places = [rankdata([-mean for mean in means], method="min").astype(int).tolist() for means in (here, there)]
    ran = recording.replacements.get("tasks")
    known = list(dict.fromkeys(task for of in scored.values() for task, _ in sorted(of)))
    tasks = [task for task in known if ran is None or task in ran]
    return Order(
        float(spearmanr(here, there).statistic), float(low), float(high), len(rows), tasks,
        len(known), max(zip(rows, *places, strict=True), key=lambda one: abs(one[1] - one[2])),
    )  # fmt: skip
