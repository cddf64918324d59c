"""A job that another process does too, or has done: one finishes it, and the other takes over the result.

If Snakemake is killed, its jobs go on. A new run starts jobs for the same results, and Snakemake deletes what is there
before each. So a new job waits for the one at work; and a job whose run is not the latest any more keeps a second link
to its results, outside of what Snakemake deletes, for the new job. If Slurm starts a job of the old run later, it ends
at once (`plan.frozen`).

The latest run may start a second job too, while the first is still at work: where Slurm said that it has ended. The
second one, which waits, leaves a file that tells the first to keep such a link.

Jobs that share a Slurm job are begun again together: if one of them fails, Snakemake deletes the results of all. It
also deletes those of a job that it does not see in time on a shared file system. So jobs that share a Slurm job, and
trainings on Slurm that have a checkpoint, keep such a link as well, until the run has ended.
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
from retort.attempts import RUN, WAITING, of_latest_run
from retort.checksums import place_of
from retort.locks import AtWork, locked

POLL = 5.0  # seconds between two looks at a lock


@contextlib.contextmanager
def locked_in_turn(path: Path, work: str, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of a job; wait if another process is at work on it.

    A Slurm job that would wait for another is queued again instead, so that it holds no machine meanwhile.

    Args:
        path: the file that names the owner of the lock.
        work: the job, for messages.
        say: called with a line if it has to wait.
    """
    with contextlib.ExitStack() as stack:
        waits = False
        while True:
            try:
                stack.enter_context(locked(path, work))
                break
            except AtWork as error:
                if error.owner and error.owner.is_this_process:
                    raise  # it would wait for itself
                if not waits:
                    say(f"{error.message}; waits for its end")
                    _wait_for_results(path)
                waits = True
                owner = error.owner.slurm_job if error.owner else ""
                if owner and owner != slurm.job_id() and slurm.queue_again(after=owner):
                    return  # not reached: Slurm ends this process
                time.sleep(POLL)
        _wait_no_more(path)
        yield


def waiting(path: Path) -> Path:
    """Return the folder with a file for each Slurm job that waits for the lock of a job; there is none if none waits.

    Args:
        path: the file that names the owner of the lock.
    """
    return path.with_name(f"{path.name}{WAITING}")


def kept(path: Path) -> Path:
    """Return the folder in which a job keeps its results for another attempt at it; there is none if it keeps none.

    Args:
        path: the file that names the owner of the lock.
    """
    return path.with_name(f"{path.name}.results")


def _wait_for_results(path: Path) -> None:
    """Leave a file that says that this Slurm job waits; it stays while the job is queued again."""
    if slurm.job_id():
        with contextlib.suppress(OSError):  # without it, the work is done twice
            waiting(path).mkdir(exist_ok=True)
            (waiting(path) / slurm.job_id()).touch()


def _wait_no_more(path: Path) -> None:
    """Remove what says that this Slurm job waits, if it did."""
    with contextlib.suppress(OSError):  # nobody waits, or others do
        (waiting(path) / slurm.job_id()).unlink(missing_ok=True)
        waiting(path).rmdir()


def offer(path: Path, key: str, outputs: list[Path], always: bool = False) -> None:
    """Keep results for another attempt: of a later run, of one that waits, or of this run.

    Args:
        path: the file that names the owner of the job's lock.
        key: what the job's results depend on: its settings and the content of its inputs.
        outputs: the results.
        always: keep them also where no other attempt is known of yet.
    """
    folder = kept(path)
    shutil.rmtree(folder, ignore_errors=True)
    if of_latest_run() and not always and not waiting(path).exists():
        return
    folder.mkdir(parents=True)
    for number, output in enumerate(outputs):
        _link(output, folder / str(number))
        if not output.is_dir():
            _link(place_of(output), folder / f"{number}.checksums")
    about = [os.environ.get(RUN, ""), key, len(outputs)]
    (folder / "key.json").write_text(json.dumps(about), encoding="utf-8")  # last: all is there


def accept(path: Path, key: str, outputs: list[Path]) -> bool:
    """Take over the results that another attempt at a job kept; return whether there were any of this key."""
    return _take(kept(path), _about(kept(path))[1:] == [key, len(outputs)], outputs)


def is_kept(path: Path) -> bool:
    """Return whether a job of this run keeps its results."""
    return _about(kept(path))[:1] == [os.environ.get(RUN)]


def restore(path: Path, outputs: list[Path]) -> bool:
    """Put back what a job of this run kept, whatever became of the jobs beside it; return whether it kept anything."""
    run, _, count = _about(kept(path)) or ["", "", 0]
    return _take(kept(path), (run, count) == (os.environ.get(RUN), len(outputs)), outputs)


def forget(path: Path) -> None:
    """Delete what a job kept for another attempt, and what says that others wait for it."""
    for folder in (kept(path), waiting(path)):
        shutil.rmtree(folder, ignore_errors=True)


def _take(folder: Path, offered: bool, outputs: list[Path]) -> bool:
    """Move the results in a folder to their places if they are offered, and delete the folder."""
    if offered:
        for number, output in enumerate(outputs):
            shutil.rmtree(output, ignore_errors=True)
            output.parent.mkdir(parents=True, exist_ok=True)
            os.replace(folder / str(number), output)
            if not output.is_dir():
                os.replace(folder / f"{number}.checksums", place_of(output))
    shutil.rmtree(folder, ignore_errors=True)
    return offered


def _about(folder: Path) -> list[Any]:
    """Return run, key and number of the results in a folder; empty if it holds none."""
    try:
        return list(json.loads((folder / "key.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return []


def _link(path: Path, to: Path) -> None:
    """Make a second name for a file, or for each file of a folder; times and content are those of the first."""
    if path.is_dir():
        shutil.copytree(path, to, copy_function=_second_name)
    else:
        _second_name(path, to)


def _second_name(file: Path | str, to: Path | str) -> None:
    """Link a file, or copy it with its times where the file system has no links between folders."""
    try:
        os.link(file, to)
    except OSError:
        shutil.copy2(file, to)
