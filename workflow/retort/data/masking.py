"""Dynamic masking: other tokens of a block are masked each time it is seen."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from retort.data.shards import Blocks
from retort.objectives.base import Batch


def mask_tokens(
    ids: np.ndarray, probability: float, about: dict[str, Any], random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """(masked ids, chosen), both (batch, block): of the chosen tokens 80 % become [MASK], 10 % another token.

    The other token is never a special one: padding would move the positions of all tokens behind it in RoBERTa. At
    least one token is chosen, so that a loss over the chosen ones exists (Devlin et al., 2019, section 3.1).
    """
    usable = ~np.isin(ids, about["special"])
    chosen = (random.random(ids.shape) < probability) & usable
    if not chosen.any():
        chosen.flat[np.flatnonzero(usable)[:1]] = True
    fate = random.random(ids.shape)
    masked = np.where(chosen & (fate < 0.8), about["mask"], ids)
    anything = random.integers(0, about["vocabulary"], ids.shape)
    anything = np.where(np.isin(anything, about["special"]), ids, anything)
    return np.where(chosen & (fate >= 0.9), anything, masked).astype(np.int64), chosen


def block_order(blocks: int, batch_size: int, seed: int) -> Iterator[np.ndarray]:
    """Block numbers of one batch after another, without end."""
    size = min(batch_size, blocks)
    for epoch in itertools.count():
        order = np.random.default_rng([seed, epoch]).permutation(blocks)
        for start in range(0, blocks - size + 1, size):
            yield order[start : start + size]


def masked_batches(
    folder: Path | str, probability: float, batch_size: int, seed: int, start: int = 0
) -> Iterator[Batch]:
    """Batches of masked blocks without end; labels are the true ids at the chosen `positions` of the flat batch.

    A batch is a function of (seed, its number), so that a resumed training sees what it would have seen.
    """
    blocks = Blocks(folder)
    order = itertools.islice(enumerate(block_order(len(blocks), batch_size, seed)), start, None)
    for number, rows in order:
        block = blocks[rows]
        masked, chosen = mask_tokens(block, probability, blocks.about, np.random.default_rng([seed, number, 1]))
        yield Batch(
            input_ids=torch.from_numpy(masked),
            token_types=torch.zeros(block.shape, dtype=torch.long),
            mask=torch.from_numpy(block != blocks.about["pad"]),
            labels=torch.from_numpy(block[chosen]),
            rows=torch.from_numpy(rows.astype(np.int64)),
            positions=torch.from_numpy(np.flatnonzero(chosen)),
        )
