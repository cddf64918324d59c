"""Run a stage in a process for each GPU of its job.

Every process runs the whole stage, but trains on its own rows of each batch. The processes add up their gradients, so
all have the same weights at any time. Only process 0 writes files.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

import torch
import torch.distributed

from retort import machine
from retort.checksums import Maker
from retort.engine.attempts import reason_of
from retort.engine.job import Job
from retort.errors import RetortError

BACKENDS = {"cuda": "nccl", "cpu": "gloo"}
STORE = "store"  # the file through which the processes find each other
FIRST = "first-error"  # the file with the error of the process that failed first
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
    threads = max(1, job.threads // job.gpus)
    os.environ["OMP_NUM_THREADS"] = str(threads)  # of each process, which inherits it
    known = {field.name: getattr(job, field.name) for field in fields(job) if field.name not in ("log", "rank")}
    known |= {"threads": threads, "processes": job.gpus}
    job.log.flush()
    with tempfile.TemporaryDirectory(prefix="retort-") as folder:  # nobody else may read it
        shared = Path(folder)
        try:
            outcome = run_in_processes(job.gpus, _process, job.log.name, shared, known, stage, arguments, options)
        except ProcessFailed as failed:
            first, end = _first_error(shared, job.log), str(failed)
            # the first error may only tell that another process was killed, as for want of RAM
            raise RuntimeError(f"{first}; {end}" if first and failed.was_killed else first or end) from failed
    error, resumed_from = cast(Outcome, outcome)
    job.resumed_from |= resumed_from
    if error is not None:
        raise error


def _first_error(shared: Path, log: TextIO) -> str | None:
    """Return the error of the process that failed first, and log its traceback; None if it left none."""
    file = shared / FIRST
    if not file.exists():
        return None
    reason, *trace = file.read_text("utf-8").splitlines()
    log.write("".join(f"{line}\n" for line in trace))
    log.flush()
    return reason


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


def _process(
    rank: int,
    log: str,
    shared: Path,
    known: dict[str, Any],
    stage: tuple[str, str],
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> Outcome:
    """Run a stage in this process, one of several; return its error, and the code of the resumed checkpoint.

    Args:
        rank: the number of this process, from 0.
        log: the log file of the job, into which process 0 writes.
        shared: a folder of all processes.
        known: the fields of the job.
        stage: the module and the name of the stage.
        arguments: the positional arguments of the stage after the job.
        options: the keyword arguments of the stage.
    """
    with open(os.devnull if rank else log, "a", encoding="utf-8", buffering=1) as stream:
        job = Job(**known, log=stream, rank=rank)
        if job.device == "cuda":
            torch.cuda.set_device(rank)
        # A file lets the processes find each other: a port would be open to everybody who reaches the machine.
        torch.distributed.init_process_group(
            BACKENDS[job.device],
            init_method=(shared / STORE).as_uri(),
            rank=rank,
            world_size=job.processes,
        )
        try:
            with _note_first_error(rank, shared / FIRST):
                getattr(importlib.import_module(stage[0]), stage[1])(job, *arguments, **options)
        except RetortError as error:
            return error, job.resumed_from
        finally:
            torch.distributed.destroy_process_group()
        return None, job.resumed_from


# Run a function in several new processes of this machine, and wait for all of them.
#
# Arguments and the result go through pipes between parent and child. The launchers of torch would exchange pickled
# objects through a port that is open to the network, or through files in the machine's temporary folder.


START = "spawn"  # new processes: a fork of this one might not be able to use its GPU
STDOUT, STDERR = 1, 2  # file descriptors


class ProcessFailed(Exception):
    """One of the processes ended with an error, or a signal ended it.

    Args:
        rank: its number, from 0.
        exitcode: its exit status; -n if signal n ended it.

    Attributes:
        was_killed: whether a signal ended it.
    """

    def __init__(self, rank: int, exitcode: int) -> None:
        self.was_killed = exitcode < 0
        end = f"{signal.Signals(-exitcode).name} ended it" if exitcode < 0 else f"exit status {exitcode}"
        super().__init__(f"process {rank}: {end}")


def run_in_processes(size: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function in new processes, and return what it returns in process 0.

    If this process dies, they end at once.

    Args:
        size: the number of processes.
        function: called as `function(rank, *arguments)`; it must be a function of a module.
        arguments: must be picklable.

    Raises:
        ProcessFailed: of the process that failed first; the others have been ended.
    """
    context = multiprocessing.get_context(START)
    receiver, sender = context.Pipe(duplex=False)
    processes = [
        context.Process(target=_run, args=(sender, function, rank, *arguments))  # type: ignore[attr-defined]
        for rank in range(size)
    ]
    with _killed_at_end(processes):
        with _without_main():
            for process in processes:
                process.start()
        return _wait(processes, receiver)


def _run(sender: Connection, function: Callable[..., Any], rank: int, *arguments: Any) -> None:
    """Run the function in this process; send what it returns if this is process 0, which alone may print."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if rank:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, STDOUT)
        os.dup2(nowhere, STDERR)
    result = function(rank, *arguments)
    if not rank:
        sender.send(result)


def _end_with_parent() -> None:
    """End this process when its parent has died: it would keep its GPU."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _wait(processes: Sequence[BaseProcess], receiver: Connection) -> Any:
    """Wait until all processes have ended, and return what process 0 has sent.

    Raises:
        ProcessFailed: of the process that failed first.
    """
    result = None
    running = {process.sentinel: rank for rank, process in enumerate(processes)}
    while running:
        for ready in wait([receiver, *running]):
            if ready is receiver:
                result = receiver.recv()
                continue
            rank = running.pop(ready)  # type: ignore[arg-type]
            processes[rank].join()
            if exitcode := processes[rank].exitcode:
                raise ProcessFailed(rank, exitcode)
    return result


@contextlib.contextmanager
def _killed_at_end(processes: Sequence[BaseProcess]) -> Iterator[None]:
    """Kill the processes that are alive when the block ends."""
    try:
        yield
    finally:
        for process in processes:
            if process.pid:  # it was started
                process.kill()  # does nothing to a process that has ended
                process.join()


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main module, the script of the job: `spawn` would run it again in each new process."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
