"""Measure the time of a forward pass."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from retort.settings.trainings import ProfileSettings
from retort.specs.printed import Timing, Values


def latency(network: Any, settings: ProfileSettings, device: str) -> list[float]:
    """Return the time of a forward pass in ms for each run: the median over the passes of the run."""
    return [statistics.median(times) for times in pass_times(network, settings, device)]


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
    attention_mask = torch.ones_like(input_ids)
    runs = []
    for number in range(settings.runs + 1):
        times = []
        for _ in range(settings.passes):
            wait(device)
            start = time.perf_counter()
            network(input_ids=input_ids, attention_mask=attention_mask)
            wait(device)
            times.append(1000 * (time.perf_counter() - start))
        if number:  # run 0 warms up
            runs.append(times)
    return runs


def further_latencies(network: Any, settings: ProfileSettings, device: str) -> dict[str, list[float]]:
    """Return the further latencies in ms that tables ask for, by name."""
    times = {}
    for more in settings.further or []:
        measured = settings.model_copy(update={"batch": more.batch, "length": more.length})
        runs = pass_times(network, measured, more.device or device)
        timing = Timing(more.batch, more.length, more.device or "", more.values or "runs")
        times[timing.name] = VALUES[timing.values](runs)
    return times


# "runs": a value for each run, its median; "batches": a value for each pass
VALUES: dict[Values, Callable[[list[list[float]]], list[float]]] = {
    "runs": lambda runs: [statistics.median(times) for times in runs],
    "batches": lambda runs: [time for times in runs for time in times],
}


def wait(device: str) -> None:
    """Wait until the device has finished all queued work."""
    if device == "cuda":
        torch.cuda.synchronize()
