"""Calibration: measure how fast this machine trains, moves memory and starts, as a job of the workflow does."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertModel

from retort import forkserver
from retort.atomic import write_json
from retort.cost import flops, losses
from retort.errors import RetortError
from retort.objectives.divergence import relation_divergence, token_weights
from retort.precision import float32_products
from retort.provenance import stamp
from retort.settings import TermSettings
from retort.specs.model import Architecture

SECONDS = 20.0  # for how long steps are measured
LEAST = 3  # the fewest steps that are measured, however slow they are
MOVED = {True: 1 << 28, False: 1 << 24}  # numbers of a tensor that fits no cache, on a GPU or not
# what runs before a first step: on a node, Snakemake; then the script, in a process of its own or in a fork of another
SNAKEMAKE = "import snakemake.cli, snakemake.api, snakemake.workflow"
IMPORTED = f"import torch, {', '.join(forkserver.ON_NODES)}; torch.zeros(1, device='{{device}}')"
FORKED = "from retort.forkserver import hand_over; hand_over()\n" + IMPORTED
VOCABULARY = 1000
# what is measured if jobs run on a GPU (True) or not: (architecture, rows per step, tokens per row)
SHAPES = {
    True: (Architecture(layers=6, heads=12, hidden=768, intermediate=3072), 32, 128),
    False: (Architecture(layers=2, heads=12, hidden=384, intermediate=1536), 16, 32),
}
RELATION_HEADS, RELATION_LENGTH = 48, 128  # the heads of MiniLMv2 (Wang et al., 2021)
RELATION_ROWS = {True: 64, False: 8}
# the width of the teacher's vectors; those of the student have that of `SHAPES`
TAUGHT = Architecture(layers=2, heads=12, hidden=768, intermediate=3072)


def _encoder(architecture: Architecture) -> Any:
    config = BertConfig(
        vocab_size=VOCABULARY,
        num_hidden_layers=architecture.layers,
        num_attention_heads=architecture.heads,
        hidden_size=architecture.hidden,
        intermediate_size=architecture.intermediate,
    )
    model = BertModel(config, add_pooling_layer=False)
    model.embeddings.requires_grad_(False)
    return model


def _step(model: Any, optimiser: torch.optim.Optimizer, input_ids: torch.Tensor, precision: str) -> None:
    device = input_ids.device.type
    with float32_products(precision):
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"):
            hidden = model(input_ids=input_ids, attention_mask=torch.ones_like(input_ids)).last_hidden_state
            loss = hidden.float().pow(2).mean()
        loss.backward()
    optimiser.step()
    optimiser.zero_grad()
    _wait(device)


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def _seconds(act: Callable[[], None], seconds: float) -> float:
    """Return the mean time of an action, done twice to warm up and then for some seconds, at least `LEAST` times."""
    for _ in range(2):
        act()
    times, start = 0, time.perf_counter()
    while times < LEAST or time.perf_counter() - start < seconds:
        act()
        times += 1
    return (time.perf_counter() - start) / times


def _step_seconds(gpu: bool, device: str, precision: str, seconds: float) -> float:
    """Return the time of a training step: a forward pass, a backward pass and an update, as in real training.

    The embeddings are small and frozen, because their update is not a matrix product.
    """
    architecture, batch, length = SHAPES[gpu]
    torch.manual_seed(0)
    model = _encoder(architecture).to(device)
    optimiser = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-5)
    input_ids = torch.randint(5, VOCABULARY, (batch, length), device=device)
    return _seconds(lambda: _step(model, optimiser, input_ids, precision), seconds)


def _bandwidth(gpu: bool, device: str, seconds: float) -> float:
    """Return the bytes that a sum of two large tensors reads and writes in a second, as losses do."""
    a, b = (torch.ones(MOVED[gpu], device=device) for _ in range(2))
    total = torch.empty_like(a)

    def add() -> None:
        torch.add(a, b, out=total)
        _wait(device)

    return 3 * a.nbytes / _seconds(add, seconds)


def _relation_seconds(gpu: bool, device: str, precision: str, seconds: float) -> float:
    """Return the time that value and gradient of a loss on one relation take, in the form that runs on the device."""
    torch.manual_seed(0)
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32  # of what projections return
    shape = (RELATION_ROWS[gpu], RELATION_LENGTH)
    student, teacher = (torch.randn(*shape, each.hidden, device=device).to(dtype) for each in (SHAPES[gpu][0], TAUGHT))
    student.requires_grad_()
    keys = torch.ones(shape, dtype=torch.bool, device=device)
    weights = token_weights(keys, RELATION_HEADS)

    def step() -> None:
        with float32_products(precision):
            loss = relation_divergence((student, student), (teacher, teacher), RELATION_HEADS, keys, weights)
            loss.backward()  # type: ignore[no-untyped-call]
        student.grad = None
        _wait(device)

    return _seconds(step, seconds)


def _relations(gpu: bool, taken: float, achieved: float, bandwidth: float) -> float:
    """Return how long relations take, as a multiple of the time that moving their counted bytes takes.

    The products of matrices, and what else the loss moves, are taken off first: they are counted by themselves. At
    least half of the time is that of relations, so that no rounding of theirs makes it vanish.

    Args:
        gpu: whether the loss was measured on a GPU.
        taken: its seconds.
        achieved: FLOPs per second of encoders.
        bandwidth: bytes that are moved per second.
    """
    term = TermSettings(
        objective="relations",
        version=1,
        pairs=[(1, 1)],
        weight=1.0,
        options={"pairs": ["v-v"], "heads": RELATION_HEADS},
    )
    cost = losses.cost_of([term], SHAPES[gpu][0], TAUGHT, RELATION_LENGTH, outputs=0)
    rows = RELATION_ROWS[gpu]
    beside = rows * (cost.flops / achieved + (cost.traffic - cost.relation_traffic) / bandwidth)
    return max(taken - beside, taken / 2) * bandwidth / (rows * cost.relation_traffic)


def _process_seconds(*arguments: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True)
    return time.perf_counter() - start


def _start_seconds(device: str) -> float:
    """Return the time that a job of its own takes until it could train, as on a node of a cluster.

    Counted are the start of Snakemake, and that of the script's process with all that jobs of nodes import and a first
    use of the device; not what depends on the study: reading its files, and those of the model.
    """
    return _process_seconds("-c", SNAKEMAKE) + _process_seconds("-c", IMPORTED.format(device=device))


def _fork_seconds(device: str) -> float:
    """Return the time that a job takes until it could train where jobs are forks of a process that has imported all.

    So it is in a run on one machine. The first fork waits for these imports, which a run pays once; the second counts.
    """
    forkserver.start({**os.environ, "OPENBLAS_NUM_THREADS": "1"}, forkserver.ON_NODES)
    try:
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "script.py"
            script.write_text(FORKED.format(device=device), encoding="utf-8")
            return [_process_seconds(str(script)) for _ in range(2)][-1]
    finally:
        del os.environ[forkserver.ADDRESS]  # the server ends with this process


def calibrate(precision: str, gpu: bool, output: Path, seconds: float = SECONDS) -> float:
    """Measure this machine, write what it achieves to `output` with the device, and return the FLOPs per second.

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
    architecture, batch, length = SHAPES[gpu]
    threads = torch.get_num_threads() if gpu else 1  # as in a training job of the workflow
    torch.set_num_threads(threads)
    step = _step_seconds(gpu, device, precision, seconds)
    achieved = batch * flops.TRAINED * flops.forward(architecture, length) / step
    bandwidth = _bandwidth(gpu, device, seconds / 10)
    loss = _relation_seconds(gpu, device, precision, seconds / 10)
    write_json(
        output,
        {
            "flops": achieved, "bandwidth": bandwidth, "relations": _relations(gpu, loss, achieved, bandwidth),
            "start": _start_seconds(device), "fork": _fork_seconds(device), "architecture": architecture.model_dump(),
            "batch": batch, "length": length, "precision": precision, "seconds": step, **stamp(device, threads),
        },
    )  # fmt: skip
    return achieved
