"""Hand the results of a job over from one process to another that was started for the same job.

If Snakemake is killed, its jobs go on. A new run starts jobs for the same results, and Snakemake deletes the old ones
before each. So a new job waits for the old one. A job of an older run keeps a second link to its results for the new
job, in a folder from which Snakemake deletes nothing. If Slurm starts a job of the old run later, that job ends at once
(`plan.frozen`).

The latest run may also start a job twice, if Slurm wrongly reported that the first process has ended. The second one
waits, and leaves a file that tells the first to keep such a link.

Jobs that share a Slurm job are begun again together: if one of them fails, Snakemake deletes the results of all. It
also deletes results that a shared file system does not show in time. So jobs that share a Slurm job, and trainings on
Slurm that have a checkpoint, keep such a link as well, until the run has ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from retort import slurm
from retort.attempts import LOCKS, RUN, WAITING, is_latest_run
from retort.checksums import place_of
from retort.locks import AtWork, Owner, locked, owners

POLL = 5.0  # seconds between two looks at a lock
WRITING = 30.0  # seconds that trainings of the same Slurm job have to write their states


@contextlib.contextmanager
def locked_in_turn(path: Path, work: str, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of a job; wait while another process holds it.

    A Slurm job that would wait for another one is queued again instead, so that it blocks no machine; but not while
    another of its own jobs is at work.

    Args:
        path: the file that names the owner of the lock.
        work: the job, for messages.
        say: called with a line when the wait begins.
    """
    with contextlib.ExitStack() as stack:
        is_waiting = False
        while True:
            try:
                stack.enter_context(locked(path, work))
                break
            except AtWork as error:
                if error.owner and error.owner.is_this_process:
                    raise  # it would wait for itself
                if not is_waiting:
                    say(f"{error.message}; waits for its end")
                    _mark_as_waiting(path)
                is_waiting = True
                owner = error.owner.slurm_job if error.owner else ""
                is_elsewhere = owner and owner != slurm.job_id()
                if is_elsewhere and wait_for_neighbours(0) and slurm.queue_again(after=owner):
                    return  # not reached: Slurm ends this process
                time.sleep(POLL)
        _unmark_as_waiting(path)
        yield


def wait_for_neighbours(seconds: float = WRITING) -> bool:
    """Wait until no other process of this Slurm job holds a job's lock: Slurm would end all of them.

    Args:
        seconds: how long to wait at most.

    Returns:
        Whether no other process holds one.
    """
    end = time.monotonic() + seconds
    while has_neighbours := any(map(_is_neighbour, owners(LOCKS))):
        if time.monotonic() >= end:
            break
        time.sleep(1)
    return not has_neighbours


def _is_neighbour(owner: Owner) -> bool:
    """Return whether the owner of a lock is another living process of this Slurm job; False outside Slurm."""
    own = slurm.job_id()
    is_other = bool(own) and owner.slurm_job == own and not owner.is_this_process
    return is_other and not owner.has_ended(has_locks=False)


def waiting_folder(path: Path) -> Path:
    """Return the folder with a file for each Slurm job that waits for a lock; it exists only while one waits.

    Args:
        path: the file that names the owner of the lock.
    """
    return path.with_name(f"{path.name}{WAITING}")


def kept_folder(path: Path) -> Path:
    """Return the folder in which a job keeps its results for another attempt; it exists only if it keeps some.

    Args:
        path: the file that names the owner of the lock.
    """
    return path.with_name(f"{path.name}.results")


def _mark_as_waiting(path: Path) -> None:
    """Create a file that says that this Slurm job waits; it stays while the job is queued again."""
    if slurm.job_id():
        with contextlib.suppress(OSError):  # without the file, the work is done twice
            waiting_folder(path).mkdir(exist_ok=True)
            (waiting_folder(path) / slurm.job_id()).touch()


def _unmark_as_waiting(path: Path) -> None:
    """Remove the file that says that this Slurm job waits, and the folder after the last one."""
    with contextlib.suppress(OSError):  # the folder is not there, or other jobs wait, too
        (waiting_folder(path) / slurm.job_id()).unlink(missing_ok=True)
        waiting_folder(path).rmdir()


def offer(path: Path, key: str, outputs: list[Path], always: bool = False) -> None:
    """Keep results for another attempt at a job, if there is a later run or another attempt waits.

    Args:
        path: the file that names the owner of the job's lock.
        key: digest of what the results depend on: the job's settings and the content of its inputs.
        outputs: the results.
        always: keep them even if no other attempt is known.
    """
    folder = kept_folder(path)
    shutil.rmtree(folder, ignore_errors=True)
    if is_latest_run() and not always and not waiting_folder(path).exists():
        return
    folder.mkdir(parents=True)
    for number, output in enumerate(outputs):
        _link(output, folder / str(number))
        if not output.is_dir():
            _link(place_of(output), folder / f"{number}.checksums")
    record = [os.environ.get(RUN, ""), key, len(outputs)]
    (folder / "key.json").write_text(json.dumps(record), encoding="utf-8")  # last: the results are complete


def accept(path: Path, key: str, outputs: list[Path]) -> bool:
    """Take over the results that another attempt at a job kept; return whether there were any with this key."""
    return _take(kept_folder(path), _read_record(path)[1:] == [key, len(outputs)], outputs)


def is_kept(path: Path) -> bool:
    """Return whether a job of this run keeps its results."""
    return _read_record(path)[:1] == [os.environ.get(RUN)]


def restore(path: Path, outputs: list[Path]) -> bool:
    """Put back the results that a job of this run kept; return whether there were any."""
    run, _, count = _read_record(path) or ["", "", 0]
    if (run, count) != (os.environ.get(RUN), len(outputs)):
        return False  # what an earlier run kept is for the next attempt, which knows the key
    return _take(kept_folder(path), True, outputs)


def forget(path: Path) -> None:
    """Delete the results that a job kept for another attempt, and the files of the Slurm jobs that wait for it."""
    for folder in (kept_folder(path), waiting_folder(path)):
        shutil.rmtree(folder, ignore_errors=True)


def _take(folder: Path, are_wanted: bool, outputs: list[Path]) -> bool:
    """Move the results in a folder to their places if they are wanted; delete the folder; return `are_wanted`."""
    if are_wanted:
        for number, output in enumerate(outputs):
            shutil.rmtree(output, ignore_errors=True)
            output.parent.mkdir(parents=True, exist_ok=True)
            os.replace(folder / str(number), output)
            if not output.is_dir():
                os.replace(folder / f"{number}.checksums", place_of(output))
    shutil.rmtree(folder, ignore_errors=True)
    return are_wanted


def _read_record(path: Path) -> list[Any]:
    """Return [run, key, number of results] of what a job kept; an empty list if it kept nothing."""
    try:
        return list(json.loads((kept_folder(path) / "key.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return []


def _link(path: Path, to: Path) -> None:
    """Hard-link a file, or each file of a folder."""
    if path.is_dir():
        shutil.copytree(path, to, copy_function=_link_or_copy)
    else:
        _link_or_copy(path, to)


def _link_or_copy(file: Path | str, to: Path | str) -> None:
    """Hard-link a file; copy it with its times if the file system has no links between folders."""
    try:
        os.link(file, to)
    except OSError:
        shutil.copy2(file, to)
