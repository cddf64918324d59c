"""Corpora: documents streamed from files, cleaned, tokenised, packed to blocks, kept in shards.

What is in memory is a chunk of documents and the shard at hand, whatever the size of the texts. A shard that is
written stays written: a job that was killed reads its texts again, but tokenises only what no shard holds yet.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from retort.data import mixing
from retort.data.cleaning import kept
from retort.data.packing import packers
from retort.data.shards import PartShards, assemble, token_type
from retort.data.texts import texts
from retort.data.vocabulary import Special, special_tokens
from retort.errors import RetortError

CHUNK = 1 << 20  # characters that are tokenised at a time
SHARD = 1 << 23  # tokens after which a shard is written


@dataclass
class Tokens:
    """A tokenizer, its special tokens, and the length of blocks."""

    encoder: Any
    special: Special
    block: int

    @classmethod
    def of(cls, model: Path, block: int) -> Tokens:
        """The tokenizer of a model's folder."""
        from tokenizers import Tokenizer

        encoder = Tokenizer.from_file(str(model / "tokenizer.json"))
        encoder.no_padding()
        encoder.no_truncation()
        encoder.encode_special_tokens = True  # '[MASK]' in a text is text
        return cls(encoder, special_tokens(model, encoder), block)

    @property
    def vocabulary(self) -> int:
        """Tokens in the vocabulary."""
        return int(self.encoder.get_vocab_size())


def files_of(part: dict[str, Any], folder: Path) -> list[Path]:
    """The files of a part, in the order of the patterns and of names.

    Raises:
        RetortError: a pattern matches no file.
    """
    found: dict[Path, None] = {}
    for pattern in part["files"]:
        matched = [path for path in sorted(folder.glob(pattern)) if path.is_file()]
        if not matched:
            there = sorted(str(path.relative_to(folder)) for path in folder.rglob("[!.]*") if path.is_file())
            more = ", ..." if len(there) > 8 else ""
            raise RetortError(
                f"source {part['source']} holds no file {pattern}",
                f"it holds {', '.join(there[:8]) or 'nothing'}{more}",
            )
        found.update(dict.fromkeys(matched))
    return list(found)


def documents(number: int, part: dict[str, Any], files: list[Path], counts: Counter[str]) -> Iterator[str]:
    """The documents of a part that are kept, cleaned."""
    read = texts[part["format"]]
    everything: Iterator[str] = (text for path in files for text in read(path, **part["options"]))
    if part["sample"] < 1:
        draw = random.Random(f"corpus sample {number}")
        everything = (text for text in everything if draw.random() < part["sample"])
    return kept(everything, part["cleaning"], counts)


def _chunks(found: Iterable[str]) -> Iterator[list[str]]:
    held: list[str] = []
    size = 0
    for document in found:
        held.append(document)
        size += len(document)
        if size >= CHUNK:
            yield held
            held, size = [], 0
    if held:
        yield held


def _blocks(chunk: list[str], packer: Any, tokens: Tokens) -> list[list[int]]:
    """The blocks that a chunk of documents completes."""
    pieces = [packer.pieces(document) for document in chunk]
    rows = iter(tokens.encoder.encode_batch_fast(list(itertools.chain(*pieces)), add_special_tokens=False))
    return [block for own in pieces for block in packer.add([next(rows).ids for _ in own])]


def build_part(
    shards: PartShards, found: Iterator[str], packer: Any, tokens: Tokens, quota: int | None, counts: Counter[str]
) -> list[dict[str, Any]]:
    """The notes of a part's shards; what an earlier job has written is kept.

    Args:
        shards: where they are written.
        found: the part's documents, from the first.
        packer: makes blocks of them.
        tokens: the tokenizer.
        quota: blocks after which no more text is read; None: read all.
        counts: what `found` counts, noted with the last shard.
    """
    notes = shards.found()
    if notes and notes[-1]["last"]:
        return notes
    packer.rest, consumed = (notes[-1]["rest"], notes[-1]["consumed"]) if notes else ([], 0)
    made = sum(note["blocks"] for note in notes)
    size = max(1, SHARD // tokens.block)
    pending: list[np.ndarray] = []

    def write(last: bool) -> None:
        nonlocal pending, made
        rows = pending if quota is None else pending[: quota - made]
        ids = np.stack(rows) if rows else np.empty((0, tokens.block), token_type(tokens.vocabulary))
        state = {"rest": packer.rest, "consumed": consumed, "last": last, "counts": dict(counts) if last else {}}
        notes.append(shards.write(len(notes), ids, **state))
        made, pending = made + len(rows), []

    for chunk in _chunks(itertools.islice(found, consumed, None)):
        pending += [np.array(row, token_type(tokens.vocabulary)) for row in _blocks(chunk, packer, tokens)]
        consumed += len(chunk)
        if quota is not None and made + len(pending) >= quota:
            break
        if len(pending) >= size:
            write(last=False)
    else:
        pending += [np.array(row, token_type(tokens.vocabulary)) for row in packer.end()]
    write(last=True)
    return notes


def _shares(corpus: dict[str, Any], files: list[list[Path]]) -> list[float] | None:
    shares = [part["share"] for part in corpus["parts"]]
    if None not in shares:
        return shares
    if corpus["blocks"] is None:
        return None
    return mixing.smoothed([sum(path.stat().st_size for path in own) for own in files], corpus["smoothing"])


def _state(state: Path, corpus: dict[str, Any], files: list[list[Path]], model: Path) -> Path:
    """The folder of what this very corpus has so far; that of any other, which these settings replaced, is deleted."""
    sizes = [[(path.name, path.stat().st_size) for path in own] for own in files]
    given = json.dumps([corpus, sizes, (model / "tokenizer.json").stat().st_size], sort_keys=True)
    own = state / hashlib.sha256(given.encode()).hexdigest()[:16]
    for other in state.glob("*"):
        if other != own:
            shutil.rmtree(other)
    return own


def build_corpus(
    corpus: dict[str, Any],
    sources: dict[str, Path],
    model: Path,
    to: Path,
    state: Path,
    say: Callable[[str], None] = lambda line: None,
) -> int:
    """How many blocks the corpus has; they stand in `to` as shards with a manifest, beside corpus.json.

    Args:
        corpus: the corpus's settings.
        sources: the folder of each source.
        model: the folder of the model whose tokenizer is used.
        to: the folder to fill.
        state: the folder of what an interrupted job leaves for the next one.
        say: told a line a shard.

    Raises:
        RetortError: a file is missing or is not of its format, or a part has too little text for its share.
    """
    parts = corpus["parts"]
    tokens = Tokens.of(model, corpus["block"])
    files = [files_of(part, sources[part["source"]]) for part in parts]
    shares = _shares(corpus, files)
    quotas = mixing.apportioned(corpus["blocks"], shares) if shares and corpus["blocks"] else [None] * len(parts)
    names = [f"{number}-{part['language']}" for number, part in enumerate(parts)]
    own = _state(state, corpus, files, model)
    notes = []
    for number, (name, quota) in enumerate(zip(names, quotas, strict=True)):
        counts: Counter[str] = Counter()
        packer = packers[corpus["packing"]](corpus["block"], tokens.special)
        found = documents(number, parts[number], files[number], counts)
        notes.append(build_part(PartShards(own, name, say), found, packer, tokens, quota, counts))
    made = [sum(note["blocks"] for note in shards) for shards in notes]
    used = mixing.taken(made, shares, corpus["blocks"], names)
    _write_about(to, corpus, tokens, [shards[-1]["counts"] for shards in notes], made, used)
    assemble(list(itertools.chain(*notes)), mixing.order(made, used), own, to)
    shutil.rmtree(state)
    return sum(used)


def _write_about(
    to: Path, corpus: dict[str, Any], tokens: Tokens, counted: list[dict[str, int]], made: list[int], used: list[int]
) -> None:
    about = {
        "blocks": sum(used),
        "mask": tokens.special.mask,
        "pad": tokens.special.pad,
        "special": tokens.special.never_masked,
        "vocabulary": tokens.vocabulary,
        "parts": [
            {
                "source": part["source"],
                "language": part["language"],
                **{key: counts.get(key, 0) for key in ("documents", "kept", "short", "duplicates", "characters")},
                "blocks_made": there,
                "blocks": count,
            }
            for part, counts, there, count in zip(corpus["parts"], counted, made, used, strict=True)
        ],
    }
    to.mkdir(parents=True, exist_ok=True)
    (to / "corpus.json").write_text(json.dumps(about, indent=1) + "\n")
