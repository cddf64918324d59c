"""Readers make records from a source's files, in pure Python, so that planning and tests need no torch."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from retort.data.files import lines
from retort.errors import RetortError
from retort.registry import Registry
from retort.specs.task_files import rating

Encoding = Literal["latin-1", "utf-8"]  # of a file of ratings


@dataclass(frozen=True)
class Record:
    """One example.

    Args:
        text: the text, or the first one of a pair.
        pair: the second text; None for a single text.
        label: the class number or the score.
        group: records of one group are in the same split.
    """

    text: str
    pair: str | None
    label: float
    group: str


readers: Registry[Callable[..., list[Record]]] = Registry("reader")


def rated_lines(path: Path, encoding: Encoding = "latin-1") -> Iterator[tuple[str, float, str]]:
    """Yield (id, mean human rating, text) for each line of a rated-text file: tab-separated.

    Raises:
        RetortError: the file is missing or outside its source, or a line is not in the encoding, does not have the
            three fields, or has a rating that is not a number, or one that is out of range.
    """
    if ".." in path.parts:
        raise RetortError(f"{path} leaves its source", "give a path inside it")
    if not path.is_file():
        known = ", ".join(sorted(p.name for p in path.parent.glob("*.txt"))) or "nothing"
        raise RetortError(f"{path} does not exist", f"the folder holds {known}")
    for number, line in lines(path, encoding):
        if not line.strip():
            continue
        fields = line.split("\t", 2)
        try:
            identity, rated, text = fields[0], fields[1], fields[2].strip()
        except IndexError:
            raise RetortError(
                f"{path.name}:{number}: not 'id, rating, text' with tabs between: {line[:60]!r}"
            ) from None
        try:
            mean = rating(rated)
        except ValueError as error:
            raise RetortError(f"{path.name}:{number}: the rating {rated[:60]!r} is {error}") from None
        if text:
            yield identity, mean, text


@readers.register("rated-sentences", limits={"neutral_below": {"ge": 0, "le": 1000}})
def rated_sentences(
    folder: Path, *, file: str = "", neutral_below: float = 0.0, encoding: Encoding = "latin-1"
) -> list[Record]:
    """Read sentences: label 1 for a positive rating, else 0; leave out ratings nearer to 0 than `neutral_below`."""
    return [
        Record(text, None, float(rating > 0), _fold(text))
        for _, rating, text in rated_lines(folder / file, encoding)
        if abs(rating) >= neutral_below
    ]


@readers.register("rated-texts", limits={"scale": {"ge": 0.001, "le": 1000}})
def rated_texts(folder: Path, *, file: str = "", scale: float = 4.0, encoding: Encoding = "latin-1") -> list[Record]:
    """Read texts; the score to predict is their human rating divided by `scale`."""
    rated = rated_lines(folder / file, encoding)
    return [Record(text, None, rating / scale, _fold(text)) for _, rating, text in rated]


def _fold(text: str) -> str:
    """Return a text in lower case with single spaces: the group, so that near duplicates are in the same split."""
    return " ".join(text.lower().split())


@readers.register("same-text-pairs", limits={"span": {"ge": 1, "le": 1000}})
def same_text_pairs(
    folder: Path, *, file: str = "", span: int = 1, seed: int = 0, encoding: Encoding = "latin-1"
) -> list[Record]:
    """Make pairs of passages: neighbours in one text (label 1) and passages of two texts (label 0), half and half.

    A passage is `span` sentences; a sentence's id is `<text>_<position>`. Texts are shuffled into blocks of ten (the
    last block takes what is left over). A negative pair is drawn within one block, and a block is a group, so that no
    text is in two splits.
    """
    texts: dict[str, list[str]] = {}
    for identity, _, sentence in rated_lines(folder / file, encoding):
        texts.setdefault(identity.split("_")[0], []).append(sentence)
    passages = {
        name: [" ".join(sentences[i : i + span]) for i in range(0, len(sentences) - span + 1, span)]
        for name, sentences in texts.items()
    }
    rng = random.Random(f"same-text-pairs {seed}")
    records = []
    names = sorted(name for name, own in passages.items() if len(own) > 1)
    rng.shuffle(names)
    for block, members in enumerate(_blocks(names, 10)):
        for name in members:
            others = [other for other in members if other != name]
            for first, second in itertools.pairwise(passages[name]):
                other = rng.choice(passages[rng.choice(others)])
                records.append(Record(first, second, 1.0, f"block {block}"))
                records.append(Record(first, other, 0.0, f"block {block}"))
    return records


def _blocks(names: list[str], size: int) -> list[list[str]]:
    """Cut a list into blocks of `size` names; a shorter last block is joined to the one before it."""
    blocks = [names[i : i + size] for i in range(0, len(names), size)]
    if len(blocks) > 1 and len(blocks[-1]) < size:
        blocks[-2:] = [blocks[-2] + blocks[-1]]
    return blocks


@readers.register("rated-pairs", limits={"gap": {"ge": 0, "le": 1000}})
def rated_pairs(
    folder: Path, *, file: str = "", gap: float = 1.0, seed: int = 0, encoding: Encoding = "latin-1"
) -> list[Record]:
    """Make pairs of sentences of one text; label 1 where the first has the higher human rating, else 0.

    The two ratings differ by at least `gap`. The seed draws one partner for every sentence, and the order of the pair.
    A sentence without such a partner is left out, and so is a pair already drawn, in either order. The group is the
    text, so that no text is in two splits.
    """
    rows: dict[str, list[tuple[str, float]]] = {}
    for identity, mean, sentence in rated_lines(folder / file, encoding):
        rows.setdefault(identity.split("_")[0], []).append((sentence, mean))
    rng = random.Random(f"rated-pairs {seed}")
    records, drawn = [], set()
    for name in sorted(rows):
        for first in rows[name]:
            partners = [other for other in rows[name] if abs(other[1] - first[1]) >= gap]
            if partners:
                left, right = rng.sample([first, rng.choice(partners)], 2)
                both = frozenset((left[0], right[0]))
                if both in drawn:
                    continue
                drawn.add(both)
                records.append(Record(left[0], right[0], float(left[1] > right[1]), name))
    return records
