"""Checkpoints for resuming a killed job.

They lie outside the job's declared outputs, are valid for one set of settings only, are written atomically and never
pickled.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

STATES = ("exp_avg", "exp_avg_sq", "step")  # what AdamW keeps for each parameter


@dataclass(frozen=True)
class State:
    """A state on disk: the number of its training run, the step after which it was written, and its tensors."""

    run: int
    step: int
    tensors: dict[str, Tensor]


class Checkpoint:
    """The checkpoint of one job.

    Args:
        folder: results/checkpoints/<names of the job>.
        settings: the job's settings and seed, as JSON values; a state that was written under others is ignored.
        every: least number of seconds between two writes.
    """

    def __init__(self, folder: Path | str, settings: Any, every: float) -> None:
        self.folder = Path(folder)
        self.key = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        self.every = every
        self.last = time.monotonic()
        self.state = self._read()

    def _read(self) -> State | None:
        """Return the state on disk, or None if there is none that is whole and of these settings."""
        try:
            header = json.loads((self.folder / "state.json").read_text())
            if header["key"] != self.key:
                return None
            return State(header["run"], header["step"], load_file(str(self.folder / header["file"])))
        except (OSError, ValueError, KeyError, SafetensorError):
            return None

    def past(self, run: int) -> bool:
        """Return True if the state on disk is of a later training run, so that this one is done."""
        return self.state is not None and self.state.run > run

    def notes(self) -> list[Any]:
        """Return what `note` wrote for a job of these settings, in order."""
        try:
            lines = [json.loads(line) for line in (self.folder / "notes.jsonl").read_text().splitlines()]
        except (OSError, ValueError):
            return []
        return [line["note"] for line in lines if line["key"] == self.key]

    def note(self, note: Any) -> None:
        """Append the result of a finished training run to the notes on disk."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "notes.jsonl").open("a") as stream:
            stream.write(json.dumps({"key": self.key, "note": note}) + "\n")

    @property
    def due(self) -> bool:
        """True if `every` seconds have passed since the last write."""
        return time.monotonic() - self.last >= self.every

    def write(self, run: int, step: int, tensors: dict[str, Tensor]) -> None:
        """Write the state atomically: a kill at any moment leaves either the old state or the new one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"run-{run}-step-{step}.safetensors"
        save_file({k: v.contiguous() for k, v in tensors.items()}, str(self.folder / f".{name}"))
        os.replace(self.folder / f".{name}", self.folder / name)  # atomic: no half-written file has this name
        header = {"key": self.key, "run": run, "step": step, "file": name}
        (self.folder / ".state.json").write_text(json.dumps(header))
        # until here the header names the old file, which is removed only after it
        os.replace(self.folder / ".state.json", self.folder / "state.json")
        for old in self.folder.glob("*.safetensors"):
            if old.name != name:
                old.unlink()
        self.last = time.monotonic()

    def remove(self) -> None:
        """Remove the state of a job that has succeeded."""
        shutil.rmtree(self.folder, ignore_errors=True)


def pack(
    parameters: dict[str, nn.Parameter], buffers: dict[str, Tensor], optimiser: torch.optim.Optimizer
) -> dict[str, Tensor]:
    """Return all that the next step depends on as named tensors: weights, buffers, moments and random state."""
    tensors = {"random": torch.get_rng_state()}
    if torch.cuda.is_available():
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    tensors |= {f"buffer.{name}": buffer.clone() for name, buffer in buffers.items()}  # such as the bank of `Contrast`
    for name, parameter in parameters.items():
        tensors[f"weight.{name}"] = parameter.detach()
        for state, value in optimiser.state.get(parameter, {}).items():  # empty if frozen or outside the loss
            tensors[f"{state}.{name}"] = value
    return tensors


def unpack(
    tensors: dict[str, Tensor],
    parameters: dict[str, nn.Parameter],
    buffers: dict[str, Tensor],
    optimiser: torch.optim.Optimizer,
) -> None:
    """Restore weights, buffers, optimiser and random state as they were when `pack` was called."""
    with torch.no_grad():
        for name, buffer in buffers.items():
            buffer.copy_(tensors[f"buffer.{name}"])
        for name, parameter in parameters.items():
            parameter.copy_(tensors[f"weight.{name}"])
            if f"step.{name}" in tensors:
                # by name: load_state_dict would match parameters by their order
                optimiser.state[parameter] = {
                    state: tensors[f"{state}.{name}"].to(parameter.device).clone() for state in STATES
                }
    torch.set_rng_state(tensors["random"])
    if "random.cuda" in tensors and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensors["random.cuda"])
