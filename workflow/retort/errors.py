"""The one exception that a user sees as a line, not as a traceback."""

from __future__ import annotations


class RetortError(Exception):
    """A mistake that its reader can mend: what is wrong, where, and what would be right.

    Args:
        message: one line that names the file, key or value at fault.
        hint: what would be right, where that is known.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}; {self.hint}"


class BookError(RetortError):
    """Every problem of every YAML file at once.

    Args:
        problems: one line each.
    """

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        count = len(problems)
        lines = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"{count} problem{'s' * (count != 1)} in the study's files:{lines}")


class Diverged(Exception):
    """A loss that became NaN or infinite: a result with its step, not a crash.

    Args:
        step: the step, counted from 1 over all stages, at which the loss was not finite.
    """

    def __init__(self, step: int) -> None:
        super().__init__(f"the loss is not finite at step {step}")
        self.step = step
