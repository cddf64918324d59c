"""Give each job on this machine GPUs of its own, where no Slurm does it.

A job claims as many GPUs as it asks for, by a file for each in a folder that all runs and users of the machine share,
and sees no other in CUDA_VISIBLE_DEVICES. It waits until so many are free. A job that another process left too little
memory is tried again as it was.
"""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

from retort.errors import GPU_TOO_SMALL, RetortError, lines_of
from retort.job import slurm
from retort.job.fork_client import AGAIN, TRIED
from retort.job.locks import AtWork, hold_claim, in_turn, living_owner

FOLDER = Path("/tmp/gpus-of-retort")  # known to all users; no name of a server of forks begins like it
VISIBLE = "CUDA_VISIBLE_DEVICES"
QUERY = ("nvidia-smi", "--query-gpu=index,uuid,memory.used,memory.total", "--format=csv,noheader,nounits")
PROCESS = ("pid", "machine")  # what tells a process, in its claims
FILLED = 0.1  # of a GPU's memory: more than this is no desktop's, and no remainder of a process that has just ended
CONTEXT_MB = 1024  # what a process takes of a GPU before its first tensor
PAUSE, TRIES = 60.0, 60  # seconds before an attempt that lacked memory is tried again, and how often it is
# how torch tells what is taken: "GPU 0 has a total capacity of 79.1 GiB of which 1.2 GiB is free. Process 7 has 70 GiB
# memory in use. Including non-PyTorch memory, this process has 7.9 GiB memory in use."
SIZE = r"([\d.]+) (bytes|KiB|MiB|GiB)"
TOLD = re.compile(rf"capacity of {SIZE} of which {SIZE} is free.*this process has {SIZE} memory in use")
MB = {"bytes": 2.0**-20, "KiB": 2.0**-10, "MiB": 1.0, "GiB": 2.0**10}


class Card(NamedTuple):
    """A GPU as nvidia-smi lists it, with its memory in MB."""

    number: str
    uuid: str
    used: float
    total: float

    def is_called(self, name: str) -> bool:
        """Return whether a name in CUDA_VISIBLE_DEVICES is that of this GPU: its number, or how its UUID begins."""
        return name == self.number or (name.startswith("GPU-") and self.uuid.startswith(name))

    @property
    def is_filled(self) -> bool:
        """Whether processes hold much of its memory; they are no jobs, if it is free for one."""
        return self.used > FILLED * self.total


class MemoryTaken(RetortError):
    """A job lacked memory of a GPU that another process holds."""


def visible() -> list[str]:
    """Return the GPUs that a job may choose from: all, or those of CUDA_VISIBLE_DEVICES; by UUID if that is known.

    A number is one of nvidia-smi, which CUDA counts in another order only where cards of several types are mixed.
    """
    cards, chosen = _cards(), os.environ.get(VISIBLE)
    if chosen is None:
        return [card.uuid for card in cards]
    found = list[str]()
    for name in map(str.strip, chosen.split(",")):
        known = next((card.uuid for card in cards if card.is_called(name)), "")
        is_other = name and not name.startswith("-") and (not cards or name.startswith("MIG"))
        if not known and not is_other:
            break  # as CUDA does, which reads up to the first name that it does not know
        found.append(known or name)
    return list(dict.fromkeys(found))


def limit() -> int | None:
    """Return how many GPUs the jobs of a run share; None if Slurm gives them, or none is known."""
    return None if slurm.job_id() else len(visible()) or None


@contextlib.contextmanager
def hold(number: int, say: Callable[[str], None]) -> Iterator[None]:
    """Hold GPUs for a block, and let this process and those that it starts see no other.

    Under Slurm, or where there are fewer, do nothing: `machine.check_gpus` tells of too few.

    Args:
        number: how many; it must be called before CUDA starts.
        say: tells the user one line.

    Raises:
        MemoryTaken: the block lacked memory that another process holds.
    """
    names = [] if slurm.job_id() or not number else visible()
    if not names or number > len(names):
        yield
        return
    if TRIED in os.environ:
        time.sleep(PAUSE)
    before = os.environ.get(VISIBLE)
    with contextlib.ExitStack() as held:
        own = _wait(number, names, held, say)
        os.environ[VISIBLE] = ",".join(own)
        try:
            yield
        except Exception as error:
            if told := _taken(error, own):
                raise MemoryTaken(told, "run again when they have ended, or choose others by " + VISIBLE) from error
            raise
        finally:
            os.environ.pop(VISIBLE, None)
            os.environ.update({} if before is None else {VISIBLE: before})


def held_by(owner: dict[str, str]) -> list[str]:
    """Return the GPUs that a process of this machine has claimed, by their number if nvidia-smi tells it.

    Args:
        owner: the process, as its claims name it.
    """
    claims = {path.name: living_owner(path) for path in FOLDER.glob("*") if not path.name.startswith("queue-")}
    names = [name for name, held in claims.items() if held and all(held.get(k) == owner.get(k) for k in PROCESS)]
    numbers = {card.uuid: card.number for card in _cards()} if names else {}
    return sorted(numbers.get(name, name) for name in names)


def tries_again() -> bool:
    """Return whether a job whose memory was taken is tried again: for an hour, and longer as it runs in between."""
    return int(os.environ.get(TRIED, "0")) < TRIES


def run_again() -> NoReturn:
    """Run the script of this process again in its place, since its memory of the GPU is freed only when it ends."""
    if multiprocessing.parent_process():  # a fork of the server: the client that waits for it runs the script
        sys.exit(AGAIN)
    os.environ[TRIED] = str(int(os.environ.get(TRIED, "0")) + 1)
    os.execv(sys.executable, [sys.executable, *sys.argv])


def _wait(number: int, names: list[str], held: contextlib.ExitStack, say: Callable[[str], None]) -> list[str]:
    """Claim GPUs as soon as so many are free; return their names.

    Who waits for the same GPUs stands behind the claim of a queue, so that a job of several gets its turn.
    """
    FOLDER.mkdir(exist_ok=True)
    with contextlib.suppress(PermissionError):  # it is another user's, who has done the same
        FOLDER.chmod(0o777)
    queue = FOLDER / f"queue-{hashlib.sha256(','.join(sorted(names)).encode()).hexdigest()[:16]}"

    def tell(other: AtWork) -> None:
        say(f"waits for {number} of {len(names)} GPU{'s' * (len(names) > 1)}, after {other.who}")

    with contextlib.ExitStack() as turn:
        in_turn(lambda: turn.enter_context(hold_claim(queue, "the queue")), tell)
        return in_turn(lambda: _take(number, names, held), tell)


def _take(number: int, names: list[str], held: contextlib.ExitStack) -> list[str]:
    """Claim GPUs, if possible such as nobody else fills.

    Raises:
        AtWork: of a GPU that is not free, if fewer are.
    """
    claims, busy = dict[str, contextlib.ExitStack](), list[AtWork]()
    with contextlib.ExitStack() as free:
        for name in names:
            claim = free.enter_context(contextlib.ExitStack())
            try:
                claim.enter_context(hold_claim(FOLDER / re.sub(r"[^\w.-]", "-", name), name))
                claims[name] = claim
            except AtWork as error:
                busy.append(error)
        if len(claims) < number:
            raise busy[0]
        filled = {card.uuid for card in _cards() if card.is_filled} if len(claims) > number else set()
        own = sorted(sorted(claims, key=filled.__contains__)[:number], key=names.index)
        for name in own:
            held.enter_context(claims[name].pop_all())
    return own


def _cards() -> list[Card]:
    """Return the GPUs that nvidia-smi lists; none where it is not there, or does not answer within a minute."""
    try:
        listed = subprocess.run(QUERY, capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [line.split(", ") for line in listed.splitlines() if line.count(", ") == 3]
    # '[N/A]' where a GPU has no memory of its own
    sizes = [[float(size) if size.isdigit() else 0.0 for size in row[2:]] for row in rows]
    return [Card(number, uuid, *size) for (number, uuid, *_), size in zip(rows, sizes, strict=True)]


def _taken(error: Exception, own: list[str]) -> str:
    """Return what others hold of the memory that an error is about; empty if it is little, or another error."""
    said = " ".join(lines_of(error))
    if not GPU_TOO_SMALL.search(said):
        return ""
    if told := TOLD.search(said):
        total, free, mine = (float(told[at]) * MB[told[at + 1]] for at in (1, 3, 5))
        others = total - free - mine
    else:  # asked a moment later
        import torch

        used = torch.cuda.memory_reserved() / 2**20
        mine = used + CONTEXT_MB * (used > 0)
        seen = [(card.used - mine, card.total) for card in _cards() if card.uuid in own]
        others, total = max(seen, default=(0.0, 0.0))
    if others <= FILLED * total:
        return ""
    return f"other processes hold {others / 1024:.0f} of the {total / 1024:.0f} GiB of its GPU"
