"""Cleaning of documents (Unicode, control characters, spaces), and the set that finds repeated documents."""

from __future__ import annotations

import hashlib
import re
import unicodedata

import numpy as np

# removed and not replaced by a space, as in BERT: controls other than white space, the byte order mark, U+FFFD
UNWANTED = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ufffd]+")


def clean(text: str) -> str:
    """Return the text in NFC (Unicode), without control characters or empty lines, with one space between words."""
    lines = unicodedata.normalize("NFC", text).split("\n")
    words = [line.split() if _is_plain(line) else UNWANTED.sub("", line).split() for line in lines]
    return "\n".join([" ".join(line) for line in words if line])


def _is_plain(line: str) -> bool:
    """Return whether a line surely has no unwanted character: controls are not printable, but U+FFFD is."""
    return line.isprintable() and "\ufffd" not in line


class Seen:
    """A set of documents that takes eight bytes for each: their digests in a few sorted arrays ("runs").

    A new run is merged with the shorter runs before it, so there are only about log2(n) runs. Among n different
    documents, two have the same digest with probability about n² / 2⁶⁵.
    """

    def __init__(self) -> None:
        self._runs: list[np.ndarray] = []

    def add(self, digests: np.ndarray) -> np.ndarray:
        """Add documents by their digests, (documents,) uint64; return (documents,) booleans: True where one is new."""
        different, first = np.unique(digests, return_index=True)  # sorted
        new = np.ones(len(different), bool)
        for run in self._runs:
            index = np.minimum(np.searchsorted(run, different), len(run) - 1)
            new &= run[index] != different
        self._merge(different[new])
        answer = np.zeros(len(digests), bool)
        answer[first[new]] = True
        return answer

    def _merge(self, run: np.ndarray) -> None:
        while self._runs and len(self._runs[-1]) <= len(run):
            run = np.sort(np.concatenate([self._runs.pop(), run]), kind="stable")
        if len(run):
            self._runs.append(run)


def digest(text: str) -> int:
    """Return the 64-bit digest of a text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


# Splitting of cleaned texts into sentences: one simple rule for all scripts.


# abbreviations that a capital letter or a number may follow; others precede lower-case letters and need no list
ABBREVIATIONS = frozenset(
    """mr mrs ms dr prof st sr jr rev hon gen col capt lt sgt gov sen rep pres no nos vol vols fig figs eq eqs sec ch pp
    vs cf ca approx dept est inc ltd co corp univ bros jan feb mar apr jun jul aug sep sept oct nov dec""".split()  # noqa: SIM905
)
# full stops with a space after them, in group 1, then those of scripts that put no space after them
END = re.compile(r"([.!?…؟۔]+)[\"'”’»)\]]*\s+(?=\S)|[。！？｡।॥][”’」』）]*\s*(?=\S)")
ASCII_END = re.compile(r"([.!?]+)[\"')\]]*\s+(?=\S)")  # what END is for a line of ASCII, which is searched faster


def split_sentences(text: str) -> list[str]:
    """Split a text into its sentences, in order, without the space around them.

    A sentence ends
    - at the end of a line;
    - at '.', '!', '?', '…' (and closing quotes or brackets) where a space follows and the next word does not begin
      with a lower-case letter, unless a single '.' follows a single letter or one of `ABBREVIATIONS`;
    - at the full stops of scripts that put no space after them.
    """
    sentences = []
    for line in text.split("\n"):
        start = 0
        for match in (ASCII_END if line.isascii() else END).finditer(line):
            if _is_end(line, start, match):
                sentences.append(line[start : match.end()].strip())
                start = match.end()
        sentences.append(line[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _is_end(line: str, start: int, match: re.Match[str]) -> bool:
    """Return whether a match of `END` ends the sentence that begins at `start`."""
    stop = match.group(1)
    if stop is None:
        return True
    if line[match.end()].islower():
        return False
    if stop != ".":
        return True
    first = max(start, line.rfind(" ", start, match.start()) + 1)  # of the word before the full stop
    word = line[first : match.start()].strip("\"'“”‘’«»()[]").lower()
    return not ((len(word) == 1 and word.isalpha()) or word in ABBREVIATIONS)
