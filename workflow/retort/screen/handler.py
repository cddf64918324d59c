"""The log handler of a run: one quiet screen on a terminal, plain lines elsewhere, everything in the log file."""

from __future__ import annotations

import atexit
import logging
import os
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text
from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter, logger
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from retort.screen.captured import CapturedErrors
from retort.screen.state import RunState

SAID = re.compile(r"^    (\w+(\([^)]*\))?: .*)$")  # a line of `Job.say`
SHOWN = 12  # the most running jobs that are shown; a cluster has hundreds
QUIET = {Quietness.RULES, Quietness.REASON}  # events that plain lines leave out


def in_words(seconds: float) -> str:
    """Return a duration as '1 h 23 min', '12 min' or '45 s'."""
    minutes, hours = round(seconds) // 60, round(seconds) // 3600
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min" if minutes else f"{round(seconds)} s"


class Screen:
    """A bar with the finished jobs and the time left; warnings above it, the running jobs below it.

    Args:
        captured: the captured standard error.
        log_file: returns Snakemake's log file; None before there is one.
    """

    def __init__(self, captured: CapturedErrors, log_file: Callable[[], Path | None]) -> None:
        self.state, self.captured, self.log_file = RunState(), captured, log_file
        self.console = Console(file=captured.terminal)
        self.last, self.shown, self.lock = "", set[str](), threading.Lock()
        self.live: Live | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Update the screen after a record of Snakemake."""
        actions: dict[Any, Callable[[logging.LogRecord], None]] = {
            LogEvent.RUN_INFO: self._begin,
            LogEvent.JOB_INFO: self._start,
            LogEvent.JOB_FINISHED: self._finish,
            LogEvent.JOB_ERROR: self._fail,
        }
        actions.get(getattr(record, "event", None), self._message)(record)

    def _begin(self, record: logging.LogRecord) -> None:
        self.state.begin(vars(record).get("stats", {}))
        if self.live is None and self.state.total:
            self.live = Live(get_renderable=self.render, console=self.console, refresh_per_second=4, transient=True)
            self.live.start()

    def _start(self, record: logging.LogRecord) -> None:
        fields = vars(record)
        self.state.start(fields["jobid"], fields["rule_name"], fields.get("wildcards") or {})

    def _finish(self, record: logging.LogRecord) -> None:
        self.state.finish(vars(record)["job_id"])

    def _fail(self, record: logging.LogRecord) -> None:
        fields = vars(record)
        job = self.state.fail(fields["jobid"])
        logs = ", ".join(map(str, fields.get("log") or []))
        self.show(f"failed: {job.name if job else fields.get('rule_name')}{f'; log: {logs}' if logs else ''}", "red")

    def _message(self, record: logging.LogRecord) -> None:
        """Show warnings, errors and 'Nothing to be done'; the rest is only in the log file."""
        text = record.getMessage() if record.msg else ""
        if record.levelno >= logging.WARNING:
            self.show(text, "red" if record.levelno >= logging.ERROR else "yellow")
        elif text.startswith("Nothing to be done"):
            self.show(text)

    def show(self, text: str, style: str = "") -> None:
        """Print a line above the bar, unless it was printed before."""
        if text.strip() and text not in self.shown:
            self.shown.add(text)
            self.console.print(Text(text, style=style))

    def read(self) -> None:
        """Read what jobs have written: show results in the last line, other lines above the bar; log everything."""
        with self.lock:
            for line in self.captured.lines():
                self._read(line)
            if log := self.log_file():
                self.captured.append_to(log)

    def _read(self, line: str) -> None:
        said = SAID.match(line)
        if said:
            self.last = said[1]
        else:
            self.show(line)

    def render(self) -> RenderableType:
        """Return the bar, the running jobs and the last result."""
        self.read()
        state, left = self.state, self.state.seconds_left()
        bar = Table.grid(padding=(0, 1))
        time_left = "" if left is None else f"about {in_words(left)} left"
        bar.add_row(
            ProgressBar(total=max(1, state.total), completed=state.done, width=30),
            f"{state.done} of {state.total} jobs",
            Text(f"{in_words(state.elapsed)}, {time_left}".rstrip(", "), style="dim"),
        )
        jobs = Table.grid(padding=(0, 1))
        for job in list(state.running.values())[:SHOWN]:
            jobs.add_row(" ", job.name, Text(in_words(state.clock() - job.started), style="dim"))
        if len(state.running) > SHOWN:
            jobs.add_row(" ", f"and {len(state.running) - SHOWN} more", "")
        last = Text(f"  last: {self.last}" if self.last else "", style="dim", no_wrap=True, overflow="ellipsis")
        return Group(bar, jobs, last)

    def close(self) -> None:
        """Remove the bar, restore the terminal, and print how the run ended."""
        self.read()
        if self.live is not None:
            self.live.stop()
        for line in self.captured.release():
            self._read(line)
        log = self.log_file()
        if log:
            self.captured.append_to(log)
        if self.live is not None:
            counts = f"{self.state.done} of {self.state.total} jobs done in {in_words(self.state.elapsed)}"
            failed = f", {self.state.failed} failed" if self.state.failed else ""
            self.console.print(f"{counts}{failed}. The full log: {log}", highlight=False, soft_wrap=True)
        self.live = None


def _log_file() -> Path | None:
    """Return the log file that Snakemake writes; None before it has opened one."""
    files = [handler.baseFilename for handler in logger.handlers if isinstance(handler, logging.FileHandler)]
    return Path(files[0]) if files else None


class LogHandler(LogHandlerBase):
    """The handler that Snakemake makes for `--logger retort`."""

    def __post_init__(self) -> None:
        """Open the screen; in a dry run, or if standard error is no terminal, write plain lines."""
        self.screen: Screen | None = None
        self.plain = ColorizingTextHandler(
            nocolor=self.common_settings.nocolor,
            stream=sys.stderr,
            formatter=DefaultFormatter(QUIET, self.common_settings.show_failed_logs),
            filter=DefaultFilter(QUIET, False, False, self.common_settings.dryrun, False),
        )
        terminal = os.isatty(2) and os.environ.get("TERM", "dumb") != "dumb"
        if terminal and not self.common_settings.dryrun:
            self.log_file: Path | None = None
            self.screen = Screen(CapturedErrors(), self._remembered)
            atexit.register(self.close)

    def _remembered(self) -> Path | None:
        """Return Snakemake's log file, even after Snakemake has closed it."""
        self.log_file = _log_file() or self.log_file
        return self.log_file

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record on the screen, or as plain lines."""
        if self.screen:
            self.screen.emit(record)
        else:
            self.plain.handle(record)

    def close(self) -> None:
        """Restore the terminal."""
        screen, self.screen = self.screen, None
        if screen:
            screen.close()
        super().close()

    writes_to_stream = True
    writes_to_file = False
    has_filter = True  # Snakemake must not filter: the screen does
    has_formatter = True
    needs_rulegraph = False
