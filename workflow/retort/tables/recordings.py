"""Recorded runs: show their numbers next to a run's own, and write the numbers of a run into the study's files.

A run of a study of ours is recorded as its reported numbers in the precision of the run (`record`), a run of a reported
paper at a smaller scale next to those (`record_scale`): each is a file of the paper's folder `recorded`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from retort.errors import RetortError
from retort.formatters import number
from retort.judgement.verdicts import DIFFERS, EXACT, REPRODUCED, is_comparable, seed_differences
from retort.provenance import are_different
from retort.results.frames import NUMBER, lines_of, read, scores_by_run, scores_by_seed
from retort.results.score_files import read_score_file
from retort.specs.paper import Addition, Recording
from retort.specs.scale import Scale
from retort.study.addresses import score_files
from retort.study.cells import expand
from retort.study.reasons import HAS_VALUE
from retort.study.schemas import schema_line
from retort.study.study import Study
from retort.tables.base import table_of

if TYPE_CHECKING:
    from pandas import DataFrame

KEPT = {"x100": 5, "M": 4, "ms": 3, "times": 3, "%": 3}  # unit -> decimals kept: enough to be rounded again
OTHER_SETTINGS = "A recorded run of ours had other settings than its scale has now, and is not shown here."
OUTDATED = "with other settings than the scale has now"


# --- show recorded numbers


def replacements_of(scale: Scale, paper: str) -> dict[str, object]:
    """Return what a scale replaces in a paper (models, tasks, seeds, ...), in the form that a recording keeps."""
    replacements = scale.replacements
    return replacements.read_by(paper).model_dump(mode="json", exclude_defaults=True) if replacements else {}


def is_outdated(study: Study, paper: str, scale: str) -> bool:
    """Return whether the recorded run of a paper at a scale had other settings than that scale has now."""
    now = study.scales.get(scale)
    return now is None or study.recordings[paper, scale].replacements != replacements_of(now, paper)


def recordings_of(study: Study, paper: str) -> dict[str, tuple[Recording, Recording | None]]:
    """Return scale -> the recorded run of a paper, and the one of more steps next to it, if there is one."""
    every = {scale: one for (slug, scale), one in study.recordings.items() if slug == paper}
    scales = study.scales
    longer = {scales[scale].longer_than: scale for scale in every if scale in scales and scales[scale].longer_than}
    longer = {of: scale for of, scale in longer.items() if of in every}
    return {
        scale: (one, every[longer[scale]] if scale in longer else None)
        for scale, one in every.items()
        if scale not in longer.values()
    }


def recording_of(study: Study, paper: str) -> Recording | None:
    """Return the recorded run of a paper at the study's scale; None if there is none with the same settings."""
    recording = study.recordings.get((paper, study.config.scale))
    return recording if recording and recording.replacements == replacements_of(study.scale, paper) else None


def with_recorded(study: Study, frame: DataFrame) -> DataFrame:
    """Return the frame of a table with the recorded number of each cell, if there is one."""
    recording = recording_of(study, frame["paper"].iloc[0]) if len(frame) else None
    rows = recording.tables.get(frame["table"].iloc[0]) if recording else None
    if rows is None:
        return frame
    cells = zip(frame["row"], frame["column"], strict=True)
    found = [[*rows.get(row, {}).get(column, []), NUMBER, NUMBER] for row, column in cells]  # [mean] or [mean, std]
    return frame.assign(recorded=[mean for mean, *_ in found], recorded_std=[std for _, std, *_ in found])


def remark_on_recording(study: Study, paper: str, table: str) -> list[str]:
    """Return a remark on the recorded numbers of a table; empty without any."""
    recording = recording_of(study, paper)
    if recording is None:
        return [OTHER_SETTINGS] if (paper, study.config.scale) in study.recordings else []
    if table not in recording.tables:
        return []
    teacher = f"; teacher: {recording.replacements['model']}" if recording.replacements.get("model") else ""
    tasks = ", ".join(recorded_tasks(study, paper, recording, [table]))
    return [
        f"Recorded: a run of ours at scale {study.config.scale} ({source_of(recording)}; {recording.runs} runs of each "
        f"student{teacher}; tasks: {tasks}, over which means are), not judged."
    ]


def as_recorded(study: Study, paper: str, table: str) -> Study:
    """Return the study at the scale of a recorded run of one of its tables, so that the table shows these numbers.

    A run with the settings that its scale has now is preferred; the numbers of any other are not shown. If no run of
    the table is recorded, return the study unchanged.
    """
    recorded = [scale for scale, (one, _) in recordings_of(study, paper).items() if table in one.tables]
    if not recorded:
        return study
    shown = min(recorded, key=lambda scale: is_outdated(study, paper, scale))
    config = study.config.model_copy(update={"scale": shown})
    return replace(study, config=config, scale=study.scales[shown])


def source_of(recording: Recording) -> str:
    """Return the machine, date and commit of a recorded run as text, and those of rows that later runs have added."""

    def told(run: Mapping[str, str], *more: str) -> str:
        commit = f"commit {run['commit'][:7]}" if "commit" in run else ""
        return ", ".join(filter(None, (run.get("machine"), run.get("date"), commit, *more)))

    later = [
        f"; {', '.join(dict.fromkeys(row for rows in one.rows.values() for row in rows))}: "
        f"{told(one.run, one.run.get('precision', ''))}"
        for one in recording.added
    ]
    return told(recording.run) + "".join(later)


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
    splits = (recording.samples or {}).get(task, {})
    rows = ", ".join(f"{count:,} of {whole:,} rows of {split}" for split, (count, whole) in splits.items())
    return f"{task} (a sample: {rows})" if rows else task


def compared_with_record(study: Study, paper: str, frame: DataFrame, devices: Iterable[str]) -> str:
    """Return whether the run of a study of ours reproduces the recorded one; empty for a published paper.

    Args:
        study: the study.
        paper: the study of ours.
        frame: the lines of its tables.
        devices: the devices of the run.
    """
    record, precision = study.record_of(paper), study.config.resolved_precision()
    if record is None:
        return "No run of this study is recorded." if study.papers[paper].ours else ""
    of = f"the record of {record.run.get('date', 'an unknown date')}"
    if (recorded_in := record.run.get("precision")) != precision:
        return (
            f"No run in {precision} is recorded: the reported numbers are those of {of} in {recorded_in}, and are "
            "judged as those of other runs."
        )
    measured = frame[is_comparable(frame) & (frame["reported_by_seed"] != "")]
    paired = measured[[bool(seed_differences(line)) for line in lines_of(measured)]]
    if paired.empty:
        return f"This run has other seeds than {of}: it is judged as another run." if len(measured) else ""
    machines = {*devices, record.run.get("machine", "")}
    if len(machines) > 1:
        of += f" on another {'CPU' if all(machine.startswith('cpu') for machine in machines) else 'machine'}"
    verdicts = Counter(paired["verdict"])
    recorded = sum(len(row) for rows in record.by_seed.values() for row in rows.values())
    few = "" if len(paired) == recorded else f" So far {len(paired)} of its {recorded} scores were measured."
    if verdicts[EXACT] == len(paired):
        return f"Reproduces {of} exactly: {'its' if few else 'all'} {len(paired)} means have the recorded digits.{few}"
    others = len(paired) - verdicts[EXACT] - verdicts[REPRODUCED]
    apart = (paired["mean"] - paired["reported"]).abs()
    farthest = paired.iloc[int(apart.argmax())]
    size = number(apart.max(), 1) if apart.max() >= 0.05 else "below 0.05"
    does = f"Does not reproduce {others} of {len(paired)} means of" if others else "Reproduces"
    differ = f"{verdicts[DIFFERS] or 'none'} differ{'s' * (verdicts[DIFFERS] < 2)}"
    same = f", {verdicts[EXACT]} of {len(paired)} means have the recorded digits" if verdicts[EXACT] else ""
    return f"{does} {of}: largest difference {size} ({farthest['column']}, {farthest['row']}), {differ}{same}.{few}"


# --- record a run


def _scores_of(study: Study, exhibits: Container[tuple[str, str]]) -> list[Path]:
    """Return the paths of the scores of some tables and figures, named as (paper, name)."""
    cells = [cell for cell in expand(study) if (cell.paper, cell.table) in exhibits]
    pairs = dict.fromkeys((cell.student, cell.task) for cell in cells)
    return [Path(path) for pair in pairs for path in score_files(study, *pair)]


def _made_by(study: Study, records: list[dict[str, Any]]) -> dict[str, str]:
    """Return machine, date, commit, precision and versions of some scores.

    Raises:
        RetortError: the scores come from several machines, versions or states of the code, or the code that made them
            is not committed.
    """
    made_by = {
        "machine": {record["device"] for record in records},
        "versions": {", ".join(f"{name} {of}" for name, of in record["versions"].items()) for record in records},
    }
    for what, values in made_by.items():
        if len(values) != 1:
            raise RetortError(f"the scores are of several {what}s: {'; '.join(sorted(values))}", "run the study anew")
    if are_different(record["code"] for record in records):
        raise RetortError("the scores are of several states of the code", "run the study anew")
    if any(record["commit"].endswith("+changes") for record in records):
        raise RetortError("the scores were made with code that is not committed", "commit it and run the study anew")
    last = max(records, key=lambda record: str(record["at"]))
    machine, versions = (next(iter(values)) for values in made_by.values())
    made = {"machine": machine, "commit": last["commit"], "versions": versions}
    return {**made, "precision": study.config.resolved_precision(), "date": last["at"][:10]}


def _tables_of(study: Study, paper: str) -> dict[str, Path]:
    """Return the tables of a paper by name, each with the path of its CSV."""
    names = sorted(name for slug, name in study.exhibits if slug == paper and name.startswith("table"))
    return {name: Path(f"results/tables/{paper}/{name}.csv") for name in names}


def record(study: Study, paper: str) -> dict[Path, str]:
    """Return the files that keep the last run as the reported numbers of a study of ours, in its precision.

    The record of another precision stays.

    Raises:
        RetortError: the paper is not a study of ours, a score is missing, a table has not been made, or the scores are
            not of one run.
    """
    if not study.papers[paper].ours:
        raise RetortError(
            f"the reported numbers of '{paper}' are its paper's", "only a study with `ours: true` is recorded"
        )
    scores, tables = _scores_of(study, {key for key in study.exhibits if key[0] == paper}), _tables_of(study, paper)
    for path in (*scores, *tables.values()):
        if not path.is_file():
            raise RetortError(f"{path} is missing", "run the whole study first")
    found: list[DataFrame] = []
    for name, path in tables.items():
        exhibit, frame = table_of(study, paper, name), read(path)
        if (recorded := exhibit.recorded(study, paper, frame)) is not None:
            if exhibit.reported_cells() and study.record_of(paper) is None:
                file, key = study.place_of(paper, name)
                raise RetortError(f"{file}: {key}it has reported numbers of its own", "delete its key 'means'")
            found.append(recorded)
    runs = max((int(count) for frame in found for count in frame.loc[frame["unit"] == "x100", "n"]), default=1)
    recording = _recording(study, scores, found, runs=runs)
    precision = recording.run["precision"]
    folder = study.folders[paper] / "recorded"
    file = folder / f"{precision}.yaml"
    drawn = sorted(Path(f"reports/{paper}").glob("figure*.svg"))
    figures = {folder / f"{precision}-{figure.name}": figure.read_text(encoding="utf-8") for figure in drawn}
    return {file: _text(file, recording), **figures}


def _recording(study: Study, scores: Iterable[Path], found: Iterable[DataFrame], **about: Any) -> Recording:
    """Return the recording of a run.

    Args:
        study: the study.
        scores: the files of its scores.
        found: the lines of its numbers, and lines without one; `row` and `column` are the keys of a number.
        about: further fields.
    """
    records = [record for path in scores for record in read_score_file(path)]
    samples: dict[str, dict[str, list[int]]] = {}
    for one in records:
        for split, rows in one.get("sample", {}).items():
            samples.setdefault(one["task"], {})[split] = list(rows)
    tables: dict[str, Any] = {}
    by_seed: dict[str, Any] = {}
    by_run: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for line in (line for frame in found for line in lines_of(frame)):
        cells = tables.setdefault(line.table, {})
        if line.status in HAS_VALUE and line.mean is not None:
            kept, key = KEPT[line.unit], line.row
            numbers = [round(one, kept) for one in (line.mean, line.std) if one is not None]
            cells.setdefault(key, {})[line.column] = numbers
            if line.by_seed:
                scored = {seed: round(score, kept) for seed, score in scores_by_seed(line.by_seed).items()}
                by_seed.setdefault(line.table, {}).setdefault(key, {})[line.column] = scored
            if line.distillations > 1:
                runs = {f"{of}/{seed}": round(score, kept) for (of, seed), score in scores_by_run(line.by_run).items()}
                by_run.setdefault(line.table, {}).setdefault(key, {})[line.column] = runs
    several = max((int(count) for frame in found for count in frame["distillations"]), default=1)
    return Recording(
        run=_made_by(study, records), samples=samples, distillations=max(several, 1), tables=tables, by_seed=by_seed,
        by_run=by_run, **about,
    )  # fmt: skip


def _text(path: Path, recording: Recording) -> str:
    """Return the text of a recording's file."""
    content = yaml.safe_dump(
        recording.model_dump(exclude_defaults=True), sort_keys=False, default_flow_style=None, width=118,
        allow_unicode=True,
    )  # fmt: skip
    return schema_line(path, "recording") + str(content)


def has_scores(frame: DataFrame) -> bool:
    """Return whether a table has a score of ours."""
    return bool((frame["status"].isin(HAS_VALUE) & (frame["unit"] == "x100")).any())


def record_scale(study: Study, paper: str) -> dict[Path, str]:
    """Return the file in a paper's folder `recorded` that keeps the numbers of the last run, with its text.

    Tables without a score of ours are left out, and so are cells of which a run is missing. A run with the settings of
    the recorded one, but of other rows alone, is added to it.

    Raises:
        RetortError: the scale trains the students as reported, no table has a number, the scores are not of one run, or
            numbers that are recorded would be lost.
    """
    if not study.scale.replacements:
        raise RetortError(
            f"scale '{study.config.scale}' runs what '{paper}' reports", "record a scale that replaces something"
        )
    made = [read(path) for path in _tables_of(study, paper).values() if path.is_file()]
    scored = [frame[frame["unit"] == "x100"] for frame in made if has_scores(frame)]
    if not scored:
        raise RetortError(f"no table of '{paper}' has a number of ours", "run one first")
    paths = filter(Path.is_file, _scores_of(study, {(paper, frame["table"].iloc[0]) for frame in scored}))
    replaced = {"replacements": replacements_of(study.scale, paper), "runs": study.scale.replacements.seeds}
    before = study.recordings.get((paper, study.config.scale))
    recording = _recording(study, paths, scored, **replaced, causes=before.causes if before else {})
    path = study.folders[paper] / "recorded" / f"{study.config.scale}.yaml"
    if before and _has_other_rows(before, recording):
        return {path: _text(path, _with_added(before, recording))}
    _check_that_all_is_kept(before, path, recording)
    return {path: _text(path, recording)}


def _has_other_rows(before: Recording, new: Recording) -> bool:
    """Return whether a new run has the settings and the data of a recorded one, and rows that it lacks alone."""
    same = all(getattr(before, name) == getattr(new, name) for name in ("replacements", "runs", "samples"))
    return same and all(rows.keys().isdisjoint(before.tables.get(name, {})) for name, rows in new.tables.items())


def _with_added(before: Recording, new: Recording) -> Recording:
    """Return a recorded run with the rows of a new one, which it says are from that run."""

    def both(name: str) -> dict[str, Any]:
        old, more = getattr(before, name), getattr(new, name)
        return {table: {**old.get(table, {}), **more.get(table, {})} for table in {**old, **more}}

    added = Addition(run=new.run, rows={table: list(rows) for table, rows in new.tables.items()})
    merged = {name: both(name) for name in ("tables", "by_seed", "by_run")}
    several = max(before.distillations, new.distillations)
    return before.model_copy(update={**merged, "distillations": several, "added": [*before.added, added]})


def _check_that_all_is_kept(before: Recording | None, path: Path, recording: Recording) -> None:
    """Check that each cell with a recorded number has a number in the new run too.

    Raises:
        RetortError: recorded numbers would be lost.
    """
    lost = Counter(
        name
        for name, rows in (before.tables if before else {}).items()
        for row, cells in rows.items()
        for column in cells
        if column not in recording.tables.get(name, {}).get(row, {})
    )
    if lost:
        raise RetortError(
            f"{path} would lose its numbers of {', '.join(f'{name} ({count})' for name, count in lost.items())}",
            "run these tables first or, to keep only the new numbers, delete the file",
        )
