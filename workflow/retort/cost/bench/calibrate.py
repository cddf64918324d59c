"""Measure how fast this machine trains, moves memory, starts jobs, and makes a forward pass."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from retort.atomic import write_json
from retort.cost import losses, work
from retort.cost.bench.steps import Models, Steps, StepShape, median_seconds
from retort.cost.speed import Speed
from retort.cost.training_work import LABELS
from retort.errors import RetortError
from retort.machine import float32_products
from retort.objectives.relation_forms.choice import Problem, form_on
from retort.provenance import run_environment
from retort.settings.trainings import TermSettings
from retort.specs.model import Architecture

SECONDS = 20.0  # for how long steps are measured
MOVED = {"cuda": 1 << 28, "cpu": 1 << 24}  # elements of a tensor that is larger than any cache
# what runs on a node before the first step: Snakemake, then the script
SNAKEMAKE = "import snakemake.cli, snakemake.api, snakemake.workflow"
IMPORTED = """import torch, snakemake.script, transformers.models.bert.modeling_bert, retort.training.stages.distill
torch.zeros(1, device='{device}')"""
VOCABULARY = 1000  # small: an update of embeddings is no matrix product
# what is measured on a device: (architecture, rows per step, tokens per row)
SHAPES = {
    "cuda": (Architecture(layers=6, heads=12, hidden=768, intermediate=3072), 32, 128),
    "cpu": (Architecture(layers=2, heads=12, hidden=384, intermediate=1536), 16, 32),
}
RELATION: dict[str, Any] = {"pairs": ["v-v"], "heads": 48}  # as many heads as in MiniLMv2 (Wang et al., 2021)
RELATION_LENGTH = 128
RELATION_ROWS = {"cuda": 64, "cpu": 8}
# the teacher of the measured relation; its student is that of `SHAPES`
TAUGHT = Architecture(layers=2, heads=12, hidden=768, intermediate=3072)


def _relations(device: str, taken: float, speed: Speed) -> float:
    """Return time of relations / time to move their bytes.

    The time of relations is the measured time less that of matrix products and of other memory traffic, but at least
    half of the measured time, so that errors of measurement cannot make it vanish.

    Args:
        device: the device on which the loss was measured.
        taken: the measured time of the loss, in seconds.
        speed: of encoders, and of the memory.
    """
    term = TermSettings(objective="relations", version=1, pairs=[(1, 1)], weight=1.0, options=RELATION)
    one = losses.cost_of([term], SHAPES[device][0], TAUGHT, RELATION_LENGTH, outputs=0).work
    done = one.times(RELATION_ROWS[device])
    others = 3600 * replace(speed, relations=0.0).hours(done)
    return max(taken - others, taken / 2) * speed.bandwidth / done.relation_traffic


def _start_seconds(device: str) -> float:
    """Return the seconds that a job on a cluster's node takes before it can train.

    They include the start of Snakemake, the start of the script's process with all imports, and the first use of the
    device. They do not include the reading of the study's and the model's files.
    """
    start = time.perf_counter()
    for code in (SNAKEMAKE, IMPORTED.format(device=device)):
        subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def calibrate(precision: str, gpu: bool, output: Path, lasting: float = SECONDS) -> float:
    """Measure this machine, write the measurements to `output`, and return the FLOPs per second.

    Args:
        precision: 'bfloat16', 'tf32' or 'float32'.
        gpu: whether jobs run on a GPU.
        output: the JSON file to write.
        lasting: for how many seconds steps are measured.

    Raises:
        RetortError: jobs run on a GPU, and this machine has none.
    """
    if gpu and not torch.cuda.is_available():
        raise RetortError(
            f"the study trains on GPUs, and torch {torch.__version__} sees none on {socket.gethostname()}",
            "calibrate on a machine that has one, such as a node of the cluster, or give its speed with --flops",
        )
    device = "cuda" if gpu else "cpu"
    place = torch.device(device)
    architecture, batch, length = SHAPES[device]
    threads = torch.get_num_threads() if gpu else 1  # as in a training job of the workflow
    torch.set_num_threads(threads)
    shape = StepShape("", architecture, None, VOCABULARY, batch, length, precision)
    step = median_seconds(Steps(Models(shape, device), [LABELS]).step, device, lasting)
    achieved = batch * work.TRAINED * work.forward(architecture, length) / step
    a, b, total = (torch.ones(MOVED[device], device=device) for _ in range(3))  # two are read, one is written
    bandwidth = 3 * a.nbytes / median_seconds(lambda: torch.add(a, b, out=total), device, lasting / 10)
    sizes = (RELATION_ROWS[device], RELATION_LENGTH, architecture.hidden, TAUGHT.hidden, int(RELATION["heads"]))
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32  # of queries, keys and values
    problem, form = Problem.draw(sizes, dtype, True, place), form_on(place)
    with float32_products(precision):
        taken = median_seconds(lambda: problem.solve(form), device, lasting / 10)
    result = {
        "flops": achieved,
        "bandwidth": bandwidth,
        "relations": _relations(device, taken, Speed(achieved, bandwidth, 0.0, "")),
        "start": _start_seconds(device),
        "precision": precision,
        "seconds": step,
        **run_environment(device, threads),
    }
    write_json(output, result)
    return achieved
