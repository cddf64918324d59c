"""Run a plan in one process: Snakemake decides what runs and in which order, and every script runs here.

So nothing is imported twice, and a short training takes little time.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import runpy
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from retort import machine


@dataclass(frozen=True)
class Done:
    """A job that has run.

    Args:
        rule: the rule of the job.
        wildcards: the values of its wildcards.
        seconds: the CPU time of the job.
        peak: the peak memory of the process during the job, in MB; without /proc, the peak since the process began.
        log: the log file.
        failed: whether the job failed.
    """

    rule: str
    wildcards: tuple[str, ...]
    seconds: float
    peak: float
    log: str
    failed: bool


@dataclass
class Rehearsal:
    """Run the scripts of Snakemake's jobs in this process, and keep the outcome of each job.

    Args:
        tell: called after each job, with the job and the number of jobs of the run.
        warn: called with each error and each warning of Snakemake itself.
        total: the number of jobs of the run.
        stopped: whether the user stopped the run.
        jobs: the jobs that have run.
    """

    tell: Callable[[Done, int], None]
    warn: Callable[[str], None] = lambda text: print(text, file=sys.stderr)
    total: int = 0
    stopped: bool = False
    jobs: list[Done] = field(default_factory=list)
    _alone: threading.Lock = field(default_factory=threading.Lock)

    def script(self, script: Any, path: str) -> None:
        """Run the script of a job, in place of `snakemake.script.PythonScript.execute_script`.

        Args:
            script: Snakemake's object for the script.
            path: the file of the script.

        Raises:
            RuntimeError: the job failed; Snakemake then skips the jobs that depend on it.
        """
        log = str(next(iter(script.log), os.devnull))
        with self._alone:  # scripts set environment variables, seeds and numbers of threads
            _forget_memory()
            begun, paths = time.process_time(), list(sys.path)
            with _open_log(log) as lines, contextlib.redirect_stderr(lines):
                failed = not _run_script(path)
            seconds, peak = time.process_time() - begun, machine.max_rss_mb()
            sys.path[:] = paths  # each script of Snakemake adds paths
        done = Done(script.rulename, tuple(map(str, script.wildcards)), seconds, peak, log, failed)
        self.jobs.append(done)
        self.tell(done, self.total)
        if failed:
            raise RuntimeError(f"{done.rule} failed: {log}")

    def count(self, jobs: int) -> None:
        """Set the number of jobs of the run, in place of `retort.run_hooks.start_forkserver`."""
        self.total = jobs

    @property
    def failed(self) -> int:
        """The number of jobs that failed."""
        return sum(job.failed for job in self.jobs)

    def stop(self, number: int, frame: FrameType | None) -> None:
        """Note that the user stops the run, and raise KeyboardInterrupt."""
        self.stopped = True
        signal.default_int_handler(number, frame)


class Warnings(logging.Handler):
    """Pass Snakemake's warnings on to a rehearsal; Snakemake's log file has everything.

    Pass nothing on after a job has failed: `tell` has reported it already.

    Args:
        rehearsal: the rehearsal.
    """

    def __init__(self, rehearsal: Rehearsal) -> None:
        super().__init__(logging.WARNING)
        self.rehearsal = rehearsal

    def emit(self, record: logging.LogRecord) -> None:
        """Pass a record on."""
        if not self.rehearsal.failed and not self.rehearsal.stopped:
            self.rehearsal.warn(record.getMessage())


def _forget_memory() -> None:
    """Free the memory of the last job, so that the peak of the next one is its own."""
    gc.collect()  # models have reference cycles
    gc.freeze()  # leave imported modules out of later collections, which would take a second each
    machine.reset_max_rss()


def _run_script(script: str) -> bool:
    """Run a script and return whether it succeeded; print a traceback to standard error if not."""
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        return not end.code
    except Exception:
        traceback.print_exc()
        return False
    return True


def _open_log(path: str) -> TextIO:
    """Open a log file to append to it; make its folder."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return open(path, "a", encoding="utf-8")


@contextlib.contextmanager
def in_this_process(rehearsal: Rehearsal) -> Iterator[None]:
    """Make Snakemake run scripts in this process and pass its warnings to the rehearsal, inside a block."""
    from snakemake.logging import LoggerManager
    from snakemake.script import PythonScript

    from retort import run_hooks

    kept = PythonScript.execute_script, run_hooks.start_forkserver, LoggerManager._default_streamhandler
    PythonScript.execute_script = lambda script, path, edit=False: rehearsal.script(script, path)
    run_hooks.start_forkserver = rehearsal.count
    LoggerManager._default_streamhandler = lambda manager: Warnings(rehearsal)
    interrupt = signal.getsignal(signal.SIGINT)
    if interrupt is not signal.SIG_IGN:  # some shells ignore it for processes in the background
        signal.signal(signal.SIGINT, rehearsal.stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, interrupt)
        PythonScript.execute_script, run_hooks.start_forkserver, LoggerManager._default_streamhandler = kept


def run(rehearsal: Rehearsal, arguments: list[str]) -> int:
    """Run Snakemake in this process with these arguments; return its exit status."""
    from snakemake.cli import main

    with in_this_process(rehearsal):
        try:
            main(arguments)
        except SystemExit as end:
            return int(end.code or 0)
        except KeyboardInterrupt:  # during planning, or a second one while Snakemake ends
            return 1
    return 0
