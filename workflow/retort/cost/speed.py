"""FLOPs per second that this machine achieves in training: stated by the user, measured on a few steps, or guessed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from retort.errors import RetortError

STORED = Path("results/calibration.json")
# first guesses (FLOPs per second, device) if jobs run on a GPU (True) or not
GUESSED = {
    True: (60e12, "a GPU of the A100 class at a fifth of its peak in bfloat16"),
    False: (1e11, "one core of a server CPU with bfloat16 instructions"),
}


START = 7.0  # seconds before a job's first step, to load Python, torch, transformers and the model's files


@dataclass(frozen=True)
class Speed:
    """Achieved FLOPs per second, and a phrase that says where the number comes from."""

    flops: float
    origin: str

    def hours(self, jobs: int, flops: float) -> float:
        """Return the hours that jobs with these FLOPs in total take on one device, one after another."""
        return (flops / self.flops + START * jobs) / 3600


def stored(path: Path = STORED) -> Speed | None:
    """Read the speed that was measured on this machine; None if it was not measured.

    Raises:
        RetortError: the file holds no calibration.
    """
    if not path.is_file():
        return None
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        origin = f"measured on {kept['device']}, {kept['threads']} thread(s), {kept['precision']}, {kept['at'][:10]}"
        return Speed(float(kept["flops"]), origin)
    except (ValueError, KeyError, TypeError):
        raise RetortError(f"{path} holds no calibration", "measure again with `retort cost --calibrate`") from None


def speed_of_device(flops: float | None, gpu: bool) -> Speed:
    """Return the speed that the user stated, else the measured one, else a guess.

    Args:
        flops: FLOPs per second from the command line, or None.
        gpu: whether jobs run on a GPU, for the guess.

    Raises:
        RetortError: the stated speed is not positive.
    """
    if flops is not None:
        if not flops > 0:
            raise RetortError(f"--flops {flops:g} is no speed", "give FLOPs a second, such as --flops 60e12")
        return Speed(flops, "given with --flops")
    guess, device = GUESSED[gpu]
    return stored() or Speed(guess, f"a guess for {device}; measure it with --calibrate or give it with --flops")
