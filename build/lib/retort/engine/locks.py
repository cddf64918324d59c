"""Keep two processes from making the same result at the same time, also on different machines.

A process creates a file, its claim, which only one can, and which names the process. It touches the file as long as it
lives. A second process ends, and names the first. It takes the claim of a dead one over: of a process that this machine
does not know, of a Slurm job that has ended, or of one that has not touched its claim for `DEAD` seconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from retort import machine
from retort.atomic import part_of
from retort.engine import slurm
from retort.errors import RetortError

BEAT = 10.0  # seconds between two touches of a claim
DEAD = 35.0  # seconds without a touch after which a process of another machine counts as dead


@dataclass(frozen=True)
class Owner:
    """The process that holds a claim.

    Args:
        host: the host name, for messages.
        pid: the process id.
        machine: the running system to which the process id belongs, see `machine.name`.
        slurm_job: the id of the Slurm job; empty outside Slurm.
        slurm_name: the name of the Slurm job; empty outside Slurm.
        since: when the process made the claim.
    """

    host: str
    pid: int
    machine: str
    slurm_job: str
    slurm_name: str
    since: str

    @classmethod
    def this_process(cls) -> Owner:
        """Return this process as an owner."""
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        return cls(socket.gethostname(), os.getpid(), machine.name(), slurm.job_id(), slurm.job_name(), since)

    @classmethod
    def of(cls, content: bytes) -> Owner | None:
        """Return the owner that the content of a claim names; None if it names none."""
        try:
            return cls(**json.loads(content))
        except (ValueError, TypeError):
            return None

    def has_ended(self) -> bool:
        """Return whether the owner is known to be dead, without waiting for its touches.

        A Slurm job that was queued again has the id of its earlier start, which has ended.
        """
        if self.machine == machine.name():
            return not machine.is_alive(self.pid)
        queued_again = (self.slurm_name, self.slurm_job) == (slurm.job_name(), slurm.job_id())
        return bool(self.slurm_job) and (queued_again or slurm.has_ended(self.slurm_name, self.slurm_job))

    def __str__(self) -> str:
        slurm_job = f", Slurm job {self.slurm_job}" if self.slurm_job else ""
        return f"process {self.pid} on {self.host}{slurm_job}, since {self.since}"


class AtWork(RetortError):
    """Another living process runs the job."""


@contextlib.contextmanager
def claimed(path: Path, work: str, beat: float = BEAT, dead: float = DEAD) -> Iterator[None]:
    """Hold the claim of a job for a block.

    Args:
        path: the file of the claim.
        work: the job, for the message.
        beat: seconds between two touches.
        dead: seconds without a touch after which the claim of another machine is taken over.

    Raises:
        AtWork: another living process runs the job.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    content = f"{json.dumps(asdict(Owner.this_process()))}\n".encode()
    while not _create(path, content):
        held = _read(path)[0]
        if _is_held(path, dead):
            who = Owner.of(held) or "another process"
            raise AtWork(f"{work} is already at work elsewhere: {who}", "wait for its end, then run again")
        _remove(path, held)
    ended = threading.Event()
    beats = threading.Thread(target=_touch, args=[path, content, work, beat, ended], daemon=True)
    beats.start()
    try:
        yield
    finally:
        ended.set()
        beats.join()
        if _read(path)[0] == content:
            path.unlink(missing_ok=True)


def _touch(path: Path, content: bytes, work: str, beat: float, ended: threading.Event) -> None:
    """Touch a claim until its job has ended; end this process if another one, taking it for dead, has the job."""
    while not ended.wait(beat):
        with contextlib.suppress(OSError):
            held = _read(path)[0]
            if held == content:
                os.utime(path)
            elif held or not _create(path, content):
                who = Owner.of(held) or "another process"
                print(f"{work} was silent for too long and is at work elsewhere: {who}", file=sys.stderr, flush=True)
                os._exit(1)  # before it writes to files that another process now writes


def _is_held(path: Path, dead: float) -> bool:
    """Return whether a living process holds a claim: one of this machine, or one that touches it.

    Times of the file are compared with each other, and not with the clock: the clocks of two machines differ.
    """
    before, end = _read(path), time.monotonic() + dead
    owner = Owner.of(before[0])
    if owner and owner.has_ended():
        return False
    if owner and owner.machine == machine.name():
        return True
    while before[1] and time.monotonic() < end:
        time.sleep(min(1.0, dead / 10))
        if (now := _read(path)) != before:
            return bool(now[1])
    return False


def _create(path: Path, content: bytes) -> bool:
    """Create a claim; return False if there is one already. For an instant, it is empty."""
    try:
        with path.open("xb") as stream:
            stream.write(content)
    except FileExistsError:
        return False
    return True


def _read(path: Path) -> tuple[bytes, int]:
    """Return the content of a claim and the time of its last touch; (b"", 0) if there is none.

    The time is taken from the open file: a network file system asks its server for it only when a file is opened.
    """
    try:
        with path.open("rb") as stream:
            return stream.read(), os.fstat(stream.fileno()).st_mtime_ns
    except FileNotFoundError:
        return b"", 0


def _remove(path: Path, dead: bytes) -> None:
    """Remove the claim of a dead process; if another process has replaced it meanwhile, put the new one back."""
    with contextlib.suppress(FileNotFoundError):  # several may try; only one can move the file
        path.rename(aside := part_of(path))
        moved = aside.read_bytes()
        aside.unlink()
        if moved != dead:
            _create(path, moved)
