"""Splitting of cleaned texts into sentences: one simple rule for all scripts."""

from __future__ import annotations

import re

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
