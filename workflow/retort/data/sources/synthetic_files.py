"""Data made from a seed: rows of each task type and texts of corpora, in the original formats.

A language has a few words in its script that mean nothing, and signs. Labels follow from the signs of a text, so that
models can learn them.
"""

from __future__ import annotations

import csv
import json
import lzma
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
FEWEST, MOST = 4, 9  # words of a sentence of a row, at least and at most
LONG = 6  # every LONG-th context is longer than a row
SENTENCES = 5  # sentences of a document
SENTENCE = 7  # words of a sentence of a document, without its sign

Record = dict[str, object]  # the values of a row by the keys of a task's `columns`


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


def made_letters() -> list[str]:
    """Return all letters and marks of made texts, and those of ids and prompts (a-z, 0-9, '.,?'), sorted."""
    made = {letter for script in (LATIN, *SCRIPTS.values()) for letter in script}
    return sorted(made | set(SENTENCE_ENDS.values()) | set(string.ascii_lowercase + string.digits + ".,?"))


def known_words() -> list[str]:
    """Return the words of English texts: each is a token of its own in made tokenizers."""
    english = lexicon("en")
    return [*english.signs, *english.words]


def write_rows(folder: Path, rows: MadeRows, seed: int) -> None:
    """Write a file of rows in its format."""
    path = folder / rows.file
    path.parent.mkdir(parents=True, exist_ok=True)
    ROW_FORMATS[rows.format](path, rows, records(rows, seed))


def write_texts(folder: Path, texts: MadeTexts, seed: int) -> None:
    """Write a file of documents in its format."""
    path = folder / texts.file
    path.parent.mkdir(parents=True, exist_ok=True)
    draw, words = random.Random(f"{seed} {texts.file}"), lexicon(texts.language)
    documents = [
        [words.text([draw.choice(words.signs), *words.sentence(draw, SENTENCE)]) + words.end for _ in range(SENTENCES)]
        for _ in range(texts.documents)
    ]
    TEXT_FORMATS[texts.format](path, documents)


def records(rows: MadeRows, seed: int) -> list[Record]:
    """Return the records of a file; they depend only on the seed, the file and the language."""
    draw, words = random.Random(f"{seed} {rows.file} {rows.language}"), lexicon(rows.language)
    prefix = f"{Path(rows.file).name.split('.')[0]}-" if rows.format == "squad" else ""
    made = enumerate(MAKERS[rows.task_type](rows, words, draw))
    return [{"id": f"{prefix}{number}"} | record for number, record in made]


def _sentence(words: Lexicon, draw: random.Random) -> list[str]:
    return words.sentence(draw, draw.randint(FEWEST, MOST))


def _insert(words: list[str], new: str, draw: random.Random) -> list[str]:
    """Return the words with a new one at a random place."""
    at = draw.randint(0, len(words))
    return [*words[:at], new, *words[at:]]


def _classification(rows: MadeRows, words: Lexicon, draw: random.Random) -> Iterator[Record]:
    """Yield pairs of texts with one sign in both; the number of the sign gives the label. Labels take turns."""
    for number in range(rows.count):
        text, label = _sentence(words, draw), number % len(rows.labels)
        pair = _insert(_sentence(words, draw), words.signs[label], draw)
        text = _insert(text, words.signs[label], draw)
        yield {"text": words.text(text), "pair": words.text(pair), "label": rows.labels[label]}


def _regression(rows: MadeRows, words: Lexicon, draw: random.Random) -> Iterator[Record]:
    """Yield pairs of texts whose score grows with the number of signs in the second."""
    low, high = rows.bounds or (0.0, 1.0)
    for number in range(rows.count):
        text, signs = _sentence(words, draw), number % (FEWEST + 1)
        pair = [words.signs[0]] * signs + words.sentence(draw, FEWEST - signs)
        draw.shuffle(pair)
        score = low + (high - low) * signs / FEWEST
        yield {"text": words.text(text), "pair": words.text(pair), "label": f"{score:.3f}"}


def _questions(rows: MadeRows, words: Lexicon, draw: random.Random) -> Iterator[Record]:
    """Yield questions whose answer is a sign in the context; where some have none, every third has none."""
    for number in range(rows.count):
        _sentence(words, draw)  # so that files stay as they were
        answered = rows.task_type == "span" or number % 3 != 0
        before = [words.sentence(draw, MOST) for _ in range(rows.long // MOST if number % LONG == LONG - 1 else 1)]
        sign = words.signs[number % len(words.signs)]
        last = _insert(words.sentence(draw, FEWEST), sign, draw) if answered else words.sentence(draw, MOST)
        context = f"{words.end} ".join(map(words.text, [*before, last])) + words.end
        yield {
            "question": words.text(words.sentence(draw, FEWEST)) + "?",
            "context": context,
            "label": [{"text": sign, "answer_start": context.rindex(sign)}] if answered else [],
            "impossible": not answered,
        }


def _write_tsv(path: Path, rows: MadeRows, made: list[Record]) -> None:
    """Write tab-separated values without quoting, as GLUE does; columns by name, or by number without a header."""
    header = bool(rows.options.get("header", True))
    columns = {key: column for key, column in rows.columns.items() if key != "label" or rows.labelled}
    numbered = {column: key for key, column in columns.items() if isinstance(column, int)}
    keys = list(columns) if header else [numbered.get(number, "") for number in range(1, max(numbered) + 1)]
    lines = [[str(columns[key]) for key in keys]] if header else []
    lines += [[str(record.get(key, "-")) for key in keys] for record in made]
    path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")


def _named(rows: MadeRows, made: list[Record]) -> list[Record]:
    """Return the records with the names of the file's columns."""
    columns = {key: str(column) for key, column in rows.columns.items() if key != "label" or rows.labelled}
    return [{column: record[key] for key, column in columns.items()} for record in made]


def _write_csv(path: Path, rows: MadeRows, made: list[Record]) -> None:
    """Write separated values, with a header unless the task names the columns."""
    names: Any = rows.options.get("column_names")
    marks: Any = {key: rows.options[key] for key in ("delimiter", "quotechar") if key in rows.options}
    records = _named(rows, made)
    with path.open("w", encoding=str(rows.options.get("encoding", "utf-8")), newline="") as file:
        writer = csv.DictWriter(file, names or list(records[0]), restval="-", **marks)
        if not names:
            writer.writeheader()
        writer.writerows(records)


def _write_json(path: Path, rows: MadeRows, made: list[Record]) -> None:
    """Write a JSON file: a list of objects, under the key `field` if the task names one."""
    records, field = _named(rows, made), rows.options.get("field")
    text = json.dumps({field: records} if field else records)
    path.write_text(text, encoding=str(rows.options.get("encoding", "utf-8")))


def _write_jsonl(path: Path, rows: MadeRows, made: list[Record]) -> None:
    """Write a JSON object a line."""
    path.write_text("".join(f"{json.dumps(record)}\n" for record in _named(rows, made)), encoding="utf-8")


def _write_parquet_rows(path: Path, rows: MadeRows, made: list[Record]) -> None:
    """Write a Parquet file."""
    import pyarrow  # late: few jobs write it
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(_named(rows, made)), path)


def _write_squad(path: Path, rows: MadeRows, made: list[Record]) -> None:
    """Write the JSON format of SQuAD, with a paragraph for each question."""
    paragraphs: list[Any] = []
    for record in made:
        asked = {"id": record["id"], "question": record["question"], "answers": record["label"]}
        if "impossible" in rows.columns:
            asked["is_impossible"] = record["impossible"]
        paragraphs.append({"context": record["context"], "qas": [asked]})
    content = {"version": "made up", "data": [{"title": "Made up", "paragraphs": paragraphs}]}
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def _write_ratings(path: Path, rows: MadeRows, made: list[Record]) -> None:
    """Write an id, a rating and a text a line; a class is a rating of -1 or 1, or as far from 0 as those that count."""
    far, scale = max(1.0, float(str(rows.options.get("neutral_below", 1)))), float(str(rows.options.get("scale", 1)))
    rating_of = {label: far * (2 * number - 1) for number, label in enumerate(rows.labels)}
    rated = [rating_of[str(record["label"])] if rows.labels else float(str(record["label"])) * scale for record in made]
    lines = [f"{record['id']}\t{rating}\t{record['text']}\n" for record, rating in zip(made, rated, strict=True)]
    path.write_text("".join(lines), encoding=str(rows.options.get("encoding", "latin-1")))


def _write_plain(path: Path, documents: list[list[str]]) -> None:
    """Write a sentence a line, with a blank line between documents, compressed with xz as CC-100 is."""
    text = "\n\n".join("\n".join(document) for document in documents) + "\n"
    path.write_bytes(lzma.compress(text.encode("utf-8"), preset=0))


def _write_parquet(path: Path, documents: list[list[str]]) -> None:
    """Write a document a row, in the column 'text' of a Parquet file."""
    import pyarrow  # late: few jobs write it
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"text": [" ".join(document) for document in documents]}), path)


def _write_rated_lines(path: Path, documents: list[list[str]]) -> None:
    """Write an id, a rating and a sentence a line."""
    sentences = [sentence for document in documents for sentence in document]
    lines = [f"{number}\t{number % 5 - 2}\t{sentence}\n" for number, sentence in enumerate(sentences)]
    path.write_text("".join(lines), encoding="latin-1")


MAKERS: dict[str, Callable[[MadeRows, Lexicon, random.Random], Iterator[Record]]] = {  # by task type
    "classification": _classification,
    "regression": _regression,
    "span": _questions,
    "span-or-none": _questions,
}
ROW_FORMATS = {
    "tsv": _write_tsv,
    "csv": _write_csv,
    "json": _write_json,
    "jsonl": _write_jsonl,
    "parquet": _write_parquet_rows,
    "squad": _write_squad,
    "ratings": _write_ratings,
}
TEXT_FORMATS = {"text": _write_plain, "parquet": _write_parquet, "rated-lines": _write_rated_lines}
