"""What the processes of a training tell each other.

A signal reaches them at different steps; they agree on the step after which all end.
"""

from __future__ import annotations

import signal
import time
from typing import TypeVar

import torch
from torch import distributed

from retort.signals import Interruption

T = TypeVar("T")
SECONDS = 3.0  # from one question of several processes to the next: little of the time that a cluster gives ahead
SHORTEST = 1e-6  # seconds of a step


def are_several() -> bool:
    """Return whether this process is one of several that train together."""
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def told(own: T) -> list[T]:
    """Return what each process of a training tells the others, in their order; `own` alone where there is one."""
    if not are_several():
        return [own]
    known = [own] * distributed.get_world_size()
    distributed.all_gather_object(known, own)
    return known


class Agreement:
    """The question of several processes, every few steps, whether one of them received a signal.

    They also tell each other how long their steps took. So all know after how many steps the next question comes.

    Args:
        interruption: the signals that reached this process.
    """

    def __init__(self, interruption: Interruption) -> None:
        self.interruption = interruption
        self.steps = self.left = 1  # from the last question to the next, and what is left of them
        self.asked = time.monotonic()

    def after_step(self) -> signal.Signals | None:
        """Return the signal that asks all processes to end after the step just taken; None if there is none."""
        if not are_several():
            return self.interruption.received
        self.left -= 1
        return None if self.left else self._ask()

    def _ask(self) -> signal.Signals | None:
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            torch.cuda.synchronize()  # the device may be some steps behind
        known = told((self.interruption.received, (time.monotonic() - self.asked) / self.steps))
        slowest = max(SHORTEST, *(seconds for _, seconds in known))
        self.steps = self.left = max(1, int(SECONDS / slowest))
        self.asked = time.monotonic()
        return next((received for received, _ in known if received), None)
