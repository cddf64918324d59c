"""The report that `retort cost` prints."""

from __future__ import annotations

from collections.abc import Iterator

from retort.cost.data import UNKNOWN, Volume
from retort.cost.jobs import Jobs
from retort.cost.ledger import Bill, Load, bills_of, selected_exhibits
from retort.cost.speed import START, Speed, speed_of_device
from retort.plan.plan import Plan
from retort.specs.config import Config

COUNTED = (
    "Counted: matrix products of encoders and heads, and {start:g} s to start a job. Left out: losses, the optimiser, "
    "downloading, tokenising, packing. A fine-tuned seed is the mean point of its grid."
)


def lines(config: Config, names: list[str], flops: float | None) -> Iterator[str]:
    """Yield the lines of the report: a table of bills, then the assumptions.

    Args:
        config: the checked configuration.
        names: each 'paper' or 'paper/table'; all tables and figures if empty.
        flops: FLOPs per second of one device; None for the measured speed, or a guess without one.
    """
    plan = Plan(config)
    exhibits, jobs, gpu = selected_exhibits(plan.study, names), Jobs(plan), config.gpus > 0
    bills, speed = bills_of(plan, jobs, exhibits), speed_of_device(flops, gpu)
    yield from _table(bills, speed, "GPU" if gpu else "CPU")
    yield ""
    yield f"Scale {config.scale}. One device at {speed.flops:.3g} FLOP/s: {speed.origin}."
    yield COUNTED.format(start=START)
    yield from _lengths(jobs.volume)


def _hours(load: Load, speed: Speed) -> str:
    return f"{speed.hours(load.jobs, load.flops):,.2f}" if load.jobs else "-"


def _table(bills: list[Bill], speed: Speed, device: str) -> list[str]:
    rows = [["table", "jobs", "done", f"{device} hours", "shared", "left", "FLOPs"]]
    for bill in bills:
        counts = [f"{bill.own.jobs:,}", f"{bill.own.jobs - bill.left.jobs:,}"]
        hours = [_hours(load, speed) for load in (bill.own, bill.shared, bill.left)]
        rows.append([bill.name, *counts, *hours, f"{bill.own.flops:.2g}"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]


def _lengths(volume: Volume) -> Iterator[str]:
    """Yield a line for each assumption about the number and length of rows."""
    if volume.longest:
        tasks = ", ".join(f"{task} {tokens}" for task, tokens in sorted(volume.longest.items()))
        yield f"Not encoded yet, so that every row has the most tokens that it may have: {tasks}."
    if volume.uncounted:
        yield f"Not read yet, so that {UNKNOWN:,} rows are assumed: {', '.join(sorted(volume.uncounted))}."
    known = {corpus: tokens for corpus, tokens in sorted(volume.unread.items()) if tokens is not None}
    if known:
        sizes = ", ".join(f"{corpus} {tokens:,.0f}" for corpus, tokens in known.items())
        yield f"Not packed yet, so that tokens are words of sources times tokens per word of models: {sizes}."
    if unknown := sorted(volume.unread.keys() - known.keys()):
        yield f"Not packed yet, and of unknown size, so that {UNKNOWN:,} blocks are assumed: {', '.join(unknown)}."
    if volume.kept and not volume.longest:
        yield "Rows are as many, and as long on average, as they were encoded; padding is left out."
