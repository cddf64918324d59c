"""Measure how fast this machine trains, moves memory, starts jobs, and makes a forward pass."""

from __future__ import annotations

import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from retort.atomic import write_json
from retort.bench.steps import SUPERVISED, Models, Shape, Training, wait
from retort.cost import losses, work
from retort.errors import RetortError
from retort.machine import float32_products
from retort.objectives.relation_forms.choice import Problem, form_on
from retort.provenance import environment
from retort.settings.trainings import ProfileSettings, TermSettings
from retort.specs.base import Options
from retort.specs.model import Architecture
from retort.specs.printed import Timing


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
    for _ in range(settings.runs + 1):
        runs.append(times := list[float]())
        for _ in range(settings.passes):
            wait(device)
            start = time.perf_counter()
            network(input_ids=input_ids, attention_mask=attention_mask)
            wait(device)
            times.append(1000 * (time.perf_counter() - start))
    return runs[1:]  # the first one warms up


def latency(runs: list[list[float]]) -> list[float]:
    """Return the median time of a pass in each run."""
    return [statistics.median(times) for times in runs]


def further_latencies(network: Any, settings: ProfileSettings, device: str) -> dict[str, list[float]]:
    """Return the further latencies in ms that tables ask for, by name: a value for each run, or for each pass."""
    times = {}
    for more in settings.further or []:
        measured = settings.model_copy(update={"batch": more.batch, "length": more.length})
        runs = pass_times(network, measured, more.device or device)
        timing = Timing(more.batch, more.length, more.device or "", more.values or "runs")
        times[timing.name] = latency(runs) if timing.values == "runs" else [time for times in runs for time in times]
    return times


SECONDS = 20.0  # for how long steps are measured
LEAST = 3  # the fewest steps that are measured, however slow they are
MOVED = {"cuda": 1 << 28, "cpu": 1 << 24}  # elements of a tensor that is larger than any cache
# what runs on a node before the first step: Snakemake, then the script
SNAKEMAKE = "import snakemake.cli, snakemake.api, snakemake.workflow"
IMPORTED = """import torch, snakemake.script, transformers.models.bert.modeling_bert, retort.stages.distill
torch.zeros(1, device='{device}')"""
VOCABULARY = 1000  # small: an update of embeddings is no matrix product
# what is measured on a device: (architecture, rows per step, tokens per row)
SHAPES = {
    "cuda": (Architecture(layers=6, heads=12, hidden=768, intermediate=3072), 32, 128),
    "cpu": (Architecture(layers=2, heads=12, hidden=384, intermediate=1536), 16, 32),
}
RELATION_HEADS, RELATION_LENGTH = 48, 128  # the heads of MiniLMv2 (Wang et al., 2021)
RELATION_ROWS = {"cuda": 64, "cpu": 8}
# the teacher of the measured relation; its student is that of `SHAPES`
TAUGHT = Architecture(layers=2, heads=12, hidden=768, intermediate=3072)


def _mean_seconds(act: Callable[[], object], device: str, seconds: float) -> float:
    """Return the mean time of an action in seconds.

    Args:
        act: the action; it runs twice to warm up.
        device: the device that it keeps at work.
        seconds: for how long it is repeated, at least `LEAST` times.
    """
    for _ in range(2):
        act()
    wait(device)
    count, start = 0, time.perf_counter()
    while count < LEAST or time.perf_counter() - start < seconds:
        act()
        wait(device)
        count += 1
    return (time.perf_counter() - start) / count


def _step_seconds(device: str, precision: str, seconds: float) -> float:
    """Return the seconds of a training step: a forward pass, a backward pass and an update."""
    architecture, batch, length = SHAPES[device]
    shape = Shape("", architecture, None, VOCABULARY, batch, length, precision)
    return _mean_seconds(Training(Models(shape, device), [SUPERVISED]).step, device, seconds)


def _bandwidth(device: str, seconds: float) -> float:
    """Return the memory bandwidth in bytes per second, from the sum of two large tensors."""
    a, b, total = (torch.ones(MOVED[device], device=device) for _ in range(3))
    # two tensors read, one written
    return 3 * a.nbytes / _mean_seconds(lambda: torch.add(a, b, out=total), device, seconds)


def _relation_seconds(device: str, precision: str, seconds: float) -> float:
    """Return the seconds of value and gradient of a loss on one relation, in the form that runs on the device."""
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32  # of queries, keys and values
    sizes = (RELATION_ROWS[device], RELATION_LENGTH, SHAPES[device][0].hidden, TAUGHT.hidden, RELATION_HEADS)
    problem, form = Problem.draw(sizes, dtype, True, torch.device(device)), form_on(torch.device(device))
    with float32_products(precision):
        return _mean_seconds(lambda: problem.solve(form), device, seconds)


def _relations(device: str, taken: float, achieved: float, bandwidth: float) -> float:
    """Return time of relations / time to move their bytes.

    The time of relations is the measured time less that of matrix products and of other memory traffic, but at least
    half of the measured time, so that errors of measurement cannot make it vanish.

    Args:
        device: the device on which the loss was measured.
        taken: the measured time of the loss, in seconds.
        achieved: FLOPs per second of encoders.
        bandwidth: bytes that are moved per second.
    """
    options: Options = {"pairs": ["v-v"], "heads": RELATION_HEADS}
    term = TermSettings(objective="relations", version=1, pairs=[(1, 1)], weight=1.0, options=options)
    done = losses.cost_of([term], SHAPES[device][0], TAUGHT, RELATION_LENGTH, outputs=0).work
    rows = RELATION_ROWS[device]
    others = rows * (done.flops / achieved + (done.traffic - done.relation_traffic) / bandwidth)
    return max(taken - others, taken / 2) * bandwidth / (rows * done.relation_traffic)


def _start_seconds(device: str) -> float:
    """Return the seconds that a job on a cluster's node takes before it can train.

    They include the start of Snakemake, the start of the script's process with all imports, and the first use of the
    device. They do not include the reading of the study's and the model's files.
    """
    start = time.perf_counter()
    for code in (SNAKEMAKE, IMPORTED.format(device=device)):
        subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def calibrate(precision: str, gpu: bool, output: Path, seconds: float = SECONDS) -> float:
    """Measure this machine, write the measurements to `output`, and return the FLOPs per second.

    Args:
        precision: 'bfloat16', 'tf32' or 'float32'.
        gpu: whether jobs run on a GPU.
        output: the JSON file to write.
        seconds: for how long steps are measured.

    Raises:
        RetortError: jobs run on a GPU, and this machine has none.
    """
    if gpu and not torch.cuda.is_available():
        raise RetortError(
            f"the study trains on GPUs, and torch {torch.__version__} sees none on {socket.gethostname()}",
            "calibrate on a machine that has one, such as a node of the cluster, or give its speed with --flops",
        )
    device = "cuda" if gpu else "cpu"
    architecture, batch, length = SHAPES[device]
    threads = torch.get_num_threads() if gpu else 1  # as in a training job of the workflow
    torch.set_num_threads(threads)
    step = _step_seconds(device, precision, seconds)
    achieved = batch * work.TRAINED * work.forward(architecture, length) / step
    bandwidth = _bandwidth(device, seconds / 10)
    loss = _relation_seconds(device, precision, seconds / 10)
    result = {
        "flops": achieved,
        "bandwidth": bandwidth,
        "relations": _relations(device, loss, achieved, bandwidth),
        "start": _start_seconds(device),
        "precision": precision,
        "seconds": step,
        **environment(device, threads),
    }
    write_json(output, result)
    return achieved
