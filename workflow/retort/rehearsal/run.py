"""Run a plan in one process: Snakemake decides what runs and in which order, and every script runs here.

So nothing is imported twice, and a training of two steps costs its two steps.
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

LINES = 3  # of an unexpected error that are told


@dataclass(frozen=True)
class Done:
    """A job that has run.

    Args:
        rule: its rule.
        wildcards: the values of its wildcards.
        seconds: CPU time that it took.
        peak: the most memory that the process held meanwhile, in MB; where there is no /proc, until then.
        log: its log file.
        failed: whether it failed.
    """

    rule: str
    wildcards: tuple[str, ...]
    seconds: float
    peak: float
    log: str
    failed: bool


@dataclass
class Rehearsal:
    """Runs the scripts of Snakemake's jobs in this process, and keeps what became of each job.

    Args:
        tell: called after each job with it and the number of jobs of the run.
        warn: called with each error of Snakemake itself, and each of its warnings.
        stopped: whether the user stopped the run.
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
            script: Snakemake's object for it.
            path: the file that holds it.

        Raises:
            RuntimeError: the job failed; Snakemake then leaves out what depends on it.
        """
        log = str(next(iter(script.log), os.devnull))
        with self._alone:  # scripts set environment variables, seeds and numbers of threads
            _forget_memory()
            begun, paths = time.process_time(), list(sys.path)
            with _log(log) as lines, contextlib.redirect_stderr(lines):
                failed = _fails(path)
            seconds, peak = time.process_time() - begun, machine.max_rss_mb()
            sys.path[:] = paths  # each script appends all of it again
        done = Done(script.rulename, tuple(map(str, script.wildcards)), seconds, peak, log, failed)
        self.jobs.append(done)
        self.tell(done, self.total)
        if failed:
            raise RuntimeError(f"{done.rule} failed: {log}")

    def count(self, jobs: int) -> None:
        """Note how many jobs the run has, in place of `retort.run_hooks.start_forkserver`."""
        self.total = jobs

    @property
    def failed(self) -> int:
        """The number of jobs that failed."""
        return sum(job.failed for job in self.jobs)

    def stop(self, number: int, frame: FrameType | None) -> None:
        """Note that the user stops the run, and interrupt it as Python does."""
        self.stopped = True
        signal.default_int_handler(number, frame)


class Warnings(logging.Handler):
    """Hands on what Snakemake warns of; its log file has everything.

    When a job has failed, which `tell` has told, Snakemake's own words on it are left out.

    Args:
        rehearsal: the run.
    """

    def __init__(self, rehearsal: Rehearsal) -> None:
        super().__init__(logging.WARNING)
        self.rehearsal = rehearsal

    def emit(self, record: logging.LogRecord) -> None:
        """Hand on a record."""
        if not self.rehearsal.failed and not self.rehearsal.stopped:
            self.rehearsal.warn(record.getMessage())


def _forget_memory() -> None:
    """Free what the job before has left, so that the next one says what it holds itself."""
    gc.collect()  # models hold themselves in circles
    gc.freeze()  # what is left lives on: to look at all of it after every job would take a second each time
    machine.reset_max_rss()


def _fails(script: str) -> bool:
    """Run a script and return whether it failed; what an interpreter would print goes to the standard error output."""
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        return bool(end.code)
    except Exception:
        traceback.print_exc()
        return True
    return False


def _log(path: str) -> TextIO:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return open(path, "a", encoding="utf-8")


@contextlib.contextmanager
def in_this_process(rehearsal: Rehearsal) -> Iterator[None]:
    """Let Snakemake run scripts in this process, and tell the rehearsal its warnings, as long as the context lasts."""
    from snakemake.logging import LoggerManager
    from snakemake.script import PythonScript

    from retort import run_hooks

    kept = PythonScript.execute_script, run_hooks.start_forkserver, LoggerManager._default_streamhandler
    PythonScript.execute_script = lambda script, path, edit=False: rehearsal.script(script, path)
    run_hooks.start_forkserver = rehearsal.count
    LoggerManager._default_streamhandler = lambda manager: Warnings(rehearsal)
    interrupt = signal.getsignal(signal.SIGINT)
    if interrupt is not signal.SIG_IGN:  # as it is in the background of some shells
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
        except KeyboardInterrupt:  # while Snakemake plans, or a second one while it ends
            return 1
    return 0
