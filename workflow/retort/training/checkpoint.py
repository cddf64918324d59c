"""Checkpoints for resuming a killed job, and random states.

They are not among the job's declared outputs, are valid for one set of settings only, are written atomically, have
checksums and are never pickled. A damaged one is ignored: the training begins anew, and a line says so.

A training waits while its state is written. A thread could write a copy of the state meanwhile, but the copy would take
12 bytes a parameter. Writes take little time anyway: the next one comes after `SHARE` times as long as the last one
took. Companions write together, after `SHARE` times the sum of their writes.

A state is written in groups of tensors, a safetensors file each: `save_file` copies all tensors of its file to the host
at once, which for a state on a GPU takes 12 bytes a parameter with AdamW. It is read tensor by tensor.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
import xxhash
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from retort.atomic import PART, flush_to_disk, replacing_file
from retort.checksums import Maker, is_sealed, with_digest

SHARE = 60  # time between two writes / time of the last: at most 2 % of a training, also if the next takes longer
GROUP = 1 << 26  # the most bytes of a group of tensors, unless one tensor alone is larger
Item = TypeVar("Item")


def uses_gpu() -> bool:
    """Return whether this process uses a GPU; to ask an unused one for its random state would begin to use it."""
    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]


class RandomState:
    """A random state of torch's CPU and GPU generators; it begins as the present one."""

    def __init__(self) -> None:
        self._copy()

    def _copy(self) -> None:
        self.cpu = torch.get_rng_state()
        self.cuda = torch.cuda.get_rng_state() if uses_gpu() else None

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Set torch to this state for a block, and update it to the state at the end of the block."""
        torch.set_rng_state(self.cpu)
        if self.cuda is not None:
            torch.cuda.set_rng_state(self.cuda)
        yield
        self._copy()


@dataclass(frozen=True)
class State:
    """A state on disk.

    Args:
        run: the number of its training run.
        step: the step after which it was written.
        makers: every code that trained up to this step.
        conditions: every way in which the steps were taken, see `setup.begin`.
        files: the files of its tensors, see `pack_state`.
    """

    run: int
    step: int
    makers: list[Maker]
    conditions: list[dict[str, object]]
    files: list[Path]


class Checkpoint:
    """The checkpoint of one job.

    Args:
        folder: results/checkpoints/<slug of the job>.
        settings: the job's settings and seed, as JSON values; a state with other settings is ignored.
        every: least number of seconds between two writes; 0 writes after every step.
        maker: the code that this process runs; None if it is not to be recorded.
        say: called with a line about a damaged state.
        writes: whether this process writes; another one of the job may do that.
    """

    def __init__(
        self,
        folder: Path | str,
        settings: Any,
        every: float,
        maker: Maker | None = None,
        say: Callable[[str], None] = lambda line: None,
        writes: bool = True,
    ) -> None:
        self.folder, self.maker, self.say, self.writes = Path(folder), maker, say, writes
        self.key = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        self.every = every if writes else math.inf
        self.seconds = 0.0  # duration of the last write
        self.last = time.monotonic()  # when it ended
        self.state = self._read()
        self.reached = self.state.run if self.state else 0  # the number of the training run of this state
        noted = [Maker(**line["maker"]) for line in self._note_lines() if line["key"] == self.key and line["maker"]]
        makers = [*(self.state.makers if self.state else []), *noted, *([maker] if maker else [])]
        self.makers = list(dict.fromkeys(makers))  # each once
        self.conditions = [*self.state.conditions] if self.state else []

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
            files = [self.folder / name for name in header["files"]]
            return State(header["run"], header["step"], makers, header["conditions"], files)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.say(f"the checkpoint {self.folder} is damaged ({error}): the training begins anew")
            return None

    def past(self, run: int) -> bool:
        """Return whether the state that was found is of a later training run, so that this one is done."""
        return self.reached > run

    def begin_run(self, run: int) -> State | None:
        """Return the state from which a training run goes on, once; None if it has none.

        Any run that begins gives the state up: its writes delete the files.
        """
        state, self.state = self.state, None
        return state if state and state.run == run else None

    def notes(self) -> list[Any]:
        """Return the notes of a job with these settings, in order, up to the first damaged line."""
        return [line["note"] for line in self._note_lines() if line["key"] == self.key]

    def _note_lines(self) -> list[dict[str, Any]]:
        """Return the lines of the notes file, up to the first damaged one: a kill may cut the last line."""
        lines = []
        try:
            for text in (self.folder / "notes.jsonl").read_text(errors="replace").splitlines():
                line = json.loads(text)
                if not is_sealed(line):
                    break
                lines.append(line)
        except (OSError, ValueError):
            pass
        return lines

    def note(self, note: Any) -> None:
        """Add the result of a finished training run, as a JSON value, to the notes file; drop damaged lines."""
        if not self.writes:
            return
        maker = self.maker and self.maker.model_dump()
        lines = [*self._note_lines(), with_digest({"key": self.key, "note": note, "maker": maker})]
        self._write("notes.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))

    def note_conditions(self, present: dict[str, object]) -> None:
        """Set how the steps from now on are taken; the next write records it."""
        self.conditions = [*(other for other in self.conditions if other != present), present]

    def write(self, run: int, step: int, tensors: Mapping[str, Tensor]) -> None:
        """Write the state atomically: a kill at any moment leaves either the old state or the new one.

        Args:
            run: the number of the training run.
            step: the number of steps that it has taken.
            tensors: the state, see `pack_state`.
        """
        if not self.writes:
            return
        began = time.monotonic()
        self.folder.mkdir(parents=True, exist_ok=True)
        files = self._write_groups(f"run-{run}-step-{step}", tensors)
        makers = [maker.model_dump() for maker in self.makers]
        header = {"key": self.key, "run": run, "step": step, "makers": makers, "conditions": self.conditions}
        self._write("state.json", json.dumps(with_digest({**header, "files": files})))
        # only now: until here the header named the old files
        for old in {*self.folder.glob("*.safetensors"), *self.folder.glob(f".*{PART}")}:
            if old.name not in files:
                old.unlink()
        self.last = time.monotonic()
        self.seconds = self.last - began

    def _write_groups(self, name: str, tensors: Mapping[str, Tensor]) -> dict[str, str]:
        """Write tensors to the files `<name>.<number>.safetensors`; return file -> digest."""
        digests = {}
        for number, names in enumerate(groups(tensors), start=1):
            file = f"{name}.{number}.safetensors"
            with replacing_file(self.folder / file) as part:
                save_file({each: tensors[each].detach().contiguous() for each in names}, str(part))
                flush_to_disk(part)  # before it gets its name, so that not even a crash of the machine loses it
                digests[file] = digest_of_file(part)
        return digests

    def _write(self, name: str, text: str) -> None:
        """Write a file of the folder so that not even a crash of the machine loses it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / name).is_dir():  # a file cannot replace a folder; `_read` has reported the damage
            shutil.rmtree(self.folder / name)
        with replacing_file(self.folder / name) as part:
            part.write_text(text)
            flush_to_disk(part)
        flush_to_disk(self.folder)


def write_interval(checkpoints: Sequence[Checkpoint]) -> float:
    """Return the seconds from the last write to the next, for checkpoints that are written together."""
    every = max(checkpoint.every for checkpoint in checkpoints)
    return max(every, SHARE * sum(checkpoint.seconds for checkpoint in checkpoints)) if every else 0.0


def are_due(checkpoints: Sequence[Checkpoint]) -> bool:
    """Return whether it is time to write these checkpoints together."""
    return time.monotonic() - max(checkpoint.last for checkpoint in checkpoints) >= write_interval(checkpoints)


def pack_state(
    parameters: dict[str, nn.Parameter], buffers: dict[str, Tensor], optimiser: torch.optim.Optimizer
) -> dict[str, Tensor]:
    """Return the state of a training as tensors: weights, buffers, moments and random state.

    A name is '<kind>.<name of a parameter or buffer>'. AdamW keeps the kinds 'exp_avg', 'exp_avg_sq' and 'step'.
    """
    tensors = {"random": torch.get_rng_state()}
    if uses_gpu():
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    tensors |= {f"buffer.{name}": buffer.clone() for name, buffer in buffers.items()}  # such as the bank of `Contrast`
    for name, parameter in parameters.items():
        tensors[f"weight.{name}"] = parameter.detach()
        for state, value in optimiser.state.get(parameter, {}).items():  # empty if frozen or outside the loss
            tensors[f"{state}.{name}"] = value
    return tensors


@torch.no_grad()
def unpack_state(
    files: Iterable[Path],
    parameters: dict[str, nn.Parameter],
    buffers: dict[str, Tensor],
    optimiser: torch.optim.Optimizer,
) -> None:
    """Restore weights, buffers, optimiser and random state from files, as they were when `pack_state` was called."""
    places = {f"buffer.{name}": buffer for name, buffer in buffers.items()}
    places |= {f"weight.{name}": parameter for name, parameter in parameters.items()}
    for key, tensor in _stored(files):
        kind, _, name = key.partition(".")
        if key in places:
            places[key].copy_(tensor)
        elif kind != "random":  # of the optimiser, by name: load_state_dict would match parameters by their order
            optimiser.state[parameters[name]][kind] = tensor.to(parameters[name].device).clone()
        elif not name:
            torch.set_rng_state(tensor)
        elif uses_gpu():
            torch.cuda.set_rng_state(tensor)


def _stored(files: Iterable[Path]) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of safetensors files with their names, each read when it is asked for."""
    for file in files:
        with safe_open(str(file), framework="pt") as opened:
            yield from ((name, opened.get_tensor(name)) for name in opened.keys())  # noqa: SIM118 # it is no mapping


def in_groups(items: Iterable[Item], size_of: Callable[[Item], int], most: int) -> Iterator[list[Item]]:
    """Yield items in groups of a size of at most `most` together, in order; a larger item is a group alone."""
    group, filled = list[Item](), 0
    for item in items:
        if group and filled + size_of(item) > most:
            yield group
            group, filled = [], 0
        group.append(item)
        filled += size_of(item)
    yield group


def groups(tensors: Mapping[str, Tensor]) -> Iterator[list[str]]:
    """Yield the names of tensors in groups of at most `GROUP` bytes, in order; a larger tensor is a group alone."""
    return in_groups(tensors, lambda name: tensors[name].nbytes, GROUP)


def digest_of_file(path: Path) -> str:
    """Return the XXH3 digest of a file; SHA-256 would noticeably slow down a write."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, xxhash.xxh3_128).hexdigest()
