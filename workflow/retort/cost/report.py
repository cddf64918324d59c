"""What `retort cost` prints."""

from __future__ import annotations

from collections.abc import Iterator

from retort.cost.data import Volume
from retort.cost.jobs import Jobs
from retort.cost.ledger import Bill, bills, chosen
from retort.cost.speed import STORED, Speed, speed
from retort.plan import Plan
from retort.specs.config import Config

# what is measured where a study trains nothing larger: base-sized layers on 32 rows of 128 tokens, or the pocket's
SHAPES = {
    True: ({"layers": 6, "heads": 12, "hidden": 768, "intermediate": 3072}, 32, 128),
    False: ({"layers": 2, "heads": 12, "hidden": 384, "intermediate": 1536}, 16, 32),
}
LEFT_OUT = (
    "Matrix products of encoders and heads; losses, optimiser, start of jobs, downloading, tokenising and packing are "
    "left out."
)


def lines(config: Config, names: list[str], flops: float | None, measure: bool) -> Iterator[str]:
    """The lines: a table of bills, then what was assumed."""
    plan = Plan(config)
    exhibits, jobs, gpu = chosen(plan.book, names), Jobs(plan), config.gpus > 0
    if measure:
        from retort.stages.calibrate import calibrate  # torch

        calibrate(*SHAPES[gpu], config.resolved_precision(), gpu, STORED)
    found, at = bills(plan, jobs, exhibits), speed(flops, gpu)
    yield from _table(found, at, "GPU" if gpu else "CPU")
    yield ""
    yield f"Scale {config.scale}. One device at {at.flops:.3g} FLOP/s: {at.said}."
    yield f"{LEFT_OUT} A fine-tuned seed counts as the mean point of its grid."
    yield from _lengths(jobs.volume)


def _hours(flops: float, at: Speed) -> str:
    return f"{flops / at.flops / 3600:,.2f}" if flops else "-"


def _table(found: list[Bill], at: Speed, device: str) -> list[str]:
    head = ["table", "jobs", "done", f"{device} hours", "shared", "left", "FLOPs"]
    rows = [
        [b.name, f"{b.jobs:,}", f"{b.done:,}", _hours(b.own, at), _hours(b.shared, at), _hours(b.left, at),
         f"{b.own:.2g}"]
        for b in found
    ]  # fmt: skip
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]
    return ["  ".join(f"{cell:{'<' if not i else '>'}{widths[i]}}" for i, cell in enumerate(row)) for row in [head, *rows]]


def _lengths(volume: Volume) -> Iterator[str]:
    """What was assumed of rows that are not encoded yet, tasks with one assumption together."""
    together: dict[str, list[str]] = {}
    for task, said in volume.assumed.items():
        together.setdefault(said, []).append(task)
    for said, tasks in together.items():
        yield f"Not encoded yet, {', '.join(sorted(tasks))}: {said}."
    if volume.kept and not volume.assumed:
        yield "Rows are as many and as long, on average, as they were encoded; padding is left out."
