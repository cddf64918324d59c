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
import types
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

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
