"""Mixing of a corpus: how many blocks each component gives."""

from __future__ import annotations

from collections.abc import Sequence

from retort.errors import RetortError


def apportion(total: int, shares: Sequence[float]) -> list[int]:
    """Divide `total` blocks by shares: round down, then give the rest to the largest remainders, one block each."""
    exact = [total * share / sum(shares) for share in shares]  # n * p_i / sum_j p_j
    counts = [int(value) for value in exact]
    # largest remainder first
    by_remainder = sorted(range(len(exact)), key=lambda component: counts[component] - exact[component])
    for component in by_remainder[: total - sum(counts)]:
        counts[component] += 1
    return counts


def smooth(sizes: Sequence[int], exponent: float) -> list[float]:
    """Return smoothed shares of sizes: p_i = s_i^a / sum_j s_j^a (Conneau and Lample, 2019, section 3.1)."""
    raised = [float(size) ** exponent for size in sizes]
    return [value / sum(raised) for value in raised]


def divide_blocks(
    made: Sequence[int], shares: Sequence[float] | None, blocks: int | None, names: Sequence[str]
) -> list[int]:
    """Return the number of blocks that the corpus takes of each component.

    Args:
        made: the number of blocks that the texts of each component fill.
        shares: the share of each component in the corpus; None takes all blocks.
        blocks: the number of blocks of the whole corpus; None takes as many as the shares allow.
        names: the names of the components, for the error.

    Raises:
        RetortError: a component has fewer blocks than its share of `blocks`, or the corpus would be empty.
    """
    allowed = min((count / share for count, share in zip(made, shares, strict=True)), default=0) if shares else 0
    # 1e-9: a quotient that rounding put just below a whole number still counts as that number
    counts = list(made) if shares is None else apportion(blocks or int(allowed + 1e-9), shares)
    for name, count, available in zip(names, counts, made, strict=True):
        if count > available:
            raise RetortError(
                f"component {name} fills {available} blocks, and its share is {count}",
                f"'blocks' can be at most {int(allowed)} with these texts",
            )
    if not sum(counts):
        raise RetortError(f"the texts fill {sum(made)} blocks: the corpus is empty", "give more text or shorter blocks")
    return counts
