"""The report that `retort cost` prints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from retort.cost.jobs import Job, Jobs
from retort.cost.ledger import Bill, Load, Met, bills_of, met_of, models_behind, selected_exhibits, targets_of
from retort.cost.preprocessing import Volume
from retort.cost.speed import Speed, speed_of_device
from retort.plan.plan import Plan
from retort.specs.config import Config
from retort.specs.task_files import UNKNOWN

COUNTED = (
    "Counted: every job of the workflow; matrix products of encoders, heads and losses; what losses and the optimiser "
    "move; {start:.3g} s to start a job. A fine-tuned seed is the mean point of its grid. Relations are counted in the "
    "form that every GPU can run{relations}. Hours of other jobs are rough guesses."
)
KERNELS = "; kernels that never write them are faster"
LARGEST = 5  # jobs that are named


def lines(config: Config, names: list[str], flops: float | None) -> Iterator[str]:
    """Yield the lines of the report: a table of bills, the largest jobs, what finished jobs took, the assumptions.

    Args:
        config: the checked configuration.
        names: each 'paper' or 'paper/table'; all tables, figures and pages if empty.
        flops: FLOPs per second of one device; None for the measured speed, or a guess without one.
    """
    plan = Plan(config)
    targets = targets_of(plan, selected_exhibits(plan.study, names), whole=not names)
    jobs, gpu = Jobs(plan), config.gpus > 0
    bills, speed = bills_of(jobs, targets), speed_of_device(flops, gpu, config)
    yield from _table(bills, speed, "GPU" if gpu else "CPU")
    yield ""
    models = models_behind(jobs, targets)
    yield "Largest jobs:"
    yield from _largest(models, speed)
    yield ""
    yield from _compare_finished(met_of(models, speed))
    yield (
        f"Scale {config.scale}. One device at {speed.flops:.3g} FLOP/s and {speed.bandwidth:.3g} bytes/s: "
        f"{speed.origin}."
    )
    measured = f", times {speed.relations:.2g} as measured" if speed.relations != 1 else KERNELS
    yield COUNTED.format(start=speed.start, relations=measured)
    yield from _lengths(jobs.estimates.volume)


def of_one_process(plan: Plan, papers: list[str]) -> Iterator[str]:
    """Yield a table of what jobs took that ran in one process, beside their estimates without the start of a job.

    Args:
        plan: the plan of the run.
        papers: the papers; all of the plan if empty.
    """
    targets = targets_of(plan, selected_exhibits(plan.study, papers), whole=not papers)
    speed = replace(speed_of_device(None, plan.config.gpus > 0, plan.config), start=0.0)
    yield from _compare_finished(met_of(models_behind(Jobs(plan), targets), speed))


def _hours(load: Load, speed: Speed) -> str:
    return f"{speed.hours(load.work, load.models):,.2f}" if load.models else "-"


def _other_hours(load: Load, speed: Speed) -> str:
    others = load.jobs - load.models
    return f"{speed.hours(load.others, others):,.2f}" if others else "-"


def _table(bills: list[Bill], speed: Speed, device: str) -> list[str]:
    rows = [["table", "jobs", "done", f"{device} hours", "shared", "left", "other hours", "FLOPs"]]
    for bill in bills:
        counts = [f"{bill.own.jobs:,}", f"{bill.own.jobs - bill.left.jobs:,}"]
        hours = [_hours(load, speed) for load in (bill.own, bill.shared, bill.left)]
        rows.append([bill.name, *counts, *hours, _other_hours(bill.own, speed), f"{bill.own.work.flops:.2g}"])
    return _align(rows)


def _largest(jobs: list[Job], speed: Speed) -> list[str]:
    """Return a line for each of the longest jobs: its hours, and the memory of a step and of the machine."""
    hours = sorted(((speed.hours(job.estimate.work), job) for job in jobs), key=lambda pair: -pair[0])[:LARGEST]
    rows = []
    for taken, job in hours:
        step = job.estimate.step
        device = f"{step.bytes(step.rows) / 1e9:.1f} GB a step of {step.rows} rows" if step else ""
        rows.append([f"  {job.name}", f"{taken:,.2f} h", device, f"{job.estimate.ram / 1e9:.1f} GB of RAM"])
    return _align(rows)


def _compare_finished(every: list[Met]) -> Iterator[str]:
    """Yield a table of what finished jobs took beside their estimates; nothing if none is finished."""
    if not every:
        return
    rows = [["  rule", "jobs", "hours", "estimated", "ratio", "most RAM", "estimated"]]
    for met in every:
        hours = [f"{met.hours:,.2f}", f"{met.expected:,.2f}", f"{met.ratio:.2f}"]
        held = f"{met.ram / 1e9:.1f} GB" if met.ram else "-"
        rows.append([f"  {met.rule}", f"{met.jobs:,}", *hours, held, f"{met.expected_ram / 1e9:.1f} GB"])
    yield "Finished jobs, by their own clocks (slower where jobs share cores), beside their estimates:"
    yield from _align(rows)
    yield ""


def _align(rows: list[list[str]]) -> list[str]:
    """Return rows as lines: the first column to the left, all others to the right."""
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
    if volume.splits and not volume.longest:
        yield "Rows are as many as were encoded, and as long as their batches pad them."
