"""Measure the cells of a table or figure by scores and profiles, and join what is reported to what is measured."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from retort.results.collect import (
    OF_ONE,
    MeasuredCell,
    best_next_to,
    diverged_at,
    mean_of_those_run,
    measure_mean_score,
    measured,
    value_of,
    without_value,
)
from retort.results.frames import INCOMPLETE, KEY, frame_of, joined, seed_text
from retort.results.score_files import Record
from retort.specs.exhibit import Exhibit
from retort.specs.reported import AS_REPORTED, CHANGE, OF_A_MODEL, Timing
from retort.specs.rows import CellSpec
from retort.study.addresses import profile_address, submission_address
from retort.study.cells import (
    is_on_dev,
    sent_tasks,
    without_best,
)
from retort.study.distillations import distillations_of
from retort.study.questions import seeds_of
from retort.study.reasons import HAS_VALUE, UNGIVEN, Reason, Status, failed, unprofiled, unsent
from retort.study.study import Study
from retort.tables.base import Inputs

if TYPE_CHECKING:
    from pandas import DataFrame

Profile = Callable[[Record, Record, Timing], MeasuredCell]


def times(profile: Record, measurement: Timing) -> list[float]:
    """Return the times of one measurement in ms, a value for each run; empty if the profile has no such measurement."""
    if measurement.device == "gpu" and not profile["device"].startswith("cpu"):
        measurement = replace(measurement, device="")  # a profile made on a GPU names no device for its times
    if measurement == Timing():
        return list(profile["latency_ms"])
    return list(profile.get("further", {}).get(measurement.name, []))


def ratio(top: MeasuredCell, bottom: MeasuredCell) -> MeasuredCell:
    """Return mean, std and n of the ratio of two means, that of `bottom` not 0; std is None unless both have one.

    The std is chosen so that std / sqrt(n) is the standard error of the ratio, to first order.
    """
    # r = a / b: var(r) = (s_a^2 / n_a + r^2 s_b^2 / n_b) / b^2, that is, (dr / r)^2 = (da / a)^2 + (db / b)^2
    if top.mean is None or not bottom.mean:
        return MeasuredCell()
    mean, n = top.mean / bottom.mean, min(top.n, bottom.n)
    if top.std is None or bottom.std is None:
        return MeasuredCell(mean, n=n)
    variance = (top.std**2 / top.n + (mean * bottom.std) ** 2 / bottom.n) / bottom.mean**2
    return MeasuredCell(mean, math.sqrt(n * variance), n)


def _speed_up(own: Record, first: Record, measurement: Timing) -> MeasuredCell:
    slow, fast = measured(times(first, measurement)), measured(times(own, measurement))
    if own is first and fast.n:
        return replace(fast, mean=1.0, std=0.0)  # by definition, whatever the times are
    return ratio(slow, fast)


# metric -> mean, std and n from (the model's profile, the profile of the table's first row, the measurement shown)
MEASURED: dict[str, Profile] = {
    "parameters": lambda own, *_: measured([own["parameters"] / 1e6]),
    "without_embeddings": lambda own, *_: measured([own["without_embeddings"] / 1e6]),
    "without_pooler": lambda own, *_: measured([own["without_pooler"] / 1e6]),
    "latency": lambda own, _, measurement: measured(times(own, measurement)),
    "speed-up": _speed_up,
}


def reported_frame(exhibit: Exhibit) -> DataFrame:
    """Return a line for each number that is reported in a table, or recorded of a study of ours: by row and column.

    Its columns are those of a frame (`results/frames.py`) that begin with 'reported'.
    """
    import pandas as pd

    found = [
        (cell.row, cell.column, one.value, one.std, one.half, cell.runs, seed_text(dict(cell.by_seed)))
        for cell in exhibit.reported_cells()
        if (one := cell.number)
    ]
    names = ("reported", "reported_std", "reported_half", "reported_n", "reported_by_seed")
    return pd.DataFrame(found, columns=[*KEY, *names])


def _measure_profile(inputs: Inputs, cell: CellSpec, first: str) -> MeasuredCell:
    """Return a cell from profiles: size, latency, or speed-up over the model of the first row."""
    study, profiles = inputs.study, inputs.profiles
    own = profiles.get(cell.student)
    needed = map(profile_address, [first] if own else [cell.student, first])
    if why := unprofiled(study, cell.student) or failed(study, needed):
        return without_value(why)
    if not own:
        return without_value(Reason(Status.MISSING, "no profile"))
    measurement = cell.measurement if cell.is_timed else Timing()
    found = MEASURED[cell.metric](own, profiles.get(first) or own, measurement)
    elsewhere = Reason(Status.MISSING, f"its profile was timed on {own['device']}")
    return without_value(elsewhere) if found.mean is None else found


def _measure_on_server(inputs: Inputs, cell: CellSpec, tasks: list[str]) -> MeasuredCell:
    """Return a score that only a test server can compute.

    `reason` names the file to submit; `dev` is our mean on dev of the run whose answers the server gets. A run that
    diverged has no answers.
    """
    study, seed = inputs.study, seeds_of(inputs.study, cell.student)[0]
    zipped = submission_address(study, cell.student)
    records = [(inputs.scores.get((cell.student, task, seed)), metric) for task, metric in cell.scored]
    diverged = diverged_at(record for record, _ in records if record)
    if why := unsent(study, cell.student, *tasks) or diverged or failed(study, [zipped]):
        return without_value(why)
    dev = _if_known(statistics.mean, [value_of(record, metric) if record else None for record, metric in records])
    reason = f"it alone has the labels of the test set; {zipped} is what it is sent"
    return without_value(Reason(Status.SERVER, reason), dev)


def _if_known(compute: Callable[[list[float]], float | None], values: list[float | None]) -> float | None:
    """Return what is computed from some values; None if one is missing."""
    known = [value for value in values if value is not None]
    return compute(known) if len(known) == len(values) else None


def _measure_cell(inputs: Inputs, cell: CellSpec, first: str) -> MeasuredCell:
    """Return what was measured for a cell that is not computed from other cells.

    Args:
        inputs: the study, and the scores and profiles that have been run.
        cell: the cell.
        first: the student or teacher that speed-ups are relative to.
    """
    study = inputs.study
    if cell.others and cell.scored:
        return _best_of_students(inputs, cell, first)
    if cell.metric == AS_REPORTED:
        return without_value(Reason(Status.AS_REPORTED, ""))
    if not cell.student:
        return without_value(Reason(Status.QUOTED, f"({cell.quoted}), never run") if cell.quoted else UNGIVEN)
    if cell.of_shape:  # a number of the model's architecture: its layers or its width
        model = study.students[cell.student] if cell.student in study.students else study.model_of(cell.student)
        return measured([float(getattr(model.architecture, cell.metric))])
    if cell.profiled:
        return _measure_profile(inputs, cell, first)
    if tasks := sent_tasks(study, cell):
        return _measure_on_server(inputs, cell, tasks)
    found = measure_mean_score(study, inputs.scores, cell.student, cell.scored)
    if cell.best_of and cell.scored and found.status is Status.OK:
        return _best_of_grid(inputs, cell, found)
    return replace(found, status=Status.DEV) if is_on_dev(study, cell) and found.status is Status.OK else found


def _best_of_students(inputs: Inputs, cell: CellSpec, first: str) -> MeasuredCell:
    """Return what was measured of the student whose mean is best, of several; without a mean of each, of one without.

    The task is scored on dev, by which the student may be chosen.
    """
    each = {name: _measure_cell(inputs, replace(cell, student=name, others=()), first) for name in cell.students}
    for one in each.values():
        if one.mean is None:
            return one
    best = max(each, key=lambda name: each[name].mean or 0.0)
    note = f"the best on dev of {len(each)} students: {best}"
    return replace(each[best], student=best, note=joined(note, each[best].note))


def _best_of_grid(inputs: Inputs, cell: CellSpec, rerun: MeasuredCell) -> MeasuredCell:
    """Return the best of our grid for a cell whose reported number is one; else our score, with the reason.

    The reported maximum of several runs is above the mean of such runs even if nothing else differs. So is ours.
    """
    best = [inputs.trials.get((cell.student, task)) for task, _ in cell.scored]
    known = [one for one in best if one]
    why = without_best(inputs.study, cell) or ("" if len(known) == len(best) else "its trials are missing")
    if why:
        return replace(rerun, best_of=OF_ONE.format(why=why))
    point = "; ".join(f"{one.point}, {one.path}" for one in known)
    return best_next_to(statistics.mean(one.score for one in known), point, rerun)


def _change(values: list[float]) -> float | None:
    """Return the change in % from the first value to the second; None from 0."""
    base, own = values
    return 100 * (own / base - 1) if base else None


def _measure_from_row(study: Study, cell: CellSpec, row: Mapping[str, MeasuredCell]) -> MeasuredCell:
    """Return the measurement of a cell that is computed from other cells of its row: a mean, or a change in %."""
    columns = [(name, row[name]) for name in cell.spec.mean_of or [cell.spec.change_from, cell.before]]
    read = [one for _, one in columns]
    waiting = [one.reason for one in read if one.status is Status.SERVER]
    if waiting and all(one.status is not Status.DIVERGED for one in read):
        seed = seeds_of(study, cell.student)[0]
        compute = statistics.mean if cell.spec.mean_of else _change
        on_dev = [one.dev if one.status is Status.SERVER else one.by_seed.get(seed) for one in read]
        return without_value(Reason(Status.SERVER, waiting[0]), _if_known(compute, on_dev))
    if cell.spec.mean_of:
        mean = mean_of_those_run(study, columns, "column")
        there = mean.status is Status.OK and any(one.status is Status.DEV for one in read)
        return replace(mean, status=Status.DEV) if there else mean
    base, own = read
    part = ratio(own, base)
    if part.mean is None:  # there is no change in % from 0
        return without_value(Reason(Status.MISSING, INCOMPLETE))
    std = None if part.std is None else 100 * part.std
    return replace(part, mean=100 * (part.mean - 1), std=std, status=own.status)


def _note_quoted(one: MeasuredCell, cell: CellSpec, study: Study) -> MeasuredCell:
    """Add to what was measured that the number next to it is quoted from other work: as a note, or as its reason."""
    if one.status not in HAS_VALUE:
        return replace(one, status=Status.QUOTED, reason=f"({cell.quoted}); ours: {one.state}")
    student = study.students.get(one.student or cell.student)
    ours = "trained here" if student and student.stages else "the public checkpoint, fine-tuned as the paper's students"
    return replace(one, note=joined(f"reported: quoted ({cell.quoted}); ours: {ours}", one.note))


def _measure(inputs: Inputs, exhibit: Exhibit) -> dict[str, dict[str, MeasuredCell]]:
    """Return what was measured for each cell of a table or figure, by row and column."""
    rows: dict[str, dict[str, MeasuredCell]] = {}
    first, specs = exhibit.first, exhibit.cells()
    for cell in specs:
        rows.setdefault(cell.row, {})[cell.column] = _measure_cell(inputs, cell, first)
    for cell in specs:
        if cell.student and (cell.spec.mean_of or cell.spec.change_from):
            rows[cell.row][cell.column] = _measure_from_row(inputs.study, cell, rows[cell.row])
    return rows


def unit_of(cell: CellSpec) -> str:
    """Return the unit of a cell, as frames have it."""
    return OF_A_MODEL.get(cell.metric, "%" if cell.metric == CHANGE else "x100")


def units_of(exhibits: Mapping[str, Exhibit]) -> dict[tuple[str, str, str], str]:
    """Return the table, row and column of each cell of some tables and figures -> its unit."""
    return {(name, cell.row, cell.column): unit_of(cell) for name, one in exhibits.items() for cell in one.cells()}


def joined_with_reported(inputs: Inputs, exhibit: Exhibit, cells: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Return the frame of an exhibit: its cells with what was measured, joined with what is reported of them.

    Args:
        inputs: the study, and the name of the exhibit.
        exhibit: the exhibit.
        cells: the row and column of each cell, and further columns.
    """
    where = {"paper": inputs.paper, "table": inputs.name, "scale": inputs.study.scale_of(inputs.paper)}
    frame = frame_of({**where, **cell} for cell in cells)
    found = frame[KEY].merge(reported_frame(exhibit), on=KEY, how="left")
    found = found.fillna({"reported_n": 0, "reported_by_seed": ""}).astype(frame.dtypes[found.columns])
    if (inputs.paper, inputs.study.config.resolved_precision()) not in inputs.study.records:  # of other trainings
        found["reported_by_seed"] = ""
    frame[found.columns] = found
    return frame


def measured_frame(inputs: Inputs, exhibit: Exhibit) -> DataFrame:
    """Return the frame of a table or figure of models, row by row."""
    rows, cells = _measure(inputs, exhibit), []
    for cell in exhibit.cells():
        one = rows[cell.row][cell.column]
        one = _note_quoted(one, cell, inputs.study) if cell.student and cell.quoted else one
        of = {"row": cell.row, "column": cell.column, "student": cell.student, "task": cell.task}
        of |= {"metric": cell.metric, "unit": unit_of(cell), "differs": cell.differs}
        shared = len(distillations_of(inputs.study, cell.student))
        shared = shared if inputs.study.papers[inputs.paper].ours else min(shared, 1)
        cells.append({**of, "reported_distillations": shared, **one.as_columns()})
    return joined_with_reported(inputs, exhibit, cells)
