"""The report that `retort cost` prints: the cost of each table; what several tables need is counted in the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from retort.cost.jobs import Job, Jobs
from retort.cost.measured import rows as measured_rows
from retort.cost.speed import BY_KERNELS, GUESS_WITHIN, H100, Speed, Work, guessed_speed, in_precision, speed_of_device
from retort.errors import RetortError
from retort.plan.exhibits import ENDINGS, audit_page, pages
from retort.plan.plan import Plan
from retort.registry import unknown_name
from retort.specs.config import Config
from retort.study.study import Study

COUNTED = (
    "Counted: every job of the workflow; matrix products of encoders, heads and losses; what losses and the optimiser "
    "move; {start:.3g} s to start a job. A fine-tuned seed is the mean point of its grid. Hours may be {within:g} "
    "times more or fewer; those of other jobs are rough guesses."
)
LARGEST = 5  # jobs that are named
PAGES = "pages and audit"
PRECISIONS = ("bfloat16", "float32")  # of a CPU


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
    own: list[Job]
    shared: list[Job]
    left: list[Job]


def with_models(jobs: Iterable[Job]) -> list[Job]:
    """Return the jobs that train or run a model."""
    return [job for job in jobs if job.estimate.runs_model]


def hours_of(jobs: list[Job], speed: Speed) -> float:
    """Return the hours that jobs take on one device, one after another."""
    return speed.hours(work_of(jobs), len(jobs))


def work_of(jobs: list[Job]) -> Work:
    """Return the work of some jobs together."""
    return sum((job.estimate.work for job in jobs), Work())


def selected_exhibits(study: Study, names: list[str]) -> list[tuple[str, str]]:
    """Return the named tables and figures as (paper, name), in the order of the report; all if nothing is named.

    Args:
        study: the study.
        names: each 'paper' or 'paper/table'.

    Raises:
        RetortError: there is no such paper, table or figure.
    """
    every = [(paper, name) for paper in study.running_papers for name in study.exhibits_of(paper)]
    for name in names:
        paper, _, table = name.partition("/")
        if paper not in study.papers:
            raise unknown_name("paper", paper, study.papers)
        if table and table not in study.exhibits_of(paper):
            raise unknown_name(f"table or figure of '{paper}'", table, study.exhibits_of(paper))
    return [key for key in every if not names or key[0] in names or "/".join(key) in names]


def targets_of(plan: Plan, exhibits: list[tuple[str, str]], whole: bool) -> dict[str, list[str]]:
    """Return name -> files for each table and figure, and for the pages if the whole study is asked for."""
    ending_of = {name: next(ENDINGS[noun] for noun in ENDINGS if name.startswith(noun)) for _, name in exhibits}
    files = {f"{paper}/{name}": [f"reports/{paper}/{name}.{ending_of[name]}"] for paper, name in exhibits}
    return files | ({PAGES: ["reports/index.html", *pages(plan.study), *audit_page(plan.study)]} if whole else {})


def bills_of(jobs: Jobs, targets: dict[str, list[str]]) -> list[Bill]:
    """Return a bill for each table or figure, and the total as the last one.

    Args:
        jobs: the jobs of the plan.
        targets: name -> the files that are made for it.
    """
    seen, bills = set[str](), []
    for name, files in targets.items():
        unfinished = {job.key for job in jobs.behind(files, stop_at_done=True)}
        shared = [job for job in jobs.behind(files) if job.key in seen]
        own = list(jobs.behind(files, seen=seen))
        bills.append(Bill(name, own, shared, [job for job in own if job.key in unfinished]))
    total = Bill("total", [job for bill in bills for job in bill.own], [], [job for bill in bills for job in bill.left])
    return [*bills, total]


def lines(config: Config, names: list[str], flops: float | None) -> Iterator[str]:
    """Yield the lines of the report: a table of bills, the largest jobs, the assumptions.

    Args:
        config: the checked configuration.
        names: each 'paper' or 'paper/table'; all tables, figures and pages if empty.
        flops: FLOPs per second of one device; None for the measured speed, or a guess without one.

    Raises:
        RetortError: no named table trains or runs a model.
    """
    plan = Plan(config)
    targets = targets_of(plan, selected_exhibits(plan.study, names), whole=not names)
    jobs, gpu = Jobs(plan), config.gpus > 0
    bills, speed = bills_of(jobs, targets), speed_of_device(flops, gpu, config)
    if not (models := with_models(bills[-1].own)):
        raise RetortError("no table or figure of these runs anything at this scale", "see `retort list tables`")
    yield from _table(bills, speed, "GPU" if gpu else "CPU")
    yield from ("", "Largest jobs:", *_largest(models, speed), "")
    if measured := list(measured_rows(models, speed)):
        yield from (*align_columns(measured), "")
    at = f"{speed.flops:.3g} FLOP/s and {speed.bandwidth:.3g} bytes/s"
    yield f"Scale {config.scale}. One device at {at}: {speed.origin}."
    yield from _on_gpus(models, speed, config.resolved_precision()) if gpu else _on_cpu(models, speed)
    yield COUNTED.format(start=speed.start, within=speed.within)
    if assumed := jobs.estimates.volume.assumed:
        yield f"Assumed, until it is encoded: {', '.join(f'{name} {what}' for name, what in sorted(assumed.items()))}."


def rounded_hours(hours: float) -> str:
    """Return hours with two significant digits, such as '24,000' or '0.35': no estimate knows more."""
    return f"{float(f'{hours:.2g}'):,.10g}"


def _between(jobs: list[Job], fast: Speed, slow: Speed) -> str:
    """Return a sentence: between which hours the jobs take."""
    least, most = hours_of(jobs, fast) / fast.within, hours_of(jobs, slow) * slow.within
    return f"All: between {rounded_hours(least)} and {rounded_hours(most)} hours."


def _on_cpu(jobs: list[Job], speed: Speed) -> Iterator[str]:
    """Yield the hours; those of a guess in both precisions, as not every CPU has instructions for bfloat16."""
    yield _between(jobs, speed, speed)
    if speed.within == GUESS_WITHIN:
        both = (
            rounded_hours(hours_of(jobs, replace(guessed_speed(False, each), start=speed.start))) for each in PRECISIONS
        )
        yield "In bfloat16 about {} hours, in float32 about {}.".format(*both)


def _on_gpus(jobs: list[Job], speed: Speed, precision: str) -> Iterator[str]:
    """Yield the hours with and without kernels for relations, here and on an H100, and the share of relations."""
    plain, fused = speed.at(1.0), speed.at(speed.relations if speed.relations != 1 else BY_KERNELS)
    yield _between(jobs, fused, plain)
    h100 = in_precision(H100, precision), "on an H100"
    on = [(speed, "here"), *([h100] if speed.within == GUESS_WITHIN else [])]
    hours = [
        "{} and {} {}".format(*(rounded_hours(hours_of(jobs, each.at(by))) for by in (fused.relations, 1.0)), where)
        for each, where in on
    ]
    yield f"With kernels for relations (see `retort bench gpu`) and in the plain form: {', '.join(hours)} (GPU hours)."
    share = 1 - hours_of(jobs, speed.at(0.0)) / hours_of(jobs, plain)
    yield f"In the plain form, {share:.0%} of the hours go to writing and reading relations."


def _table(bills: list[Bill], speed: Speed, device: str) -> list[str]:
    rows = [["table", "jobs", "done", f"{device} hours", "shared", "left", "other hours", "FLOPs"]]
    for bill in bills:
        own, models = bill.own, with_models(bill.own)
        others = [job for job in own if not job.estimate.runs_model]
        timed = (models, with_models(bill.shared), with_models(bill.left), others)
        hours = [rounded_hours(hours_of(jobs, speed)) if jobs else "-" for jobs in timed]
        counts = [f"{len(own):,}", f"{len(own) - len(bill.left):,}"]
        rows.append([bill.name, *counts, *hours, f"{work_of(models).flops:.2g}"])
    return align_columns(rows)


def _largest(jobs: list[Job], speed: Speed) -> list[str]:
    """Return a line for each of the longest jobs: its hours, and the memory of a step and of the machine."""
    hours = sorted(((speed.hours(job.estimate.work), job) for job in jobs), key=lambda pair: -pair[0])[:LARGEST]
    rows = []
    for taken, job in hours:
        step = job.estimate.step
        device = f"{step.peak / 1e9:.1f} GB a step, {step.at_once} rows at once" if step else ""
        rows.append([f"  {job.name}", f"{rounded_hours(taken)} h", device, f"{job.estimate.ram / 1e9:.1f} GB of RAM"])
    return align_columns(rows)


def align_columns(rows: list[list[str]]) -> list[str]:
    """Return rows as lines: the first column to the left, all others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
