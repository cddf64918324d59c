"""Compare what finished jobs took with their estimates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from retort.cost.jobs import Job
from retort.cost.speed import Speed

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
