"""What finished jobs took, held against their estimates."""

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
        jobs: how many have ended and say how long they took.
        hours: what they took, by their own clocks.
        expected: the hours of their estimates.
        ram: the most memory that one of them held, in bytes; None if none says it.
        expected_ram: the most memory that the estimate of one of them has.
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
    """Return, for each rule whose results hold their time, what its finished jobs took.

    Args:
        jobs: jobs that train or run a model; those that have not ended, or were made with other settings, are left out.
        speed: the speed by which the estimates become hours.
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
