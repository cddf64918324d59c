"""Ratings: the numbers that people gave to texts, such as a score of similarity, as files and samples may hold them."""

from __future__ import annotations

import re
from typing import Any

# Far above any scale that people rate on; float32, in which labels are stored, still has four decimals there.
LARGEST = 1_000_000

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def rating(value: Any) -> float:
    """Return a rating as a float, from a number or from its text in decimal digits.

    Python's `float` would also read true as 1, '1_0' as 10, digits of other scripts, and 'nan'.

    Raises:
        ValueError: it is no number, or not between -LARGEST and LARGEST.
    """
    if isinstance(value, bool) or not _DECIMAL.fullmatch(str(value).strip()):
        raise ValueError("not a number in decimal digits")
    number = float(str(value))
    if abs(number) > LARGEST:
        raise ValueError(f"not a number from -{LARGEST} to {LARGEST}")
    return number
