"""Tokenisation of running text: as the library does it, with the words remembered."""

from __future__ import annotations

import itertools
import json
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from retort.data.tokenizers import FILE, Special, read_tokenizer, special_tokens

WORDS = 1 << 19  # words that are remembered; their memory is about 100 MB
ROW = 200  # new words that the library tokenises together
FIRST = "\n"  # marks the first word of a text: a tokenizer such as RoBERTa's gives it other input ids than later words
# Steps by their type in tokenizer.json. Pre-tokenisers that split at every space, and those that split words further:
SPLIT_AT_SPACES = {"BertPreTokenizer", "WhitespaceSplit", "Whitespace", "ByteLevel", "Metaspace"}
SPLIT_WORDS = {"Punctuation", "Digits"}
# normalisers that leave the spaces between words; after the latter, a word may end in a space of its own, or be gone
KEEP_SPACES = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase"}
MAY_END_IN_SPACE = {"BertNormalizer", "Nmt", "Precompiled", "StripAccents"}


def words_are_independent(tokenizer: dict[str, Any]) -> bool:
    """Return whether the input ids of a text are those of its words, one after another.

    Args:
        tokenizer: the content of tokenizer.json.
    """
    splits, normalizers = _steps(tokenizer["pre_tokenizer"]), _steps(tokenizer["normalizer"])
    added = [token["content"] for token in tokenizer.get("added_tokens", []) if not token["special"]]
    first = next((str(step["type"]) for step in splits if step["type"] in SPLIT_AT_SPACES), None)
    replaces, ends = (any(map(is_one, normalizers)) for is_one in (_replaces_runs, _may_end_in_space))
    # those that drop spaces do not see how many there are; ByteLevel splits a run of them as one, Metaspace each
    sees_boundaries = {None: False, "ByteLevel": not ends, "Metaspace": not (ends and replaces)}.get(first, True)
    return (
        sees_boundaries
        and all(step["type"] in SPLIT_AT_SPACES | SPLIT_WORDS for step in splits)
        # ByteLevel splits at spaces only by its expression, Metaspace unless it is told not to
        and all(step.get("use_regex", True) and step.get("split", True) for step in splits)
        and all(step["type"] in KEEP_SPACES or _may_end_in_space(step) or _replaces_runs(step) for step in normalizers)
        and not any(" " in token for token in added)
    )


def _steps(node: Any) -> list[dict[str, object]]:
    """Return the steps of a normaliser or pre-tokeniser of tokenizer.json: none for None, all of a sequence."""
    if node is None:
        return []
    return list(itertools.chain(*map(_steps, node.get("pretokenizers") or node.get("normalizers") or []))) or [node]


def _replaces_runs(step: dict[str, object]) -> bool:
    """Return whether a normaliser only makes one space of several; a cleaned text has none of these."""
    return bool(step["type"] == "Replace" and step["pattern"] == {"Regex": " {2,}"} and step["content"] == " ")


def _may_end_in_space(step: dict[str, object]) -> bool:
    return step["type"] in MAY_END_IN_SPACE


class _Words(dict[str, int]):
    """A number for each different word, in the order of their first use; `new` are those without input ids yet."""

    def __init__(self) -> None:
        super().__init__()
        self.new: list[str] = []

    def __missing__(self, word: str) -> int:
        """Give a number to a word that is looked up for the first time, and return it."""
        number = self[word] = len(self)
        self.new.append(word)
        return number


class TextTokenizer:
    """Tokenises cleaned texts (one space between words) as the library does, and remembers the words it has met.

    `encode` returns the input ids of several texts, one text after another and without special tokens, (tokens,), and
    the number of tokens of each text, (texts,).

    Args:
        encoder: the `tokenizers.Tokenizer`, without padding and truncation.
        words_are_independent: whether words can be tokenised one by one; if not, each text is tokenised as a whole.
    """

    def __init__(self, encoder: Any, words_are_independent: bool) -> None:
        self.encoder = encoder
        self.encode = self._encode_words if words_are_independent else self._encode_whole
        self._forget()

    def _forget(self) -> None:
        self._words = _Words()
        self._ids = np.empty(0, np.int32)  # (pieces,), the input ids of all words, one word after another
        self._starts = np.empty(0, np.int64)  # (words,), where the input ids of each word start in `_ids`
        self._lengths = np.empty(0, np.int32)  # (words,), the number of input ids of each word

    def _encode_whole(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        rows = [row.ids for row in self.encoder.encode_batch_fast(list(texts), add_special_tokens=False)]
        lengths = np.fromiter(map(len, rows), np.int32, len(rows))
        return np.fromiter(itertools.chain(*rows), np.int32, int(lengths.sum())), lengths

    def _encode_words(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the input ids of the texts, looked up word by word."""
        if not texts:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        if len(self._words) > WORDS:
            self._forget()
        words = " ".join([FIRST + text for text in texts]).split(" ")
        numbers = np.fromiter(map(self._words.__getitem__, words), np.int64, len(words))  # (words,)
        self._learn()
        lengths = self._lengths[numbers]  # (words,)
        ends = np.cumsum(lengths, dtype=np.int64)  # (words,)
        # index of each token = start of its word in `_ids` + position in the word
        indices = np.repeat(self._starts[numbers] - (ends - lengths), lengths) + np.arange(ends[-1])
        counts = np.fromiter((text.count(" ") + 1 for text in texts), np.int64, len(texts))  # (texts,), words of each
        text_ends = ends[np.cumsum(counts) - 1]  # (texts,)
        return self._ids[indices], np.diff(text_ends, prepend=0).astype(np.int32)

    def _learn(self) -> None:
        """Tokenise the words that were met for the first time."""
        new, self._words.new = self._words.new, []
        # a later word is tokenised with the space before it
        words = [word[1:] if word.startswith(FIRST) else f" {word}" for word in new]
        rows = [words[start : start + ROW] for start in range(0, len(words), ROW)]
        ids, owners = array("i"), array("q")  # (tokens,) each; the owner of a token is the number of its word
        for row, encoding in enumerate(self.encoder.encode_batch(rows, is_pretokenized=True, add_special_tokens=False)):
            ids.extend(encoding.ids)
            owners.extend([row * ROW + word for word in encoding.word_ids])
        lengths = np.bincount(np.frombuffer(owners, np.int64), minlength=len(new)).astype(np.int32)
        starts = len(self._ids) + np.cumsum(lengths, dtype=np.int64) - lengths
        self._ids = np.concatenate([self._ids, np.frombuffer(ids, np.int32)])
        self._starts = np.concatenate([self._starts, starts])
        self._lengths = np.concatenate([self._lengths, lengths])


@dataclass
class CorpusTokenizer:
    """The tokenizer of a corpus, its special tokens and the size of its vocabulary."""

    texts: TextTokenizer
    special: Special
    vocabulary: int

    @classmethod
    def load(cls, model: Path) -> CorpusTokenizer:
        """Load the tokenizer of a model's folder."""
        encoder = read_tokenizer(model / FILE)
        encoder.encode_special_tokens = True  # the characters '[MASK]' in a text are encoded as ordinary text
        content = json.loads((model / FILE).read_text(encoding="utf-8"))
        texts = TextTokenizer(encoder, words_are_independent(content))
        return cls(texts, special_tokens(model, encoder), int(encoder.get_vocab_size()))
