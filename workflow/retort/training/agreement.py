"""A signal reaches the processes of a training at different steps; they agree on the step after which all end."""

from __future__ import annotations

import signal

from torch import distributed

from retort.signals import Interruption

STEPS = 10  # from one question of several processes to the next


def agreed(interruption: Interruption, step: int) -> signal.Signals | None:
    """Return the signal that asks all processes of a training to end after a step; None if there is none.

    Args:
        interruption: the signals that reached this process.
        step: the step that was taken, the same in all processes.
    """
    if not (distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1):
        return interruption.received
    if step % STEPS:
        return None
    known: list[signal.Signals | None] = [None] * distributed.get_world_size()
    distributed.all_gather_object(known, interruption.received)
    return next(filter(None, known), None)
