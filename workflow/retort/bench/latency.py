"""The time of a forward pass."""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch

from retort.settings import ProfileSettings
from retort.specs.timing import Timing


@torch.inference_mode()
def latency(network: Any, settings: ProfileSettings, device: str) -> list[float]:
    """Measure the time of a forward pass in ms: one value per run, the median over the passes of the run.

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
            if device == "cuda":
                torch.cuda.synchronize()
            start = time.perf_counter()
            network(input_ids=input_ids, attention_mask=attention_mask)
            if device == "cuda":
                torch.cuda.synchronize()
            times.append(1000 * (time.perf_counter() - start))
        if number:  # run 0 warms up
            runs.append(statistics.median(times))
    return runs


def further_latencies(network: Any, settings: ProfileSettings, device: str) -> dict[str, list[float]]:
    """Measure the further latencies that tables ask for, and return them by name."""
    return {
        Timing(more.batch, more.length, more.device or "").name: latency(
            network, settings.model_copy(update={"batch": more.batch, "length": more.length}), more.device or device
        )
        for more in settings.further or []
    }
