"""The time of a forward pass."""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict
from typing import Any

import torch

from retort.jobs import Job
from retort.specs.timing import Timing


@torch.inference_mode()
def timed(network: Any, settings: dict[str, Any], device: str) -> list[float]:
    """Measure the time of a forward pass in ms: one value per run, the median over the passes of the run.

    Args:
        network: the encoder, which is moved to the device.
        settings: the profile's settings: `batch` rows of `length` tokens per pass, `passes` per run, and `runs`.
        device: 'cpu' or 'cuda'.
    """
    network.to(device)
    ids = torch.randint(5, settings["vocabulary"], (settings["batch"], settings["length"]), device=device)
    mask = torch.ones_like(ids)
    runs = []
    for number in range(settings["runs"] + 1):
        times = []
        for _ in range(settings["passes"]):
            if device == "cuda":
                torch.cuda.synchronize()
            start = time.perf_counter()
            network(input_ids=ids, attention_mask=mask)
            if device == "cuda":
                torch.cuda.synchronize()
            times.append(1000 * (time.perf_counter() - start))
        if number:  # run 0 warms up
            runs.append(statistics.median(times))
    return runs


def _further(job: Job, network: Any, settings: dict[str, Any]) -> dict[str, list[float]]:
    """Measure the further latencies that tables ask for, and return them by name."""
    asked = [Timing(**wanted) for wanted in settings.get("further", [])]
    return {of.name: timed(network, {**settings, **asdict(of)}, of.device or job.device) for of in asked}
