"""A lock that keeps two processes from doing the same job at the same time, also from different machines.

The operating system frees a lock when its process dies. Some shared file systems do not show locks to other machines,
so the process at work also writes who it is, and touches that file as long as it lives.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from retort.errors import RetortError

BEAT = 10.0  # seconds between two signs of life
DEAD = 35.0  # seconds without one after which a process of another machine counts as dead


@dataclass(frozen=True)
class Owner:
    """The process that holds a lock; `slurm_job` is empty outside Slurm."""

    host: str
    pid: int
    slurm_job: str
    since: str

    @classmethod
    def this_process(cls) -> Owner:
        """Return this process as an owner."""
        slurm_job = os.environ.get("SLURM_JOB_ID", "")
        return cls(socket.gethostname(), os.getpid(), slurm_job, time.strftime("%Y-%m-%d %H:%M:%S"))

    @classmethod
    def read(cls, path: Path) -> Owner | None:
        """Return the owner that a file names; None if it names none."""
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    @property
    def is_this_process(self) -> bool:
        """Whether it is the process that asks."""
        return (self.host, self.pid) == (socket.gethostname(), os.getpid())

    def __str__(self) -> str:
        slurm = f", Slurm job {self.slurm_job}" if self.slurm_job else ""
        return f"process {self.pid} on {self.host}{slurm}, since {self.since}"


class AtWork(RetortError):
    """Another process that lives is at work on a job.

    Args:
        work: the job.
        owner: that process; None if it is not known.
    """

    def __init__(self, work: str, owner: Owner | None) -> None:
        at_work = f"{work} is already at work elsewhere: {owner or 'another process'}"
        super().__init__(at_work, "wait for its end, then run again")
        self.owner = owner


@contextlib.contextmanager
def locked(path: Path, work: str, beat: float = BEAT, dead: float = DEAD) -> Iterator[None]:
    """Hold the lock of a job.

    Args:
        path: the file that names the owner; the lock of the operating system is a file beside it.
        work: the job, for the message.
        beat: seconds between two signs of life.
        dead: seconds without a sign of life after which the lock of another machine is taken over.

    Raises:
        AtWork: another process that lives is at work on the job.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock, me, has_locks = FileLock(path.with_name(f"{path.name}.lock")), Owner.this_process(), True
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise AtWork(work, Owner.read(path)) from None
    except (OSError, NotImplementedError):  # a file system without locks: the signs of life alone decide
        has_locks = False
    try:
        _wait_for_silence(path, work, me, has_locks, dead)
        _write(path, me)
        with _signs_of_life(path, beat):
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
    finally:
        lock.release()


def _wait_for_silence(path: Path, work: str, me: Owner, has_locks: bool, dead: float) -> None:
    """Return when the owner that the file names does not live; raise an error as soon as it shows that it does.

    On this machine, the lock of the operating system tells; on others, a new time of the file. Times of the file are
    compared with each other only: the clocks of two machines differ.
    """
    owner = Owner.read(path)
    if owner is None or (owner.host == me.host and (has_locks or not Path(f"/proc/{owner.pid}").exists())):
        return
    before, end = _time_of(path), time.monotonic() + dead
    while time.monotonic() < end:
        time.sleep(min(1.0, dead / 10))
        if _time_of(path) != before:
            raise AtWork(work, Owner.read(path))


def _time_of(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _write(path: Path, owner: Owner) -> None:
    scratch = path.with_name(f".{path.name}.{owner.host}.{owner.pid}")
    scratch.write_text(json.dumps(asdict(owner)) + "\n", encoding="utf-8")
    os.replace(scratch, path)


@contextlib.contextmanager
def _signs_of_life(path: Path, beat: float) -> Iterator[None]:
    """Touch the file every `beat` seconds until the block ends."""
    ended = threading.Event()

    def touch() -> None:
        while not ended.wait(beat):
            with contextlib.suppress(OSError):
                os.utime(path)

    thread = threading.Thread(target=touch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
