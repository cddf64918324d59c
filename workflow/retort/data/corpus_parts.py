"""Read, clean and tokenise the texts of a corpus, in as many parts as there are jobs.

Files are cut into sections; a part is a run of sections. The shards of a section do not depend on the parts, so any
number of jobs builds the same corpus. A job that starts again after a kill keeps its shards.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from retort.data.cleaning import Seen, clean, digest
from retort.data.corpus_texts import CorpusTexts, NumberedSection
from retort.data.packing import Documents, Packer
from retort.data.text_tokenizer import CorpusTokenizer, token_dtype
from retort.data.texts import texts
from retort.data.token_shards import TokenShard, is_whole, read_shard, shard_name, write_shard
from retort.specs.corpus import Component

CHUNK = 1 << 20  # characters that are tokenised at a time
SHARD = 1 << 23  # tokens after which a shard is written


def _documents(component: Component, section: NumberedSection) -> Iterator[str]:
    """Return the raw documents of a section: all, or a random sample at the component's rate."""
    documents: Iterator[str] = texts[component.format](section.section, **component.options)
    if component.sample < 1:
        rng = random.Random(f"corpus sample {section.component} {section.number}")
        documents = (text for text in documents if rng.random() < component.sample)
    return documents


@dataclass
class _Pending:
    """Tokenised documents that are in no shard yet; arrays as in `TokenShard`."""

    input_ids: list[np.ndarray] = field(default_factory=list)
    text_lengths: list[np.ndarray] = field(default_factory=list)
    document_texts: list[int] = field(default_factory=list)
    digests: list[int] = field(default_factory=list)
    characters: list[int] = field(default_factory=list)
    read: list[int] = field(default_factory=list)
    tokens: int = 0

    def shard(self, vocabulary: int, consumed: int, is_last: bool) -> TokenShard:
        """Return the documents as a shard."""
        empty = [np.empty(0, np.int32)]
        documents = Documents(
            input_ids=np.concatenate(self.input_ids or empty).astype(token_dtype(vocabulary)),
            text_lengths=np.concatenate(self.text_lengths or empty),
            document_texts=np.array(self.document_texts, np.int32),
        )
        return TokenShard(
            documents=documents,
            digests=np.array(self.digests, np.uint64),
            characters=np.array(self.characters, np.int64),
            read=np.array(self.read, np.int64),
            consumed=consumed,
            is_last=is_last,
        )


class _SectionWriter:
    """Reads a section and writes its shards.

    Args:
        component: the component of the corpus.
        section: the section.
        tokenizer: the tokenizer.
        packer: splits documents into the texts that are tokenised separately.
        folder: the folder of the shards.
    """

    def __init__(
        self,
        component: Component,
        section: NumberedSection,
        tokenizer: CorpusTokenizer,
        packer: Packer,
        folder: Path,
    ) -> None:
        self.component, self.section = component, section
        self.tokenizer, self.packer, self.folder = tokenizer, packer, folder

    def shards(self) -> Iterator[TokenShard]:
        """Yield the shards, those of an earlier job first; each is on disk when it is yielded."""
        number, consumed, is_last = 0, 0, False
        while not is_last and is_whole(self._path(number)):
            shard = read_shard(self._path(number))
            number, consumed, is_last = number + 1, shard.consumed, shard.is_last
            yield shard
        if not is_last:
            yield from self._new_shards(number, consumed)

    def _path(self, number: int) -> Path:
        return self.folder / shard_name(self.section.component, self.section.number, number)

    def _new_shards(self, number: int, consumed: int) -> Iterator[TokenShard]:
        documents = itertools.islice(_documents(self.component, self.section), consumed, None)
        pending = _Pending()
        for chunk in _chunks(documents):
            self._tokenize(chunk, consumed, pending)
            consumed += len(chunk)
            if pending.tokens >= SHARD:
                yield self._write(number, pending, consumed, is_last=False)
                number, pending = number + 1, _Pending()
        yield self._write(number, pending, consumed, is_last=True)

    def _write(self, number: int, pending: _Pending, consumed: int, is_last: bool) -> TokenShard:
        shard = pending.shard(self.tokenizer.vocabulary, consumed, is_last)
        write_shard(self._path(number), shard)
        return shard

    def _tokenize(self, chunk: list[str], consumed: int, pending: _Pending) -> None:
        """Clean and tokenise a chunk of documents and append those that are long enough to `pending`."""
        minimum = max(self.component.cleaning.minimum, 1)
        split: list[list[str]] = []
        for number, document in enumerate(chunk, start=consumed + 1):
            text = clean(document)
            if len(text) >= minimum:
                split.append(self.packer.texts(text))
                pending.digests.append(digest(text))
                pending.characters.append(len(text))
                pending.read.append(number)
        tokenized = self.tokenizer.texts.encode(list(itertools.chain(*split)))
        pending.input_ids.append(tokenized.input_ids.astype(token_dtype(self.tokenizer.vocabulary)))
        pending.text_lengths.append(tokenized.lengths)
        pending.document_texts += map(len, split)
        pending.tokens += len(tokenized.input_ids)


def _chunks(documents: Iterator[str]) -> Iterator[list[str]]:
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


def _sufficient_tokens(quota: int | None, block: int) -> float:
    """Return a number of tokens that surely fills a quota of blocks; a block holds fewer than `block` of them."""
    return np.inf if quota is None else (quota + 1) * block


def _state_folder(state: Path, texts: CorpusTexts, part: tuple[int, int]) -> Path:
    """Make and return the folder in `state` for exactly these settings, files and tokenizer; delete all others.

    Its name is a hash of the settings, the names and sizes of the files and the tokenizer's digest.
    """
    sizes = [[(path.name, path.stat().st_size) for path in own] for own in texts.files]
    key = json.dumps([texts.settings.as_json(), sizes, texts.tokenizer_digest, part], sort_keys=True)
    own = state / hashlib.sha256(key.encode()).hexdigest()[:16]
    for other in state.glob("*"):
        if other != own:
            shutil.rmtree(other)
    own.mkdir(parents=True, exist_ok=True)
    return own


def tokenize_part(
    texts: CorpusTexts,
    part: tuple[int, int],
    output: Path,
    state: Path,
    say: Callable[[str], None] = lambda line: None,
) -> int:
    """Tokenise one part of the texts of a corpus into shards in `output`; return the number of tokens.

    A part reads no more of a component than surely fills the component's share of the corpus.

    Args:
        texts: the texts of the corpus and the tokenizer.
        part: the number of the part, from 1, and the number of parts.
        output: the folder to fill.
        state: the folder where an interrupted job leaves its shards for the next job; deleted at the end.
        say: called with one line for each shard.

    Raises:
        RetortError: a file is not of its format.
    """
    own = _state_folder(state, texts, part)
    components = texts.settings.components
    enough = [_sufficient_tokens(quota, texts.settings.block) for quota in texts.quotas]
    tokens, seen = [0] * len(components), [Seen() for _ in components]
    for section in texts.sections_of_part(*part):
        number = section.component
        if tokens[number] >= enough[number]:
            continue
        for shard in _SectionWriter(components[number], section, texts.tokenizer, texts.packer(), own).shards():
            tokens[number] += _new_tokens(shard, seen[number], components[number])
            say(f"{section.section.path.name}: {shard.consumed:,} documents; {sum(tokens):,} tokens in all")
            if tokens[number] >= enough[number]:
                break
    _move_files(own, output)
    shutil.rmtree(state)
    return sum(tokens)


def _new_tokens(shard: TokenShard, seen: Seen, component: Component) -> int:
    """Return the number of tokens of a shard, without repeated documents if the component drops them."""
    if not component.cleaning.drop_duplicates:
        return len(shard.documents.input_ids)
    return len(shard.documents.select(seen.add(shard.digests)).input_ids)


def _move_files(folder: Path, output: Path) -> None:
    """Move the files of a folder to `output`."""
    output.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.iterdir()):
        shutil.move(path, output / path.name)
