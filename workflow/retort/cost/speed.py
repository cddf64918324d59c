"""The work of jobs, and how fast a machine does it: stated by the user, measured on a few steps, or guessed."""

from __future__ import annotations

import json
import operator
from dataclasses import dataclass, replace
from pathlib import Path

from retort.errors import RetortError
from retort.provenance import processor_name
from retort.specs.config import Config

STORED = Path("results/calibration.json")
GUESS_WITHIN, MEASURED_WITHIN = 1.5, 1.2  # hours may be this many times more, or fewer
HINT = "measure it with --calibrate or give it with --flops"


@dataclass(frozen=True)
class Work:
    """The work of a job; a `Speed` turns it into hours.

    Args:
        flops: of matrix products.
        traffic: bytes that losses and the optimiser read and write; the speed of FLOPs includes what encoders move.
        seconds: other time, on a CPU core.
        relation_traffic: the part of the traffic that relations cause; a device may move it at another speed.
    """

    flops: float = 0.0
    traffic: float = 0.0
    seconds: float = 0.0
    relation_traffic: float = 0.0

    def __add__(self, other: Work) -> Work:
        """Return the sum of two jobs' work."""
        return Work(*map(operator.add, vars(self).values(), vars(other).values()))

    def times(self, number: float) -> Work:
        """Return this work times a number."""
        return Work(*(number * part for part in vars(self).values()))


@dataclass(frozen=True)
class Speed:
    """What one device achieves in training.

    Args:
        flops: FLOPs of matrix products in a second, with all that encoders do between them.
        bandwidth: bytes of losses and the optimiser that are moved in a second.
        start: seconds that a job takes next to its work, to load Python, torch, transformers and the model's files.
        origin: where the numbers come from.
        relations: the time of relations, relative to moving their bytes at `bandwidth`: below 1 if kernels never write
            them to memory.
        within: hours may be this many times more, or fewer.
    """

    flops: float
    bandwidth: float
    start: float
    origin: str
    relations: float = 1.0
    within: float = GUESS_WITHIN

    def hours(self, work: Work, jobs: int = 1) -> float:
        """Return the hours that jobs with this work in total take on one device, one after another."""
        moved = work.traffic + (self.relations - 1) * work.relation_traffic
        seconds = work.flops / self.flops + moved / self.bandwidth + work.seconds + self.start * jobs
        return seconds / 3600

    def at(self, relations: float, faster: float = 1.0) -> Speed:
        """Return this speed with another time of relations, times a factor."""
        flops, bandwidth = faster * self.flops, faster * self.bandwidth
        return replace(self, relations=relations, flops=flops, bandwidth=bandwidth)


# The time of relations by kernels, which never write them, relative to the plain form's. A guess for GPUs from what
# kernels compute for each number of a relation: some ten exponentials and a hundred other operations in registers,
# where the plain form moves 80 bytes. `retort bench gpu` measures it.
BY_KERNELS = 0.25
FORK = 1.0  # seconds to start a job as a fork of a process that has imported all that it needs
# first guesses if jobs run on a GPU (True) or not
GUESSED = {
    True: Speed(60e12, 1.3e12, 15.0, f"a guess for a GPU of the A100 class at a fifth of its peak in bfloat16; {HINT}"),
    False: Speed(1e11, 5e9, 7.0, f"a guess for one core of a server CPU; {HINT}"),
}
FLOAT32 = 2.0  # times as long as in bfloat16 take the trainings of the pocket study on a CPU
# The same of encoders on a GPU, a guess: at a fifth of the peak in bfloat16, a fifth of the time goes to products, for
# which the A100 has peaks of 312, 156 and 19.5 TFLOP/s, and the rest to moving numbers, which are then twice as wide.
ON_GPU = {"bfloat16": 1.0, "tf32": 0.2 * 312 / 156 + 0.8 * 2, "float32": 0.2 * 312 / 19.5 + 0.8 * 2}
# the same for the H100 class; only `retort cost` tells its hours, no job is planned with it
H100 = Speed(200e12, 2.2e12, 15.0, "a guess for a GPU of the H100 class at a fifth of its peak in bfloat16")


def speed_of_device(flops: float | None, gpu: bool, config: Config) -> Speed:
    """Return the speed that the user stated, else the measured one, else a guess.

    Args:
        flops: FLOPs per second from the command line, or None.
        gpu: whether jobs run on a GPU.
        config: the configuration.

    Raises:
        RetortError: a file holds no calibration.
    """
    speed = _measured(gpu, config) or guessed_speed(gpu, config.resolved_precision())
    speed = speed if config.cluster else replace(speed, start=FORK)
    return speed if flops is None else replace(speed, flops=flops, origin="given with --flops")


def guessed_speed(gpu: bool, precision: str) -> Speed:
    """Return the guess for a device in a precision; on a CPU, bfloat16 stands for instructions where these are used."""
    if gpu:
        return in_precision(GUESSED[gpu], precision)
    return GUESSED[gpu] if precision == "bfloat16" else GUESSED[gpu].at(1.0, faster=1 / FLOAT32)


def in_precision(speed: Speed, precision: str) -> Speed:
    """Return the guess for a GPU in another precision than bfloat16; losses and the optimiser are in float32 anyway."""
    if precision == "bfloat16":
        return speed
    slower = ON_GPU[precision]
    told = f"{speed.origin}; in {precision}, encoders take {slower:.2g} times as long"
    return replace(speed, flops=speed.flops / slower, origin=told)


def _measured(gpu: bool, config: Config) -> Speed | None:
    """Return the speed that `retort cost --calibrate` measured; None if nothing that counts was measured.

    It counts for jobs on the same type of device (CPU or GPU) and in the same precision. Where jobs run on the CPU of
    this machine, it must be the same CPU. The devices of a cluster's nodes are not known here, so any name counts.

    Raises:
        RetortError: the file holds no calibration.
    """
    if not STORED.is_file():
        return None
    try:
        kept = json.loads(STORED.read_text(encoding="utf-8"))
        flops, bandwidth, start, relations = (float(kept[key]) for key in ("flops", "bandwidth", "start", "relations"))
        device, precision = kept["device"], kept["precision"]
        origin = f"measured on {device}, {kept['threads']} thread(s), {precision}, {kept['at'][:10]}"
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RetortError(
            f"{STORED} holds no calibration", "measure again with `retort cost --calibrate`, or delete it"
        ) from None
    known = gpu or config.cluster or device == f"cpu: {processor_name()}"
    counts = known and gpu != device.startswith("cpu: ") and precision == config.resolved_precision()
    return Speed(flops, bandwidth, start, origin, relations, MEASURED_WITHIN) if counts else None
