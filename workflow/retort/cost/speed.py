"""How fast a machine does the work of jobs: stated by the user, measured on a few steps, or guessed."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from retort.cost.work import Work
from retort.errors import RetortError

STORED = Path("results/calibration.json")


@dataclass(frozen=True)
class Speed:
    """What one device achieves in training.

    Args:
        flops: FLOPs of matrix products in a second, with all that encoders do between them.
        bandwidth: bytes of losses and the optimiser that are moved in a second.
        start: seconds before a job's first step, to load Python, torch, transformers and the model's files.
        origin: where the numbers come from.
    """

    flops: float
    bandwidth: float
    start: float
    origin: str

    def hours(self, work: Work, jobs: int = 1) -> float:
        """Return the hours that jobs with this work in total take on one device, one after another."""
        seconds = work.flops / self.flops + work.traffic / self.bandwidth + work.seconds + self.start * jobs
        return seconds / 3600


# first guesses if jobs run on a GPU (True) or not
GUESSED = {
    True: Speed(60e12, 1.3e12, 15.0, "a guess for a GPU of the A100 class at a fifth of its peak in bfloat16"),
    False: Speed(1e11, 5e9, 7.0, "a guess for one core of a server CPU with bfloat16 instructions"),
}


def stored(gpu: bool, path: Path = STORED) -> Speed | None:
    """Read the speed that was measured on this machine; None if it was not measured on such a device.

    Raises:
        RetortError: the file holds no calibration.
    """
    if not path.is_file():
        return None
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["device"].startswith("cpu") == gpu:
            return None
        origin = f"measured on {kept['device']}, {kept['threads']} thread(s), {kept['precision']}, {kept['at'][:10]}"
        return Speed(float(kept["flops"]), float(kept["bandwidth"]), float(kept["start"]), origin)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RetortError(f"{path} holds no calibration", "measure again with `retort cost --calibrate`") from None


def speed_of_device(flops: float | None, gpu: bool) -> Speed:
    """Return the speed that the user stated, else the measured one, else a guess.

    Args:
        flops: FLOPs per second from the command line, or None.
        gpu: whether jobs run on a GPU.

    Raises:
        RetortError: the stated speed is not positive.
    """
    measured = stored(gpu)
    if flops is None:
        guess = GUESSED[gpu]
        hint = "measure it with --calibrate or give it with --flops"
        return measured or replace(guess, origin=f"{guess.origin}; {hint}")
    if not flops > 0:
        raise RetortError(f"--flops {flops:g} is no speed", "give FLOPs a second, such as --flops 60e12")
    return replace(measured or GUESSED[gpu], flops=flops, origin="given with --flops")
