"""Expand tables and figures into cells, one per score file: from these the workflow knows which files it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retort.specs.table import LayersFigure, ParetoFigure, ProfilesTable, ScoresTable

if TYPE_CHECKING:
    from retort.specs.book import Book
    from retort.specs.rows import Place


@dataclass(frozen=True)
class Cell:
    """One score file that a table or figure reads, and the row and column that show the score."""

    paper: str
    table: str
    row: str
    column: str
    student: str
    task: str
    metric: str
    seed: int


def score_address(student: str, task: str, seed: int) -> str:
    """Return the path of a score file, the same for task-specific and task-agnostic distillation."""
    return f"results/scores/{student}/{task}/seed-{seed}.json"


def answers_address(score: str) -> str:
    """Return the path of the predictions that a score was computed from, a file beside the score file."""
    return score.removesuffix(".json") + ".answers.json"


def seeds_of(book: Book, student: str) -> list[int]:
    """Return the seeds under which a student or teacher is scored; a teacher has one."""
    if student in book.teachers:
        return [book.teachers[student].seed]
    return book.protocols[book.students[student].protocol].seeds


def held_back(book: Book, place: Place) -> list[str]:
    """Return the tasks of a cell whose test labels only a server has, so that no score can be computed here."""
    if place.split != "test":
        return []
    splits = {task: book.tasks[task].splits.get("test") for task, _ in place.scored if task in book.tasks}
    return [task for task, split in splits.items() if split and not split.labelled]


def scored(book: Book, table: object) -> list[tuple[str, str, str, str, str]]:
    """Return (row label, column label, student, task, metric) for each score that a table or figure shows."""
    if isinstance(table, ScoresTable):
        return [
            (place.row, place.column, place.student, task, metric)
            for place in table.places()
            if not held_back(book, place)
            for task, metric in place.scored
        ]
    if isinstance(table, LayersFigure):
        names = [(f"layer {layer}", student) for layer, student in sorted(table.points.items())]
        names += [(row.label, row.student) for row in table.references]
        return [(label, table.metric, student, table.task, table.metric) for label, student in names]
    if isinstance(table, ParetoFigure):
        return [(row.label, table.metric, row.student, table.task, table.metric) for row in table.points]
    return []


def submission_address(book: Book, student: str) -> str:
    """Return the path of the zip that the server takes for a student or teacher; it is made from the first seed."""
    return f"reports/submissions/{student}/seed-{seeds_of(book, student)[0]}.zip"


def served(book: Book, table: object) -> list[tuple[str, str]]:
    """Return the (student, task) pairs of a table that are run here but scored only by a server."""
    places = table.places() if isinstance(table, ScoresTable) else []
    pairs = [(place.student, task) for place in places for task in held_back(book, place)]
    return list(dict.fromkeys(pair for pair in pairs if runs(book, *pair)))


def profiled(book: Book, table: object) -> list[str]:
    """Return the students and teachers whose profile a table or figure reads, without those not run at this scale."""
    return [student for student in _profiled(table) if student not in book.idle]


def _profiled(table: object) -> list[str]:
    if isinstance(table, (ProfilesTable, ScoresTable)):
        found = [place.student for place in table.places() if place.student and place.profiled]
        return list(dict.fromkeys([*found, *([table.first] if table.timed else [])]))
    if isinstance(table, ParetoFigure):
        return [row.student for row in table.points]
    return []


def runs(book: Book, student: str, task: str) -> bool:
    """Return whether a student or teacher runs on a task: False if its own task list or the scale leaves it out."""
    if student in book.idle or not book.runs_task(student, task):
        return False
    tasks = book.students[student].tasks if student in book.students else None
    return tasks is None or task in tasks


def expand(book: Book) -> list[Cell]:
    """Return every scored cell of every table and figure, once per seed."""
    return [
        Cell(paper, name, row, column, student, task, metric, seed)
        for (paper, name), table in sorted(book.exhibits.items())
        for row, column, student, task, metric in scored(book, table)
        if runs(book, student, task)
        for seed in seeds_of(book, student)
    ]
