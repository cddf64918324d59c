"""Made records of each task type. Labels follow from the words of a text, so that models can learn them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from retort.made.lexicon import Lexicon, lexicon
from retort.registry import Registry
from retort.specs.made import MadeRows

Record = dict[str, Any]  # the values of a row by the keys of a task's `columns`
Maker = Callable[[MadeRows, random.Random], Iterator[Record]]
makers: Registry[Maker] = Registry("task type of made rows")

LONG = 6  # every LONG-th context is longer than a row
FEWEST, MOST = 4, 9  # words of a sentence, at least and at most


def records(rows: MadeRows, seed: int) -> list[Record]:
    """Return the records of a file; they depend only on the seed, the file and the language."""
    draw = random.Random(f"{seed} {rows.file} {rows.language}")
    return [{"id": _id(rows, number)} | record for number, record in enumerate(makers[rows.task_type](rows, draw))]


def _id(rows: MadeRows, number: int) -> str:
    return f"{rows.file.split('/')[-1].split('.')[0]}-{number}" if rows.format == "squad" else str(number)


def _words(rows: MadeRows, draw: random.Random) -> tuple[Lexicon, list[str]]:
    """Return the lexicon of a file's language, and the words of a sentence."""
    words = lexicon(rows.language)
    return words, words.sentence(draw, draw.randint(FEWEST, MOST))


def _insert(words: list[str], new: str, draw: random.Random) -> list[str]:
    """Return the words with a new one at a random place."""
    at = draw.randint(0, len(words))
    return [*words[:at], new, *words[at:]]


@makers.register("classification")
def classification(rows: MadeRows, draw: random.Random) -> Iterator[Record]:
    """Yield pairs of texts with one sign in both; the number of the sign gives the label.

    Labels take turns, so that every label occurs.
    """
    for number in range(rows.count):
        words, text = _words(rows, draw)
        label = number % len(rows.labels)
        pair = _insert(words.sentence(draw, draw.randint(FEWEST, MOST)), words.signs[label], draw)
        yield {
            "text": words.text(_insert(text, words.signs[label], draw)),
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


def _question(rows: MadeRows, draw: random.Random, number: int, answered: bool) -> Record:
    """Return a question with its context; the answer is a sign in the context, and without an answer there is none."""
    words, _ = _words(rows, draw)
    before = [words.sentence(draw, MOST) for _ in range(rows.long // MOST if number % LONG == LONG - 1 else 1)]
    sign = words.signs[number % len(words.signs)]
    sentences = [*before, _insert(words.sentence(draw, FEWEST), sign, draw) if answered else words.sentence(draw, MOST)]
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
        yield _question(rows, draw, number, answered=True)


@makers.register("span-or-none")
def span_or_none(rows: MadeRows, draw: random.Random) -> Iterator[Record]:
    """Yield questions, every third without an answer; one context in six is longer than a row."""
    for number in range(rows.count):
        yield _question(rows, draw, number, answered=number % 3 != 0)
