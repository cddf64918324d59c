"""Record a run of a study of ours: write its numbers into the study's files as the published ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import yaml

from retort.atomic import write_text
from retort.errors import RetortError
from retort.results.score_files import read_record
from retort.results.tidy import HAS_VALUE, Line, read
from retort.specs.loading import Problems
from retort.specs.paper import Recording
from retort.specs.scale import Scale
from retort.specs.schemas import schema_line
from retort.study.load import read_scales
from retort.study.study import Study
from retort.tables.recorded_cells import origin_of, recorded_value, scores_of

# Recorded runs of printed papers at a smaller scale: show their numbers beside a run's own, and record a run.


OTHER_SETTINGS = "A recorded run of ours had other settings than its scale has now, and is not shown here."
OUTDATED = "with other settings than the scale has now"
RECORDED = "Recorded: a run of ours at scale {scale} ({source}; {runs} runs of each student{others}), not judged."


def replacements_of(study: Study, paper: str) -> dict[str, object]:
    """Return what the scale replaces in a paper (models, tasks, seeds, ...), in the form that a recording keeps."""
    return _replacements(study.scale, paper)


def _replacements(scale: Scale, paper: str) -> dict[str, object]:
    replacements = scale.replacements
    return replacements.read_by(paper).model_dump(mode="json", exclude_defaults=True) if replacements else {}


def is_outdated(study: Study, paper: str, scale: str) -> bool:
    """Return whether the recorded run of a paper at a scale had other settings than that scale has now."""
    now = read_scales(study.config, Problems(study.config.folder)).get(scale)
    return now is None or study.recordings[paper, scale].replacements != _replacements(now, paper)


def recordings_of(study: Study, paper: str) -> dict[str, Recording]:
    """Return scale -> the recorded run of a paper."""
    return {scale: recording for (slug, scale), recording in study.recordings.items() if slug == paper}


def recording_of(study: Study, paper: str) -> Recording | None:
    """Return the recorded run of a paper at the study's scale; None if there is none with the same settings."""
    recording = study.recordings.get((paper, study.config.scale))
    return recording if recording and recording.replacements == replacements_of(study, paper) else None


def with_recorded(study: Study, lines: list[Line]) -> list[Line]:
    """Add to each line of a table the recorded number of its cell, if there is one."""
    recording = recording_of(study, lines[0].paper) if lines else None
    if recording is None:
        return lines
    cells = recording.tables.get(lines[0].table, {})

    def add_recorded(line: Line) -> Line:
        number = cells.get(line.row, {}).get(line.column)
        return replace(line, recorded=number[0], recorded_std=number[1] if number[1:] else None) if number else line

    return [add_recorded(line) for line in lines]


def remark_on_recording(study: Study, paper: str, table: str) -> list[str]:
    """Return a remark on the recorded numbers of a table; empty without any."""
    recording = recording_of(study, paper)
    if recording is None:
        return [OTHER_SETTINGS] if (paper, study.config.scale) in study.recordings else []
    if table not in recording.tables:
        return []
    tasks = recorded_tasks(study, paper, recording, [table])
    return [RECORDED.format(scale=study.config.scale, **_run_of(recording, tasks))]


def _run_of(recording: Recording, tasks: list[str]) -> dict[str, str]:
    """Return the values of `RECORDED`: source, number of runs, and the teacher and tasks."""
    teacher = f"; teacher: {recording.replacements['model']}" if recording.replacements.get("model") else ""
    others = f"{teacher}; tasks: {', '.join(tasks)}, over which means are"
    return {"source": source_of(recording), "runs": str(recording.runs), "others": others}


def as_recorded(study: Study, paper: str, table: str) -> Study:
    """Return the study at the scale of a recorded run of one of its tables, so that the table shows these numbers.

    A run with the settings that its scale has now is preferred; the numbers of any other are not shown. If no run of
    the table is recorded, return the study unchanged.
    """
    recorded = [scale for scale, one in recordings_of(study, paper).items() if table in one.tables]
    if not recorded:
        return study
    shown = min(recorded, key=lambda scale: is_outdated(study, paper, scale))
    config = study.config.model_copy(update={"scale": shown})
    return replace(study, config=config, scale=read_scales(config, Problems(config.folder))[shown])


def source_of(recording: Recording) -> str:
    """Return the machine, date and commit of a recorded run as text; what it lacks is left out."""
    commit = f"commit {recording.run['commit'][:7]}" if "commit" in recording.run else ""
    return ", ".join(filter(None, (recording.run.get("machine"), recording.run.get("date"), commit)))


def has_scores(lines: list[Line]) -> bool:
    """Return whether a table has a score of ours."""
    return any(line.status in HAS_VALUE for line in lines if line.unit == "x100")


def record_scale(study: Study, paper: str) -> str:
    """Write the numbers of the last run of a printed paper into its folder `recorded`; return the written file.

    Tables without a score of ours are left out, and so are cells of which a run is missing.

    Raises:
        RetortError: the scale trains the students as printed, no table has a number, `origin_of` refuses the scores, or
            numbers that are recorded would be lost.
    """
    if not study.scale.replacements:
        raise RetortError(
            f"scale '{study.config.scale}' runs what '{paper}' prints", "record a scale that replaces something"
        )
    paths = {
        name: Path(f"results/tables/{paper}/{name}.csv")
        for slug, name in sorted(study.exhibits)
        if slug == paper and name.startswith("table")
    }
    tables = {name: read(path) for name, path in paths.items() if path.is_file()}
    scored = {name: lines for name, lines in tables.items() if has_scores(lines)}
    if not scored:
        raise RetortError(f"no table of '{paper}' has a number of ours", "run one first")
    scores = list(filter(Path.is_file, scores_of(study, {(paper, name) for name in scored})))
    recording = Recording(
        run=origin_of(study, scores),
        replacements=replacements_of(study, paper),
        runs=study.scale.replacements.seeds,
        samples=samples_of(scores),
        tables={name: _cells(lines) for name, lines in scored.items()},
    )
    path = study.folder / "papers" / paper / "recorded" / f"{study.config.scale}.yaml"
    _check_that_all_is_kept(study, paper, path, recording)
    content = yaml.safe_dump(
        recording.model_dump(mode="json"), sort_keys=False, default_flow_style=None, width=118, allow_unicode=True
    )
    write_text(path, schema_line(path, "recording") + content)
    return str(path)


def _check_that_all_is_kept(study: Study, paper: str, path: Path, recording: Recording) -> None:
    """Check that each cell with a recorded number has a number in the new run too.

    Raises:
        RetortError: recorded numbers would be lost. To keep them beside new ones would mix two runs in one file.
    """
    before = study.recordings.get((paper, study.config.scale))
    lost = {
        name: len(cells)
        for name, rows in (before.tables if before else {}).items()
        if (cells := _addresses(rows) - _addresses(recording.tables.get(name, {})))
    }
    if lost:
        tables = ", ".join(f"{name} ({count} cell{'s' * (count != 1)})" for name, count in lost.items())
        pages = " ".join(f"reports/{paper}/{name}.html" for name in lost)
        raise RetortError(
            f"{path} would lose its numbers of {tables}: this run has none",
            f"run them first: snakemake --cores all --configfile {study.config.file} -- {pages}; "
            "or, to keep only the new numbers, delete the file",
        )


def _addresses(rows: dict[str, dict[str, list[float]]]) -> set[tuple[str, str]]:
    return {(row, column) for row, cells in rows.items() for column in cells}


def samples_of(scores: Iterable[Path]) -> dict[str, dict[str, list[int]]]:
    """Return task -> split -> [rows that were read, rows in all], for the splits that scores read in part."""
    samples: dict[str, dict[str, list[int]]] = {}
    for record in map(read_record, scores):
        for split, rows in record.get("sample", {}).items():
            samples.setdefault(record["task"], {})[split] = list(rows)
    return samples


def recorded_tasks(study: Study, paper: str, recording: Recording, tables: Iterable[str] | None = None) -> list[str]:
    """Return the tasks behind the recorded cells of a paper, each with the splits that were read in part.

    Args:
        study: the study.
        paper: the paper.
        recording: the recorded run.
        tables: the tables whose cells count; None for all that are recorded.
    """
    ran = recording.replacements.get("tasks")
    found: dict[str, None] = {}
    for name in recording.tables if tables is None else tables:
        for cell in study.exhibits[paper, name].cells():
            if cell.column in recording.tables[name].get(cell.row, {}):
                found |= {task: None for task, _ in cell.scored if ran is None or task in ran}
    return [_with_sample(task, recording) for task in sorted(found, key=(ran or list(found)).index)]


def _with_sample(task: str, recording: Recording) -> str:
    """Return the name of a task, with the sizes of the splits that a recorded run read in part."""
    parts = (recording.samples or {}).get(task, {})
    rows = ", ".join(f"{count:,} of {whole:,} rows of {split}" for split, (count, whole) in parts.items())
    return f"{task} (a sample: {rows})" if rows else task


def _cells(lines: list[Line]) -> dict[str, dict[str, list[float]]]:
    cells: dict[str, dict[str, list[float]]] = {}
    for line in lines:
        value = recorded_value(line)
        if value is not None and line.unit == "x100":
            cells.setdefault(line.row, {})[line.column] = value
    return cells
