"""The cost of each table; a job that several tables need is counted in the first of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from retort.cost.jobs import Job, Jobs
from retort.errors import RetortError
from retort.plan.plan import Plan
from retort.registry import unknown
from retort.study.study import Study


@dataclass(frozen=True)
class Load:
    """A number of jobs and the sum of their FLOPs."""

    jobs: int = 0
    flops: float = 0.0

    def __add__(self, other: Load) -> Load:
        """Return the sum of two loads."""
        return Load(self.jobs + other.jobs, self.flops + other.flops)


@dataclass(frozen=True)
class Bill:
    """The jobs that one table needs, or all tables together.

    Args:
        name: 'paper/table', or 'total'.
        own: the jobs that no earlier table needs.
        shared: the jobs that an earlier table needs too.
        left: the own jobs that still have to run; a job whose result is read only by finished jobs need not.
    """

    name: str
    own: Load
    shared: Load
    left: Load


def _load(jobs: Iterable[Job]) -> Load:
    return sum((Load(1, job.flops) for job in jobs), Load())


def selected_exhibits(study: Study, names: list[str]) -> list[tuple[str, str]]:
    """Return the (paper, table or figure) pairs that are named, in the order of the report; all if nothing is named.

    Args:
        study: the study.
        names: each 'paper' or 'paper/table'.

    Raises:
        RetortError: there is no such paper, table or figure.
    """
    every = [(paper, name) for paper in study.papers for name in study.exhibits_of(paper)]
    for name in names:
        paper, _, table = name.partition("/")
        if paper not in study.papers:
            raise unknown("paper", paper, study.papers)
        if table and (paper, table) not in every:
            raise unknown(f"table or figure of '{paper}'", table, study.exhibits_of(paper))
    selected = set(names)
    return [key for key in every if not names or key[0] in selected or "/".join(key) in selected]


def bills_of(plan: Plan, jobs: Jobs, exhibits: list[tuple[str, str]]) -> list[Bill]:
    """Return a bill for each table or figure that needs any job, and the total as the last one.

    Raises:
        RetortError: none of them needs a job.
    """
    seen: dict[str, Job] = {}
    listed = []
    for paper, name in exhibits:
        targets = [*plan.scores(paper, name), *plan.profiles(paper, name)]
        needed = {job.address: job for job in jobs.behind(targets)}
        left = {job.address for job in jobs.behind(targets, stop_at_done=True)}
        own = [job for address, job in needed.items() if address not in seen]
        shared = [job for address, job in needed.items() if address in seen]
        if needed:
            unfinished = [job for job in own if job.address in left]
            listed.append(Bill(f"{paper}/{name}", _load(own), _load(shared), _load(unfinished)))
        seen |= needed
    if not listed:
        raise RetortError("no table or figure of these runs anything at this scale", "see `retort list tables`")
    own_of_all = sum((bill.own for bill in listed), Load())
    return [*listed, Bill("total", own_of_all, Load(), sum((bill.left for bill in listed), Load()))]
