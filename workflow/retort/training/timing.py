"""Time what runs on a device, such as the forward passes of a model."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from retort.settings.trainings import ProfileSettings


def wait(device: str) -> None:
    """Wait until the device has finished all queued work."""
    if device == "cuda":
        torch.cuda.synchronize()


def times(run: Callable[[], object], device: str, count: int) -> list[float]:
    """Return the time of each of some runs in seconds, including the work that they queue on the device."""
    taken = []
    for _ in range(count):
        wait(device)
        start = time.perf_counter()
        run()
        wait(device)
        taken.append(time.perf_counter() - start)
    return taken


@torch.inference_mode()
def pass_times(network: Any, settings: ProfileSettings, device: str) -> list[list[float]]:
    """Return the time of each forward pass in ms, as a list for each run.

    Args:
        network: the encoder, which is moved to the device.
        settings: the profile's settings: `batch` rows of `length` tokens per pass, `passes` per run, and `runs`.
        device: 'cpu' or 'cuda'.
    """
    network.to(device)
    input_ids = torch.randint(5, settings.vocabulary, (settings.batch, settings.length), device=device)
    once = partial(network, input_ids=input_ids, attention_mask=torch.ones_like(input_ids))
    times(once, device, settings.passes)  # to warm up
    return [[1000 * taken for taken in times(once, device, settings.passes)] for _ in range(settings.runs)]


def median_latency(runs: list[list[float]]) -> list[float]:
    """Return the median time of a pass in each run."""
    return [statistics.median(times) for times in runs]


def further_latencies(network: Any, settings: ProfileSettings, device: str) -> dict[str, list[float]]:
    """Return the further latencies in ms that tables ask for, by name: a value for each run, or for each pass."""
    found = {}
    for more in settings.further or []:
        measured = settings.model_copy(update={"batch": more.batch, "length": more.length})
        runs = pass_times(network, measured, more.device or device)
        found[more.name] = median_latency(runs) if more.values == "runs" else list(itertools.chain(*runs))
    return found
