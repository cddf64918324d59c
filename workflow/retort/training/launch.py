"""Run a stage in a process for each GPU of its job.

Every process runs the whole stage, but trains on its own rows of each batch. The processes add up their gradients, so
all have the same weights at any time. Only process 0 writes files.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys
import tempfile
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch
import torch.distributed

from retort import machine
from retort.checksums import Maker
from retort.errors import RetortError, first_line
from retort.jobs import Job
from retort.signals import kept_for_next_training

if TYPE_CHECKING:
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

START = "spawn"  # new processes: a fork of this one might not be able to use its GPU
BACKENDS = {"cuda": "nccl", "cpu": "gloo"}
FIRST = "first-failure"  # the name of the file with the error of the process that failed first
Outcome = tuple[RetortError | None, set[Maker]]
Stage = TypeVar("Stage", bound=Callable[..., None])


def on_every_gpu(stage: Stage) -> Stage:
    """Make a stage run in as many processes as its job has GPUs; with one GPU or none, in this process.

    The first argument of the stage is the job; the others must be picklable. The stage raises an error at once if the
    machine has fewer GPUs than the job was promised.
    """

    @functools.wraps(stage)
    def run(job: Job, *arguments: Any, **options: Any) -> None:
        if job.gpu:
            machine.check_gpus(max(1, job.gpus))
        if job.processes == max(1, job.gpus):
            stage(job, *arguments, **options)
        else:
            _launch(job, (stage.__module__, stage.__name__), arguments, options)

    return cast(Stage, run)


def _launch(job: Job, stage: tuple[str, str], arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Run a stage in a process for each GPU.

    Args:
        job: the running job.
        stage: the module and the name of the stage.
        arguments: the positional arguments of the stage after the job.
        options: the keyword arguments of the stage.

    Raises:
        RetortError: the stage raised it in process 0.
        RuntimeError: a process failed. The message is that of the process that failed first; the log has its traceback.
    """
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    threads = max(1, job.threads // job.gpus)
    os.environ["OMP_NUM_THREADS"] = str(threads)  # of each process, which inherits it
    known = {field.name: getattr(job, field.name) for field in fields(job) if field.name not in ("log", "rank")}
    known |= {"threads": threads, "processes": job.gpus}
    job.log.flush()
    with tempfile.TemporaryDirectory(prefix="retort-") as folder, _without_main():
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=job.gpus,
            run_id=job.slug,
            rdzv_backend="c10d",
            rdzv_endpoint="localhost:0",
            local_addr="localhost",
            start_method=START,
            max_restarts=0,  # Slurm or Snakemake starts the job again; it goes on from its checkpoint
            logs_specs=DefaultLogsSpecs(folder, redirects=dict.fromkeys(range(1, job.gpus), Std.ALL)),
        )
        first = Path(folder, FIRST)
        try:
            launched = elastic_launch(config, _process)(job.log.name, str(first), known, stage, arguments, options)
        except ChildFailedError as failed:
            raise RuntimeError(_root_cause(failed, first, job)) from failed
    outcomes: dict[int, Outcome] = launched
    error, resumed_from = outcomes[0]
    job.resumed_from |= resumed_from
    if error is not None:
        raise error


def _root_cause(failed: ChildFailedError, first: Path, job: Job) -> str:
    """Return the error of the process that failed first, and log its traceback; torch's message if it left none."""
    if first.exists():
        reason, *trace = first.read_text("utf-8").splitlines()
        job.log.write("".join(f"{line}\n" for line in trace))
        job.log.flush()
        return reason
    rank, failure = failed.get_first_failure()
    message: Any = failure.message  # a dict if an exception ended the process
    return f"process {rank}: {message['message'] if isinstance(message, dict) else message}"


@contextlib.contextmanager
def _note_first_error(first: str) -> Iterator[None]:
    """Write an error that ends the block to a file, with its traceback, unless another process has written one.

    When one process fails, the others fail because it left the group, and torch may report any of them.
    """
    try:
        yield
    except Exception as error:
        with contextlib.suppress(OSError), open(first, "x", encoding="utf-8") as file:
            file.write(f"process {os.environ['RANK']}: {type(error).__name__}: {first_line(error)}\n")
            file.write(traceback.format_exc())
        raise


def _process(
    log: str,
    first: str,
    known: dict[str, Any],
    stage: tuple[str, str],
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> Outcome:
    """Run a stage in this process, one of several; return its error, and the code of the resumed checkpoint."""
    rank = int(os.environ["RANK"])
    with open(os.devnull if rank else log, "a", encoding="utf-8") as stream:
        job = Job(**known, log=stream, rank=rank)
        if job.device == "cuda":
            torch.cuda.set_device(rank)
        torch.distributed.init_process_group(BACKENDS[job.device])
        try:
            with _note_first_error(first), kept_for_next_training():
                getattr(importlib.import_module(stage[0]), stage[1])(job, *arguments, **options)
        except RetortError as error:
            return error, job.resumed_from
        finally:
            torch.distributed.destroy_process_group()
        return None, job.resumed_from


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main module, the script of the job: `spawn` would run it again in each new process."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
