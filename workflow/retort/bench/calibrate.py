"""Calibration: measure how fast this machine trains, moves memory and starts, as a job of the workflow does."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertModel

from retort.atomic import write_json
from retort.cost import flops
from retort.provenance import stamp
from retort.specs.model import Architecture

SECONDS = 20.0  # for how long steps are measured
LEAST = 3  # the fewest steps that are measured, however slow they are
MOVED = {True: 1 << 28, False: 1 << 24}  # numbers of a tensor that fits no cache, on a GPU or not
STARTED = "import torch; from retort.stages import distill; torch.zeros(1, device='{device}')"  # before a first step
VOCABULARY = 1000
# what is measured if jobs run on a GPU (True) or not: (architecture, rows per step, tokens per row)
SHAPES = {
    True: (Architecture(layers=6, heads=12, hidden=768, intermediate=3072), 32, 128),
    False: (Architecture(layers=2, heads=12, hidden=384, intermediate=1536), 16, 32),
}


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
    with torch.autocast(input_ids.device.type, torch.bfloat16, enabled=precision == "bfloat16"):
        hidden = model(input_ids=input_ids, attention_mask=torch.ones_like(input_ids)).last_hidden_state
        loss = hidden.float().pow(2).mean()
    loss.backward()
    optimiser.step()
    optimiser.zero_grad()
    if input_ids.device.type == "cuda":
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
        if device == "cuda":
            torch.cuda.synchronize()

    return 3 * a.nbytes / _seconds(add, seconds)


def _start_seconds(device: str) -> float:
    """Return the time that a new process takes until it could train."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", STARTED.format(device=device)], check=True)
    return time.perf_counter() - start


def calibrate(precision: str, gpu: bool, output: Path, seconds: float = SECONDS) -> float:
    """Measure this machine, write what it achieves to `output` with the device, and return the FLOPs per second.

    Args:
        precision: 'bfloat16' or 'float32'.
        gpu: whether jobs run on a GPU; without one on this machine, the CPU is measured.
        output: the JSON file to write.
        seconds: for how long steps are measured.
    """
    gpu = gpu and torch.cuda.is_available()
    device = "cuda" if gpu else "cpu"
    architecture, batch, length = SHAPES[gpu]
    threads = torch.get_num_threads() if gpu else 1  # as in a training job of the workflow
    torch.set_num_threads(threads)
    step = _step_seconds(gpu, device, precision, seconds)
    achieved = batch * flops.TRAINED * flops.forward(architecture, length) / step
    write_json(
        output,
        {
            "flops": achieved, "bandwidth": _bandwidth(gpu, device, seconds / 10), "start": _start_seconds(device),
            "architecture": architecture.model_dump(), "batch": batch, "length": length, "precision": precision,
            "seconds": step, **stamp(device, threads),
        },
    )  # fmt: skip
    return achieved
