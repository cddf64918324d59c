"""FLOPs a second that this machine achieves in training, measured on a few steps or given by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from retort.errors import RetortError

STORED = Path("results/calibration.json")
# for a first guess, by whether jobs run on a GPU
GUESSED = {
    True: (60e12, "a GPU of the A100 class at a fifth of its peak in bfloat16"),
    False: (1e11, "one core of a server CPU with bfloat16 instructions"),
}


START = 7.0  # seconds: Python, torch, transformers and the model's files, before a job's first step


@dataclass(frozen=True)
class Speed:
    """Achieved FLOPs a second, and where the number comes from."""

    flops: float
    said: str

    def hours(self, jobs: int, flops: float) -> float:
        """The hours of some jobs on one device, one after another."""
        return (flops / self.flops + START * jobs) / 3600


def stored(path: Path = STORED) -> Speed | None:
    """The calibration of this folder's runs; None where there is none.

    Raises:
        RetortError: the file holds no calibration.
    """
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        said = f"measured on {found['device']}, {found['threads']} thread(s), {found['precision']}, {found['at'][:10]}"
        return Speed(float(found["flops"]), said)
    except (ValueError, KeyError, TypeError):
        raise RetortError(f"{path} holds no calibration", "measure again with `retort cost --calibrate`") from None


def speed(given: float | None, gpu: bool) -> Speed:
    """The speed that is given, else the measured one, else a guess."""
    if given is not None:
        if not given > 0:
            raise RetortError(f"--flops {given:g} is no speed", "give FLOPs a second, such as --flops 60e12")
        return Speed(given, "given with --flops")
    flops, device = GUESSED[gpu]
    return stored() or Speed(flops, f"a guess for {device}; measure it with --calibrate or give it with --flops")
