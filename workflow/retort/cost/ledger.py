"""What each table takes: a line a table, a job counted in the first table that needs it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from retort.cost.jobs import Job, Jobs
from retort.errors import RetortError
from retort.plan import Plan
from retort.registry import unknown
from retort.specs.book import Book


@dataclass(frozen=True)
class Bill:
    """What one table takes, or all of them.

    Args:
        jobs: those that no table before it needs.
        done: of them, those whose results are there, or are needed by nothing that is still to be made.
        own: FLOPs of these jobs.
        shared: FLOPs of the jobs that a table before it needs too.
        left: FLOPs of the own jobs that are still to be run.
    """

    name: str
    jobs: int = 0
    done: int = 0
    own: float = 0.0
    shared: float = 0.0
    left: float = 0.0


def _flops(jobs: Iterable[Job]) -> float:
    return sum(job.flops for job in jobs)


def chosen(book: Book, names: list[str]) -> list[tuple[str, str]]:
    """(paper, table or figure) of all that is named, in the order of the report; all of the book where nothing is.

    Args:
        book: the study.
        names: 'paper' or 'paper/table'.

    Raises:
        RetortError: there is no such paper, table or figure.
    """
    every = [(paper, name) for paper in book.papers for name in book.shown(paper)]
    for name in names:
        paper, _, table = name.partition("/")
        if paper not in book.papers:
            raise unknown("paper", paper, book.papers)
        if table and (paper, table) not in every:
            raise unknown(f"table or figure of '{paper}'", table, book.shown(paper))
    wanted = set(names)
    return [key for key in every if not names or key[0] in wanted or "/".join(key) in wanted]


def bills(plan: Plan, jobs: Jobs, exhibits: list[tuple[str, str]]) -> list[Bill]:
    """A bill a table or figure that needs any job, and the total last."""
    seen: dict[str, Job] = {}
    found = []
    for paper, name in exhibits:
        targets = [*plan.scores(paper, name), *plan.profiles(paper, name)]
        needed = {job.address: job for job in jobs.behind(targets)}
        left = {job.address for job in jobs.behind(targets, stop_at_done=True)}
        own = [job for address, job in needed.items() if address not in seen]
        open_ = [job for job in own if job.address in left]
        shared = _flops(job for address, job in needed.items() if address in seen)
        if needed:
            found.append(
                Bill(f"{paper}/{name}", len(own), len(own) - len(open_), _flops(own), shared, _flops(open_))
            )
        seen |= needed
    if not found:
        raise RetortError("no table or figure of these runs anything at this scale", "see `retort list tables`")
    total = Bill(
        "total", sum(b.jobs for b in found), sum(b.done for b in found), sum(b.own for b in found), 0.0,
        sum(b.left for b in found),
    )  # fmt: skip
    return [*found, total]
