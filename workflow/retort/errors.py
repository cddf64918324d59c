"""Errors that users see as one line without a traceback, and the error for a loss that is NaN or infinite."""

from __future__ import annotations

import copyreg
import errno
import re
from pathlib import Path
from typing import Any

FULL = {errno.ENOSPC, errno.EDQUOT}
# error messages of torch about too little GPU memory
GPU_TOO_SMALL = re.compile(r"(CUDA|HIP)\b.*out of memory|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED")
UNWRITABLE = FULL | {errno.EACCES, errno.EPERM, errno.EROFS}

# control characters, line breaks, and bidirectional controls, which change the order of the text after them
CONTROL = r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"


def escape_controls(text: str, kept: str = "") -> str:
    """Escape the control characters of a text as Python's `repr` does, except those in `kept`."""
    return re.sub(f"[{CONTROL}]", lambda found: found[0] if found[0] in kept else repr(found[0])[1:-1], text)


class RetortError(Exception):
    """A mistake that the user can correct.

    Args:
        message: one line that names the wrong file, key or value.
        hint: what would be right; None if unknown.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        self.message = escape_controls(message, kept="\n")  # it quotes names and texts of files
        self.hint = hint and escape_controls(hint, kept="\n")
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}; {self.hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the error with its attributes, so that subclasses with other constructors reach other processes."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


def check_file(path: Path) -> None:
    """Check that a path is no pipe: to open one would wait for ever.

    Raises:
        RetortError: it is one.
    """
    if path.is_fifo():
        raise RetortError(f"{path.name} is a pipe, which cannot be read again", "put a file here")


class NotWhole(RetortError):
    """A batch would be computed in parts, and one of its objectives needs all examples at once.

    Args:
        student: the student that would be trained.
        objective: the objective.
        rows: the rows of a batch.
        at_once: the rows that would go through a device at once.
    """

    def __init__(self, student: str, objective: str, rows: int, at_once: int) -> None:
        needs = f"'{objective}' needs all {rows} examples of a batch at once, and {at_once} would go through a GPU"
        hint = "take a GPU with more memory, leave 'micro_batch' out, or give the student a smaller batch_size"
        super().__init__(f"{student}: {needs}", hint)


class NoAnswer(RetortError):
    """The Hugging Face hub cannot be reached, or does not answer."""


class StudyError(RetortError):
    """One error that lists every problem of every YAML file of the study.

    Args:
        problems: one line per problem.
    """

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        count = len(problems)
        lines = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"{count} problem{'s' * (count != 1)} in the study's files:{lines}")


class Diverged(Exception):
    """The loss or a gradient became NaN or infinite. This is a result, stored with its step, and not a crash.

    Args:
        step: the step at which it was not finite, counted from 1 over all stages.
    """

    def __init__(self, step: int) -> None:
        super().__init__(f"the loss is not finite at step {step}")
        self.step = step


def lines_of(error: BaseException) -> list[str]:
    """Return the lines of an error's message that are not empty."""
    return [escape_controls(line.strip()) for line in str(error).splitlines() if line.strip()]


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message that is not empty, or the name of its type if there is none."""
    return next(iter(lines_of(error)), type(error).__name__)


def explain_error(error: BaseException) -> str | None:
    """Return one line about an error that the user can correct; None for a bug, which needs a traceback."""
    if isinstance(error, RetortError):
        return str(error)
    if isinstance(error, OSError) and error.errno in UNWRITABLE:
        hint = "free some space" if error.errno in FULL else "make the folder writable"
        return f"cannot write {error.filename or 'results/'}: {error.strerror}; {hint}"
    if telling := next(filter(GPU_TOO_SMALL.search, lines_of(error)), None):
        hint = "set micro_batch, below its batch_size, in the configuration or in its schedule"
        return f"the GPU has too little memory for its batches ({telling}); {hint}"
    # safetensors reports a full disk by its own error type, not by OSError
    if "No space left" in str(error):
        return f"cannot write results/: {error}; free some space"
    return None
