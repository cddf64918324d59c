"""Packing: tokenised documents fill blocks of one length.

A packer takes documents in order, any number at a time, and keeps the tokens of the block that is not full yet.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from retort.data.tokenizers import Special
from retort.registry import Registry


@dataclass(frozen=True)
class Documents:
    """Tokenised documents, one after another; a document is one or more texts, such as its sentences.

    Args:
        input_ids: (tokens,) the input ids of all texts, without special tokens.
        text_lengths: (texts,) the number of tokens of each text.
        document_texts: (documents,) the number of texts of each document.
    """

    input_ids: np.ndarray
    text_lengths: np.ndarray
    document_texts: np.ndarray

    def select(self, chosen: np.ndarray) -> Documents:
        """Return only the documents where the mask `chosen`, (documents,), is True."""
        if chosen.all():
            return self
        texts = np.repeat(chosen, self.document_texts)  # (texts,)
        tokens = np.repeat(texts, self.text_lengths)  # (tokens,)
        return Documents(self.input_ids[tokens], self.text_lengths[texts], self.document_texts[chosen])


@dataclass(frozen=True)
class Packed:
    """Blocks that are full.

    Args:
        blocks: (blocks, block) input ids.
        documents: (blocks,) how many documents were begun when the block was full, since the first document.
    """

    blocks: np.ndarray
    documents: np.ndarray


class Packer(Protocol):
    """A packer, as each entry of `packers` makes it from (tokens per block, special tokens)."""

    def texts(self, document: str) -> list[str]:
        """Split a cleaned document into the texts that are tokenised separately."""
        ...

    def add(self, documents: Documents) -> Packed:
        """Return the blocks that these documents complete."""
        ...

    def end(self) -> Packed:
        """Return the last block after the last document, or no block."""
        ...


packers: Registry[Callable[[int, Special], Packer]] = Registry("packing")


@packers.register("continuous")
class Continuous:
    """Blocks "[CLS] document [SEP] document ...", cut wherever a block is full.

    There is no padding; a last block that is not full is dropped.
    """

    def __init__(self, block: int, special: Special) -> None:
        self.room, self.special = block - 1, special  # block = [CLS] + room
        self.rest = np.empty(0, np.int64)  # tokens of the block that is not full
        self.rest_documents = np.empty(0, np.int64)  # the number of the document, from 1, that each of them is from
        self.begun = 0  # documents

    def texts(self, document: str) -> list[str]:
        """Return the document as one text, on one line."""
        return [document.replace("\n", " ")]

    def add(self, documents: Documents) -> Packed:
        """Return the full blocks, `block` tokens each."""
        texts = np.concatenate([[0], np.cumsum(documents.text_lengths)])  # (texts + 1,), where each text begins
        ends = texts[np.cumsum(documents.document_texts)]  # (documents,), in `input_ids`
        stream = np.insert(documents.input_ids.astype(np.int64), ends, self.special.end)  # (tokens + documents,)
        lengths = np.diff(ends, prepend=0) + 1  # (documents,), with the separator
        numbers = self.begun + np.repeat(np.arange(1, len(ends) + 1), lengths)  # (tokens + documents,)
        self.begun += len(ends)
        stream, numbers = np.concatenate([self.rest, stream]), np.concatenate([self.rest_documents, numbers])
        full = len(stream) - len(stream) % self.room  # tokens that fill whole blocks
        self.rest, self.rest_documents = stream[full:], numbers[full:]
        rows = stream[:full].reshape(-1, self.room)  # (blocks, room)
        blocks = np.concatenate([np.full((len(rows), 1), self.special.start), rows], axis=1)  # (blocks, block)
        return Packed(blocks, numbers[:full].reshape(-1, self.room)[:, -1])

    def end(self) -> Packed:
        """Return no block: one that is not full is dropped."""
        return Packed(np.empty((0, self.room + 1), np.int64), np.empty(0, np.int64))


@dataclass(frozen=True)
class _Pieces:
    """Sentences in order; one that is longer than a block is cut into several pieces.

    Args:
        input_ids: (tokens,) the input ids of all pieces.
        lengths: (pieces,) the number of tokens of each piece.
        separators: (pieces,) how many documents begin with this piece: 1 for the first piece of a document, else 0;
            more where documents without a token stand before it.
        documents: (pieces,) the number of the piece's document, from 1.
    """

    input_ids: np.ndarray
    lengths: np.ndarray
    separators: np.ndarray
    documents: np.ndarray

    def after(self, first: _Pieces) -> _Pieces:
        """Return the pieces of `first`, then these."""
        fields = ("input_ids", "lengths", "separators", "documents")
        return _Pieces(*(np.concatenate([getattr(first, name), getattr(self, name)]) for name in fields))

    def split(self, piece: int) -> tuple[_Pieces, _Pieces]:
        """Return the pieces before the given one, and the pieces from it on."""
        token = int(self.lengths[:piece].sum())
        first = _Pieces(self.input_ids[:token], self.lengths[:piece], self.separators[:piece], self.documents[:piece])
        return first, _Pieces(
            self.input_ids[token:], self.lengths[piece:], self.separators[piece:], self.documents[piece:]
        )


def _pieces(documents: Documents, room: int, begun: int, last_document: int) -> _Pieces:
    """Return the sentences of documents as pieces of at most `room` tokens.

    Args:
        documents: the documents; a text is a sentence.
        room: the number of tokens that fit into a block.
        begun: the number of documents before these.
        last_document: the number of the document of the last piece before these.
    """
    counts = -(-documents.text_lengths.astype(np.int64) // room)  # (texts,), pieces of each; 0 without tokens
    lengths = np.full(int(counts.sum()), room)  # (pieces,)
    last_pieces = np.cumsum(counts)[counts > 0] - 1  # (texts with tokens,); they take what is left
    lengths[last_pieces] = documents.text_lengths[counts > 0] - room * (counts[counts > 0] - 1)
    owners = np.repeat(np.arange(1, len(documents.document_texts) + 1), documents.document_texts)  # (texts,)
    numbers = begun + np.repeat(owners, counts)  # (pieces,)
    return _Pieces(documents.input_ids, lengths, np.diff(numbers, prepend=last_document), numbers)


@packers.register("sentences")
class Sentences:
    """Blocks of as many whole sentences as fit, padded, with a separator between documents.

    This is FULL-SENTENCES of RoBERTa (Liu et al., 2019, section 4.2). A sentence longer than a block is cut.
    """

    def __init__(self, block: int, special: Special) -> None:
        self.block, self.special = block, special
        self.room = block - 2  # block = start + room + end
        empty = np.empty(0, np.int64)
        self.rest = _Pieces(empty, empty, empty, empty)  # of the block that is not full
        self.begun = self.last_document = 0  # documents, and the number of the last one that has a token

    def texts(self, document: str) -> list[str]:
        """Return the sentences of the document."""
        return split_sentences(document)

    def add(self, documents: Documents) -> Packed:
        """Return the full blocks: the start token, sentences, the end token, padding."""
        pieces = _pieces(documents, self.room, self.begun, self.last_document).after(self.rest)
        self.begun += len(documents.document_texts)
        self.last_document = int(pieces.documents[-1]) if len(pieces.documents) else 0
        firsts = self._first_pieces(pieces)
        ready, self.rest = pieces.split(firsts[-1] if firsts else 0)
        return self._build_blocks(ready, firsts)

    def end(self) -> Packed:
        """Return the block that is not full, padded, if it holds a token."""
        ready, self.rest = self.rest, self.rest.split(len(self.rest.lengths))[1]
        return self._build_blocks(ready, [*self._first_pieces(ready), len(ready.lengths)])

    def _first_pieces(self, pieces: _Pieces) -> list[int]:
        """Return the first piece of each block; the last of these blocks may take more pieces.

        A block that begins with piece i takes piece j if l_i + sum over k in i+1..j of (s_k + l_k) <= room, for pieces
        of l tokens with s separators before them.
        """
        sums = np.cumsum(pieces.lengths + pieces.separators).tolist()  # (pieces,), C_j
        lengths, firsts, piece = pieces.lengths.tolist(), [], 0
        while piece < len(sums):
            firsts.append(piece)
            piece = bisect_right(sums, self.room - lengths[piece] + sums[piece], lo=piece)
        return firsts

    def _build_blocks(self, pieces: _Pieces, firsts: list[int]) -> Packed:
        """Return the blocks of pieces; block n has the pieces [firsts[n], firsts[n + 1])."""
        first, after = np.array(firsts[:-1], np.int64), np.array(firsts[1:], np.int64)  # (blocks,) each
        blocks = np.full((len(first), self.block), self.special.pad, np.int64)
        if not len(first):
            return Packed(blocks, first)
        rows = np.repeat(np.arange(len(first)), after - first)  # (pieces,), the block of each piece
        # the first piece of a block has no separator before it; sums are from the start of each block
        separators = np.where(np.isin(np.arange(len(rows)), first), 0, pieces.separators)
        sums = np.cumsum(pieces.lengths + separators)  # (pieces,)
        ends = 1 + sums - (sums[first] - pieces.lengths[first])[rows]  # (pieces,), column after the last token
        starts = rows * self.block + ends - pieces.lengths  # (pieces,), index in the flat blocks
        offsets = np.cumsum(pieces.lengths) - pieces.lengths  # (pieces,), index in `input_ids`
        indices = np.repeat(starts - offsets, pieces.lengths) + np.arange(len(pieces.input_ids))
        flat = blocks.reshape(-1)
        flat[indices] = pieces.input_ids
        separated = np.repeat(starts, separators)
        flat[separated - 1 - _ranks(separators)] = self.special.end
        blocks[:, 0] = self.special.start
        blocks[np.arange(len(first)), ends[after - 1]] = self.special.end
        return Packed(blocks, pieces.documents[after - 1])


def _ranks(counts: np.ndarray) -> np.ndarray:
    """Return 0, 1, ..., count - 1 for each count, one after another: [2, 3] gives [0, 1, 0, 1, 2]."""
    ranks: np.ndarray = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return ranks


# Sentences of cleaned texts: one simple rule for all scripts.

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
