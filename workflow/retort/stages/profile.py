"""Profiles: the number of parameters and the latency of an architecture, measured with random weights."""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict
from typing import Any

import torch

from retort.jobs import Job, write_json
from retort.models import build
from retort.models.taps import embeddings_of
from retort.provenance import stamp
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


def profile_student(job: Job, settings: dict[str, Any], student: str, model: str, profile: str) -> None:
    """Write a student's profile: its numbers of parameters (all, and without embeddings) and its latency in ms.

    The latency is measured in several runs, which give its standard deviation, as in Udagawa et al. (2023), Table 1.
    Weights do not change the time, so random ones are used.
    """
    torch.set_num_threads(settings["threads"])
    torch.manual_seed(0)
    network: Any = build.blank(model, settings["architecture"]).eval()
    runs = timed(network, settings, job.device)
    further = _further(job, network, settings)
    everything = sum(p.numel() for p in network.parameters())
    embeddings = sum(p.numel() for module in embeddings_of(network) for p in module.parameters())
    write_json(
        profile,
        {
            "student": student,
            "parameters": everything,
            "without_embeddings": everything - embeddings,
            "latency_ms": runs,
            **({"further": further} if further else {}),
            "settings": settings,
            "seconds": job.seconds(),
            **stamp(job.device, settings["threads"]),
        },
    )
    job.say(f"{statistics.mean(runs):.2f} ms a pass  ({job.seconds():.0f} s)")
