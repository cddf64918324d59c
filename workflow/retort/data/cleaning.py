"""Cleaning: unicode, control characters and spaces put right; short and repeated documents dropped and counted."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

# taken out without a space, as BERT does: controls that are no white space, the byte order mark, and U+FFFD
UNWANTED = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ufffd]+")
SPACES = re.compile(r"[^\S\n]+")


def clean(text: str) -> str:
    """The text in Unicode's composed form (NFC), without control characters, a space between words, no empty line."""
    text = SPACES.sub(" ", UNWANTED.sub("", unicodedata.normalize("NFC", text)))
    return "\n".join(line for line in map(str.strip, text.split("\n")) if line)


class Seen:
    """A set of documents at eight bytes each: sorted runs of 64-bit digests, as long as what came before them.

    Two different documents are taken for one with probability n² / 2⁶⁵.
    """

    def __init__(self, recent: int = 1 << 18) -> None:
        self._recent: set[int] = set()
        self._limit = recent
        self._runs: list[np.ndarray] = []

    def add(self, text: str) -> bool:
        """True when the text is new."""
        digest = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
        if digest in self._recent or any(self._holds(run, digest) for run in self._runs):
            return False
        self._recent.add(digest)
        if len(self._recent) >= self._limit:
            self._settle()
        return True

    @staticmethod
    def _holds(run: np.ndarray, digest: int) -> bool:
        place = int(np.searchsorted(run, np.uint64(digest)))
        return place < len(run) and int(run[place]) == digest

    def _settle(self) -> None:
        run = np.sort(np.fromiter(self._recent, np.uint64, len(self._recent)))
        self._recent.clear()
        while self._runs and len(self._runs[-1]) <= len(run):
            run = np.sort(np.concatenate([self._runs.pop(), run]), kind="stable")
        self._runs.append(run)


def kept(documents: Iterable[str], rule: dict[str, Any], counts: Counter[str]) -> Iterator[str]:
    """The cleaned documents that the rule keeps; `counts` tells how many were read and why others were dropped."""
    seen = Seen()
    for document in documents:
        counts["documents"] += 1
        text = clean(document)
        if not text or len(text) < rule["minimum"]:
            counts["short"] += 1
        elif rule["drop_duplicates"] and not seen.add(text):
            counts["duplicates"] += 1
        else:
            counts["kept"] += 1
            counts["characters"] += len(text)
            yield text
