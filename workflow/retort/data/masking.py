"""Dynamic masking: each time a block is used, different tokens of it are masked."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from retort.batch import Batch
from retort.data.blocks import Blocks, CorpusInfo


def mask_tokens(
    input_ids: np.ndarray, probability: float, info: CorpusInfo, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Choose tokens for masked language modelling; return the masked input ids and a mask of the chosen tokens.

    Both are (batch, block). Of the chosen tokens 80 % become [MASK], 10 % become a random token and 10 % stay as they
    are (Devlin et al., 2019, section 3.1). The random token is never one of `info.special`: a padding token would
    shift the position ids of all later tokens in RoBERTa. At least one token is chosen, so that the loss is defined.
    """
    usable = ~np.isin(input_ids, info.special)  # (batch, block)
    chosen = (random.random(input_ids.shape) < probability) & usable
    if not chosen.any():
        chosen.flat[np.flatnonzero(usable)[:1]] = True
    fate = random.random(
        input_ids.shape
    )  # uniform: [0, 0.8) -> [MASK], [0.8, 0.9) -> unchanged, [0.9, 1) -> random token
    masked = np.where(chosen & (fate < 0.8), info.mask, input_ids)
    anything = random.integers(0, info.vocabulary, input_ids.shape)
    anything = np.where(np.isin(anything, info.special), input_ids, anything)  # a special token: the true id stays
    return np.where(chosen & (fate >= 0.9), anything, masked).astype(np.int64), chosen


def block_order(blocks: int, batch_size: int, seed: int) -> Iterator[np.ndarray]:
    """Yield the block numbers (batch,) of each batch, without end; every epoch has its own random order.

    Blocks left over in an epoch, too few for a batch, are skipped.
    """
    size = min(batch_size, blocks)
    for epoch in itertools.count():
        order = np.random.default_rng([seed, epoch]).permutation(blocks)
        for start in range(0, blocks - size + 1, size):
            yield order[start : start + size]


def masked_batches(
    folder: Path | str, probability: float, batch_size: int, seed: int, start: int = 0
) -> Iterator[Batch]:
    """Yield batches of masked blocks without end; the labels are the true input ids at `positions` of the flat batch.

    A batch depends only on the seed and its number, so that a resumed training run gets the batches it would have got.
    """
    blocks = Blocks(folder)
    order = itertools.islice(enumerate(block_order(len(blocks), batch_size, seed)), start, None)
    for number, rows in order:
        block = blocks[rows]  # (batch, block)
        masked, chosen = mask_tokens(block, probability, blocks.info, np.random.default_rng([seed, number, 1]))
        yield Batch(
            input_ids=torch.from_numpy(masked),
            token_type_ids=torch.zeros(block.shape, dtype=torch.long),
            attention_mask=torch.from_numpy(block != blocks.info.pad),
            labels=torch.from_numpy(block[chosen]),  # (positions,)
            rows=torch.from_numpy(rows.astype(np.int64)),
            positions=torch.from_numpy(np.flatnonzero(chosen)),  # (positions,), row * block + column
        )
