"""Words that are replaced at random: the data augmentation of TinyBERT (Jiao et al., 2020)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from retort.data.generators.base import PretrainedWords, Row, Word, generators
from retort.data.word_vectors import WordVectors, best_words

TOKENS = 4096  # that are predicted at a time, at most, if a row is not longer


@generators.register("replaced-words")
class ReplacedWords:
    """Replace words at random: single tokens by masked-LM predictions, others by words with similar vectors.

    The data augmentation of TinyBERT (Jiao et al., 2020). In each copy, each word of letters is replaced with
    probability `threshold` (p_t there) by one of its candidates, each with the same probability. The candidates of a
    word that is one token are the `candidates` (K) most probable words where this token is masked. Those of a word of
    several tokens are the K words with the most similar vectors; the word stays if it has no vector. The number of
    copies (N_a) is a key of the set of rows.

    The defaults are ours, and so is this: candidates are whole words of letters, without the word itself; they are
    found once in a text as it stands, and serve all of its copies; the two texts of a pair are changed separately; two
    copies may be equal. If no file of word vectors is given, vectors are the word embeddings of the model, and that of
    a word of several tokens is the mean of theirs.
    """

    version: ClassVar[int] = 1
    needs_masked_lm: ClassVar[bool] = True
    limits: ClassVar = {"threshold": {"ge": 0, "le": 1}, "candidates": {"ge": 1, "le": 1000}}

    def __init__(
        self, words: PretrainedWords, vectors: WordVectors | None, *, threshold: float = 0.5, candidates: int = 10
    ) -> None:
        self.words, self.threshold, self.candidates = words, threshold, candidates
        self.own_vectors = vectors is None
        self.vectors = vectors or WordVectors(words.whole_texts, words.embeddings[words.whole])
        self.similar: dict[str, list[str]] = {}  # word of several tokens -> its candidates

    def __call__(self, text: str, copies: int, random: np.random.Generator) -> list[str]:
        """Return copies of a text with other words."""
        row = self.words.row(text)
        predicted = self._predicted(text, row)
        found = [
            (word, candidates)
            for word in row.words
            if (candidates := predicted.get(word) or self._similar(text, row, word))
        ]
        return [self._copy(text, found, random) for _ in range(copies)]

    def _copy(self, text: str, found: list[tuple[Word, list[str]]], random: np.random.Generator) -> str:
        parts, end = [], 0
        for word, candidates in found:
            replaced, choice = random.random() < self.threshold, int(random.integers(len(candidates)))
            parts += [text[end : word.start], candidates[choice] if replaced else text[word.start : word.end]]
            end = word.end
        return "".join([*parts, text[end:]])

    def _predicted(self, text: str, row: Row) -> dict[Word, list[str]]:
        """Return the most probable words in the place of each word that is one token."""
        single = [word for word in row.words if word.is_token]
        positions = np.array([word.first for word in single], np.int64)  # (masked,)
        rows = np.repeat(row.input_ids[None], len(single), axis=0)  # (masked, tokens)
        rows[np.arange(len(single)), positions] = self.words.special.mask
        at_once, predicted = max(1, TOKENS // len(row.input_ids)), {}
        for first in range(0, len(single), at_once):
            part = slice(first, first + at_once)
            logits = self.words.predict(rows[part], positions[part])[:, self.words.whole]  # (part, words)
            for word, own in zip(single[part], logits, strict=True):
                spelt = text[word.start : word.end]
                predicted[word] = best_words(own, self.words.whole_texts, self.candidates, spelt)
        return predicted

    def _similar(self, text: str, row: Row, word: Word) -> list[str]:
        """Return the words with the most similar vectors; empty for a word that has no vector, or is one token."""
        spelt = text[word.start : word.end]
        if word.is_token:
            return []
        if spelt not in self.similar:
            tokens = row.input_ids[word.first : word.last]
            vector = self.words.embeddings[tokens].mean(axis=0) if self.own_vectors else self.vectors.of(spelt)
            self.similar[spelt] = [] if vector is None else self.vectors.nearest(vector, self.candidates, spelt)
        return self.similar[spelt]
