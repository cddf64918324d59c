"""Make one table: collect its frame, write it as CSV, read that back, and render it.

Behind each number stand the runs that it comes from: a click on the number shows them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from retort.atomic import write_text
from retort.formatters import DASH, number
from retort.job.context import RunningJob
from retort.results.collect import value_of
from retort.results.frames import read, withhold_verdicts, write
from retort.results.score_files import Record
from retort.specs.exhibit import Exhibit
from retort.study.addresses import profile_address, score_file_of_seed
from retort.study.distillations import distillation_seed, trained_anew
from retort.study.reasons import HAS_VALUE
from retort.tables.base import Inputs, read_inputs, table_of
from retort.tables.curves import Curve, loss_curve, losses_of
from retort.tables.layout import PROFILE, CellRun, counts_of, recorded_apart, reported_alone
from retort.tables.recordings import as_recorded, remark_on_recording, with_recorded
from retort.tables.render import rendered
from retort.tables.replications import by_others


def make_table(
    job: RunningJob,
    config: dict[str, Any],
    paper: str,
    table: str,
    scores: Iterable[str],
    profiles: Iterable[str],
    csv: str,
    renders: Mapping[str, str],
) -> None:
    """Write the frame of a table as CSV, and each requested rendering of it, from the frame as it is read back.

    Next to the numbers stand those of a recorded run: at this scale or, of a paper that is not run, at any.

    Args:
        job: the running job.
        config: the configuration.
        paper: the paper.
        table: the name of the table.
        scores: the paths of its scores.
        profiles: the paths of its profiles.
        csv: the path of the CSV.
        renders: format ('md', 'tex', 'html') -> path.

    Raises:
        RetortError: a score or profile was made with other settings than the study's.
    """
    inputs = read_inputs(config, paper, table, scores, profiles)
    study = as_recorded(inputs.study, paper, table) if paper in inputs.study.unrun else inputs.study
    spec = table_of(study, paper, table)
    write(csv, with_recorded(study, withhold_verdicts(inputs.study, paper, spec.collect(inputs))))
    frame, runs = read(csv), runs_behind(spec, inputs)
    sheet = recorded_apart(reported_alone(spec.lay_out(frame), frame))
    sheet = sheet.changed(lambda entry: replace(entry, origin=tuple(runs(entry.line))) if entry.line else entry)
    remarks = [*filter(None, [inputs.remark]), *sheet.remarks, *remark_on_recording(study, paper, table)]
    sheet = replace(sheet, remarks=remarks, by_others=by_others(inputs.study, paper, table))
    for ending, path in renders.items():
        write_text(path, rendered(sheet, ending))
    without = int((~frame["status"].isin(HAS_VALUE)).sum())
    differs = int((frame["differs"] != "").sum())
    counts = {"without a value": without, **counts_of(spec.verdicts(frame)), "not as reported": differs}
    job.say(", ".join([f"{len(frame)} cells", *(f"{count} {what}" for what, count in counts.items() if count)]))


# --- the runs behind the cells

TRAINED = ("distill_on_task", "finetune_student", "finetune_teacher")  # the rules that write scores


def run_of(record: Record, label: str, value: str, path: str, log: str = "", curve: Curve = ()) -> CellRun:
    """Return the run that wrote a score or profile."""
    took, made = f"{float(record.get('seconds', 0)):.0f} s", str(record.get("at", ""))[:16].replace("T", " ")
    return CellRun(label, value, took, str(record.get("device", DASH)), made, path, log, curve)


def _scored(exhibit: Exhibit, line: Any) -> list[tuple[str, str]]:
    """Return the (task, metric) pairs behind a line; for a mean or a change in %, those of the cells behind it."""
    row = {cell.column: cell for cell in exhibit.cells() if cell.row == line.row}
    own = row.get(line.column)
    if own is None:
        return []
    read = own.spec.mean_of or [name for name in (own.spec.change_from, own.before) if own.spec.change_from]
    return own.scored or [pair for name in read if name in row for pair in row[name].scored]


def runs_behind(exhibit: Exhibit, inputs: Inputs) -> Callable[[Any], Iterator[CellRun]]:
    """Return a function that yields the runs behind a line's value."""
    profiled = {(cell.row, cell.column) for cell in exhibit.cells() if cell.profiled}
    ordered, losses = sorted(inputs.scores.items(), key=lambda score: score[0]), functools.cache(losses_of)

    def runs(line: Any) -> Iterator[CellRun]:
        profile = inputs.profiles.get(line.student)
        if profile and (line.row, line.column) in profiled:
            yield run_of(profile, PROFILE, DASH, profile_address(line.student))
        for task, metric in _scored(exhibit, line):
            if line.rerun is not None and (best := inputs.trials.get((line.student, task))):
                yield CellRun(f"{task} {metric}, {best.point}", number(best.score, 2), DASH, DASH, DASH, best.path)
            names = trained_anew(inputs.study, line.student)
            for (student, of, seed), record in ordered:
                if student in names and of == task:
                    path = score_file_of_seed(inputs.study, student, task, seed)
                    value = value_of(record, metric) if metric in record["metrics"] else None
                    text = str(record["status"]) if value is None else number(value, 2)
                    logs = (Path("results/logs", rule, f"{student}.{task}.{Path(path).stem}.log") for rule in TRAINED)
                    log = next((str(log) for log in logs if log.is_file()), "")
                    curve = loss_curve(losses(log).get(seed, []))
                    first = f", distillation {distillation_seed(inputs.study, student)}" if names[1:] else ""
                    yield run_of(record, f"{task} {metric}{first}, seed {seed}", text, path, log, curve)

    return runs
