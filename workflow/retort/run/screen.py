"""The terminal of a run: a bar, the time left and the running jobs, below what jobs say, warnings and failures."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from statistics import mean
from typing import Any

from rich.columns import Columns
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from retort.errors import RetortError, check_file
from retort.formatters import in_words
from retort.run.dry_run import ShortForm, is_short

TOLD = ("Nothing to be done", "Complete log")  # messages that are shown although they are no warnings
SHOWN = 12  # the most running jobs that are shown; a cluster has hundreds


def name_of(job: Any) -> str:
    """Return what a job is called: 'distill_on_task(pocket-kd, movies, 11-12)'."""
    wildcards = ", ".join(map(str, (getattr(job, "wildcards", None) or {}).values()))
    return f"{job.rule_name}({wildcards})" if wildcards else str(job.rule_name)


def seconds_left(took: dict[str, list[float]], waiting: Counter[str], running: list[tuple[str, float]]) -> float:
    """Estimate the seconds until the end of a run; return 0 before a job has finished.

    A job is expected to take the mean time of its rule, or of all jobs if none of its rule has finished. As many jobs
    as now are expected to run at once.

    Args:
        took: rule -> seconds of each of its finished jobs.
        waiting: rule -> number of its jobs that have not started.
        running: rule and seconds so far of each running job.
    """
    every = [seconds for of_rule in took.values() for seconds in of_rule] or [0.0]
    ahead = [count * mean(took.get(rule) or every) for rule, count in waiting.items()]
    begun = [max(0.0, mean(took.get(rule) or every) - seconds) for rule, seconds in running]
    return sum(ahead + begun) / max(1, len(begun))


def refuse_pipes(words: Iterable[str]) -> None:
    """End with a line if a word of the command line is a pipe.

    Snakemake would wait for ever: it reads the files of `--configfile` before any other code of the workflow runs.
    """
    for word in words:
        try:
            check_file(Path(word.removeprefix("--configfile=")))
        except RetortError as error:
            sys.exit(str(error))
        except OSError:  # too long for the name of a file
            continue


class LogHandler(LogHandlerBase):
    """The handler of the logger `retort`, which the workflow's profile names.

    On a terminal, it shows a bar; a dry run has its short form. Else, and with --quiet or --verbose, it does nothing,
    and Snakemake writes its usual lines.
    """

    def __post_init__(self) -> None:
        """Find out whether there is a terminal; the bar appears when the first job is about to start."""
        logging.raiseExceptions = False  # on a full disk, the log file of the run would be a traceback a line
        refuse_pipes(sys.argv[1:])
        asked, self.console = self.common_settings, Console(stderr=True)
        self.short = ShortForm() if is_short(asked) else None
        self.used = os.isatty(2) and not (self.console.is_dumb_terminal or asked.dryrun or asked.quiet or asked.verbose)
        self.live: Live | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record of Snakemake."""
        if self.short:
            if shown := self.short.shortened(record):
                print(self.format(shown), file=sys.stdout if self.common_settings.stdout else sys.stderr, flush=True)
            return
        shows: dict[Any, Any] = {
            LogEvent.RUN_INFO: self._begin,
            LogEvent.JOB_INFO: self._start,
            LogEvent.JOB_FINISHED: self._finish,
            LogEvent.JOB_ERROR: self._fail,
        }
        if self.used:
            try:
                shows.get(getattr(record, "event", None), self._tell)(record)
            except Exception:  # would end the thread that shows the records
                self.handleError(record)

    def _begin(self, run: Any) -> None:
        """Show the bar, and have all that this process and its jobs write go through a pipe until `close`."""
        self.total, self.done, self.failed, self.began = run.stats["total"], 0, 0, run.created
        self.waiting = Counter(run.stats) - Counter(total=self.total, all=1)  # the target rule takes no time
        self.took: dict[str, list[float]] = {rule: [] for rule in run.stats}
        self.running: dict[int, Any] = {}  # Snakemake's number of a job -> the record of its start
        source, sink = os.pipe()
        self.terminals = {stream: os.dup(stream) for stream in (1, 2) if os.isatty(stream)}
        for stream in self.terminals:
            os.dup2(sink, stream)
        os.close(sink)
        self.console.file = os.fdopen(self.terminals[2], "w", encoding="utf-8", errors="replace")
        self.relay = threading.Thread(target=self._relay, args=(source,), daemon=True)
        self.relay.start()
        self.live = Live(get_renderable=self._render, console=self.console, redirect_stdout=False)
        self.live.start()

    def _relay(self, source: int) -> None:
        """Print above the bar what this process and its jobs write, line by line."""
        for line in os.fdopen(source, encoding="utf-8", errors="replace", newline="\n"):
            self._print(line.removesuffix("\n"))

    def _start(self, job: Any) -> None:
        self.running[job.jobid] = job
        self.waiting = self.waiting - Counter([job.rule_name])

    def _finish(self, finished: Any) -> None:
        self.done += 1
        job = self.running.pop(finished.job_id)
        self.took[job.rule_name].append(finished.created - job.created)

    def _fail(self, failed: Any) -> None:
        self.failed += 1
        job = self.running.pop(failed.jobid, failed)
        self._print(f"failed: {', log: '.join([name_of(job), *failed.log])}", "red")

    def _tell(self, record: logging.LogRecord) -> None:
        """Print an error, a warning, or what else a user should see."""
        text = record.getMessage()
        if record.levelno >= logging.WARNING or text.startswith(TOLD):
            self._print(text, {"ERROR": "red", "WARNING": "yellow"}.get(record.levelname, ""))

    def _print(self, text: str, style: str = "") -> None:
        self.console.print(Text.from_ansi(text, style=style), soft_wrap=True)

    def _render(self) -> Group:
        """Return the bar and the running jobs."""
        now, running = time.time(), list(self.running.values())
        left = seconds_left(self.took, self.waiting, [(job.rule_name, now - job.created) for job in running])
        said = f"{self.done} of {self.total} jobs done" + (f", {self.failed} failed" if self.failed else "")
        said += f", {in_words(now - self.began)}" + (f", about {in_words(left)} left" if left and running else "")
        jobs = [Text(f"  {name_of(job)}  {in_words(now - job.created)}", "dim") for job in running[:SHOWN]]
        more = [Text(f"  and {len(running) - SHOWN} more", "dim")] if len(running) > SHOWN else []
        return Group(Columns([ProgressBar(self.total, self.done, width=30), said]), *jobs, *more)

    def close(self) -> None:
        """Give the terminal back; the bar stays and says how the run ended."""
        if self.live:
            for stream, terminal in self.terminals.items():
                os.dup2(terminal, stream)
            self.relay.join(timeout=1)  # a process that outlives the run may hold the pipe
            self.running = {}
            self.live.stop()
            self.live = None
        super().close()

    writes_to_stream = property(lambda self: self.used or self.short is not None)
    writes_to_file = needs_rulegraph = False
    has_filter = has_formatter = property(lambda self: self.short is None)  # a dry run has Snakemake's own
