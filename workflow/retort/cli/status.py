"""The verb `status`: what runs of Snakemake are at, from any terminal, at any time."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from retort.cli.base import argument, verb
from retort.errors import RetortError
from retort.formatters import in_words
from retort.run import status as runs

SILENT = 600.0  # seconds without a line after which a running job is told to be silent


@verb(
    "status",
    argument("--json", action="store_true", help="all of it as JSON, with every job"),
    argument("--tensorboard", metavar="DIR", type=Path, help="write the steps of trainings there, for TensorBoard"),
)
def status(arguments: argparse.Namespace) -> int:
    """Print what runs, how far it is, what failed and why, and what waits; it reads only, at any time."""
    if arguments.tensorboard:
        return _to_tensorboard(arguments.tensorboard)
    found = list(runs.find_runs())
    if arguments.json:
        print(json.dumps([asdict(run) for run in found], indent=2))
    else:
        lines = [line for run in found for line in _lines(run)]
        print(*lines or ["no run has begun in this folder: results/runs lists none"], sep="\n")
    return int(any(run.in_state(runs.FAILED) for run in found))


def _to_tensorboard(folder: Path) -> int:
    """Write the curves of all trainings, and say how to see them.

    Raises:
        RetortError: TensorBoard is not installed.
    """
    try:
        count = len(list(runs.write_curves(folder)))
    except ImportError:
        raise RetortError("TensorBoard is not installed", "pip install tensorboard") from None
    print(f"curves of {count} jobs written; to see them: tensorboard --logdir {folder}")
    return 0


def _lines(run: runs.RunStatus) -> Iterator[str]:
    """Yield the lines about a run: its numbers, what runs, what failed, what waits."""
    running, failed, waiting, done = map(run.in_state, (runs.RUNNING, runs.FAILED, runs.WAITING, runs.DONE))
    waits = runs.WAITING if run.who else "not run"
    left = f"; about {in_words(run.seconds_left)} left" if run.seconds_left is not None else ""
    who = run.who or f"the run of {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(run.began))} has ended"
    counts = f"{len(running)} running, {len(failed)} failed, {len(waiting)} {waits}"
    yield f"{who}: {len(done)} of {len(run.jobs)} jobs done, {counts}{left}"
    for job in running:
        yield f"  running: {job.name}, {', '.join(_parts(job))}"
    for job in failed:
        yield f"  failed:  {job.name}: {job.reason}\n             log: {job.log}"
    if waiting:
        rules = Counter(job.name.partition("(")[0] for job in waiting)
        yield f"  {waits}: {', '.join(f'{count} {rule}' for rule, count in rules.items())}"


def _parts(job: runs.JobStatus) -> Iterator[str]:
    """Yield what is known of a running job."""
    if job.training:
        yield runs.training_in_words(job.training)
    if job.seconds_left is not None:
        yield f"{in_words(job.seconds_left)} left of this training"
    if job.gpus:
        yield f"GPU {', '.join(job.gpus)}"
    yield job.who
    if job.seconds_silent is not None and job.seconds_silent > SILENT:
        yield f"no line for {in_words(job.seconds_silent)}"
