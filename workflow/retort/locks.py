"""Keep two processes from running the same job at the same time, also on different machines.

A job is locked in two ways. A lock of the operating system works at once on one machine, and is freed when its process
dies, but some shared file systems do not show it to other machines. So the process also creates a file, its claim: only
one process can create it, and the file names the process. The process touches its claim as long as it lives. A claim
is removed if it is not touched any more, or if the owner's Slurm job has ended. For a process of another machine, only
the claim counts: a file server may keep the lock of a machine that is down. If a process was suspended for so long
that another one has claimed its job, it ends as soon as it goes on.
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
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout

from retort import machine, slurm
from retort.atomic import part_of
from retort.errors import RetortError

BEAT = 10.0  # seconds between two heartbeats: touches of the claim
DEAD = 35.0  # seconds without a heartbeat after which a process of another machine counts as dead
BESIDE = (".lock", ".attempt")  # suffixes of the other files of a job in the same folder
SETTLED = 1 / 35  # fraction of DEAD after which it is settled which of several processes has taken over a claim


@dataclass(frozen=True)
class Owner:
    """The process that holds a lock.

    Args:
        host: the host name, for messages.
        pid: the process id.
        slurm_job: the id of the Slurm job; empty outside Slurm.
        since: when the process took the lock.
        machine: the running system to which the process id belongs, see `machine.name`.
        cluster: the name of the Slurm cluster; empty outside Slurm.
        has_lock: whether the process holds the lock of the operating system, too.
    """

    host: str
    pid: int
    slurm_job: str
    since: str
    machine: str = ""
    cluster: str = ""
    has_lock: bool = True

    @classmethod
    def this_process(cls) -> Owner:
        """Return this process as an owner."""
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        return cls(socket.gethostname(), os.getpid(), slurm.job_id(), since, machine.name(), slurm.cluster())

    @classmethod
    def of(cls, content: bytes | None) -> Owner | None:
        """Return the owner that the content of a claim names; None if it names none."""
        try:
            return cls(**json.loads(content or b""))
        except (ValueError, TypeError):
            return None

    @property
    def is_this_process(self) -> bool:
        """Whether the owner is the calling process."""
        return (self.machine, self.pid) == (machine.name(), os.getpid())

    def has_ended(self, has_locks: bool, ours: bool = True) -> bool:
        """Return whether the owner is known to be dead, without its heartbeats.

        Args:
            has_locks: whether the calling process holds the lock of the operating system: an owner on this machine that
                held it has ended.
            ours: whether the owner is a process of this user account.
        """
        if self.machine == machine.name():
            return (has_locks and self.has_lock) or not machine.is_alive(self.pid)
        return bool(self.cluster) and self.cluster == slurm.cluster() and slurm.has_ended(self.slurm_job, ours)

    def __str__(self) -> str:
        slurm_job = f", Slurm job {self.slurm_job}" if self.slurm_job else ""
        return f"process {self.pid} on {self.host}{slurm_job}, since {self.since}"


class AtWork(RetortError):
    """Another living process runs the job.

    Args:
        work: the job.
        owner: that process; None if unknown.
    """

    def __init__(self, work: str, owner: Owner | None) -> None:
        at_work = f"{work} is already at work elsewhere: {owner or 'another process'}"
        super().__init__(at_work, "wait for its end, then run again")
        self.owner = owner


class Claim:
    """A file that names the process that runs a job; at most one process can create it.

    Args:
        path: the file.
        owner: this process.
    """

    def __init__(self, path: Path, owner: Owner) -> None:
        self.path = path
        self.content = f"{json.dumps(asdict(owner))}\n".encode()

    def create(self, content: bytes = b"") -> bool:
        """Create the file, by default with this process's content; return False if it exists already."""
        try:
            number = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            return False
        try:
            with open(number, "wb") as stream:
                stream.write(content or self.content)
        except OSError:  # the disk is full, and an empty claim would be waited for
            self.path.unlink(missing_ok=True)
            raise
        return True

    def read(self) -> tuple[bytes, int] | None:
        """Return the content of the file and the time of its last change; None if there is no file.

        The time is taken from the open file: a network file system asks its server for it only when a file is opened.
        """
        try:
            with self.path.open("rb") as stream:
                return stream.read(), os.fstat(stream.fileno()).st_mtime_ns
        except FileNotFoundError:
            return None

    def is_ours(self) -> bool:
        """Return whether a process of this user account created the file; False if there is no file."""
        try:
            return self.path.stat().st_uid == os.getuid()
        except FileNotFoundError:
            return False

    def owner(self) -> Owner | None:
        """Return the process that the claim names; None if there is no claim, or it names no process."""
        held = self.read()
        return Owner.of(held[0]) if held else None

    def touch(self) -> bool:
        """Update the time of the file, as a heartbeat; return False if another process has claimed the job."""
        held = self.read()
        if held is None:
            return self.create()
        if held[0] != self.content:
            return False
        os.utime(self.path)
        return True

    def remove(self, dead: bytes) -> None:
        """Remove the claim of a dead process, but put it back if a new claim has replaced it meanwhile.

        If several processes try, only one of them can rename the file.

        Args:
            dead: the content of the dead process's claim.
        """
        aside = part_of(self.path)
        with contextlib.suppress(FileNotFoundError):
            self.path.rename(aside)
            held = aside.read_bytes()
            aside.unlink()
            if held != dead:
                self.create(held)

    def give_back(self) -> None:
        """Remove the file if this process created it."""
        held = self.read()
        if held and held[0] == self.content:
            self.path.unlink(missing_ok=True)


def owners(folder: Path) -> Iterator[Owner]:
    """Yield the owners of the locks whose files are in a folder; other files may be there, too."""
    for path in folder.glob("*"):
        if not path.name.endswith(BESIDE):
            with contextlib.suppress(OSError):  # it was removed meanwhile, or is a folder
                if owner := Owner.of(path.read_bytes()):
                    yield owner


@contextlib.contextmanager
def locked(path: Path, work: str, beat: float = BEAT, dead: float = DEAD) -> Iterator[None]:
    """Hold the lock of a job.

    Args:
        path: the file of the claim; the lock of the operating system is a file beside it.
        work: the job, for the message.
        beat: seconds between two heartbeats.
        dead: seconds without a heartbeat after which the lock of another machine is taken over.

    Raises:
        AtWork: another living process runs the job.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # a file in place of a missing lock would stay for ever if its process is killed on another machine
    lock = FileLock(path.with_name(f"{path.name}.lock"), fallback_to_soft=False)
    me, has_locks = Owner.this_process(), True
    try:
        lock.acquire(timeout=0)
    except Timeout:
        owner = Claim(path, me).owner()
        if owner is None or owner.machine == machine.name():
            raise AtWork(work, owner) from None
        has_locks = False
    except (OSError, NotImplementedError):  # a file system without locks: the claim alone decides
        has_locks = False
    claim = Claim(path, replace(me, has_lock=has_locks))
    try:
        _claim(claim, work, has_locks, dead)
        try:
            with _heartbeat(claim, work, beat):
                yield
        finally:
            claim.give_back()
    finally:
        lock.release()


def _claim(claim: Claim, work: str, has_locks: bool, dead: float) -> None:
    """Create a claim; remove the claim of a dead process first."""
    removed = None
    while not claim.create():
        removed = _dead_claim(claim, work, has_locks, dead)
        if removed is not None:
            claim.remove(removed)
    owner = Owner.of(removed)
    if removed is not None and (owner is None or owner.machine != machine.name()):
        time.sleep(dead * SETTLED)  # another process may have moved this claim aside in `remove`, and put it back
        if not claim.touch():
            raise AtWork(work, claim.owner())


def _dead_claim(claim: Claim, work: str, has_locks: bool, dead: float) -> bytes | None:
    """Return the content of a dead process's claim; None if the owner has removed the claim meanwhile.

    Times of the file are compared with each other, and not with the clock: the clocks of two machines differ.

    Raises:
        AtWork: the claim was touched or replaced, so a process lives.
    """
    before, end = claim.read(), time.monotonic() + dead
    owner = Owner.of(before and before[0])
    if owner is None or not owner.has_ended(has_locks, claim.is_ours()):
        while before is not None and time.monotonic() < end:
            time.sleep(min(1.0, dead / 10))
            now = claim.read()
            if now is not None and now != before:
                raise AtWork(work, Owner.of(now[0]))
            before = now
    return before[0] if before else None


@contextlib.contextmanager
def _heartbeat(claim: Claim, work: str, beat: float) -> Iterator[None]:
    """Touch the claim every `beat` seconds until the block ends; end this process if another has claimed its job."""
    ended = threading.Event()

    def touch() -> None:
        while not ended.wait(beat):
            with contextlib.suppress(OSError):
                if not claim.touch():
                    _end_process(claim, work)

    thread = threading.Thread(target=touch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _end_process(claim: Claim, work: str) -> None:
    """End this process at once, before it writes to files that another process now writes."""
    line = f"{work} was silent for too long and is at work elsewhere: {claim.owner() or 'another process'}"
    print(line, file=sys.stderr, flush=True)
    os._exit(1)
