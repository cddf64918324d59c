"""What finished jobs took, next to what was predicted: a table of `retort cost`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from retort.cost.jobs import Job
from retort.cost.speed import Speed

MB = 1024**2
HEADING = ["Finished jobs:", "number", "hours", "predicted", "RAM", "predicted", "GPU memory", "predicted"]


def rows(jobs: Iterable[Job], speed: Speed) -> Iterator[list[str]]:
    """Yield a heading, and a row for each rule whose finished jobs hold what they took: hours in all, the most memory.

    Args:
        jobs: jobs that train or run a model.
        speed: the speed with which hours are predicted; the start of a job is not measured.
    """
    by_rule: dict[str, list[Job]] = {}
    for job in jobs:
        if job.settings and job.done and all("seconds" in record for record in job.records):
            by_rule.setdefault(job.rule.name, []).append(job)
    if by_rule:
        yield HEADING
    for rule, finished in by_rule.items():
        records = [record for job in finished for record in job.records]
        hours = sum(record["seconds"] for record in records) / 3600
        expected = sum(speed.hours(job.estimate.work, 0) for job in finished)
        steps = [job.estimate.step for job in finished if job.estimate.step]
        ram, gpu = (max(MB * record.get(key, 0) for record in records) for key in ("max_rss_mb", "max_gpu_mb"))
        most = max(job.estimate.ram for job in finished), max((step.peak for step in steps), default=0)
        memory = [*_sizes(ram, most[0]), *_sizes(gpu, most[1])]
        yield [f"  {rule}", str(len(finished)), f"{hours:.2g}", f"{expected:.2g}", *memory]


def _sizes(measured: float, predicted: float) -> list[str]:
    """Return two sizes in GB; dashes for what was not measured."""
    return [f"{size / 1e9:.1f} GB" for size in (measured, predicted)] if measured else ["-", "-"]
