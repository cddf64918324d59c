"""Corpora: texts tokenised and packed to blocks of one length, kept as one safetensors file."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from retort.data.readers import texts


def pack(rows: list[list[int]], block: int, start: int, end: int) -> np.ndarray:
    """Blocks of `block` tokens, (blocks, block): [CLS] text [SEP] text ... [SEP]; the last, short one is dropped."""
    room = block - 1
    stream = list(itertools.chain.from_iterable([*row, end] for row in rows))
    count = len(stream) // room
    flat = np.array(stream[: count * room], np.int32).reshape(count, room)
    return np.concatenate([np.full((count, 1), start, np.int32), flat], axis=1)


def build_corpus(corpus: dict[str, Any], folder: Path, tokenizer: Path, to: Path) -> int:
    """Blocks written to `to/blocks.safetensors`, in an order drawn by a named seed."""
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer

    encoder = Tokenizer.from_file(str(tokenizer))
    encoder.no_padding()
    encoder.no_truncation()
    lines = [line for name in corpus["files"] for line in texts[corpus["format"]](folder / name)]
    rows = [row.ids for row in encoder.encode_batch(lines, add_special_tokens=False)]
    blocks = pack(rows, corpus["block"], encoder.token_to_id("[CLS]"), encoder.token_to_id("[SEP]"))
    order = list(range(len(blocks)))
    random.Random("corpus order").shuffle(order)
    to.mkdir(parents=True, exist_ok=True)
    save_file({"ids": blocks[order]}, str(to / "blocks.safetensors"))
    special = [encoder.token_to_id(token) for token in ("[CLS]", "[SEP]", "[PAD]", "[UNK]")]
    about = {
        "texts": len(lines),
        "blocks": len(blocks),
        "mask": encoder.token_to_id("[MASK]"),
        "special": special,
        "vocabulary": encoder.get_vocab_size(),
    }
    (to / "corpus.json").write_text(json.dumps(about, indent=1) + "\n")
    return len(blocks)


def block_order(blocks: int, batch_size: int, seed: int) -> Iterator[np.ndarray]:
    """Block numbers of one batch after another, without end."""
    size = min(batch_size, blocks)
    for epoch in itertools.count():
        order = np.random.default_rng([seed, epoch]).permutation(blocks)
        for start in range(0, blocks - size + 1, size):
            yield order[start : start + size]
