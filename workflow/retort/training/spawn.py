"""Run a function in several new processes of this machine, and wait for all of them.

Arguments and the result go through pipes between parent and child. The launchers of torch would exchange pickled
objects through a port that is open to the network, or through files in the machine's temporary folder.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

START = "spawn"  # new processes: a fork of this one might not be able to use its GPU
STDOUT, STDERR = 1, 2  # file descriptors
GRACE = 30.0  # seconds that a process has to end after SIGTERM, before SIGKILL


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

    A SIGTERM to this process is passed on to all of them. If this process dies, they get a SIGTERM, too.

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
    with _terminate_at_end(processes):
        with _without_main():
            for process in processes:
                process.start()
        with _pass_on(signal.SIGTERM, processes):
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
    """Send this process a SIGTERM when its parent has died, so that a training writes its state and ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)


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
def _terminate_at_end(processes: Sequence[BaseProcess]) -> Iterator[None]:
    """End the processes that are alive when the block ends: by SIGTERM, and by SIGKILL after `GRACE` seconds."""
    try:
        yield
    finally:
        alive = [process for process in processes if process.pid and process.is_alive()]
        for process in alive:
            process.terminate()
        last = time.monotonic() + GRACE
        for process in alive:
            process.join(max(0.0, last - time.monotonic()))
            process.kill()  # does nothing to a process that has ended
            process.join()


@contextlib.contextmanager
def _pass_on(number: signal.Signals, processes: Sequence[BaseProcess]) -> Iterator[None]:
    """Pass a signal on to the processes inside the block; only the main thread of this process can."""

    def send(*_: object) -> None:
        for process in processes:
            if process.pid and process.is_alive():
                os.kill(process.pid, number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(number, send)
    try:
        yield
    finally:
        signal.signal(number, before)


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main module, the script of the job: `spawn` would run it again in each new process."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
