"""Signals that ask a training to write its state and to end.

Slurm sends SIGURG some time before a job's time limit (`--signal=URG@...`), and SIGTERM when it cancels or preempts a
job. By default a process ignores SIGURG, so the shells and Snakemake's own processes around the training live on.

Where Slurm tracks processes by cgroups, it signals only the first process of a step. That is Snakemake, which sends the
signals on (`run_hooks.pass_signals_on`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, Self

from retort.errors import RetortError

AHEAD_OF_LIMIT = signal.SIGURG
SIGNALS = (AHEAD_OF_LIMIT, signal.SIGTERM)


class Interrupted(RetortError):
    """A signal asked a training to end; its state is written.

    Args:
        number: the signal.
        step: the last step of the training, counted from 1.
    """

    def __init__(self, number: signal.Signals, step: int) -> None:
        super().__init__(f"{number.name} ended it after step {step}", "its state is kept: run again and it goes on")
        self.ahead_of_limit = number is AHEAD_OF_LIMIT


class Interruption:
    """A `with` block in which signals are only noted, in `received`, and do not end the process."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._before: dict[signal.Signals, Callable[[int, FrameType | None], Any] | int | None] = {}

    def __enter__(self) -> Self:
        """Begin to note signals, if this is the main thread. One that was kept for this training counts as received."""
        self.received = _kept[-1] if _kept else None
        _kept.clear()
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore the signal handlers; keep a signal that came too late for this training for the next one."""
        if error is None and self.received is AHEAD_OF_LIMIT:
            _kept.append(AHEAD_OF_LIMIT)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = signal.Signals(number)


_kept: list[signal.Signals] = []  # signals for the next training


@contextlib.contextmanager
def kept_for_next_training() -> Iterator[None]:
    """Keep a signal ahead of the time limit that arrives between two trainings of a job: Slurm sends it only once.

    The next training then takes one step, writes its state and ends.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(AHEAD_OF_LIMIT, lambda *_: _kept.append(AHEAD_OF_LIMIT))
    try:
        yield
    finally:
        signal.signal(AHEAD_OF_LIMIT, before)
        _kept.clear()


def pass_on(number: int, *_: object) -> None:
    """Send a signal to every process that this one has started, and to those that they have started."""
    import psutil

    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(OSError):  # it has ended
            os.kill(process.pid, number)


def leave_to_parent(*_: object) -> None:
    """Ignore the signals in a worker process of a training: the training decides when both end."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
