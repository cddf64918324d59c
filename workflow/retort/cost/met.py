"""Compare what finished jobs took with their estimates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from retort.cost.jobs import Job
from retort.cost.speed import Speed

MB = 1024**2


@dataclass(frozen=True)
class Met:
    """The finished jobs of a rule.

    Args:
        rule: the rule.
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
    by_rule = defaultdict[str, list[tuple[Job, dict[str, Any]]]](list)
    for job in jobs:
        if job.record and job.record.get("seconds"):
            by_rule[job.rule].append((job, job.record))
    return [_met(rule, ended, speed) for rule, ended in by_rule.items()]


def _met(rule: str, ended: list[tuple[Job, dict[str, Any]]], speed: Speed) -> Met:
    held = [record["max_rss_mb"] * MB for _, record in ended if "max_rss_mb" in record]
    return Met(
        rule=rule,
        jobs=len(ended),
        hours=sum(record["seconds"] for _, record in ended) / 3600,
        expected=sum(speed.hours(job.estimate.work) for job, _ in ended),
        ram=max(held, default=None),
        expected_ram=max(job.estimate.ram for job, _ in ended),
    )
