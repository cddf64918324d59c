"""Read score and profile files and measure cells by them; a file made with other settings is refused."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from retort.errors import RetortError
from retort.plan import resolve
from retort.plan.sharing import grid_parts
from retort.results.frames import AGAIN, INCOMPLETE, joined, run_text, seed_text
from retort.results.score_files import Record, check_score, name_of_score, read_record, read_score_file
from retort.settings.inputs import first_difference
from retort.settings.trainings import points_of
from retort.settings.trials import best_trial, read_trials
from retort.study.addresses import SCORE_FILE, score_file_of_seed, score_folder, seeds_in
from retort.study.distillations import distillations_of
from retort.study.questions import further_timings, grid_of, seeds_of
from retort.study.reasons import Reason, Status, failed, is_of_scale, sentence, unscored
from retort.study.study import Study

Scores = dict[tuple[str, str, int], Record]


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _check_origin(name: str, record: Record, expected: Any, address: Record) -> None:
    """Check that the address and the settings of a result are those of the study.

    Raises:
        RetortError: it belongs to another address, or was made with other settings.
    """
    for key, value in address.items():
        if record.get(key) != value:
            raise RetortError(f"{name} is of {key} {_short(record.get(key))}, not {_short(value)}", AGAIN)
    if differs := first_difference(record["settings"], expected):
        where, recorded, required = differs
        raise RetortError(
            f"{name} was made with other settings: {where} is {_short(recorded)} in it "
            f"and {_short(required)} in the study",
            AGAIN,
        )


def read_scores(study: Study, paths: Iterable[Path | str]) -> Scores:
    """Read files of scores and return the scores by (student, task, seed).

    Raises:
        RetortError: a file was made with other settings than the study's, does not belong at its address, or does not
            follow from the answers next to it.
    """
    scores: Scores = {}
    for path in map(Path, paths):
        student, task = path.parent.parent.name, path.parent.name
        named, known = SCORE_FILE.fullmatch(path.name), student in study.students or student in study.teachers
        if not (known and task in study.tasks and named):
            raise RetortError(f"{path} is not the address of scores of this study", "see `retort list`")
        settings, records = resolve.score(study, student, task), read_score_file(path)
        expected, seeds = settings.as_json(), seeds_in(named[1])
        if [record.get("seed") for record in records] != seeds:
            raise RetortError(f"{path} does not hold one score for each of its seeds", AGAIN)
        for seed, record in zip(seeds, records, strict=True):
            _check_origin(name_of_score(path, record), record, expected, {"student": student, "task": task})
            again, measured = check_score(path, record, settings.task), study.tasks[task].measures(record["split"])
            # the task may have named a further metric after the training
            record["metrics"] = {name: again[name] for name in measured if name in again} | record["metrics"]
            scores[student, task, seed] = record
    return scores


def read_profiles(study: Study, paths: Iterable[Path | str]) -> dict[str, Record]:
    """Read profile files and return them by student.

    Raises:
        RetortError: a file was made with other settings than the study's, or does not belong at its address.
    """
    profiles, timings = {}, further_timings(study)
    for path in map(Path, paths):
        if path.stem not in study.students and path.stem not in study.teachers:
            raise RetortError(f"{path} is not the address of a profile of this study", "see `retort list`")
        profiles[path.stem] = record = read_record(path)
        _check_origin(str(path), record, resolve.profile(study, path.stem, timings).as_json(), {"student": path.stem})
    return profiles


def value_of(record: Record, metric: str) -> float | None:
    """Return a score times 100; None if training diverged, the metric is not defined, or the rows have no labels.

    Raises:
        RetortError: the score has no such metric.
    """
    if record["status"] != Status.OK:
        return None
    if metric not in record["metrics"]:
        if record.get("unlabelled"):
            return None
        name = f"{score_folder(record['student'], record['task'])}, seed {record['seed']}"
        raise RetortError(f"{name}, has no metric '{metric}'", AGAIN)
    value = 100 * float(record["metrics"][metric])
    return value if math.isfinite(value) else None


def _seeds(seeds: list[int]) -> str:
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"


def sample_note(records: Iterable[Record]) -> str:
    """Return a note with the rows of each sample that scores were measured on; empty if all data was used."""
    rows = {name: count for record in records for name, count in record.get("sample", {}).items()}
    counts = ", ".join(f"{name} {count:,} of {whole:,} rows" for name, (count, whole) in rows.items())
    return f"measured on a sample: {counts}" if rows else ""


@dataclass(frozen=True)
class MeasuredCell:
    """What was measured for a cell: the columns of its line in a frame (`results/frames.py`) that come from our runs.

    Args:
        student: the student that is shown, if the cell shows the best of several.
        by_run: (distillation seed, fine-tuning seed) -> score, of a student that is distilled on a corpus.
    """

    mean: float | None = None
    std: float | None = None
    n: int = 0
    by_seed: Mapping[int, float] = field(default_factory=dict)
    by_run: Mapping[tuple[int, int], float] = field(default_factory=dict)
    status: Status = Status.OK
    reason: str = ""
    note: str = ""
    dev: float | None = None
    best_of: str = ""
    best_point: str = ""
    rerun: float | None = None
    rerun_std: float | None = None
    rerun_n: int = 0
    student: str = ""

    @property
    def trained_again(self) -> MeasuredCell:
        """The score of a point of a grid that was trained again, alone; what is no best of a grid stays."""
        if self.rerun is None:
            return self
        again = MeasuredCell(self.rerun, self.rerun_std, self.rerun_n, self.by_seed, self.by_run)
        return replace(again, status=self.status, reason=self.reason, note=self.note)

    @property
    def state(self) -> str:
        """The status and its reason as a sentence."""
        return sentence(self.status, self.reason)

    def as_columns(self) -> dict[str, Any]:
        """Return the columns of its line."""
        columns = {name: value for name, value in vars(self).items() if name != "student" or value}
        texts = {"by_seed": seed_text(self.by_seed), "by_run": run_text(self.by_run), "status": self.status.value}
        return {**columns, **texts, "distillations": len({first for first, _ in self.by_run})}


def measured(values: list[float]) -> MeasuredCell:
    """Return mean (None without values), sample deviation (None below two values) and number of some values."""
    mean = statistics.mean(values) if values else None
    return MeasuredCell(mean, statistics.stdev(values) if len(values) > 1 else None, len(values))


def without_value(why: Reason, dev: float | None = None) -> MeasuredCell:
    """Return what stands for a cell without a value of ours."""
    return MeasuredCell(status=why.status, reason=why.text, dev=dev)


ON_BOTH_SIDES = "the best of a grid compared with the best of a grid"
OF_ONE = "reported: the best of a grid; ours is no best of one: {why}"


def best_next_to(score: float, point: str, rerun: MeasuredCell) -> MeasuredCell:
    """Return the best of a grid, with what was measured of its point, trained again, next to it."""
    again = replace(rerun, rerun=rerun.mean, rerun_std=rerun.std, rerun_n=rerun.n)
    return replace(again, mean=score, std=None, n=1, best_of=ON_BOTH_SIDES, best_point=point)


def measure_score(study: Study, scores: Scores, student: str, task: str, metric: str) -> MeasuredCell:
    """Return what was measured for the cell of one score; its mean is None unless every run has a value.

    The runs of a student with several distillations are these: each counts once, by the mean of its fine-tunings.
    """
    seeds = distillations_of(study, student)
    each = {seed: _measure_one(study, scores, name, task, metric) for seed, name in seeds.items()}
    if not each:
        return _measure_one(study, scores, student, task, metric)
    if without := next((one for one in each.values() if one.mean is None), None):
        return without
    by_run = {(first, seed): score for first, one in each.items() for seed, score in one.by_seed.items()}
    own = each[next(iter(each))]
    if len(each) == 1:
        return replace(own, by_run=by_run)
    means = {seed: one.mean or 0.0 for seed, one in each.items()}
    return replace(measured(list(means.values())), by_seed=means, by_run=by_run, note=own.note)


def diverged_at(records: Iterable[Record], runs: int = 1) -> Reason | None:
    """Return at which steps the trainings behind scores diverged, and how many of several runs; None if none did."""
    steps = sorted(record["step"] for record in records if record["status"] == Status.DIVERGED)
    some = f" ({len(steps)} of {runs} seeds)" if runs > 1 else ""
    return Reason(Status.DIVERGED, f"at step {', '.join(map(str, steps))}{some}") if steps else None


def _measure_one(study: Study, scores: Scores, student: str, task: str, metric: str) -> MeasuredCell:
    """Return what was measured under the seeds of a task-specific student, a teacher or one distillation."""
    if why := unscored(study, student, task):
        return without_value(why)
    seeds = seeds_of(study, student)
    records = {seed: scores[student, task, seed] for seed in seeds if (student, task, seed) in scores}
    values = {seed: value_of(record, metric) for seed, record in records.items()}
    good = {seed: value for seed, value in values.items() if value is not None}
    note = sample_note(records.values())
    if len(good) == len(seeds):
        return replace(measured(list(good.values())), by_seed=good, note=note)
    absent = [seed for seed in seeds if seed not in records]
    undefined = [seed for seed in records if seed not in good]
    not_made = failed(study, (score_file_of_seed(study, student, task, seed) for seed in absent))
    if why := diverged_at(records.values(), len(seeds)) or not_made:
        found = why
    elif absent:
        found = Reason(Status.MISSING, f"{_seeds(absent)} of {len(seeds)}")
    elif any(records[seed].get("unlabelled") for seed in undefined):
        found = Reason(Status.MISSING, "the rows have no labels")
    else:
        found = Reason(Status.MISSING, f"not defined for {_seeds(undefined)}")
    return replace(without_value(found), n=len(good), note=note)


def mean_of(cells: Iterable[MeasuredCell]) -> MeasuredCell:
    """Return the mean of some cells: first a mean for each seed, then the mean and deviation of these over seeds.

    Only seeds that every cell has count. The mean has no value if a cell has none: an average of the others would
    mislead. A mean is the best of grids if each of its cells is; else what was trained again counts.
    """
    cells = list(cells)
    if any(cell.rerun is not None for cell in cells):
        again = mean_of(cell.trained_again for cell in cells)
        if again.status is not Status.OK or any(cell.rerun is None for cell in cells):
            return again
        return best_next_to(statistics.mean(cell.mean or 0.0 for cell in cells), "the mean of such points", again)
    if not cells or any(cell.mean is None for cell in cells):
        return without_value(Reason(Status.MISSING, INCOMPLETE))
    each = [cell.by_seed for cell in cells]
    if not (seeds := sorted(set.intersection(*map(set, each)))):
        return without_value(Reason(Status.MISSING, "its cells have no seed in common"))
    by_seed = {seed: statistics.mean(scores[seed] for scores in each) for seed in seeds}
    runs = set.intersection(*({*cell.by_run} for cell in cells))
    by_run = {run: statistics.mean(cell.by_run[run] for cell in cells) for run in sorted(runs)}
    note = "the mean of cells measured on samples" if any(cell.note for cell in cells) else ""
    said = {cell.best_of for cell in cells}
    best_of = said.pop() if len(said) == 1 else OF_ONE.format(why="not all cells of its row are")
    return replace(measured(list(by_seed.values())), by_seed=by_seed, by_run=by_run, note=note, best_of=best_of)


Named = list[tuple[str, MeasuredCell]]  # the cells of a mean, each with the name of its task or column


def _those_run(study: Study, cells: Named) -> Named:
    """Drop the cells that a reduced scale does not run, so that a mean is over the others; keep all if none is run."""
    run = [(name, cell) for name, cell in cells if not is_of_scale(cell.status, cell.reason)]
    return (run if study.scale.replacements else cells) or cells


def mean_of_those_run(study: Study, cells: Named, noun: str) -> MeasuredCell:
    """Return the mean of the cells that the scale runs; a note names their tasks or columns if these are not all."""
    run = _those_run(study, cells)
    mean = mean_of(cell for _, cell in run)
    if mean.status is not Status.OK or len(run) == len(cells):
        return mean
    note = f"the mean of {', '.join(dict.fromkeys(name for name, _ in run))}: this scale runs no other {noun} of it"
    return replace(mean, note=joined(note, mean.note))


def measure_mean_score(study: Study, scores: Scores, student: str, scored: list[tuple[str, str]]) -> MeasuredCell:
    """Return what was measured for a cell of scores: the mean over its tasks, which may be one.

    Args:
        study: the study.
        scores: the scores that have been run.
        student: the student or teacher.
        scored: the (task, metric) pairs of the cell.
    """
    cells = [(task, measure_score(study, scores, student, task, metric)) for task, metric in scored]
    first = next((cell for _, cell in _those_run(study, cells)), None)
    if first and (len(cells) == 1 or first.status is Status.NOT_RUN):
        return first
    return mean_of_those_run(study, cells, "task")


# --- the best trials of our grids, which verdicts compare with reported numbers that are the best of a grid


@dataclass(frozen=True)
class BestTrial:
    """The best point of a student's grid on a task.

    Args:
        score: its metric on dev, times 100.
        point: its number, its settings and the seed, as text.
        path: the file that holds the trial.
    """

    score: float
    point: str
    path: str


BestTrials = Mapping[tuple[str, str], BestTrial]  # (student, task) -> the best point of its grid


def read_best(study: Study, pairs: Iterable[tuple[str, str]]) -> BestTrials:
    """Return the best trial of each (student, task) whose grid is finished and has a point that did not diverge.

    Raises:
        RetortError: a file holds other trials than those of the grid's points.
    """
    found = {}
    for student, task in pairs:
        files, grid = grid_parts(study, student, task), grid_of(study, student, task)
        if grid is None or not all(Path(path).is_file() for path in files):
            continue
        points = points_of(grid)
        if best := best_trial(read_trials(files, points)):
            changed = ", ".join(f"{name} {value}" for name, value in best.point.as_json().items())
            point = f"point {best.number} of {len(points)} ({changed}, seed {grid.seed})"
            path = files[(best.number - 1) % len(files)]  # as `places_of` divides the points
            found[student, task] = BestTrial(100 * (best.dev or 0.0), point, path)
    return found
