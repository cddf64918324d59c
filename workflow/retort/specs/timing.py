"""The latency measurements of a model: batch size, tokens per row, and device; each table says which ones it prints."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Values = Literal["runs", "batches"]
TIMED = ("latency", "speed-up")  # the metrics that are computed from measured times
ROWS, TOKENS = 1, 32  # the batch size and length that every profile is measured with
PASSES = 30  # of a run, unless a scale runs fewer


@dataclass(frozen=True, order=True)
class Timing:
    """One latency measurement of a profile.

    Args:
        batch: rows per batch.
        length: tokens per row.
        device: 'cpu' or 'gpu'; empty for the device that the profile's job has.
        values: one value for each of the 'runs' (the median over its batches), or for each of the 'batches'.
    """

    batch: int = ROWS
    length: int = TOKENS
    device: str = ""
    values: Values = "runs"

    @property
    def name(self) -> str:
        """The key of the measurement in the profile's file, unless it is the one that every profile has."""
        each = "-each-batch" if self.values == "batches" else ""
        return f"batch-{self.batch}-length-{self.length}{f'-{self.device}' * bool(self.device)}{each}"


def timing(name: str, length: int | None, values: Values = "runs") -> Timing:
    """Return the measurement that a cell with a latency or a speed-up shows.

    Args:
        name: the `timing` of the cell: 'batch-16' or another number, 'cpu', 'gpu', or empty.
        length: the tokens per row that the table gives; None for the default of 32.
        values: one value for each of the 'runs' or the 'batches'.

    Raises:
        ValueError: the name is none of these.
    """
    match = re.fullmatch(r"batch-([1-9]\d{0,4})|cpu|gpu|", name)
    if not match:
        raise ValueError(f"there is no timing '{name}'; give 'batch-16' or another number, 'cpu' or 'gpu'")
    return Timing(int(match[1] or ROWS), length or TOKENS, name if name in ("cpu", "gpu") else "", values)
