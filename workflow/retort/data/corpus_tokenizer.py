"""The tokenizer of a corpus: the library tokenises its texts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from retort.data.tokenizers import FILE, Special, read_tokenizer, special_tokens


@dataclass
class CorpusTokenizer:
    """The tokenizer of a corpus, its special tokens and the size of its vocabulary."""

    encoder: Any
    special: Special
    vocabulary: int

    @classmethod
    def load(cls, model: Path) -> CorpusTokenizer:
        """Load the tokenizer of a model's folder."""
        encoder = read_tokenizer(model / FILE)
        encoder.encode_special_tokens = True  # the characters '[MASK]' in a text are encoded as ordinary text
        return cls(encoder, special_tokens(model, encoder), int(encoder.get_vocab_size()))

    def encode(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the input ids of texts, one after another, without special tokens, and the tokens of each text.

        Both are int32, of (tokens,) and (texts,).
        """
        rows = [row.ids for row in self.encoder.encode_batch_fast(list(texts), add_special_tokens=False)]
        lengths = np.fromiter(map(len, rows), np.int32, len(rows))
        return np.fromiter(itertools.chain(*rows), np.int32, int(lengths.sum())), lengths
