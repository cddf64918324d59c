"""Readers: from a source's files to records; pure Python, so that planning and tests need no torch.

A record is {text, pair (or None), label (int, or float for regression), group}. Rows of one group never stand on
both sides of a split.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from retort.errors import RetortError
from retort.registry import Registry


@dataclass(frozen=True)
class Record:
    """One example: its text, the second text of a pair, its label, and the group it is split by."""

    text: str
    pair: str | None
    label: float
    group: str


readers: Registry = Registry("reader")


def rated_lines(path: Path) -> Iterator[tuple[str, float, str]]:
    """(id, mean human rating, text) of each line of a rated-text file: tab-separated, latin-1.

    Raises:
        RetortError: the file is missing, or a line does not have the three fields.
    """
    if ".." in path.parts:
        raise RetortError(f"{path} leaves its source", "give a path inside it")
    if not path.is_file():
        there = ", ".join(sorted(p.name for p in path.parent.glob("*.txt"))) or "nothing"
        raise RetortError(f"{path} does not exist", f"the folder holds {there}")
    for number, line in enumerate(path.read_text(encoding="latin-1").split("\n"), start=1):
        if not line.strip():
            continue
        fields = line.rstrip("\r").split("\t", 2)
        try:
            identity, rating, text = fields[0], float(fields[1]), fields[2].strip()
        except (IndexError, ValueError):
            raise RetortError(
                f"{path.name}:{number}: not 'id, rating, text' with tabs between: {line[:60]!r}"
            ) from None
        if text:
            yield identity, rating, text


@readers.register("rated-sentences")
def rated_sentences(folder: Path, *, file: str = "", neutral_below: float = 0.0) -> list[Record]:
    """Sentences with the sign of their human rating as label; ratings near zero are left out."""
    return [
        Record(text, None, float(rating > 0), _folded(text))
        for _, rating, text in rated_lines(folder / file)
        if abs(rating) >= neutral_below
    ]


@readers.register("rated-texts")
def rated_texts(folder: Path, *, file: str = "", scale: float = 4.0) -> list[Record]:
    """Texts with their human rating, divided by `scale`, as the score to predict."""
    return [Record(text, None, rating / scale, _folded(text)) for _, rating, text in rated_lines(folder / file)]


def _folded(text: str) -> str:
    """The group of a text: equal texts, whatever their case and spaces, stay on one side of a split."""
    return " ".join(text.lower().split())


@readers.register("same-text-pairs")
def same_text_pairs(folder: Path, *, file: str = "", span: int = 1, seed: int = 0) -> list[Record]:
    """Neighbouring passages of one text (label 1) and passages of two texts (label 0), half and half.

    A passage is `span` sentences; a sentence's id is `<text>_<position>`. Texts are shuffled into blocks of ten;
    a negative pair is drawn within one block, and a block is a group, so that no text stands on both sides of a split.
    """
    texts: dict[str, list[str]] = {}
    for identity, _, sentence in rated_lines(folder / file):
        texts.setdefault(identity.split("_")[0], []).append(sentence)
    passages = {
        name: [" ".join(sentences[i : i + span]) for i in range(0, len(sentences) - span + 1, span)]
        for name, sentences in texts.items()
    }
    chosen = random.Random(f"same-text-pairs {seed}")
    records = []
    names = sorted(name for name, own in passages.items() if len(own) > 1)
    chosen.shuffle(names)
    for block, members in enumerate(_blocks(names, 10)):
        for name in members:
            others = [other for other in members if other != name]
            for first, second in itertools.pairwise(passages[name]):
                other = chosen.choice(passages[chosen.choice(others)])
                records.append(Record(first, second, 1.0, f"block {block}"))
                records.append(Record(first, other, 0.0, f"block {block}"))
    return records


def _blocks(names: list[str], size: int) -> list[list[str]]:
    blocks = [names[i : i + size] for i in range(0, len(names), size)]
    if len(blocks) > 1 and len(blocks[-1]) < size:
        blocks[-2:] = [blocks[-2] + blocks[-1]]
    return blocks


@readers.register("rated-pairs")
def rated_pairs(folder: Path, *, file: str = "", gap: float = 1.0, seed: int = 0) -> list[Record]:
    """Two sentences of one text; label 1 where the first has the higher human rating, by at least `gap`.

    Every sentence is given one partner, and the pair an order, by the seed; a sentence that has no partner so far from
    it is left out, and so is a pair that was drawn before, in either order. The group is the text, so that no text
    stands on both sides of a split.
    """
    rows: dict[str, list[tuple[str, float]]] = {}
    for identity, rating, sentence in rated_lines(folder / file):
        rows.setdefault(identity.split("_")[0], []).append((sentence, rating))
    chosen = random.Random(f"rated-pairs {seed}")
    records, drawn = [], set()
    for name in sorted(rows):
        for first in rows[name]:
            partners = [other for other in rows[name] if abs(other[1] - first[1]) >= gap]
            if partners:
                one, two = chosen.sample([first, chosen.choice(partners)], 2)
                both = frozenset((one[0], two[0]))
                if both in drawn:
                    continue
                drawn.add(both)
                records.append(Record(one[0], two[0], float(one[1] > two[1]), name))
    return records
