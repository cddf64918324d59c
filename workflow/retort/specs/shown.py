"""What a table or figure shows of students and teachers, as it follows from its answers, whatever its kind."""

from __future__ import annotations

from retort.specs.exhibit import Exhibit
from retort.specs.printed import Timing


def shown_students(exhibit: Exhibit) -> list[str]:
    """Return the students and teachers that it names, each once."""
    students = [student for cell in exhibit.cells() for student in cell.students]
    trained = [student for student, _ in exhibit.trainings()]
    return list(dict.fromkeys([*students, *filter(None, [exhibit.first]), *trained]))


def scored_metrics(exhibit: Exhibit) -> list[tuple[str, str]]:
    """Return the (task, metric) pairs of its scores, each once."""
    return list(dict.fromkeys(pair for cell in exhibit.cells() for pair in cell.scored))


def student_metrics(exhibit: Exhibit, student: str) -> list[tuple[str, str]]:
    """Return the (task, metric) pair of every score that it shows of a student, in the order of its cells."""
    return [pair for cell in exhibit.cells() if student in cell.students for pair in cell.scored]


def timed_models(exhibit: Exhibit) -> dict[str, set[Timing]]:
    """Return the latency measurements that it requires: student or teacher -> measurements."""
    timed, first = dict[str, set[Timing]](), exhibit.first
    for cell in exhibit.cells():
        for name in (cell.student, first) if cell.is_timed else ():
            timed.setdefault(name, set()).add(cell.measurement)
    return timed


def profiled_models(exhibit: Exhibit) -> list[str]:
    """Return the students and teachers whose profile it reads, each once."""
    students = [cell.student for cell in exhibit.cells() if cell.student and cell.profiled]
    return list(dict.fromkeys([*students, *timed_models(exhibit)]))
