"""Run a plan in one process: Snakemake decides what runs and in which order, and every script runs here.

So nothing is imported twice, and a training of two steps costs its two steps.
"""

from __future__ import annotations

import contextlib
import gc
import os
import runpy
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
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
    """

    tell: Callable[[Done, int], None]
    total: int = 0
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
    """Let Snakemake run scripts in this process, as long as the context lasts."""
    from snakemake.script import PythonScript

    from retort import run_hooks

    kept = PythonScript.execute_script, run_hooks.start_forkserver
    PythonScript.execute_script = lambda script, path, edit=False: rehearsal.script(script, path)
    run_hooks.start_forkserver = rehearsal.count
    try:
        yield
    finally:
        PythonScript.execute_script, run_hooks.start_forkserver = kept


def run(rehearsal: Rehearsal, arguments: list[str]) -> int:
    """Run Snakemake in this process with these arguments; return its exit status."""
    from snakemake.cli import main

    with in_this_process(rehearsal):
        try:
            main(arguments)
        except SystemExit as end:
            return int(end.code or 0)
    return 0
