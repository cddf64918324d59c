"""The cost of each table; a job that several tables need is counted in the first of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from retort.cost.jobs import Job, Jobs
from retort.cost.speed import Speed
from retort.cost.work import NONE, Work
from retort.errors import RetortError
from retort.plan.exhibits import ENDINGS, audit_page, pages
from retort.plan.plan import Plan
from retort.registry import unknown
from retort.study.study import Study

PAGES = "pages and audit"


@dataclass(frozen=True)
class Load:
    """A number of jobs and the sum of their work.

    Args:
        jobs: the number of jobs.
        models: how many of them train or run a model.
        work: the work of the jobs with a model.
        others: the work of the other jobs.
    """

    jobs: int = 0
    models: int = 0
    work: Work = NONE
    others: Work = NONE

    def __add__(self, other: Load) -> Load:
        """Return the sum of two loads."""
        return Load(
            self.jobs + other.jobs, self.models + other.models, self.work + other.work, self.others + other.others
        )


@dataclass(frozen=True)
class Bill:
    """The jobs that one table needs, or all tables together.

    Args:
        name: 'paper/table', 'pages and audit' or 'total'.
        own: the jobs that no earlier table needs.
        shared: the jobs that an earlier table needs, too.
        left: the own jobs that still have to run; jobs whose results only finished jobs read are left out.
    """

    name: str
    own: Load
    shared: Load
    left: Load


def _load(jobs: Iterable[Job]) -> Load:
    return sum((_load_of(job) for job in jobs), Load())


def _load_of(job: Job) -> Load:
    work = job.estimate.work
    return Load(1, 1, work=work) if job.estimate.runs_model else Load(1, 0, others=work)


def selected_exhibits(study: Study, names: list[str]) -> list[tuple[str, str]]:
    """Return the named tables and figures as (paper, name), in the order of the report; all if nothing is named.

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


def targets_of(plan: Plan, exhibits: list[tuple[str, str]], whole: bool) -> dict[str, list[str]]:
    """Return name -> files for each table and figure, and for the pages if the whole study is asked for."""
    noun_of = {name: next(noun for noun in ENDINGS if name.startswith(noun)) for _, name in exhibits}
    files = {f"{paper}/{name}": [f"reports/{paper}/{name}.{ENDINGS[noun_of[name]]}"] for paper, name in exhibits}
    return files | ({PAGES: ["reports/index.html", *pages(plan.study), *audit_page(plan.study)]} if whole else {})


def bills_of(jobs: Jobs, targets: dict[str, list[str]]) -> list[Bill]:
    """Return a bill for each table or figure, and the total as the last one.

    Args:
        jobs: the jobs of the plan.
        targets: name -> the files that are made for it.

    Raises:
        RetortError: none of them trains or runs a model.
    """
    seen: dict[str, Job] = {}
    bills = []
    for name, files in targets.items():
        needed = {job.key: job for job in jobs.behind(files)}
        left = {job.key for job in jobs.behind(files, stop_at_done=True)}
        own = [job for key, job in needed.items() if key not in seen]
        shared = [job for key, job in needed.items() if key in seen]
        bills.append(Bill(name, _load(own), _load(shared), _load(job for job in own if job.key in left)))
        seen |= needed
    total, left_of_all = (sum(loads, Load()) for loads in ((b.own for b in bills), (b.left for b in bills)))
    if not total.models:
        raise RetortError("no table or figure of these runs anything at this scale", "see `retort list tables`")
    return [*bills, Bill("total", total, Load(), left_of_all)]


def models_behind(jobs: Jobs, targets: dict[str, list[str]]) -> list[Job]:
    """Return the jobs behind some files that train or run a model, each once."""
    return [job for job in jobs.behind(files_of(targets)) if job.estimate.runs_model]


def files_of(targets: dict[str, list[str]]) -> list[str]:
    """Return the files of all tables and figures, in one list."""
    return [path for paths in targets.values() for path in paths]


# Compare what finished jobs took with their estimates.


MB = 1024**2


@dataclass(frozen=True)
class Met:
    """The finished jobs of a rule.

    Args:
        rule: the kind of the rule.
        jobs: the number of finished jobs with a recorded time.
        hours: their recorded hours.
        expected: their estimated hours.
        ram: the largest recorded memory, in bytes; None without a record.
        expected_ram: the largest estimated memory, in bytes.
    """

    rule: str
    jobs: int
    hours: float
    expected: float
    ram: float | None
    expected_ram: float

    @property
    def ratio(self) -> float:
        """Hours taken for each hour of the estimates."""
        return self.hours / self.expected


def met_of(jobs: Iterable[Job], speed: Speed) -> list[Met]:
    """Return what the finished jobs of each rule took, for the rules whose results record their time.

    Args:
        jobs: jobs that train or run a model; unfinished ones, and those with other settings, are left out.
        speed: the speed that turns estimates into hours.
    """
    by_kind = defaultdict[str, list[Job]](list)
    for job in jobs:
        if job.records and job.done and all(record.get("seconds") for record in job.records):
            by_kind[job.rule.kind].append(job)
    return [_met(kind, ended, speed) for kind, ended in by_kind.items()]


def _met(rule: str, ended: list[Job], speed: Speed) -> Met:
    records = [record for job in ended for record in job.records]
    held = [record["max_rss_mb"] * MB for record in records if "max_rss_mb" in record]
    return Met(
        rule=rule,
        jobs=len(ended),
        hours=sum(record["seconds"] for record in records) / 3600,
        expected=sum(speed.hours(job.estimate.work) for job in ended),
        ram=max(held, default=None),
        expected_ram=max(job.estimate.ram for job in ended),
    )
