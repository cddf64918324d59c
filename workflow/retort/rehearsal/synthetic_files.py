"""The words of made texts: for each language a few words in its script, and signs, which decide labels."""

from __future__ import annotations

import json
import lzma
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retort.registry import Registry
from retort.specs.model import MadeRows, MadeTexts

LATIN = "aeiodlmnrst"
SCRIPTS = {
    "ar": "ابتدرسعلمن",
    "ur": "ابتدرسعلمن",
    "bg": "абдеиклмно",
    "ru": "абдеиклмно",
    "el": "αβδεικλμνο",
    "hi": "कगचजतदनपमर",
    "th": "กขคงจดตนมร",
    "zh": "一中人大小上下水火山",
}
UNSPACED = ("th", "zh")  # languages that put no space between words
SENTENCE_ENDS = {"hi": "।", "zh": "。", "ur": "۔"}
WORDS = 24  # words of a language that mean nothing
SIGNS = 8  # words of a language that decide labels


@dataclass(frozen=True)
class Lexicon:
    """The words of a language.

    Args:
        words: words that mean nothing.
        signs: words that decide a label or an answer.
        space: the text between two words.
        end: the full stop.
    """

    words: tuple[str, ...]
    signs: tuple[str, ...]
    space: str
    end: str

    def sentence(self, draw: random.Random, count: int) -> list[str]:
        """Draw words that mean nothing."""
        return [draw.choice(self.words) for _ in range(count)]

    def text(self, words: list[str]) -> str:
        """Return words as one text, without a full stop."""
        return self.space.join(words)


def lexicon(language: str) -> Lexicon:
    """Return the words of a language, in Latin letters unless `SCRIPTS` has its script.

    They depend only on the language, so that training and test sets of every seed share them.
    """
    draw, letters = random.Random(f"words of {language}"), SCRIPTS.get(language, LATIN)
    words: dict[str, None] = {}
    while len(words) < WORDS + SIGNS:
        words["".join(draw.choice(letters) for _ in range(draw.randint(2, 4)))] = None
    space = "" if language in UNSPACED else " "
    return Lexicon(tuple(words)[SIGNS:], tuple(words)[:SIGNS], space, SENTENCE_ENDS.get(language, "."))


def letters() -> list[str]:
    """Return all letters and marks of made texts, and those of ids and prompts (a-z, 0-9, '.,?'), sorted."""
    made = {letter for script in (LATIN, *SCRIPTS.values()) for letter in script}
    return sorted(made | set(SENTENCE_ENDS.values()) | set(string.ascii_lowercase + string.digits + ".,?"))


def known_words() -> list[str]:
    """Return the words of English texts: each is a token of its own in made tokenizers."""
    english = lexicon("en")
    return [*english.signs, *english.words]


# Made records of each task type. Labels follow from the words of a text, so that models can learn them.


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


# Write made rows and texts in the original formats of data sets and corpora.


row_formats: Registry[Callable[[Path, MadeRows, list[Record]], None]] = Registry("format of made rows")
text_formats: Registry[Callable[[Path, list[list[str]]], None]] = Registry("format of made texts")

SENTENCES = 5  # sentences of a document
SENTENCE = 7  # words of a sentence, without its sign


def write_rows(folder: Path, rows: MadeRows, seed: int) -> None:
    """Write a file of rows in its format."""
    path = folder / rows.file
    path.parent.mkdir(parents=True, exist_ok=True)
    row_formats[rows.format](path, rows, records(rows, seed))


def write_texts(folder: Path, texts: MadeTexts, seed: int) -> None:
    """Write a file of documents in its format."""
    path = folder / texts.file
    path.parent.mkdir(parents=True, exist_ok=True)
    draw, words = random.Random(f"{seed} {texts.file}"), lexicon(texts.language)
    documents = [
        [words.text([draw.choice(words.signs), *words.sentence(draw, SENTENCE)]) + words.end for _ in range(SENTENCES)]
        for _ in range(texts.documents)
    ]
    text_formats[texts.format](path, documents)


@row_formats.register("tsv")
def tsv(path: Path, rows: MadeRows, made: list[Record]) -> None:
    """Write tab-separated values without quoting, as GLUE does; columns by name, or by number without a header."""
    header = bool(rows.options.get("header", True))
    columns = {key: column for key, column in rows.columns.items() if key != "label" or rows.labelled}
    numbered = {column: key for key, column in columns.items() if isinstance(column, int)}
    keys = list(columns) if header else [numbered.get(number, "") for number in range(1, max(numbered) + 1)]
    lines = [[str(columns[key]) for key in keys]] if header else []
    lines += [[str(record.get(key, "-")) for key in keys] for record in made]
    path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")


@row_formats.register("squad")
def squad(path: Path, rows: MadeRows, made: list[Record]) -> None:
    """Write the JSON format of SQuAD, with a paragraph for each question."""
    renamed = {"impossible": "is_impossible"} if "impossible" in rows.columns else {}
    paragraphs: list[Any] = []
    for record in made:
        asked = {"id": record["id"], "question": record["question"], "answers": record["label"]}
        asked |= {spelt: record[key] for key, spelt in renamed.items()}
        paragraphs.append({"context": record["context"], "qas": [asked]})
    content = {"version": "made up", "data": [{"title": "Made up", "paragraphs": paragraphs}]}
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


@text_formats.register("text")
def plain(path: Path, documents: list[list[str]]) -> None:
    """Write a sentence a line, with a blank line between documents, compressed with xz as CC-100 is."""
    text = "\n\n".join("\n".join(document) for document in documents) + "\n"
    path.write_bytes(lzma.compress(text.encode("utf-8"), preset=0))


@text_formats.register("parquet")
def parquet(path: Path, documents: list[list[str]]) -> None:
    """Write a document a row, in the column 'text' of a Parquet file."""
    import pyarrow
    from pyarrow import parquet as files

    files.write_table(pyarrow.table({"text": [" ".join(document) for document in documents]}), path)


@text_formats.register("rated-lines")
def rated_lines(path: Path, documents: list[list[str]]) -> None:
    """Write an id, a rating and a sentence a line."""
    sentences = [sentence for document in documents for sentence in document]
    lines = [f"{number}\t{number % 5 - 2}\t{sentence}\n" for number, sentence in enumerate(sentences)]
    path.write_text("".join(lines), encoding="latin-1")
