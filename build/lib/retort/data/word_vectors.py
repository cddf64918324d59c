"""Word vectors: words with a vector each, of which the most similar ones are looked up."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np

from retort.data.files import plain_or_gzip
from retort.errors import RetortError

SPELLINGS = 8  # of a word, in lower case and capitals, that a list of words may hold at most


class WordVectors:
    """Words and their vectors, compared by the cosine of the angle between them.

    Args:
        words: the words, each once.
        vectors: (words, width).
    """

    def __init__(self, words: list[str], vectors: np.ndarray) -> None:
        self.words, self.vectors = words, _unit(vectors)
        self.number = {word: number for number, word in enumerate(words)}

    def of(self, word: str) -> np.ndarray | None:
        """Return the vector of a word as it is spelt, else in lower case; None if it has none."""
        number = self.number.get(word, self.number.get(word.lower()))
        return None if number is None else self.vectors[number]

    def nearest(self, vector: np.ndarray, count: int, word: str) -> list[str]:
        """Return the `count` words whose vectors are most similar to a vector, most similar first, without `word`."""
        return best_words(self.vectors @ _unit(vector), self.words, count, word)


def best_words(values: np.ndarray, words: Sequence[str], count: int, word: str) -> list[str]:
    """Return the `count` words with the greatest values, in this order; other spellings of `word` are left out.

    Args:
        values: (words,).
        words: the words.
        count: the number of words, or fewer if there are no more.
        word: the word that is left out.
    """
    few = min(count + SPELLINGS, len(values))
    if not few:
        return []
    best = np.argpartition(-values, few - 1)[:few]
    ordered = best[np.lexsort((best, -values[best]))]  # equal values in the order of the words
    return [words[number] for number in ordered if words[number].lower() != word.lower()][:count]


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Return vectors of length 1, (..., width) float32; a vector of zeros stays as it is."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.where(length > 0, length, 1)).astype(np.float32, copy=False)


def read_word_vectors(path: Path) -> WordVectors:
    """Read a text file in the format of GloVe, plain or gzip; words with other characters than letters are left out.

    Raises:
        RetortError: it is missing or no UTF-8 text, holds no word of letters, or a line has another number of numbers
            than the first.
    """
    file = plain_or_gzip(path)
    try:
        with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
            vectors = dict(_vectors(file, lines))
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise RetortError(f"{file.name}: not a text file of word vectors ({error})", "fetch it again") from None
    if not vectors:
        raise RetortError(f"{file.name} holds no word of letters with a vector", "is it in the format of GloVe?")
    return WordVectors(list(vectors), np.stack(list(vectors.values())))


def _vectors(file: Path, lines: TextIO | Iterable[str]) -> Iterator[tuple[str, np.ndarray]]:
    width = 0
    for number, line in enumerate(lines, start=1):
        word, *fields = line.rstrip().rsplit(" ", width) if width else line.rstrip().split(" ")
        width = width or len(fields)
        try:
            vector = np.array(fields, np.float32)
        except ValueError:
            vector = np.empty(0, np.float32)
        if len(vector) != width or not width or not np.isfinite(vector).all():
            expected = f"{width} numbers" if width else "numbers"
            raise RetortError(f"{file.name}:{number}: not a word and {expected} after it: {line[:40]!r}")
        if word.isalpha():
            yield word, vector
