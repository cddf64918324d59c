"""The settings of the students of a paper's first table, side by side: as reported, as recorded, and in this run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from retort.plan import resolve
from retort.report.outcome import Shown
from retort.specs.config import config_at
from retort.study.cells import Cell, expand
from retort.study.load import open_study
from retort.study.study import Study
from retort.tables.recordings import is_outdated, recorded_tasks, source_of

LISTED = 3  # up to so many values are listed; of more, the ends of their range are given
Settings = dict[str, str]  # aspect -> value as text
Values = dict[str, dict[tuple[float, str], None]]  # aspect -> its values in order, each as number and unit


def what_was_run(shown: Shown, config: Mapping[str, Any]) -> dict[str, Settings]:
    """Return the runs of a published paper in words, each with its settings; first that of the paper.

    Args:
        shown: the paper.
        config: the configuration of this run.
    """
    study, paper = shown.study, shown.paper

    def at(scale: str) -> Settings:
        return _settings(open_study(config_at(config, paper, scale)), paper)

    runs = {"As reported": at("paper")}
    for (slug, scale), one in sorted(study.recordings.items(), key=lambda item: item[0]):
        if slug == paper:
            known = {} if is_outdated(study, paper, scale) else at(scale)
            told = {"Tasks": ", ".join(recorded_tasks(study, paper, one)), "Runs of each": str(one.runs)}
            runs[f"Recorded, scale {scale}"] = {**known, **told, "Where, when": source_of(one)}
    if shown.tally.measured:
        runs[f"This run, scale {study.scale_of(paper)}"] = _settings(study, paper)
    return runs


def _settings(study: Study, paper: str) -> Settings:
    """Return the settings of the distilled students in the first table that has some."""
    cells: dict[str, list[Cell]] = {}
    for cell in expand(study):
        if cell.paper == paper and cell.student in study.students and study.students[cell.student].stages:
            cells.setdefault(cell.table, []).append(cell)
    if not cells:
        return {}
    first = next(iter(cells.values()))
    found: Values = {}
    for student, task in dict.fromkeys((cell.student, cell.task) for cell in first):
        for aspect, number, unit in _values(resolve.score(study, student, task).as_json()):
            found.setdefault(aspect, {})[number, unit] = None
    several = Counter((cell.row, cell.column, cell.student, cell.task, cell.metric) for cell in first)
    tasks = ", ".join(dict.fromkeys(cell.task for cell in first))
    return {**{aspect: _text(list(values)) for aspect, values in found.items()}, "Tasks": tasks,
            "Runs of each": str(max(several.values()))}  # fmt: skip


def _values(stamped: Mapping[str, Any]) -> Iterator[tuple[str, float, str]]:
    """Yield the aspect, number and unit of each setting of one score."""
    student = stamped.get("student", stamped)  # of a student that is fine-tuned after its distillation
    for whose, own in (("Students", student), ("Teacher", student["teacher"]["model"])):
        yield f"{whose}: layers", own["architecture"]["layers"], ""
        yield f"{whose}: width", own["architecture"]["hidden"], ""
    schedules = {"Distillation": [stage["schedule"] for stage in student["stages"]]}
    if student is not stamped:
        schedules["Fine-tuning"] = [{**stamped["schedule"], **point} for point in stamped.get("points") or [{}]]
    for phase, of in schedules.items():
        for one in of:
            yield f"{phase}: length", *((one["steps"], " steps") if "steps" in one else (one["epochs"], " epochs"))
            yield f"{phase}: batch", one["batch_size"], ""
            yield f"{phase}: learning rate", one["learning_rate"], ""


def _text(values: list[tuple[float, str]]) -> str:
    """Return values as text: all of a few, else the range of each unit."""
    texts = [f"{number:,.6g}{unit}" for number, unit in sorted(values)]
    if len(values) <= LISTED:
        return ", ".join(texts)
    units = dict.fromkeys(unit for _, unit in values)
    ends = [[number for number, unit in sorted(values) if unit == of] for of in units]
    return ", ".join(f"{of[0]:,.6g} to {of[-1]:,.6g}{unit}" for of, unit in zip(ends, units, strict=True))
