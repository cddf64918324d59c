"""Sentence splitting for packing: one simple rule for all scripts.

A sentence ends
- at the end of a line;
- at '.', '!', '?', '…' (and closing quotes or brackets) where a space follows and the next word does not begin with a
  lower-case letter, unless a single '.' follows a single letter or one of `SHORT`;
- at the full stops of scripts that put no space after them.
"""

from __future__ import annotations

import re

# abbreviations that a capital letter or a number may follow; others precede lower-case letters and need no list
SHORT = frozenset(
    """mr mrs ms dr prof st sr jr rev hon gen col capt lt sgt gov sen rep pres no nos vol vols fig figs eq eqs sec ch pp
    vs cf ca approx dept est inc ltd co corp univ bros jan feb mar apr jun jul aug sep sept oct nov dec""".split()  # noqa: SIM905
)
END = re.compile(
    r"(?P<word>\S*?)(?P<stop>[.!?…؟۔]+)[\"'”’»)\]]*\s+(?=[^\s])|[。！？｡।॥](?:[”’」』）]*)\s*(?=\S)",
)


def _is_end(text: str, found: re.Match[str]) -> bool:
    """Return True if a match of `END` ends a sentence: it is no abbreviation, and no lower-case letter follows."""
    word = found.group("word")
    if word is None:
        return True
    if text[found.end()].islower():
        return False
    bare = word.strip("\"'“”‘’«»()[]").lower()
    initial = len(bare) == 1 and bare.isalpha()
    return found.group("stop") != "." or not (initial or bare in SHORT)


def split(text: str) -> list[str]:
    """Split a text into its sentences, in order, without the space around them."""
    sentences = []
    for line in text.splitlines():
        start = 0
        for found in END.finditer(line):
            if _is_end(line, found):
                sentences.append(line[start : found.end()].strip())
                start = found.end()
        sentences.append(line[start:].strip())
    return [sentence for sentence in sentences if sentence]
