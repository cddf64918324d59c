"""Expand tables and figures into cells, one per score: from these the workflow knows which files it needs."""

from __future__ import annotations

from dataclasses import dataclass

from retort.specs.exhibit import Exhibit, profiled_models
from retort.specs.rows import CellSpec
from retort.study import questions, reasons
from retort.study.addresses import profile_address, score_files, submission_address
from retort.study.distillations import trained_anew
from retort.study.questions import seeds_of
from retort.study.reasons import Status
from retort.study.study import Study


@dataclass(frozen=True)
class Cell:
    """One score that a table or figure reads, and the row and column that show it."""

    paper: str
    table: str
    row: str
    column: str
    student: str
    task: str
    metric: str
    seed: int


def held_back(study: Study, cell: CellSpec) -> list[str]:
    """Return the tasks of a cell whose test labels only a server has."""
    if cell.split != "test":
        return []
    splits = {task: study.tasks[task].splits.get("test") for task, _ in cell.scored if task in study.tasks}
    return [task for task, split in splits.items() if split and not split.labelled]


def sent_tasks(study: Study, cell: CellSpec) -> list[str]:
    """Return the tasks of a cell that a server scores; none at a scale without submissions, where dev stands in."""
    return held_back(study, cell) if study.scale.submissions else []


def is_on_dev(study: Study, cell: CellSpec) -> bool:
    """Return whether a cell of a test set shows our score on dev, because the scale sends nothing to a server."""
    return not study.scale.submissions and bool(held_back(study, cell))


def scored(study: Study, exhibit: Exhibit) -> list[tuple[str, str, str, str, str]]:
    """Return (row, column, student, task, metric) for each score of a table or figure that is computed here."""
    return [
        (cell.row, cell.column, student, task, metric)
        for cell in exhibit.cells()
        if not sent_tasks(study, cell)
        for student in cell.students
        for task, metric in cell.scored
    ]


def without_best(study: Study, cell: CellSpec) -> str:
    """Return why no best of a grid of ours is held against a reported one; empty if one is.

    A scale with replacements trains other models than the paper, so that nothing is held against the reported numbers:
    a mean over seeds tells more there than one maximum.
    """
    if study.scale.replacements:
        return "this scale has other models"
    for task, metric in cell.scored:
        spec, protocol = study.tasks[task], questions.protocol_of(study, cell.student)
        if questions.grid_of(study, cell.student, task) is None:
            return "it has no grid"
        if metric != (by := questions.chosen_by(study, protocol, task)):
            return f"its grid is scored by {by}"
        if (cell.split or spec.evaluation_split) != spec.validation_split:
            return "its grid is scored on another split"
    return ""


def gridded(study: Study, exhibit: Exhibit) -> list[tuple[str, str]]:
    """Return the (student, task) pairs of a table whose best of a grid is held against the reported one."""
    cells = [cell for cell in exhibit.cells() if cell.best_of and not without_best(study, cell)]
    pairs = dict.fromkeys((cell.student, task) for cell in cells for task, _ in cell.scored)
    return [pair for pair in pairs if not reasons.unscored(study, *pair)]


def served(study: Study, exhibit: Exhibit) -> list[tuple[str, str]]:
    """Return the (student, task) pairs of a table that are run here but scored only by a server."""
    pairs = [(cell.student, task) for cell in exhibit.cells() for task in held_back(study, cell)]
    return list(dict.fromkeys(pair for pair in pairs if not reasons.unsent(study, *pair)))


def sent_runs(study: Study, exhibit: Exhibit) -> set[tuple[str, str, int]]:
    """Return (student, task, seed) of the runs whose answers a server scores; tables show their dev scores, too."""
    return {(student, task, seeds_of(study, student)[0]) for student, task in served(study, exhibit)}


def profiled(study: Study, exhibit: Exhibit) -> list[str]:
    """Return the students and teachers whose profile a table or figure reads, without those that cannot be run."""
    return [student for student in profiled_models(exhibit) if not reasons.unprofiled(study, student)]


def left_out(study: Study, exhibit: Exhibit) -> list[str]:
    """Return why a run leaves cells of a table or figure out that its scale would make, each reason once."""
    pairs, paths = dict.fromkeys((student, task) for _, _, student, task, _ in scored(study, exhibit)), list[str]()
    if study.config.run_sources.failed:
        paths += [path for pair in pairs for path in score_files(study, *pair)]
        paths += [profile_address(student) for student in profiled_models(exhibit)]
        paths += [submission_address(study, student) for student, _ in served(study, exhibit)]
    found = [reasons.unscored(study, *pair) for pair in pairs]
    found += [reasons.unprofiled(study, student) for student in profiled_models(exhibit)]
    found += [reasons.unsent(study, cell.student, task) for cell in exhibit.cells() for task in sent_tasks(study, cell)]
    found += [reasons.failed(study, [path]) for path in paths]
    return sorted({why.text for why in found if why and why.status is not Status.NOT_RUN})


def expand(study: Study) -> list[Cell]:
    """Return every scored cell of every table and figure, once per seed."""
    return [
        Cell(paper, table, row, column, name, task, metric, seed)
        for (paper, table), exhibit in sorted(study.exhibits.items())
        for row, column, student, task, metric in scored(study, exhibit)
        for name in trained_anew(study, student)
        if not reasons.unscored(study, name, task)
        for seed in seeds_of(study, name)
    ]


# --- what all tables and figures together need


def submitted(study: Study) -> list[tuple[str, str]]:
    """Return the (student, task) pairs that some table of the study shows and only a server can score."""
    return list(dict.fromkeys(pair for exhibit in study.exhibits.values() for pair in served(study, exhibit)))


def tasks_scored(study: Study) -> set[str]:
    """Return the names of the tasks on which some cell of the study is scored, here or by a server."""
    sent = submitted(study) if study.scale.submissions else []
    return {cell.task for cell in expand(study)} | {task for _, task in sent}


def required(study: Study) -> set[str]:
    """Return the names of what the cells and profiles of the study need: 'models/roberta-base', 'sources/cc100', ..."""
    sent = submitted(study) if study.scale.submissions else []
    students = {cell.student for cell in expand(study)} | {student for student, _ in sent}
    profiles = {name for exhibit in study.exhibits.values() for name in profiled(study, exhibit)}
    return set().union(
        *(questions.of_student(study, student) for student in students),
        *(questions.of_profile(study, name) for name in profiles),
        *(questions.of_task(study, task) for task in tasks_scored(study)),
        *(questions.of_submission(study, task) for _, task in sent),
    )


def of_folder(folder: str, names: set[str]) -> set[str]:
    """Return the names of one folder among names such as 'sources/cc100'."""
    return {name.split("/", 1)[1] for name in names if name.startswith(f"{folder}/")}
