"""Files of data that are damaged, or that say what cannot be or can be read in two ways."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from retort.data.formats import rated_lines
from retort.data.splits import read_task
from retort.data.texts import Section, texts
from retort.settings.inputs import TaskSettings
from retort.tasks import task_type_of

from tests.job_settings import split_settings, task_settings

DEEP = "[" * 100_000 + "]" * 100_000
HALF = r'"\ud800"'
LONG = "9" * 400
HEAD = "index\tone\ttwo\tlabel\n"
LABELLED: dict[str, Any] = {"text": "one", "label": "label"}
JSONL: dict[str, Any] = {"format": "jsonl", "columns": LABELLED}
CSV: dict[str, Any] = {"format": "csv", "columns": LABELLED}
JSON: dict[str, Any] = {"format": "json", "columns": LABELLED}
SQUAD: dict[str, Any] = {"format": "squad", "columns": {"text": "question", "label": "id"}}
SCORES: dict[str, Any] = {"task_type": "regression", "labels": [], "label_names": []}
OUT = "is not a number from -1000000 to 1000000"

# name of the file, its text, what the task says of it, how the line begins
# fmt: off
ROWS: list[tuple[str, str, dict[str, Any], str]] = [
    ("dev.tsv", "index\tone\tone\tlabel\n0\ta\tb\tyes\n1\tc\td\tno\n", {"columns": LABELLED},
     "s/dev.tsv, line 1: two columns are called 'one'; rename one of the two"),
    ("dev.csv", "one,one,label\na,b,yes\nc,d,no\n", CSV,
     "s/dev.csv, line 1: two columns are called 'one'; rename one of the two"),
    *(("dev.tsv", f"{HEAD}0\ta\tb\t{score}\n1\tc\td\t1\n", SCORES, f"s/dev.tsv, line 2: score '{score}' {OUT}")
      for score in ("nan", "inf", "1e308", "1e400", "-1e7", "1_0", "٣", "0x10", "")),
    ("dev.tsv", f"{HEAD}0\ta\tb\t7\n1\tc\td\t1\n", {**SCORES, "bounds": (0, 5)},
     "s/dev.tsv, line 2: score '7' is not a number from 0 to 5"),
    ("dev.jsonl", '{"one": "a", "label": true}\n', {**JSONL, **SCORES}, f"s/dev.jsonl, line 1: score 'True' {OUT}"),
    ("dev.jsonl", '{"one": "a", "label": NaN}\n', {**JSONL, **SCORES}, f"s/dev.jsonl, line 1: score 'nan' {OUT}"),
    ("dev.jsonl", '{"one": "a", "label": [1]}\n', {**JSONL, **SCORES}, f"s/dev.jsonl, line 1: score '[1]' {OUT}"),
    ("dev.jsonl", f'{{"one": "a", "label": {LONG}}}\n', {**JSONL, **SCORES}, "s/dev.jsonl, line 1: score '9999"),
    ("dev.jsonl", f'{{"one": "a", "label": {LONG * 20}}}\n', {**JSONL, **SCORES},
     "s/dev.jsonl, line 1: a number has thousands of digits"),
    ("dev.jsonl", f'{{"one": {DEEP}}}\n', JSONL, "s/dev.jsonl, line 1: lists or objects are nested too deep"),
    ("dev.jsonl", f'{{"one": {HALF}, "label": "yes"}}\n', JSONL, r"s/dev.jsonl, line 1: '\ud800' is half a character"),
    ("dev.jsonl", '{"one": "a", "one": "b", "label": "yes"}\n', JSONL, "s/dev.jsonl, line 1: 'one' is given twice"),
    ("dev.jsonl", '{"one": "a", "label": {"a": 1}}\n', JSONL, "s/dev.jsonl, line 1: label '{\"a\": 1}' is not one of"),
    ("dev.jsonl", '{"id": [1], "one": "a", "label": "yes"}\n', {**JSONL, "columns": {**LABELLED, "id": "id"}},
     "s/dev.jsonl, line 1: id (id) is [1], not a text or a number"),
    ("dev.jsonl", '["a"]\n', JSONL, "s/dev.jsonl, line 1: not a JSON object: '[\"a\"]'"),
    ("dev.json", f'{{"one": {DEEP}}}\n', JSON, "dev.json: lists or objects are nested too deep"),
    ("dev.json", "[" * 100_000, JSON, "dev.json: lists or objects are nested too deep"),
    ("dev.json", f'[{{"one": {HALF}, "label": "yes"}}]', JSON, r"dev.json: '\ud800' is half a character"),
    ("dev.json", '[\n{"one": "a", "one": "b", "label": "yes"}\n]', JSON, "dev.json: 'one' is given twice"),
    ("dev.json", '[\n{"one": "a",\n"one": "b", "label": "yes"}\n]', JSON, "dev.json: 'one' is given twice"),
    ("dev.json", '{"data": 1, "data": 2}', SQUAD, "dev.json: 'data' is given twice"),
    ("dev.json", f'{{"data": {DEEP}}}', SQUAD, "dev.json: lists or objects are nested too deep"),
    ("dev.json", f'{{"data": [{HALF}]}}', SQUAD, r"dev.json: '\ud800' is half a character"),
    ("dev.json", '{"data": [', SQUAD, "dev.json:1: not valid JSON"),
]

# the text of a file whose rows are drawn, what its reader is told, the line
DRAWN: list[tuple[str, dict[str, Any], str]] = [
    ("1\t2.5\ta text\n", {"neutral_below": 999},
     "s: reader 'rated-sentences' takes no row of it; its options leave all rows out (file: dev.txt, neutral"),
    ("\n", {}, "s: reader 'rated-sentences' takes no row of it; its options leave all rows out"),
    ("1\t2.5\ta text\n", {}, "1 rows leave none to train on; test: 1 and dev: 1 are too large"),
    ("1\tx\ta text\n", {}, "dev.txt:1: the rating 'x' is not a number in decimal digits"),
]

# what the lines of a file of ratings hold, the line
RATED = [
    *((f"1\t{rating}\ta text\n", f"rated.txt:1: the rating '{rating}' is not a number in decimal digits")
      for rating in ("nan", "-inf", "1_0", "٣", "true", "")),
    *((f"1\t0.5\ta\n2\t{rating}\tb\n", f"rated.txt:2: the rating '{rating}' is not a number from -1000000 to 1000000")
      for rating in ("1e308", "1e400", "-1000001")),
    ("1\t0.5\n", "rated.txt:1: not 'id, rating, text' with tabs between: '1\\t0.5'"),
]
# fmt: on


def parquet(**columns: list[Any]) -> bytes:
    """Return a Parquet file with these columns."""
    held = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), held)
    return held.getvalue()


def flipped(data: bytes, place: int) -> bytes:
    """Return the data with the bits of one byte turned."""
    return data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]


def cut(data: bytes) -> bytes:
    """Return the first half of the data."""
    return data[: len(data) // 2]


LINES = b"a text\n" * 1000
PARQUET = parquet(text=["a text"] * 1000)
# fmt: off
# text format, name of the file, its content, words of the line
TEXTS: list[tuple[str, str, bytes, str]] = [
    ("jsonl", "a.jsonl", f'{{"text": {DEEP}}}\n'.encode(), "a.jsonl:1: lists or objects are nested too deep"),
    ("jsonl", "a.jsonl", f'{{"text": {HALF}}}\n'.encode(), r"a.jsonl:1: '\ud800' is half a character"),
    ("jsonl", "a.jsonl", b'{"text": "a"}\n{"text": "a", "text": "b"}\n', "a.jsonl:2: 'text' is given twice"),
    ("jsonl", "a.jsonl", b'{"text": 3}\n', "a.jsonl:1: 'text' is no text: '3'"),
    ("jsonl", "a.jsonl", b"[]\n", "a.jsonl:1: no JSON object with 'text': '[]\\n'"),
    ("text", "a.txt", b"caf\xe9\n", "a.txt: not UTF-8 text"),
    ("text", "a.txt.gz", cut(gzip.compress(LINES)), "a.txt.gz: damaged or cut"),
    ("text", "a.txt.gz", b"no gzip", "a.txt.gz: damaged or cut"),
    ("text", "a.txt.gz", flipped(gzip.compress(LINES), -5), "a.txt.gz: damaged or cut (CRC check failed"),
    ("text", "a.txt.bz2", b"no bzip2", "a.txt.bz2: damaged or cut (Invalid data stream)"),
    ("text", "a.txt.bz2", flipped(bz2.compress(LINES), 20), "a.txt.bz2: damaged or cut (Invalid data stream)"),
    ("text", "a.txt.bz2", cut(bz2.compress(LINES)), "a.txt.bz2: damaged or cut"),
    ("text", "a.txt.xz", cut(lzma.compress(LINES)), "a.txt.xz: damaged or cut"),
    ("text", "a.txt.xz", b"no xz", "a.txt.xz: damaged or cut"),
    ("parquet", "a.parquet", b"no Parquet", "a.parquet: not a whole Parquet file"),
    ("parquet", "a.parquet", cut(PARQUET), "a.parquet: not a whole Parquet file"),
    ("parquet", "a.parquet", flipped(PARQUET, 4), "a.parquet: not a whole Parquet file"),
    ("parquet", "a.parquet", parquet(text=[1, 2]), "a.parquet, row 1: 'text' is no text: '1'"),
    ("parquet", "a.parquet", parquet(text=[None, ["a"]]), "a.parquet, row 2: 'text' is no text: \"['a']\""),
    ("parquet", "a.parquet", parquet(texts=["a"]), "a.parquet has no column 'text'; it has texts"),
]
# fmt: on
Read = Callable[[], object]


def read_rows(folder: Path, name: str, text: str, says: dict[str, Any]) -> Read:
    """Write the file of a split and return a function that reads it as encoding does."""
    (folder / "s").mkdir()
    (folder / "s" / name).write_text(text, encoding="utf-8")
    own = {key: value for key, value in says.items() if key in TaskSettings.model_fields}
    split = {key: value for key, value in says.items() if key not in own}
    split = split_settings(**{"files": {"dev": {"file": name, "rows": [1, 2]}}, **split})
    task = task_settings(**{"sample": False, **own}, splits={"dev": split})
    return lambda: list(read_task(task, task_type_of(task), {"s": folder / "s"}))


def read_drawn(folder: Path, text: str, options: dict[str, Any]) -> Read:
    """Write a file of rated texts and return a function that draws splits of it as encoding does."""
    (folder / "s").mkdir()
    (folder / "s" / "dev.txt").write_text(text, encoding="utf-8")
    reader = {"name": "rated-sentences", "options": {"file": "dev.txt", **options}}
    task = task_settings(reader=reader, split={"seed": 1, "test": 1, "dev": 1})
    return lambda: list(read_task(task, task_type_of(task), {"s": folder / "s"}))


def read_ratings(folder: Path, text: str) -> Read:
    """Write a file of ratings and return a function that reads it."""
    (folder / "rated.txt").write_text(text, encoding="utf-8")
    return lambda: list(rated_lines(folder / "rated.txt", "utf-8"))


def read_texts(folder: Path, form: str, name: str, data: bytes) -> Read:
    """Write a file of a corpus and return a function that reads its documents."""
    (folder / name).write_bytes(data)
    return lambda: list(texts[form](Section(folder / name)))
