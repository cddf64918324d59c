"""Packing: tokenised documents fill blocks of one length.

A packer takes documents one after another and holds the tokens of the unfinished block in `rest`. These are plain
integers, so that they can be written to disk and a later job can continue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from retort.data import sentences
from retort.data.vocabulary import Special
from retort.registry import Registry


class Packer(Protocol):
    """A packer, as each entry of `packers` makes it from (tokens per block, special tokens)."""

    rest: list[int]

    def pieces(self, document: str) -> list[str]:
        """Split a cleaned document into the texts that are tokenised separately."""
        ...

    def add(self, document: list[list[int]]) -> Iterator[list[int]]:
        """Yield the blocks of full length that a document completes; `document` holds the input ids of each piece."""
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

    def pieces(self, document: str) -> list[str]:
        """Return the document as one piece, on one line."""
        return [document.replace("\n", " ")]

    def add(self, document: list[list[int]]) -> Iterator[list[int]]:
        """Yield full blocks of `block` tokens."""
        for piece in document:
            self.rest += piece
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

    This is FULL-SENTENCES of RoBERTa (Liu et al., 2019, section 4.2). A sentence longer than a block is cut into
    pieces.
    """

    def __init__(self, block: int, special: Special) -> None:
        self.block, self.special = block, special
        self.rest: list[int] = []

    @property
    def _room(self) -> int:
        return self.block - 2  # block = start + room + end

    def pieces(self, document: str) -> list[str]:
        """Return the sentences of the document."""
        return sentences.split(document)

    def add(self, document: list[list[int]]) -> Iterator[list[int]]:
        """Yield blocks of `block` tokens: the start token, sentences, the end token, padding."""
        if self.rest:
            self.rest.append(self.special.end)  # may exceed the room by one; `end` removes separators at the end
        for sentence in document:
            for start in range(0, len(sentence), self._room):
                piece = sentence[start : start + self._room]
                if len(self.rest) + len(piece) > self._room:
                    yield from self.end()
                self.rest += piece

    def end(self) -> Iterator[list[int]]:
        """Yield the unfinished block, padded, if it holds any token but separators."""
        tokens = self.rest
        while tokens and tokens[-1] == self.special.end:
            tokens = tokens[:-1]
        self.rest = []
        if tokens:
            row = [self.special.start, *tokens, self.special.end]
            yield row + [self.special.pad] * (self.block - len(row))
