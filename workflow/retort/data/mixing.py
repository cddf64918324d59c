"""Mixing: how many blocks each part of a corpus gives, and in which order they are counted."""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence

import numpy as np

from retort.errors import RetortError


def apportioned(total: int, shares: Sequence[float]) -> list[int]:
    """How many of `total` blocks fall to each share: rounded down, the rest to the largest remainders."""
    exact = [total * share / sum(shares) for share in shares]
    counts = [int(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda place: counts[place] - exact[place])
    for place in by_remainder[: total - sum(counts)]:
        counts[place] += 1
    return counts


def smoothed(sizes: Sequence[int], exponent: float) -> list[float]:
    """Shares from sizes: p_i = s_i^a / sum_j s_j^a (Conneau and Lample, 2019, section 3.1)."""
    raised = [float(size) ** exponent for size in sizes]
    return [value / sum(raised) for value in raised]


def taken(made: Sequence[int], shares: Sequence[float] | None, blocks: int | None, names: Sequence[str]) -> list[int]:
    """How many blocks of each part the corpus has.

    Args:
        made: the blocks that each part's texts fill.
        shares: of the corpus, or None: all there are.
        blocks: in the whole corpus, or None: as many as the shares allow.
        names: of the parts, for the error.

    Raises:
        RetortError: a part has fewer blocks than its share of `blocks`, or the corpus would be empty.
    """
    allowed = min((count / share for count, share in zip(made, shares, strict=True)), default=0) if shares else 0
    counts = list(made) if shares is None else apportioned(blocks or int(allowed + 1e-9), shares)
    for name, count, there in zip(names, counts, made, strict=True):
        if count > there:
            raise RetortError(
                f"part {name} fills {there} blocks, and its share is {count}",
                f"'blocks' can be at most {int(allowed)} with these texts",
            )
    if not sum(counts):
        raise RetortError(f"the texts fill {sum(made)} blocks: the corpus is empty", "give more text or shorter blocks")
    return counts


def order(made: Sequence[int], counts: Sequence[int]) -> np.ndarray:
    """(blocks,) the corpus's blocks in an order drawn by a named seed.

    Args:
        made: the blocks of each part, which are numbered one part after another.
        counts: how many of them are taken; which, is drawn by a named seed as well.
    """
    chosen = array("q")
    start = 0
    for part, (there, count) in enumerate(zip(made, counts, strict=True)):
        drawn = (
            range(there) if count == there else sorted(random.Random(f"corpus part {part}").sample(range(there), count))
        )
        chosen.extend(start + number for number in drawn)
        start += there
    random.Random("corpus order").shuffle(chosen)  # type: ignore[arg-type]
    return np.frombuffer(chosen, np.int64) if len(chosen) else np.empty(0, np.int64)
