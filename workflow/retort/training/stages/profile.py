"""Profiles: the number of parameters and the latency of an architecture, measured with random weights."""

from __future__ import annotations

import statistics
from typing import Any

import torch

from retort.atomic import write_json
from retort.checksums import with_digest
from retort.job.context import RunningJob
from retort.models import build
from retort.models.encoders import embeddings_of, heads_on
from retort.provenance import peak_memory, run_environment
from retort.settings.trainings import ProfileSettings
from retort.training.timing import further_latencies, median_latency, pass_times


def profile_student(
    job: RunningJob, settings: ProfileSettings, student: str, model_folder: str, profile_file: str
) -> None:
    """Write a student's profile: numbers of parameters (all, without embeddings, without pooler) and latency in ms.

    The latency is measured in several runs, which give its standard deviation, as in Udagawa et al. (2023), Table 1.
    Weights do not change the time, so random ones are used.
    """
    torch.set_num_threads(settings.threads)
    torch.manual_seed(0)
    network: Any = build.blank(model_folder, settings.architecture).eval()
    runs = median_latency(pass_times(network, settings, job.device))
    further = further_latencies(network, settings, job.device)
    parameters = sum(p.numel() for p in network.parameters())
    embeddings = sum(p.numel() for module in embeddings_of(network) for p in module.parameters())
    pooler = sum(p.numel() for p in heads_on(network).get("pooler", torch.nn.Identity()).parameters())
    profile = {
        "student": student,
        "parameters": parameters,
        "without_embeddings": parameters - embeddings,
        "without_pooler": parameters - pooler,
        "latency_ms": runs,
        **({"further": further} if further else {}),
        "settings": settings.as_json(),
        "seconds": job.seconds(),
        **peak_memory(job.device),
        **run_environment(job.device, settings.threads),
        **job.lineage(),
    }
    write_json(profile_file, with_digest(profile))
    job.say(f"{statistics.mean(runs):.2f} ms a pass  ({job.seconds():.0f} s)")
