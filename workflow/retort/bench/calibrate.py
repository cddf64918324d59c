"""Calibration: measure how fast this machine trains an encoder, with the threads and the precision of a job."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertModel

from retort.cost import flops
from retort.jobs import write_json
from retort.provenance import stamp
from retort.specs.model import Architecture

SECONDS = 20.0  # for how long steps are measured
LEAST = 3  # the fewest steps that are measured, however slow they are
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


def calibrate(precision: str, gpu: bool, output: Path, seconds: float = SECONDS) -> float:
    """Measure the FLOPs per second of training steps, write them to `output` with the device, and return them.

    A step is a forward pass, a backward pass and an update, as in real training. The embeddings are small and frozen,
    because their update is not a matrix product. The first two steps warm up and are not measured.

    Args:
        precision: 'bfloat16' or 'float32'.
        gpu: whether jobs run on a GPU; without one on this machine, the CPU is measured.
        output: the JSON file to write.
        seconds: for how long steps are measured; at least `LEAST` steps are.
    """
    architecture, batch, length = SHAPES[gpu]
    device = "cuda" if gpu and torch.cuda.is_available() else "cpu"
    threads = torch.get_num_threads() if device == "cuda" else 1  # as in a training job of the workflow
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = _encoder(architecture).to(device)
    optimiser = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-5)
    input_ids = torch.randint(5, VOCABULARY, (batch, length), device=device)
    for _ in range(2):
        _step(model, optimiser, input_ids, precision)
    steps, start = 0, time.perf_counter()
    while steps < LEAST or time.perf_counter() - start < seconds:
        _step(model, optimiser, input_ids, precision)
        steps += 1
    took = time.perf_counter() - start
    achieved = steps * batch * flops.TRAINED * flops.forward(architecture, length) / took
    write_json(
        output,
        {
            "flops": achieved, "architecture": architecture.model_dump(), "batch": batch, "length": length,
            "precision": precision, "steps": steps, "seconds": took, **stamp(device, threads),
        },
    )  # fmt: skip
    return achieved
