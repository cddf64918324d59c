"""Run a stage in a process for each GPU of its job.

Every process runs the whole stage, but trains on its own rows of each batch. The processes add up their gradients, so
all have the same weights at any time. Only process 0 writes files.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import signal
import sys
import tempfile
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

import torch
import torch.distributed
import torch.multiprocessing
from torch.multiprocessing.spawn import ProcessExitedException, start_processes

from retort import machine
from retort.errors import RetortError
from retort.job.attempts import reason_of
from retort.job.context import RunningJob

START = "spawn"  # new processes: a fork of this one might not be able to use its GPU
BACKENDS = {"cuda": "nccl", "cpu": "gloo"}
STORE = "store"  # the file through which the processes find each other
FIRST = "first-error"  # the file with the error of the process that failed first
STDOUT, STDERR = 1, 2  # file descriptors
Stage = TypeVar("Stage", bound=Callable[..., None])


def on_every_gpu(stage: Stage) -> Stage:
    """Make a stage run in as many processes as its job has GPUs; with one GPU or none, in this process.

    The first argument of the stage is the job; the others must be picklable. The stage raises an error at once if the
    machine has fewer GPUs than the job was promised.
    """

    @functools.wraps(stage)
    def run(job: RunningJob, *arguments: Any, **options: Any) -> None:
        if job.gpu:
            machine.check_gpus(max(1, job.gpus))
        if job.processes == max(1, job.gpus):
            stage(job, *arguments, **options)
        else:
            _launch(job, (stage.__module__, stage.__name__), arguments, options)

    return cast(Stage, run)


def _launch(job: RunningJob, stage: tuple[str, str], arguments: tuple[Any, ...], options: dict[str, object]) -> None:
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
    threads = max(1, job.threads // job.gpus)
    os.environ["OMP_NUM_THREADS"] = str(threads)  # of each process, which inherits it
    known = {field.name: getattr(job, field.name) for field in fields(job) if field.name not in ("log", "rank")}
    known |= {"threads": threads, "processes": job.gpus}
    job.log.flush()
    outcome = torch.multiprocessing.get_context(START).SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="retort-") as folder:  # nobody else may read it
        shared = Path(folder)
        try:
            _run_in_processes(job.gpus, _process, job.log.name, shared, known, stage, arguments, options, outcome)
        except ProcessExitedException as failed:
            first, end = _first_error(shared, job.log), str(failed)
            # the first error may only tell that another process was killed, as for want of RAM
            raise RuntimeError(f"{first}; {end}" if first and failed.signal_name else first or end) from failed
    error, resumed_from = outcome.get()
    job.resumed_from |= resumed_from
    if error is not None:
        raise error


def _run_in_processes(size: int, function: Callable[..., None], *arguments: Any) -> None:
    """Run `function(rank, *arguments)` in new processes, and wait for them; if this process dies, they end at once.

    Raises:
        ProcessExitedException: of a process that failed; the others have been ended.
    """
    with _without_main():
        processes: Any = start_processes(  # type: ignore[no-untyped-call]
            _begin, (function, arguments), size, join=False, start_method=START
        )
    try:
        while not processes.join():
            pass
    finally:
        for process in processes.processes:
            process.kill()  # does nothing to a process that has ended


def _begin(rank: int, function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """Run the function in this process; only process 0 may print."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # torch lets it get this signal when its parent dies
    if rank:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, STDOUT)
        os.dup2(nowhere, STDERR)
    function(rank, *arguments)


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main module, the script of the job: `spawn` would run it again in each new process."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _process(
    rank: int,
    log: str,
    shared: Path,
    known: dict[str, Any],
    stage: tuple[str, str],
    arguments: tuple[Any, ...],
    options: dict[str, object],
    outcome: Any,
) -> None:
    """Run a stage in this process, one of several; process 0 sends its error, and the code of the resumed checkpoint.

    Args:
        rank: the number of this process, from 0.
        log: the log file of the job, into which process 0 writes.
        shared: a folder of all processes.
        known: the fields of the job.
        stage: the module and the name of the stage.
        arguments: the positional arguments of the stage after the job.
        options: the keyword arguments of the stage.
        outcome: the queue of what process 0 sends.
    """
    with open(os.devnull if rank else log, "a", encoding="utf-8", buffering=1) as stream:
        job, error = RunningJob(**known, log=stream, rank=rank), None
        if job.device == "cuda":
            torch.cuda.set_device(rank)
        try:
            with _note_first_error(rank, shared / FIRST):
                # a file lets the processes find each other: a port would be open to everybody who reaches the machine
                torch.distributed.init_process_group(
                    BACKENDS[job.device], (shared / STORE).as_uri(), rank=rank, world_size=job.processes
                )
                getattr(importlib.import_module(stage[0]), stage[1])(job, *arguments, **options)
        except RetortError as raised:
            error = raised
        finally:
            torch.distributed.destroy_process_group()
        if job.writes:
            outcome.put((error, job.resumed_from))


@contextlib.contextmanager
def _note_first_error(rank: int, file: Path) -> Iterator[None]:
    """Write an error that ends the block to a file, with its traceback, unless another process has written one.

    Then end this process at once, without the handlers of its exit: NCCL would wait in them for other processes, which
    wait for this one. The launcher ends those. They may also fail because this one has left the group.

    Raises:
        RetortError: the block raised it.
    """
    try:
        yield
    except Exception as error:
        with contextlib.suppress(OSError), open(file, "x", encoding="utf-8") as stream:
            stream.write(f"process {rank}: {type(error).__name__}: {reason_of(error)}\n")
            stream.write(traceback.format_exc())
        if isinstance(error, RetortError):
            raise
        traceback.print_exc()
        os._exit(1)


def _first_error(shared: Path, log: TextIO) -> str | None:
    """Return the error of the process that failed first, and log its traceback; None if it left none."""
    file = shared / FIRST
    if not file.exists():
        return None
    reason, *trace = file.read_text("utf-8").splitlines()
    log.write("".join(f"{line}\n" for line in trace))
    log.flush()
    return reason
