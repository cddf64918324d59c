"""Why a cell has no number of ours: decided here alone, as a status and the words that follow it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from retort.study import questions
from retort.study.questions import runs_at_scale, runs_on
from retort.study.study import Study

# what follows the words 'not run'; after the first two, a colon and more may stand
AT_SCALE, IN_BUDGET, NO_STUDENT = "at this scale", "in this budget", "since there is no student yet"


PLACES = (AT_SCALE, IN_BUDGET, NO_STUDENT)


class Status(StrEnum):
    """Whether a cell has a value of ours and, if not, the type of reason."""

    OK = "ok"
    DEV = "dev"  # measured on dev, where only a test server can compute the reported score
    AS_REPORTED = "as-reported"  # a text of the paper without a setting or count of ours to compare
    DIVERGED = "diverged"
    FAILED = "failed"  # a job that it needs failed
    MISSING = "missing"
    NOT_RUN = "not-run"  # at this scale, in this budget, or without a student
    QUOTED = "quoted"  # from other work
    SERVER = "server"  # only a test server can compute the score


HAS_VALUE = (Status.OK, Status.DEV)  # a cell with a value of ours

# status -> its sentence without a reason, and with one
_SENTENCES = {
    Status.OK: ("ok", "ok"),
    Status.DEV: ("on dev: only a server has the labels of the test set",) * 2,
    Status.AS_REPORTED: ("as the paper reports it", "as the paper reports it"),
    Status.DIVERGED: ("diverged", "diverged {reason}"),
    Status.FAILED: ("failed", "failed ({reason})"),
    Status.MISSING: ("missing", "missing ({reason})"),
    Status.NOT_RUN: (f"not run {AT_SCALE}", "not run {reason}"),
    Status.QUOTED: ("quoted", "quoted {reason}"),
    Status.SERVER: ("server", "server: {reason}"),
}


def sentence(status: Status, reason: str = "") -> str:
    """Return the status of a cell as pages and footnotes print it, such as 'diverged at step 42'."""
    without, within = _SENTENCES[status]
    return within.format(reason=reason) if reason else without


def is_of_scale(status: Status, reason: str) -> bool:
    """Return whether a cell is not run at this scale; a budget, or a row without a student, is no matter of scale."""
    return status is Status.NOT_RUN and not reason.startswith((IN_BUDGET, NO_STUDENT))


@dataclass(frozen=True)
class Reason:
    """Why a cell has no number of ours.

    Args:
        status: the type of reason.
        text: what follows it.
    """

    status: Status
    text: str = ""

    @property
    def sentence(self) -> str:
        """The status and its text as a sentence."""
        return sentence(self.status, self.text)


UNGIVEN = Reason(Status.NOT_RUN, NO_STUDENT)  # of a row without a student


def not_run(study: Study, student: str, *tasks: str) -> Reason | None:
    """Return why a student or teacher is not run at all, or on none of some tasks; None if it is run."""
    if not student:
        return UNGIVEN
    if student in study.not_run or (tasks and not any(runs_at_scale(study, student, task) for task in tasks)):
        return Reason(Status.NOT_RUN, ": ".join(filter(None, [AT_SCALE, study.not_run.get(student, "")])))
    if study.config.budget and tasks and not any(runs_on(study, student, task) for task in tasks):
        hours = study.config.budget.left_out.get(student)
        price = "" if hours is None else f": {student} takes {hours:,.3g} hours more"
        return Reason(Status.NOT_RUN, f"{IN_BUDGET}{price}")
    return None


def unscored(study: Study, student: str, task: str) -> Reason | None:
    """Return why this run plans no score of a student or teacher on a task; None if it plans one."""
    if why := not_run(study, student, task):
        return why
    if not study.config.run_sources.missing:
        return None
    return _missing(study, questions.of_student(study, student) | questions.of_task(study, task))


def unsent(study: Study, student: str, *tasks: str) -> Reason | None:
    """Return why this run answers the test sets of none of some tasks with a student; None if it answers any."""
    if why := not_run(study, student, *tasks):
        return why
    reasons = [
        unscored(study, student, task) or _missing(study, questions.of_submission(study, task)) for task in tasks
    ]
    return reasons[0] if all(reasons) else None


def unprofiled(study: Study, student: str) -> Reason | None:
    """Return why this run plans no profile of a student or teacher; None if it plans one."""
    return not_run(study, student) or _missing(study, questions.of_profile(study, student))


def failed(study: Study, paths: Iterable[str]) -> Reason | None:
    """Return why the first of some results that a job of this run failed to make is not there; None if none failed."""
    reasons = study.config.run_sources.failed
    return next((Reason(Status.FAILED, reasons[path]) for path in paths if path in reasons), None)


def _missing(study: Study, needed: set[str]) -> Reason | None:
    """Return why something that needs these names cannot be made in this run; None if it can."""
    why = study.config.run_sources.missing
    return next((Reason(Status.MISSING, why[name]) for name in sorted(needed & why.keys())), None)
