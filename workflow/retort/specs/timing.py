"""What is timed of a model: how many rows of how many tokens at once, and on what; each table says what it prints."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retort.specs.book import Book

TIMED = ("latency", "speed-up")  # the metrics that are made of times
ROWS, TOKENS = 1, 32  # what every profile is timed on, whoever asks


@dataclass(frozen=True, order=True)
class Timing:
    """One measurement of a profile.

    Args:
        batch: rows at once.
        length: tokens of each row.
        device: 'cpu' or 'gpu'; empty for the device that the profile's job has.
    """

    batch: int = ROWS
    length: int = TOKENS
    device: str = ""

    @property
    def name(self) -> str:
        """The key of a further measurement in the profile's file."""
        return f"batch-{self.batch}-length-{self.length}{f'-{self.device}' * bool(self.device)}"


def timing(part: str, length: int | None) -> Timing:
    """The measurement that a cell of a latency or a speed-up shows.

    Args:
        part: of the cell: 'batch-16', 'cpu', 'gpu', or nothing.
        length: the tokens of a row, as the table says; None where it does not.

    Raises:
        ValueError: there is no such part.
    """
    found = re.fullmatch(r"batch-([1-9]\d{0,4})|cpu|gpu|", part)
    if not found:
        raise ValueError(f"no time has the part '{part}'; give 'batch-16' or another number, 'cpu' or 'gpu'")
    return Timing(int(found[1] or ROWS), length or TOKENS, part if part in ("cpu", "gpu") else "")


def further(book: Book, student: str) -> list[dict[str, Any]]:
    """The measurements that tables ask for beside the one that every profile has, in their order, as plain values."""
    asked: set[Timing] = set()
    for exhibit in book.exhibits.values():
        asked |= getattr(exhibit, "timed", {}).get(student, set())
    where = {
        replace(one, device="") if one.device == "gpu" else one for one in asked
    }  # jobs have a GPU where there is one
    return [{key: value for key, value in asdict(one).items() if value} for one in sorted(where - {Timing()})]
