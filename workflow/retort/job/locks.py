"""Keep two processes from making the same result at the same time, also on different machines.

A process locks a file, its claim, as long as it lives, and names itself there. A second process waits, or ends, and
names the first. The system frees the lock of a dead process, on a network file system also that of a dead machine.

A process that is forked from the owner, such as one that prepares batches, lets the claim go at once: it may outlive a
killed owner by seconds.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TypeVar

from retort import machine
from retort.errors import RetortError
from retort.job import slurm

T = TypeVar("T")
_held: set[IO[str]] = set()  # the claims of this process


def _let_go() -> None:
    """Close the claims of the parent in a process that has just been forked."""
    for claim in _held:
        claim.close()
    _held.clear()


os.register_at_fork(after_in_child=_let_go)

LOOK_SECONDS = 0.5  # between two looks at a claim that another process holds
NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP}  # of a file system without locks: nothing is claimed there


class AtWork(RetortError):
    """Another living process runs the job.

    Args:
        work: the job.
        who: the process.
        slurm_job: the id of its Slurm job; empty outside Slurm.
    """

    def __init__(self, work: str, who: str, slurm_job: str) -> None:
        super().__init__(f"{work} is already at work elsewhere: {who}", "wait for its end, then run again")
        self.who, self.slurm_job = who, slurm_job


@contextlib.contextmanager
def hold_claim(path: Path, work: str, more: str = "") -> Iterator[None]:
    """Hold the claim of a job for a block.

    Args:
        path: the file of the claim.
        work: the job, for the message.
        more: what else stands in the file.

    Raises:
        AtWork: another living process runs the job.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path, work) as claim:
        slurm_job = slurm.job_id()
        who = f"process {os.getpid()} on {socket.gethostname()}" + (f", Slurm job {slurm_job}" if slurm_job else "")
        claim.truncate(0)
        process = {"pid": str(os.getpid()), "machine": machine.name(), "since": str(time.time())}
        owner = {"who": f"{who}, since {time.strftime('%Y-%m-%d %H:%M:%S')}", "slurm_job": slurm_job, **process}
        claim.write(f"{json.dumps(owner)}\n{more}")
        claim.flush()
        _held.add(claim)
        try:
            yield
        finally:
            if claim in _held and _is_at(claim, path):  # else this is a fork, which has let it go
                path.unlink()  # while it is locked
            _held.discard(claim)


def holder_of(path: Path) -> AtWork | None:
    """Return who holds a claim; None if nobody does: the claim of a killed process is deleted."""
    try:
        with hold_claim(path, path.name):
            return None
    except AtWork as other:
        return other


def in_turn(take: Callable[[], T], tell: Callable[[AtWork], object]) -> T:
    """Call a function that takes claims, again and again until no other process holds one; return what it returns.

    Args:
        take: the function.
        tell: is called once, with the process for which this one waits.
    """
    is_told = False
    while True:
        try:
            return take()
        except AtWork as other:
            if not is_told:
                tell(other)
            is_told = True
        time.sleep(LOOK_SECONDS)


def living_owner(path: Path) -> dict[str, str] | None:
    """Return who holds a claim, without locking it even for an instant; None if nobody does.

    Of the process of another machine, it is not known whether it lives: only a lock would tell.
    """
    try:
        owner = _owner(path.read_text(encoding="utf-8"))
        if owner.get("machine") == machine.name():  # two containers may share the name of a host
            os.kill(int(owner["pid"]), 0)  # signal 0 only asks whether the process is there
    except (FileNotFoundError, ProcessLookupError):
        return None
    except PermissionError:  # another user's
        pass
    return owner


def _locked(path: Path, work: str) -> IO[str]:
    """Return the file of a claim, open and locked."""
    while True:
        claim = _open(path)
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            claim.seek(0)
            held = claim.read()
            claim.close()
            if (owner := _owner(held))["slurm_job"] and owner["slurm_job"] == slurm.job_id():
                path.unlink(missing_ok=True)  # Slurm queued this job again; the node of its earlier start is lost
                continue
            raise AtWork(work, owner["who"], owner["slurm_job"]) from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
        if _is_at(claim, path):  # else the process before has deleted the file that is locked here
            return claim
        claim.close()


def _open(path: Path) -> IO[str]:
    """Open a claim, so that other users can lock it, too, if its owner was killed."""
    before = os.umask(0)
    try:
        return open(
            path, "a+", encoding="utf-8", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o666)
        )
    finally:
        os.umask(before)


def _is_at(claim: IO[str], path: Path) -> bool:
    """Return whether an open claim is the file at its path."""
    try:
        return os.path.samestat(os.fstat(claim.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _owner(held: str) -> dict[str, str]:
    """Return who holds a claim; for an instant, a claim is empty."""
    try:
        return dict(json.loads(held.partition("\n")[0]))
    except ValueError:
        return {"who": "another process", "slurm_job": ""}
