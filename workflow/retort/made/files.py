"""Write made rows and texts in the original formats of data sets and corpora."""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from retort.made.lexicon import lexicon
from retort.made.records import Record, records
from retort.registry import Registry
from retort.specs.made import MadeRows, MadeTexts

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
