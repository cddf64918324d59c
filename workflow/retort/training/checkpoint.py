"""Checkpoints for resuming a killed job.

They are not among the job's declared outputs, are valid for one set of settings only, are written atomically, have
checksums and are never pickled. A damaged one is ignored: the training begins anew, and a line says so.

A training waits while its state is written. A thread could write a copy of the state meanwhile, but the copy would take
12 bytes a parameter. Writes take little time anyway: the next one comes after `SHARE` times as long as the last one
took. Companions write together, after `SHARE` times the sum of their writes.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import xxhash
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from retort.atomic import PART, flush, replacing
from retort.checksums import Maker, is_sealed, sealed
from retort.training.loader import uses_gpu

STATES = ("exp_avg", "exp_avg_sq", "step")  # what AdamW keeps for each parameter
SHARE = 60  # time between two writes / time of the last: at most 2 % of a training, also if the next takes longer
FIRST_RATE = 3e8  # bytes a second that a write is expected to reach before one was measured


@dataclass(frozen=True)
class State:
    """A state on disk.

    Args:
        run: the number of its training run.
        step: the step after which it was written.
        makers: every code that trained up to this step.
        origins: every way in which the steps were taken, see `training.origins`; an empty one for steps of older code,
            which did not record it.
        tensors: tensor by name, see `pack`.
    """

    run: int
    step: int
    makers: list[Maker]
    origins: list[dict[str, Any]]
    tensors: Mapping[str, Tensor]


def _ignore(line: str) -> None:
    """Print nothing."""


class Checkpoint:
    """The checkpoint of one job.

    Args:
        folder: results/checkpoints/<slug of the job>.
        settings: the job's settings and seed, as JSON values; a state with other settings is ignored.
        every: least number of seconds between two writes; 0 writes after every step.
        maker: the code that this process runs; None if it is not to be recorded.
        say: called with a line about a damaged state.
    """

    def __init__(
        self,
        folder: Path | str,
        settings: Any,
        every: float,
        maker: Maker | None = None,
        say: Callable[[str], None] = _ignore,
    ) -> None:
        self.folder = Path(folder)
        self.key = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        self.every = every
        self.seconds = 0.0  # duration of a write
        self.measured = False  # whether `seconds` was measured
        self.last = time.monotonic()  # when the last write ended
        self.say = say
        self.maker = maker
        self.state = self._read()
        noted = [Maker(**line["maker"]) for line in self._note_lines() if line["key"] == self.key and line["maker"]]
        makers = [*(self.state.makers if self.state else []), *noted, *([maker] if maker else [])]
        self.makers = list(dict.fromkeys(makers))  # each once
        self.origins = [*self.state.origins] if self.state else []

    def _read(self) -> State | None:
        """Return the state on disk; None if it is missing, damaged or of other settings."""
        try:
            header = json.loads((self.folder / "state.json").read_text())
            if not is_sealed(header):
                raise ValueError("state.json is not as it was written")
            if header["key"] != self.key:
                return None
            for name, digest in header["files"].items():
                if digest_of_file(self.folder / name) != digest:
                    raise ValueError(f"{name} is not as it was written")
            makers = [Maker(**maker) for maker in header["makers"]]
            tensors = StoredTensors([self.folder / name for name in header["files"]])
            return State(header["run"], header["step"], makers, header.get("origins", [{}]), tensors)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            self.say(f"the checkpoint {self.folder} is damaged ({error}): the training begins anew")
            return None

    def past(self, run: int) -> bool:
        """Return whether the state on disk is of a later training run, so that this one is done."""
        return self.state is not None and self.state.run > run

    def notes(self) -> list[Any]:
        """Return the notes of a job with these settings, in order, up to the first damaged line."""
        return [line["note"] for line in self._note_lines() if line["key"] == self.key]

    def _note_lines(self) -> list[dict[str, Any]]:
        """Return the lines of the notes file, up to the first damaged one: a kill may cut the last line."""
        try:
            texts = (self.folder / "notes.jsonl").read_text(errors="replace").splitlines()
        except OSError:
            return []
        lines = []
        for text in texts:
            try:
                line = json.loads(text)
            except ValueError:
                break
            if not is_sealed(line):
                break
            lines.append(line)
        return lines

    def note(self, note: Any) -> None:
        """Add the result of a finished training run, as a JSON value, to the notes file; drop damaged lines."""
        maker = self.maker and self.maker.model_dump()
        lines = [*self._note_lines(), sealed({"key": self.key, "note": note, "maker": maker})]
        self._write("notes.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))

    def note_origin(self, origin: dict[str, Any]) -> None:
        """Set how the steps from now on are taken; the next write records it."""
        self.origins = [*(other for other in self.origins if other != origin), origin]

    def expect(self, parameters: dict[str, nn.Parameter]) -> None:
        """Estimate the time of a write from the size of parameters and their two moments, until one was measured."""
        if not self.measured:
            size = 3 * sum(map(bytes_of, parameters.values()))
            self.seconds = size / FIRST_RATE

    def write(self, run: int, step: int, tensors: Mapping[str, Tensor]) -> None:
        """Write the state atomically: a kill at any moment leaves either the old state or the new one.

        Args:
            run: the number of the training run.
            step: the number of steps that it has taken.
            tensors: the state, see `pack`.
        """
        began = time.monotonic()
        self.folder.mkdir(parents=True, exist_ok=True)
        files = write_groups(self.folder, f"run-{run}-step-{step}", tensors)
        makers = [maker.model_dump() for maker in self.makers]
        header = {"key": self.key, "run": run, "step": step, "makers": makers, "origins": self.origins}
        self._write("state.json", json.dumps(sealed({**header, "files": files})))
        # only now: until here the header named the old files
        for old in {*self.folder.glob("*.safetensors"), *self.folder.glob(f".*{PART}")}:
            if old.name not in files:
                old.unlink()
        self.last, self.measured = time.monotonic(), True
        self.seconds = self.last - began

    def _write(self, name: str, text: str) -> None:
        """Write a file of the folder so that not even a crash of the machine loses it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / name).is_dir():  # a file cannot replace a folder; `_read` has reported the damage
            shutil.rmtree(self.folder / name)
        with replacing(self.folder / name) as part:
            part.write_text(text)
            flush(part)
        flush(self.folder)


class ReadCheckpoint(Checkpoint):
    """The checkpoint of a job in a process that only reads it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.every = math.inf

    def note(self, note: Any) -> None:
        """Write nothing."""

    def write(self, run: int, step: int, tensors: Mapping[str, Tensor]) -> None:
        """Write nothing."""


def write_interval(checkpoints: Sequence[Checkpoint]) -> float:
    """Return the seconds from the last write to the next, for checkpoints that are written together."""
    every = max(checkpoint.every for checkpoint in checkpoints)
    return max(every, SHARE * sum(checkpoint.seconds for checkpoint in checkpoints)) if every else 0.0


def are_due(checkpoints: Sequence[Checkpoint]) -> bool:
    """Return whether it is time to write these checkpoints together; False if there are none."""
    if not checkpoints:
        return False
    last = max(checkpoint.last for checkpoint in checkpoints)
    return time.monotonic() - last >= write_interval(checkpoints)


def pack(
    parameters: dict[str, nn.Parameter], buffers: dict[str, Tensor], optimiser: torch.optim.Optimizer
) -> dict[str, Tensor]:
    """Return the state of a training as tensors by name: weights, buffers, moments and random state."""
    tensors = {"random": torch.get_rng_state()}
    if uses_gpu():
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    tensors |= {f"buffer.{name}": buffer.clone() for name, buffer in buffers.items()}  # such as the bank of `Contrast`
    for name, parameter in parameters.items():
        tensors[f"weight.{name}"] = parameter.detach()
        for state, value in optimiser.state.get(parameter, {}).items():  # empty if frozen or outside the loss
            tensors[f"{state}.{name}"] = value
    return tensors


def unpack(
    tensors: Mapping[str, Tensor],
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
    if "random.cuda" in tensors and uses_gpu():
        torch.cuda.set_rng_state(tensors["random.cuda"])


# The tensors of a training's state on disk: a safetensors file for each group of tensors.
#
# `save_file` copies all tensors of its file to the host at once: for a state on a GPU, 12 bytes a parameter with AdamW.
# Written group after group, a state needs host memory for one group only. It is read tensor by tensor.


GROUP = 1 << 26  # the most bytes of a group, unless one tensor alone is larger


def write_groups(folder: Path, name: str, tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """Write tensors to the files `<name>.<number>.safetensors` of a folder; return file -> digest.

    Each is flushed to the disk before it gets its name, so that not even a crash of the machine loses it.
    """
    digests = {}
    for number, names in enumerate(groups(tensors), start=1):
        file = f"{name}.{number}.safetensors"
        with replacing(folder / file) as part:
            save_file({each: tensors[each].detach().contiguous() for each in names}, str(part))
            flush(part)
            digests[file] = digest_of_file(part)
    return digests


def groups(tensors: Mapping[str, Tensor]) -> Iterator[list[str]]:
    """Yield the names of tensors in groups of at most `GROUP` bytes, in order; a larger tensor is a group alone."""
    names: list[str] = []
    filled = 0
    for name, tensor in tensors.items():
        size = bytes_of(tensor)
        if names and filled + size > GROUP:
            yield names
            names, filled = [], 0
        names.append(name)
        filled += size
    if names:
        yield names


def bytes_of(tensor: Tensor) -> int:
    """Return the bytes of a tensor's values."""
    return tensor.numel() * tensor.element_size()


def digest_of_file(path: Path) -> str:
    """Return the XXH3 digest of a file; SHA-256 would noticeably slow down a write."""
    digest = xxhash.xxh3_128()
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 22):
            digest.update(chunk)
    return digest.hexdigest()


class StoredTensors(Mapping[str, Tensor]):
    """The tensors of safetensors files by name, each read on access.

    Args:
        files: the safetensors files.

    Raises:
        SafetensorError: a file is damaged.
    """

    def __init__(self, files: list[Path]) -> None:
        self._files: dict[str, Any] = {}
        for file in files:
            opened: Any = safe_open(str(file), framework="pt")
            self._files |= dict.fromkeys(opened.keys(), opened)

    def __getitem__(self, name: str) -> Tensor:
        """Return a tensor, read from its file."""
        tensor: Tensor = self._files[name].get_tensor(name)
        return tensor

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._files)

    def __len__(self) -> int:
        """Return the number of tensors."""
        return len(self._files)
