"""Capture what this process and its jobs write to standard error, so that it cannot disturb the screen."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


class CapturedErrors:
    """Redirect standard error to a file until `release`, also that of processes started meanwhile.

    With a pipe, jobs would stop whenever nobody reads it.

    Attributes:
        terminal: the original standard error.
    """

    def __init__(self) -> None:
        self.terminal: IO[str] = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace")
        self._file = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - closed by `release`
        self._read, self._half, self._log, self._open = 0, b"", b"", True
        os.dup2(self._file.fileno(), 2)

    def lines(self) -> Iterator[str]:
        """Yield the complete lines that were written since the last call, and keep them for the log."""
        new = os.pread(self._file.fileno(), 1 << 20, self._read) if self._open else b""
        self._read += len(new)
        self._log += new
        *whole, self._half = (self._half + new).split(b"\n")
        yield from (line.decode("utf-8", errors="replace").rstrip("\r") for line in whole)

    def append_to(self, log: Path) -> None:
        """Append what was read since the last call to a log file."""
        if self._log and log.is_file():
            with log.open("ab") as stream:
                stream.write(self._log)
            self._log = b""

    def release(self) -> Iterator[str]:
        """Restore standard error, and yield the lines that were not read yet."""
        if self._open:
            os.dup2(self.terminal.fileno(), 2)
            yield from self.lines()
            if self._half:
                yield self._half.decode("utf-8", errors="replace")
            self._open = False
