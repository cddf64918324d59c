"""Corpora: documents are streamed from files, cleaned, tokenised, packed into blocks and written as shards.

Memory holds one chunk of documents and one shard, whatever the size of the texts. A written shard is kept: a job that
starts again after a kill reads the texts again, but tokenises only what is in no shard yet.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from retort.data import mixing
from retort.data.cleaning import kept
from retort.data.packing import Packer, packers
from retort.data.shards import ComponentShards, CorpusInfo, ShardNote, assemble, token_dtype
from retort.data.texts import texts
from retort.data.vocabulary import Special, special_tokens
from retort.errors import RetortError
from retort.settings import CorpusSettings
from retort.specs.corpus import Component

CHUNK = 1 << 20  # characters tokenised at a time
SHARD = 1 << 23  # tokens after which a shard is written


@dataclass
class Tokens:
    """A tokenizer, its special tokens, and the length of blocks."""

    encoder: Any
    special: Special
    block: int

    @classmethod
    def of(cls, model: Path, block: int) -> Tokens:
        """Load the tokenizer of a model's folder."""
        from tokenizers import Tokenizer

        encoder = Tokenizer.from_file(str(model / "tokenizer.json"))
        encoder.no_padding()
        encoder.no_truncation()
        encoder.encode_special_tokens = True  # the characters '[MASK]' in a text are encoded as ordinary text
        return cls(encoder, special_tokens(model, encoder), block)

    @property
    def vocabulary(self) -> int:
        """The number of tokens in the vocabulary."""
        return int(self.encoder.get_vocab_size())


def files_of(component: Component, folder: Path) -> list[Path]:
    """Return the files of a component of a corpus, in the order of the patterns, then of their names.

    Raises:
        RetortError: a pattern matches no file.
    """
    matched_files: dict[Path, None] = {}
    for pattern in component.files:
        matched = [path for path in sorted(folder.glob(pattern)) if path.is_file()]
        if not matched:
            known = sorted(str(path.relative_to(folder)) for path in folder.rglob("[!.]*") if path.is_file())
            more = ", ..." if len(known) > 8 else ""
            raise RetortError(
                f"source {component.source} holds no file {pattern}",
                f"it holds {', '.join(known[:8]) or 'nothing'}{more}",
            )
        matched_files.update(dict.fromkeys(matched))
    return list(matched_files)


def documents(number: int, component: Component, files: list[Path], counts: Counter[str]) -> Iterator[str]:
    """Return the cleaned documents of a component of a corpus, after its sampling and its cleaning rule."""
    read = texts[component.format]
    everything: Iterator[str] = (text for path in files for text in read(path, **component.options))
    if component.sample < 1:
        draw = random.Random(f"corpus sample {number}")
        everything = (text for text in everything if draw.random() < component.sample)
    return kept(everything, component.cleaning, counts)


def _chunks(documents: Iterable[str]) -> Iterator[list[str]]:
    """Yield lists of documents with at least `CHUNK` characters; the last list may have fewer."""
    held: list[str] = []
    size = 0
    for document in documents:
        held.append(document)
        size += len(document)
        if size >= CHUNK:
            yield held
            held, size = [], 0
    if held:
        yield held


def _blocks(chunk: list[str], packer: Packer, tokens: Tokens) -> list[list[int]]:
    """Return the full blocks that a chunk of documents completes, each a list of `tokens.block` input ids."""
    split = [packer.texts(document) for document in chunk]
    rows = iter(tokens.encoder.encode_batch_fast(list(itertools.chain(*split)), add_special_tokens=False))
    return [block for own in split for block in packer.add([next(rows).ids for _ in own])]


@dataclass
class _UnfinishedComponent:
    """A component of a corpus while its blocks are made and its shards written.

    Args:
        shards: writes the shards.
        packer: turns the documents into blocks.
        tokens: the tokenizer.
        quota: number of blocks that are needed; None for all that the text fills.
        notes: the notes of the shards so far; those of an earlier job are continued.
    """

    shards: ComponentShards
    packer: Packer
    tokens: Tokens
    quota: int | None
    notes: list[ShardNote]

    def __post_init__(self) -> None:
        """Continue after the last shard: restore the packer and count what is done."""
        self.packer.rest, self.consumed = (self.notes[-1].rest, self.notes[-1].consumed) if self.notes else ([], 0)
        self.made = sum(note.blocks for note in self.notes)  # blocks in shards
        self.pending: list[np.ndarray] = []  # blocks of the next shard
        self.dtype = token_dtype(self.tokens.vocabulary)

    @property
    def shard_is_full(self) -> bool:
        """Whether the pending blocks fill a shard."""
        return len(self.pending) >= max(1, SHARD // self.tokens.block)

    @property
    def quota_is_met(self) -> bool:
        """Whether there are as many blocks as needed."""
        return self.quota is not None and self.made + len(self.pending) >= self.quota

    def add(self, blocks: Iterable[list[int]]) -> None:
        """Append blocks of input ids to the pending ones."""
        self.pending += [np.array(row, self.dtype) for row in blocks]

    def write(self, last: bool, counts: dict[str, int]) -> None:
        """Write the pending blocks as a shard, and note it."""
        # the last chunk may fill more than the quota
        rows = self.pending if self.quota is None else self.pending[: self.quota - self.made]
        blocks = np.stack(rows) if rows else np.empty((0, self.tokens.block), self.dtype)  # (rows, block)
        self.notes.append(self.shards.write(len(self.notes), blocks, self.packer.rest, self.consumed, last, counts))
        self.made, self.pending = self.made + len(rows), []


def build_component(
    shards: ComponentShards,
    documents: Iterator[str],
    packer: Packer,
    tokens: Tokens,
    quota: int | None,
    counts: Counter[str],
) -> list[ShardNote]:
    """Write the shards of a component of a corpus and return their notes; shards of an earlier job are kept.

    Args:
        shards: writes the shards and finds those that exist.
        documents: the documents of the component, from the first one.
        packer: turns the documents into blocks.
        tokens: the tokenizer.
        quota: number of blocks after which reading stops; None reads all the text.
        counts: the numbers that are counted while `documents` is read; the note of the last shard holds them.
    """
    notes = shards.complete()
    if notes and notes[-1].last:
        return notes
    component = _UnfinishedComponent(shards, packer, tokens, quota, notes)
    for chunk in _chunks(itertools.islice(documents, component.consumed, None)):
        component.add(_blocks(chunk, packer, tokens))
        component.consumed += len(chunk)
        if component.quota_is_met:
            break
        if component.shard_is_full:
            component.write(last=False, counts={})
    else:
        component.add(packer.end())
    component.write(last=True, counts=dict(counts))
    return component.notes


def _build_components(
    corpus: CorpusSettings,
    files: list[list[Path]],
    tokens: Tokens,
    quotas: Sequence[int | None],
    shards: list[ComponentShards],
) -> list[list[ShardNote]]:
    """Build the components of a corpus one after another and return the notes of the shards of each."""
    notes = []
    for number, component in enumerate(corpus.components):
        counts: Counter[str] = Counter()
        texts_of_component = documents(number, component, files[number], counts)
        packer = packers[corpus.packing](corpus.block, tokens.special)
        notes.append(build_component(shards[number], texts_of_component, packer, tokens, quotas[number], counts))
    return notes


def _shares(corpus: CorpusSettings, files: list[list[Path]]) -> list[float] | None:
    """Return the share of each component: its own, else smoothed from file sizes; None to take all the text."""
    shares = [component.share for component in corpus.components if component.share is not None]
    if shares:  # every component has a share, or none has
        return shares
    if corpus.blocks is None:
        return None
    return mixing.smoothed([sum(path.stat().st_size for path in own) for own in files], corpus.smoothing)


def _state(state: Path, corpus: CorpusSettings, files: list[list[Path]], model: Path) -> Path:
    """Return the state folder of exactly these settings, files and tokenizer; delete the state of any others.

    The folder's name is a hash of the settings, the names and sizes of the files and the size of the tokenizer's file.
    """
    sizes = [[(path.name, path.stat().st_size) for path in own] for own in files]
    key = json.dumps([corpus.as_json(), sizes, (model / "tokenizer.json").stat().st_size], sort_keys=True)
    own = state / hashlib.sha256(key.encode()).hexdigest()[:16]
    for other in state.glob("*"):
        if other != own:
            shutil.rmtree(other)
    return own


def build_corpus(
    corpus: CorpusSettings,
    sources: dict[str, Path],
    model_folder: Path,
    output: Path,
    state: Path,
    say: Callable[[str], None] = lambda line: None,
) -> int:
    """Build a corpus in `output` (shards, their manifest and corpus.json) and return its number of blocks.

    Args:
        corpus: the corpus's settings.
        sources: the folder of each source.
        model_folder: the folder of the model whose tokenizer is used.
        output: the folder to fill.
        state: the folder where an interrupted job leaves its shards for the next job; deleted at the end.
        say: called with one line for each shard.

    Raises:
        RetortError: a file is missing or not of its format, or a component has too little text for its share.
    """
    tokens = Tokens.of(model_folder, corpus.block)
    files = [files_of(component, sources[component.source]) for component in corpus.components]
    shares = _shares(corpus, files)
    quotas: Sequence[int | None] = [None] * len(files)
    if shares and corpus.blocks:
        quotas = mixing.apportioned(corpus.blocks, shares)
    names = [f"{number}-{component.language}" for number, component in enumerate(corpus.components)]
    own = _state(state, corpus, files, model_folder)
    notes = _build_components(corpus, files, tokens, quotas, [ComponentShards(own, name, say) for name in names])
    made = [sum(note.blocks for note in of_component) for of_component in notes]
    used = mixing.taken(made, shares, corpus.blocks, names)
    _info(corpus, tokens, [of_component[-1].counts for of_component in notes], made, used).write(output)
    assemble(list(itertools.chain(*notes)), mixing.order(made, used), own, output)
    shutil.rmtree(state)
    return sum(used)


def _info(
    corpus: CorpusSettings, tokens: Tokens, counted: list[dict[str, int]], made: list[int], used: list[int]
) -> CorpusInfo:
    """Return the content of corpus.json: special tokens, size of the vocabulary, counts of each component."""
    return CorpusInfo(
        blocks=sum(used),
        mask=tokens.special.mask,
        pad=tokens.special.pad,
        special=tokens.special.never_masked,
        vocabulary=tokens.vocabulary,
        components=[
            {
                "source": component.source,
                "language": component.language,
                **{key: counts.get(key, 0) for key in ("documents", "kept", "short", "duplicates", "characters")},
                "blocks_made": available,
                "blocks": count,
            }
            for component, counts, available, count in zip(corpus.components, counted, made, used, strict=True)
        ],
    )
