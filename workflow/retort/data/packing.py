"""Packing: tokenised documents fill blocks of one length; a packer may need their sentences.

A packer takes documents one after another and holds the tokens of the unfinished block in `rest`. These are plain
integers, so that they can be written to disk and a later job can continue.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Protocol

from retort.data.vocabulary import Special
from retort.registry import Registry

# abbreviations that a capital letter or a number may follow; others precede lower-case letters and need no list
ABBREVIATIONS = frozenset(
    """mr mrs ms dr prof st sr jr rev hon gen col capt lt sgt gov sen rep pres no nos vol vols fig figs eq eqs sec ch pp
    vs cf ca approx dept est inc ltd co corp univ bros jan feb mar apr jun jul aug sep sept oct nov dec""".split()  # noqa: SIM905
)
SENTENCE_END = re.compile(
    r"(?P<word>\S*?)(?P<stop>[.!?…؟۔]+)[\"'”’»)\]]*\s+(?=[^\s])|[。！？｡।॥](?:[”’」』）]*)\s*(?=\S)",
)


def _is_end(text: str, match: re.Match[str]) -> bool:
    """Return True if a match of `SENTENCE_END` ends a sentence: no abbreviation, and no lower-case letter after it."""
    word = match.group("word")
    if word is None:
        return True
    if text[match.end()].islower():
        return False
    bare = word.strip("\"'“”‘’«»()[]").lower()
    initial = len(bare) == 1 and bare.isalpha()
    return match.group("stop") != "." or not (initial or bare in ABBREVIATIONS)


def split_sentences(text: str) -> list[str]:
    """Split a text into its sentences, in order, without the space around them: one simple rule for all scripts.

    A sentence ends
    - at the end of a line;
    - at '.', '!', '?', '…' (and closing quotes or brackets) where a space follows and the next word does not begin
      with a lower-case letter, unless a single '.' follows a single letter or one of `ABBREVIATIONS`;
    - at the full stops of scripts that put no space after them.
    """
    sentences = []
    for line in text.splitlines():
        start = 0
        for match in SENTENCE_END.finditer(line):
            if _is_end(line, match):
                sentences.append(line[start : match.end()].strip())
                start = match.end()
        sentences.append(line[start:].strip())
    return [sentence for sentence in sentences if sentence]


class Packer(Protocol):
    """A packer, as each entry of `packers` makes it from (tokens per block, special tokens)."""

    rest: list[int]

    def texts(self, document: str) -> list[str]:
        """Split a cleaned document into the texts that are tokenised separately."""
        ...

    def add(self, document: list[list[int]]) -> Iterator[list[int]]:
        """Yield the blocks of full length that a document completes; `document` holds the input ids of each text."""
        ...

    def end(self) -> Iterator[list[int]]:
        """Yield the last block, after the last document, where the remaining tokens make one."""
        ...


packers: Registry[Callable[[int, Special], Packer]] = Registry("packing")


@packers.register("continuous")
class Continuous:
    """Blocks "[CLS] document [SEP] document ...", cut wherever a block is full.

    There is no padding; a last block that is not full is dropped.
    """

    def __init__(self, block: int, special: Special) -> None:
        self.room, self.special = block - 1, special  # block = [CLS] + room
        self.rest: list[int] = []

    def texts(self, document: str) -> list[str]:
        """Return the document as one text, on one line."""
        return [document.replace("\n", " ")]

    def add(self, document: list[list[int]]) -> Iterator[list[int]]:
        """Yield full blocks of `block` tokens."""
        for text in document:
            self.rest += text
        self.rest.append(self.special.end)
        full = len(self.rest) - len(self.rest) % self.room  # tokens that fill whole blocks
        for start in range(0, full, self.room):
            yield [self.special.start, *self.rest[start : start + self.room]]
        self.rest = self.rest[full:]

    def end(self) -> Iterator[list[int]]:
        """Return an empty iterator: a block that is not full is dropped."""
        return iter(())


@packers.register("sentences")
class Sentences:
    """Blocks of as many whole sentences as fit, padded, with a separator between documents.

    This is FULL-SENTENCES of RoBERTa (Liu et al., 2019, section 4.2). A sentence longer than a block is cut.
    """

    def __init__(self, block: int, special: Special) -> None:
        self.block, self.special = block, special
        self.rest: list[int] = []

    @property
    def _room(self) -> int:
        return self.block - 2  # block = start + room + end

    def texts(self, document: str) -> list[str]:
        """Return the sentences of the document."""
        return split_sentences(document)

    def add(self, document: list[list[int]]) -> Iterator[list[int]]:
        """Yield blocks of `block` tokens: the start token, sentences, the end token, padding."""
        if self.rest:
            self.rest.append(self.special.end)  # may exceed the room by one; `end` removes separators at the end
        for sentence in document:
            for start in range(0, len(sentence), self._room):
                tokens = sentence[start : start + self._room]
                if len(self.rest) + len(tokens) > self._room:
                    yield from self.end()
                self.rest += tokens

    def end(self) -> Iterator[list[int]]:
        """Yield the unfinished block, padded, if it holds any token but separators."""
        tokens = self.rest
        while tokens and tokens[-1] == self.special.end:
            tokens = tokens[:-1]
        self.rest = []
        if tokens:
            row = [self.special.start, *tokens, self.special.end]
            yield row + [self.special.pad] * (self.block - len(row))
