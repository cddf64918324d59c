"""Cleaning of documents: Unicode, control characters and spaces; short and repeated documents are dropped, counted."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from retort.specs.corpus import Cleaning

# removed and not replaced by a space, as in BERT: controls other than white space, the byte order mark, U+FFFD
UNWANTED = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ufffd]+")
SPACES = re.compile(r"[^\S\n]+")


def clean(text: str) -> str:
    """Return the text in Unicode's NFC, without control characters or empty lines, one space between words."""
    text = SPACES.sub(" ", UNWANTED.sub("", unicodedata.normalize("NFC", text)))
    return "\n".join(line for line in map(str.strip, text.split("\n")) if line)


class Seen:
    """A set of documents that takes eight bytes for each: 64-bit digests in a few sorted arrays ("runs").

    A new run is merged with the runs before it that are not longer, so that there are only about log2(n) runs. Among n
    different documents, two have the same digest with probability about n² / 2⁶⁵.
    """

    def __init__(self, recent: int = 1 << 18) -> None:
        self._recent: set[int] = set()
        self._limit = recent
        self._runs: list[np.ndarray] = []

    def add(self, text: str) -> bool:
        """Add a text; return True if it is new."""
        digest = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
        if digest in self._recent or any(self._holds(run, digest) for run in self._runs):
            return False
        self._recent.add(digest)
        if len(self._recent) >= self._limit:
            self._settle()
        return True

    @staticmethod
    def _holds(run: np.ndarray, digest: int) -> bool:
        index = int(np.searchsorted(run, np.uint64(digest)))
        return index < len(run) and int(run[index]) == digest

    def _settle(self) -> None:
        run = np.sort(np.fromiter(self._recent, np.uint64, len(self._recent)))
        self._recent.clear()
        while self._runs and len(self._runs[-1]) <= len(run):
            run = np.sort(np.concatenate([self._runs.pop(), run]), kind="stable")
        self._runs.append(run)


def kept(documents: Iterable[str], rule: Cleaning, counts: Counter[str]) -> Iterator[str]:
    """Yield the cleaned documents that the rule keeps; count those read, kept and dropped (by reason) in `counts`."""
    seen = Seen()
    for document in documents:
        counts["documents"] += 1
        text = clean(document)
        if not text or len(text) < rule.minimum:
            counts["short"] += 1
        elif rule.drop_duplicates and not seen.add(text):
            counts["duplicates"] += 1
        else:
            counts["kept"] += 1
            counts["characters"] += len(text)
            yield text
