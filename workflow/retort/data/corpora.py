"""Mixing of a corpus: how many blocks each component gives."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from retort.data.blocks import CorpusInfo, write_blocks
from retort.data.cleaning import Seen
from retort.data.corpus_texts import CorpusTexts, divide_blocks
from retort.data.packing import Documents, Packed, Packer
from retort.data.text_tokenizer import token_dtype
from retort.data.token_shards import TokenShard, shards_of
from retort.specs.corpus import Component

# Corpora: the tokenised documents of all parts are packed into blocks, which are written as one data set.
#
# Memory holds one shard of tokens, whatever the size of the texts. Blocks stand in the order of their documents: a
# training draws its own order for each epoch.


PIECE = 1 << 20  # tokens that are packed at a time


@dataclass
class _Counts:
    """Counts of the documents of a component: read, repeated and packed, up to each document that was packed.

    Args:
        rows: arrays (documents, 3), one a shard: documents read, repeated documents and characters packed up to each
            packed document.
        read: documents of the sections before the present one.
        duplicates: repeated documents so far.
        characters: characters of the documents that were packed so far.
    """

    rows: list[np.ndarray] = field(default_factory=list)
    read: int = 0
    duplicates: int = 0
    characters: int = 0

    def add(self, shard: TokenShard, chosen: np.ndarray) -> None:
        """Add a shard; its documents are packed where the mask `chosen`, (documents,), is True."""
        read = self.read + shard.read
        duplicates = self.duplicates + np.cumsum(~chosen)
        characters = self.characters + np.cumsum(np.where(chosen, shard.characters, 0))
        self.rows.append(np.stack([read, duplicates, characters], axis=1)[chosen])
        if len(chosen):
            self.duplicates, self.characters = int(duplicates[-1]), int(characters[-1])
        if shard.is_last:
            self.read += shard.consumed

    def up_to(self, document: int) -> dict[str, int]:
        """Return the counts up to a packed document; documents count from 1."""
        rows = np.concatenate(self.rows) if self.rows else np.zeros((0, 3), np.int64)
        read, duplicates, characters = rows[document - 1].tolist() if document else (0, 0, 0)
        return self._as_dict(document, read, duplicates, characters)

    def all(self) -> dict[str, int]:
        """Return the counts of all documents."""
        return self._as_dict(sum(map(len, self.rows)), self.read, self.duplicates, self.characters)

    @staticmethod
    def _as_dict(kept: int, read: int, duplicates: int, characters: int) -> dict[str, int]:
        return {
            "documents": read,
            "kept": kept,
            "short": read - duplicates - kept,
            "duplicates": duplicates,
            "characters": characters,
        }


class _ComponentBlocks:
    """The blocks of one component of a corpus.

    Args:
        component: the component.
        shards: its tokenised documents.
        packer: packs them.
        quota: the number of blocks that are needed; None for all that the text fills.
    """

    def __init__(self, component: Component, shards: Iterator[TokenShard], packer: Packer, quota: int | None) -> None:
        self.component, self.shards, self.packer, self.quota = component, shards, packer, quota
        self.counts: dict[str, int] = {}
        self.made = 0

    def __iter__(self) -> Iterator[np.ndarray]:
        """Yield arrays (blocks, block); after the last one, `made` and `counts` hold for the whole component."""
        counts, seen = _Counts(), Seen()
        for shard in self.shards:
            new = seen.add(shard.digests)
            chosen = new if self.component.cleaning.drop_duplicates else np.ones_like(new)
            counts.add(shard, chosen)
            for piece in _slices(shard.documents.select(chosen)):
                packed = self.packer.add(piece)
                if self._fills_quota(packed):
                    yield self._last(packed, counts)
                    return
                self.made += len(packed.blocks)
                yield packed.blocks
        packed = self.packer.end()
        self.counts = counts.all()
        self.made += len(packed.blocks)
        yield packed.blocks

    def count(self) -> int:
        """Return the number of blocks that the text fills, without keeping them."""
        return sum(len(blocks) for blocks in self)

    def _fills_quota(self, packed: Packed) -> bool:
        return self.quota is not None and self.made + len(packed.blocks) >= self.quota

    def _last(self, packed: Packed, counts: _Counts) -> np.ndarray:
        """Return the blocks that the quota still needs, and count the documents up to the last of them."""
        assert self.quota is not None
        needed = self.quota - self.made
        self.counts = counts.up_to(int(packed.documents[needed - 1]) if needed else 0)
        self.made = self.quota
        return packed.blocks[:needed]


def _slices(documents: Documents) -> Iterator[Documents]:
    """Yield slices of the documents with about `PIECE` tokens each."""
    text_ends = np.cumsum(documents.document_texts)  # (documents,), in texts
    ends = np.concatenate([[0], np.cumsum(documents.text_lengths)])[text_ends]  # (documents,), in tokens
    start = 0
    while start < len(ends):
        first_token, first_text = (int(ends[start - 1]), int(text_ends[start - 1])) if start else (0, 0)
        stop = max(int(np.searchsorted(ends, first_token + PIECE, side="right")), start + 1)
        yield Documents(
            documents.input_ids[first_token : ends[stop - 1]],
            documents.text_lengths[first_text : text_ends[stop - 1]],
            documents.document_texts[start:stop],
        )
        start = stop


def build_corpus(texts: CorpusTexts, parts: list[Path], output: Path) -> int:
    """Pack the tokenised parts of a corpus, write it to `output` and return its number of blocks.

    Args:
        texts: the texts of the corpus and the tokenizer.
        parts: the folders of the parts.
        output: the folder to fill.

    Raises:
        RetortError: a shard is damaged, or a component has too little text for its share.
    """
    settings, shares, quotas, available = texts.settings, texts.shares, texts.quotas, None
    if shares and settings.blocks is None:  # the component with the least text for its share decides
        available = [component.count() for component in _components(texts, parts, quotas)]
        quotas = divide_blocks(available, shares, None, texts.names)
    written = _components(texts, parts, quotas)
    blocks = itertools.chain.from_iterable(written)
    digests = write_blocks(output, blocks, settings.block, token_dtype(texts.tokenizer.vocabulary))
    used = [component.made for component in written]
    if available is None:
        divide_blocks(used, shares, settings.blocks, texts.names)  # raises an error if there is too little text
    _corpus_info(texts, written, available or used, digests).write(output)
    return sum(used)


def _components(texts: CorpusTexts, parts: list[Path], quotas: Sequence[int | None]) -> list[_ComponentBlocks]:
    return [
        _ComponentBlocks(component, shards_of(parts, number), texts.packer(), quotas[number])
        for number, component in enumerate(texts.settings.components)
    ]


def _corpus_info(
    texts: CorpusTexts, written: list[_ComponentBlocks], available: list[int], digests: dict[str, str]
) -> CorpusInfo:
    """Return the content of corpus.json: special tokens, size of the vocabulary, counts of each component."""
    special = texts.tokenizer.special
    return CorpusInfo(
        blocks=sum(each.made for each in written),
        mask=special.mask,
        pad=special.pad,
        special=special.never_masked,
        vocabulary=texts.tokenizer.vocabulary,
        components=[
            {
                "source": component.source,
                "language": component.language,
                **each.counts,
                "blocks_made": blocks_made,
                "blocks": each.made,
            }
            for component, each, blocks_made in zip(texts.settings.components, written, available, strict=True)
        ],
        sha256=digests,
    )
