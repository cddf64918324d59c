"""Read, clean and tokenise the texts of a corpus, in as many parts as there are jobs.

Files are cut into sections; a part is a run of sections. The documents of a section are stored in shards, files of some
megabytes. They do not depend on the parts, so any number of jobs builds the same corpus. A job that starts again after
a kill keeps its shards.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from retort.atomic import flush_to_disk, replacing_file
from retort.data.corpus_texts import CorpusTexts, Seen, clean_text, text_digest
from retort.data.corpus_tokenizer import CorpusTokenizer
from retort.data.packing import Documents, Packer
from retort.data.texts import Section, texts
from retort.data.tokenizers import token_dtype
from retort.specs.corpus import Component

CHUNK = 1 << 20  # characters that are tokenised at a time
SHARD = 1 << 21  # tokens after which a shard is written; it is packed at once
ARRAYS = ("input_ids", "text_lengths", "document_texts", "digests", "characters", "read")


@dataclass(frozen=True)
class TokenShard:
    """Tokenised documents of one section of a file: those that are long enough, repeated ones too.

    Args:
        input_ids: see `Documents`; so for the next two.
        text_lengths: see `Documents`.
        document_texts: see `Documents`.
        digests: (documents,) uint64, equal for documents of equal text.
        characters: (documents,) the length of each document.
        read: (documents,) how many documents of the section were read up to this one, short ones too.
        consumed: how many documents of the section were read for this shard and those before it.
        is_last: whether the section has no more documents.
    """

    input_ids: np.ndarray
    text_lengths: np.ndarray
    document_texts: np.ndarray
    digests: np.ndarray
    characters: np.ndarray
    read: np.ndarray
    consumed: int
    is_last: bool

    @property
    def documents(self) -> Documents:
        """The documents."""
        return Documents(self.input_ids, self.text_lengths, self.document_texts)


def tokenize_part(
    corpus: CorpusTexts,
    part: tuple[int, int],
    output: Path,
    state: Path,
    say: Callable[[str], None] = lambda line: None,
) -> int:
    """Tokenise one part of the texts of a corpus into shards in `output`; return the number of tokens.

    A part reads no more of a component than surely fills the component's share of the corpus.

    Args:
        corpus: the texts of the corpus and the tokenizer.
        part: the number of the part, from 1, and the number of parts.
        output: the folder to fill.
        state: the folder where an interrupted job leaves its shards for the next job; deleted at the end.
        say: called with one line for each shard.

    Raises:
        RetortError: a file is not of its format.
    """
    own = _state_folder(state, corpus, part)
    components = corpus.settings.components
    # a block holds fewer than `block` tokens of the texts
    enough = [np.inf if quota is None else (quota + 1) * corpus.settings.block for quota in corpus.quotas]
    tokens, seen = [0] * len(components), [Seen() for _ in components]
    for number, owner, section in corpus.sections_of_part(*part):
        if tokens[owner] >= enough[owner]:
            continue
        for shard in _shards(corpus, number, owner, section, own):
            chosen = chosen_documents(shard, seen[owner], components[owner])
            tokens[owner] += len(shard.documents.select(chosen).input_ids)
            say(f"{section.path.name}: {shard.consumed:,} documents; {sum(tokens):,} tokens in all")
            if tokens[owner] >= enough[owner]:
                break
    output.mkdir(parents=True, exist_ok=True)
    for path in sorted(own.glob("*.safetensors")):  # and not what a killed job has begun to write
        shutil.move(path, output / path.name)
    shutil.rmtree(state)
    return sum(tokens)


def chosen_documents(shard: TokenShard, seen: Seen, component: Component) -> np.ndarray:
    """Return (documents,) booleans: False for those that were seen before, if the component drops repeated documents.

    Args:
        shard: the documents, which are added to `seen`.
        seen: the documents of the component before these.
        component: says whether repeated documents are dropped.
    """
    new = seen.add(shard.digests)
    return new if component.cleaning.drop_duplicates else np.ones_like(new)


def _state_folder(state: Path, corpus: CorpusTexts, part: tuple[int, int]) -> Path:
    """Make and return the folder in `state` for exactly these settings, files and tokenizer; delete all others.

    Its name is a hash of the settings, the names and sizes of the files and the tokenizer's digest.
    """
    sizes = [[(path.name, path.stat().st_size) for path in own] for own in corpus.files]
    key = json.dumps([corpus.settings.as_json(), sizes, corpus.tokenizer_digest, part], sort_keys=True)
    own = state / hashlib.sha256(key.encode()).hexdigest()[:16]
    for other in state.glob("*"):
        if other != own:
            shutil.rmtree(other)
    own.mkdir(parents=True, exist_ok=True)
    return own


def _shards(corpus: CorpusTexts, number: int, owner: int, section: Section, folder: Path) -> Iterator[TokenShard]:
    """Yield the shards of a section, those of an earlier job first; each is on disk when it is yielded.

    Args:
        corpus: the texts of the corpus and the tokenizer.
        number: the number of the section among those of all components, from 0.
        owner: the number of its component, from 0.
        section: the section.
        folder: the folder of the shards, whose names sort in the order of the documents.
    """
    component, packer, consumed = corpus.settings.components[owner], corpus.packer(), 0
    paths = (folder / f"{owner:03}-{number:05}-{shard:05}.safetensors" for shard in itertools.count())
    for path in paths:
        if not path.is_file():
            break
        shard = read_shard(path)
        yield shard
        if shard.is_last:
            return
        consumed = shard.consumed
    documents: Iterator[str] = texts[component.format](section, **component.options)
    if component.sample < 1:
        rng = random.Random(f"corpus sample {owner} {number}")
        documents = (text for text in documents if rng.random() < component.sample)
    held = [_tokenize([], consumed, component, corpus.tokenizer, packer)]
    for chunk in _chunks(itertools.islice(documents, consumed, None)):
        held.append(_tokenize(chunk, consumed, component, corpus.tokenizer, packer))
        consumed += len(chunk)
        if sum(len(each.input_ids) for each in held) >= SHARD:
            yield _write_shard(path, held, is_last=False)
            path, held = next(paths), [_tokenize([], consumed, component, corpus.tokenizer, packer)]
    yield _write_shard(path, held, is_last=True)


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


def _tokenize(
    chunk: list[str], consumed: int, component: Component, tokenizer: CorpusTokenizer, packer: Packer
) -> TokenShard:
    """Return the documents of a chunk that are long enough, cleaned and tokenised.

    Args:
        chunk: raw documents.
        consumed: how many documents of the section were read before them.
        component: the component of the corpus.
        tokenizer: the tokenizer.
        packer: splits documents into the texts that are tokenised separately.
    """
    cleaned = ((number, clean_text(document)) for number, document in enumerate(chunk, start=consumed + 1))
    kept = [(number, text) for number, text in cleaned if len(text) >= max(component.cleaning.minimum, 1)]
    split = [packer.texts(text) for _, text in kept]
    input_ids, text_lengths = tokenizer.encode(list(itertools.chain(*split)))
    return TokenShard(
        input_ids=input_ids.astype(token_dtype(tokenizer.vocabulary)),
        text_lengths=text_lengths,
        document_texts=np.array(list(map(len, split)), np.int32),
        digests=np.array([text_digest(text) for _, text in kept], np.uint64),
        characters=np.array([len(text) for _, text in kept], np.int64),
        read=np.array([number for number, _ in kept], np.int64),
        consumed=consumed + len(chunk),
        is_last=False,
    )


def _write_shard(path: Path, held: list[TokenShard], is_last: bool) -> TokenShard:
    """Write the documents as one shard, and return it; a kill leaves a whole shard or none."""
    from safetensors.numpy import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {name: np.concatenate([getattr(each, name) for each in held]) for name in ARRAYS}
    consumed = held[-1].consumed
    with replacing_file(path) as part:
        save_file(arrays, str(part), {"consumed": str(consumed), "is_last": str(int(is_last))})
        part.chmod(0o644)
        flush_to_disk(part)  # so that not even a crash of the machine leaves half of it
    return TokenShard(**arrays, consumed=consumed, is_last=is_last)


def read_shard(path: Path) -> TokenShard:
    """Read a shard."""
    from safetensors import safe_open

    with safe_open(str(path), "np") as stored:
        arrays = {name: stored.get_tensor(name) for name in ARRAYS}
        metadata = stored.metadata()
    return TokenShard(**arrays, consumed=int(metadata["consumed"]), is_last=metadata["is_last"] == "1")


def shards_of(folders: list[Path], component: int) -> Iterator[TokenShard]:
    """Yield the shards of a component, in the order of its documents, from the folders of all parts."""
    paths = (path for folder in folders for path in folder.glob(f"{component:03}-*.safetensors"))
    return map(read_shard, sorted(paths, key=lambda path: path.name))
