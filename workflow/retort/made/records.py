"""Made records of each task type; their labels follow from their words, so that they can be learnt."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from retort.made.lexicon import Lexicon, lexicon
from retort.registry import Registry
from retort.specs.made import MadeRows

Record = dict[str, Any]  # what a row needs, by the names that a task's `columns` have
Maker = Callable[[MadeRows, random.Random], Iterator[Record]]
makers: Registry[Maker] = Registry("task type of made rows")

LONG = 6  # one context in so many is longer than a row
FEWEST, MOST = 4, 9  # words of a sentence


def records(rows: MadeRows, seed: int) -> list[Record]:
    """Return the records of a file, the same for the same seed and file."""
    draw = random.Random(f"{seed} {rows.file} {rows.language}")
    return [{"id": _id(rows, number)} | record for number, record in enumerate(makers[rows.task_type](rows, draw))]


def _id(rows: MadeRows, number: int) -> str:
    return f"{rows.file.split('/')[-1].split('.')[0]}-{number}" if rows.format == "squad" else str(number)


def _words(rows: MadeRows, draw: random.Random) -> tuple[Lexicon, list[str]]:
    words = lexicon(rows.language)
    return words, words.sentence(draw, draw.randint(FEWEST, MOST))


def _among(words: list[str], new: str, draw: random.Random) -> list[str]:
    at = draw.randint(0, len(words))
    return [*words[:at], new, *words[at:]]


@makers.register("classification")
def classification(rows: MadeRows, draw: random.Random) -> Iterator[Record]:
    """Yield rows with one sign among their words, and again in the pair: the label is the number of the sign.

    Labels take turns, so that every label occurs.
    """
    for number in range(rows.count):
        words, text = _words(rows, draw)
        label = number % len(rows.labels)
        pair = _among(words.sentence(draw, draw.randint(FEWEST, MOST)), words.signs[label], draw)
        yield {
            "text": words.text(_among(text, words.signs[label], draw)),
            "pair": words.text(pair),
            "label": rows.labels[label],
        }


@makers.register("regression")
def regression(rows: MadeRows, draw: random.Random) -> Iterator[Record]:
    """Yield pairs of texts whose score grows with the number of signs in the second."""
    low, high = rows.bounds or (0.0, 1.0)
    for number in range(rows.count):
        words, text = _words(rows, draw)
        signs = number % (FEWEST + 1)
        pair = [words.signs[0]] * signs + words.sentence(draw, FEWEST - signs)
        draw.shuffle(pair)
        score = low + (high - low) * signs / FEWEST
        yield {"text": words.text(text), "pair": words.text(pair), "label": f"{score:.3f}"}


def _answered(rows: MadeRows, draw: random.Random, number: int, answered: bool) -> Record:
    """Return a question whose answer is a sign, which only contexts of answered questions hold."""
    words, _ = _words(rows, draw)
    before = [words.sentence(draw, MOST) for _ in range(rows.long // MOST if number % LONG == LONG - 1 else 1)]
    sign = words.signs[number % len(words.signs)]
    sentences = [*before, _among(words.sentence(draw, FEWEST), sign, draw) if answered else words.sentence(draw, MOST)]
    context = f"{words.end} ".join(words.text(sentence) for sentence in sentences) + words.end
    start = context.rindex(sign) if answered else -1
    return {
        "question": words.text(words.sentence(draw, FEWEST)) + "?",
        "context": context,
        "label": [{"text": sign, "answer_start": start}] if answered else [],
        "impossible": not answered,
    }


@makers.register("span")
def span(rows: MadeRows, draw: random.Random) -> Iterator[Record]:
    """Yield questions with an answer; one context in six is longer than a row."""
    for number in range(rows.count):
        yield _answered(rows, draw, number, answered=True)


@makers.register("span-or-none")
def span_or_none(rows: MadeRows, draw: random.Random) -> Iterator[Record]:
    """Yield questions of which every third has no answer; one context in six is longer than a row."""
    for number in range(rows.count):
        yield _answered(rows, draw, number, answered=number % 3 != 0)
