"""Packing: tokenised documents fill blocks of one length.

A packer takes documents one after another and holds the tokens of the block it is at, which are plain integers and so
can be kept on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from retort.data import sentences
from retort.data.vocabulary import Special
from retort.registry import Registry


class Packer(Protocol):
    """What `packers` makes of (tokens a block, special tokens)."""

    rest: list[int]

    def pieces(self, document: str) -> list[str]:
        """The stretches of a cleaned document that are tokenised each on its own."""
        ...

    def add(self, document: list[list[int]]) -> Iterator[list[int]]:
        """The blocks that a document fills, each of the full length; `document` has the tokens of each piece."""
        ...

    def end(self) -> Iterator[list[int]]:
        """What is left when the last document has come, where it makes a block."""
        ...


packers: Registry[Callable[[int, Special], Packer]] = Registry("packing")


@packers.register("continuous")
class Continuous:
    """[CLS] document [SEP] document ... cut wherever a block is full; no padding, the last short block is dropped."""

    def __init__(self, block: int, special: Special) -> None:
        self.room, self.special = block - 1, special
        self.rest: list[int] = []

    def pieces(self, document: str) -> list[str]:
        """The document as one line."""
        return [document.replace("\n", " ")]

    def add(self, document: list[list[int]]) -> Iterator[list[int]]:
        """Full blocks of `block` tokens."""
        for piece in document:
            self.rest += piece
        self.rest.append(self.special.end)
        full = len(self.rest) - len(self.rest) % self.room
        for start in range(0, full, self.room):
            yield [self.special.start, *self.rest[start : start + self.room]]
        self.rest = self.rest[full:]

    def end(self) -> Iterator[list[int]]:
        """Nothing: the short block is dropped."""
        return iter(())


@packers.register("sentences")
class Sentences:
    """Whole sentences, as many as fit, padded; a separator between documents (RoBERTa's FULL-SENTENCES).

    Liu et al. (2019), section 4.2. A sentence that is longer than a block is cut to blocks.
    """

    def __init__(self, block: int, special: Special) -> None:
        self.block, self.special = block, special
        self.rest: list[int] = []

    @property
    def _room(self) -> int:
        return self.block - 2  # of the first and the last token

    def pieces(self, document: str) -> list[str]:
        """The sentences of the document."""
        return sentences.split(document)

    def add(self, document: list[list[int]]) -> Iterator[list[int]]:
        """Blocks of `block` tokens, the first of which is the start and the last, before padding, the end."""
        if self.rest:
            self.rest.append(self.special.end)
        for sentence in document:
            for start in range(0, len(sentence), self._room):
                piece = sentence[start : start + self._room]
                if len(self.rest) + len(piece) > self._room:
                    yield from self.end()
                self.rest += piece

    def end(self) -> Iterator[list[int]]:
        """The block that is being filled, padded."""
        tokens = self.rest
        while tokens and tokens[-1] == self.special.end:
            tokens = tokens[:-1]
        self.rest = []
        if tokens:
            row = [self.special.start, *tokens, self.special.end]
            yield row + [self.special.pad] * (self.block - len(row))
