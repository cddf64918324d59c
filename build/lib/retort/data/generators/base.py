"""The interface of a generator of training rows, and what it may ask of a pre-trained model: words, and predictions."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from retort.data.tokenizers import Special, read_tokenizer, special_tokens, tokenizer_file
from retort.registry import Registry

PREFIXES = "\u2581\u0120"  # what SentencePiece and byte pairs write for the space before a word
LETTERS = re.compile(r"[^\W\d_]+")
Predict = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Generator(Protocol):
    """A generator of training rows; one registered class holds all that the package knows about it.

    `version` and `needs_masked_lm` must be literals in the class body, and options are the keyword arguments of
    `__init__`: `retort check` reads them from the source code.

    Args:
        version: increased when the same settings would give other rows.
        needs_masked_lm: True if it asks a model with a masked-LM head; its first argument is None otherwise.
    """

    version: ClassVar[int]
    needs_masked_lm: ClassVar[bool]

    def __call__(self, text: str, copies: int, random: np.random.Generator) -> list[str]:
        """Return changed copies of a text.

        The same text, number and state of `random` give the same copies, whatever was asked before.
        """
        ...


generators: Registry[Callable[..., Generator]] = Registry("generator")  # (words, vectors, *, options) -> generator


@dataclass(frozen=True)
class Word:
    """A word in a text: its characters [start, end), and the positions of its tokens [first, last) in the row.

    `is_token` tells whether it is one token, which holds nothing else.
    """

    start: int
    end: int
    first: int
    last: int
    is_token: bool


@dataclass(frozen=True)
class Row:
    """A text as one row: its input ids (tokens,), special tokens included, and its words, which are of letters."""

    input_ids: np.ndarray
    words: list[Word]


@dataclass(frozen=True)
class PretrainedWords:
    """The words of a pre-trained model with a masked-LM head.

    Args:
        encoder: the `tokenizers.Tokenizer` of the model; it truncates to the most tokens that the model takes.
        special: the special tokens.
        embeddings: (vocabulary, width), the embeddings of the tokens.
        predict: returns the logits of masked tokens, (rows, vocabulary), from the input ids of rows of one length,
            (rows, tokens), and the position of the mask in each row, (rows,).
    """

    encoder: Any
    special: Special
    embeddings: np.ndarray
    predict: Predict

    @classmethod
    def load(cls, folder: Path, positions: int, embeddings: np.ndarray, predict: Predict) -> PretrainedWords:
        """Read the tokenizer of a folder for a model that takes at most `positions` tokens."""
        encoder = read_tokenizer(tokenizer_file(folder))
        encoder.no_padding()
        encoder.enable_truncation(max_length=positions)
        return cls(encoder, special_tokens(folder, encoder), embeddings, predict)

    @cached_property
    def texts(self) -> list[str]:
        """The text of each token that is a whole word of letters inside a text, by input id; empty for any other."""
        ids = range(len(self.embeddings))
        texts = [self.encoder.decode([token], skip_special_tokens=True).strip().lstrip(PREFIXES) for token in ids]
        letters = [token for token in ids if texts[token].isalpha()]
        before = self.encoder.encode("a", add_special_tokens=False).ids
        rows = self.encoder.encode_batch([f"a {texts[token]}" for token in letters], add_special_tokens=False)
        whole = {token for token, row in zip(letters, rows, strict=True) if row.ids == [*before, token]}
        return [text if token in whole else "" for token, text in enumerate(texts)]

    @cached_property
    def whole(self) -> np.ndarray:
        """The input ids of the tokens that are whole words, (words,)."""
        return np.array([token for token, text in enumerate(self.texts) if text], np.int64)

    @cached_property
    def whole_texts(self) -> list[str]:
        """The texts of the tokens that are whole words, in the order of `whole`."""
        return [self.texts[token] for token in self.whole]

    def row(self, text: str) -> Row:
        """Return the tokens of a text; words beyond those that the model has positions for are left out."""
        encoding = self.encoder.encode(text)
        spans = [
            (position, start + len(text[start:end]) - len(text[start:end].lstrip()), end)  # without a space before it
            for position, (start, end) in enumerate(encoding.offsets)
            if encoding.sequence_ids[position] is not None
        ]
        starts, ends = [start for _, start, _ in spans], [end for _, _, end in spans]
        words = []
        for found in LETTERS.finditer(text):
            covering = spans[bisect_right(ends, found.start()) : bisect_left(starts, found.end())]
            if covering and covering[-1][2] >= found.end():
                whole = covering[0][1] == found.start() and covering[-1][2] == found.end()
                words.append(Word(*found.span(), covering[0][0], covering[-1][0] + 1, whole and len(covering) == 1))
        return Row(np.array(encoding.ids, np.int64), words)
