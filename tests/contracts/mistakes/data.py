"""Files of data that are damaged, or that say what cannot be or can be read in two ways."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from retort.data.formats import rated_lines
from retort.data.splits import SplitRows, read_task
from retort.data.texts import Section, texts
from retort.tasks import task_type_of

from tests.job_settings import one_split, rated_task

DEEP = "[" * 100_000 + "]" * 100_000
HALF = r'"\ud800"'
LONG = "9" * 400
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
HEAD = "index\tone\ttwo\tlabel\n"
GOOD = f"{HEAD}0\ta\tb\tyes\n1\tc\td\tno\n"
QUOTED = "index,one,two,label\n0,a,b,yes\n"
PLAIN: dict[str, Any] = {"columns": {"text": "one", "label": "label"}}
SCORES: dict[str, Any] = {"task_type": "regression", "labels": [], "label_names": []}
OUT = "is not a number from -1000000 to 1000000"

# of extractive question answering
CONTEXT = "The old ferry starts in Oban at noon."
COLUMNS = {"id": "id", "question": "question", "context": "context", "label": "answers"}
SQUAD: dict[str, Any] = {
    "format": "squad", "columns": COLUMNS, "label_names": [], "task_type": "span", "labels": [],
}  # fmt: skip
NONE = {**SQUAD, "task_type": "span-or-none", "columns": {**COLUMNS, "impossible": "is_impossible"}}
PLACE = "question q1 (data[0].paragraphs[0].qas[0])"


def asked(name: str = "q1", answer: str = "Oban", start: int = 24, **more: Any) -> dict[str, Any]:
    """Return a question in the format of SQuAD 1.1."""
    return {"id": name, "question": "Where to?", "answers": [{"text": answer, "answer_start": start}], **more}


def article(*asked: dict[str, Any]) -> str:
    """Return the text of a file of SQuAD with one paragraph."""
    return json.dumps({"data": [{"title": "Ferries", "paragraphs": [{"context": CONTEXT, "qas": list(asked)}]}]})


# name of the file, its text, what the task says of it, how the line begins
# fmt: off
ROWS: list[tuple[str, str | bytes, dict[str, Any], str]] = [
    ("dev.tsv", f"{HEAD}0\ta\tb\tyes\n1\tc\tno\n", {}, "s/dev.tsv, line 3: 3 fields, and line 1 has 4: '1\\tc\\tno'"),
    ("dev.tsv", f"{HEAD}0\ta\tb\tyes\n\n1\tc\td\tno\n", {}, "s/dev.tsv, line 3: it is blank, and line 1 has 4 fields"),
    ("dev.tsv", f"{HEAD}0\ta\0\tb\tyes\n", {}, "s/dev.tsv, line 2: text (one) holds a NUL byte; is the file damaged"),
    ("dev.jsonl", '{"one": "a\\u0000", "label": "no"}\n', PLAIN, "s/dev.jsonl, line 1: text (one) holds a NUL byte"),
    ("dev.tsv", b"\x1f\x8b\x08\x00", {}, "dev.tsv is compressed with gzip; give it the suffix .gz, or unpack it"),
    ("dev.csv", b"PK\x03\x04\x14", {}, "dev.csv is a zip archive; unpack it"),
    ("dev.parquet", LFS, {}, "dev.parquet is a pointer of Git LFS, not the file itself; run `git lfs pull`"),
    ("dev.tsv.gz", LFS, {}, "dev.tsv.gz is a pointer of Git LFS, not the file itself; run `git lfs pull` in its repo"),
    ("dev.jsonl", "\ufeff\n<!DOCTYPE html>\n<p>", PLAIN, "dev.jsonl is an HTML page; download the file itself, not"),
    ("f.json", "<html lang=en>", SQUAD, "f.json is an HTML page; download the file itself, not the page about it"),
    ("dev.tsv", f"{HEAD}0\ta\tb\tyes\n0\tc\td\tno\n", {}, "s/dev.tsv, line 3: id '0' stands in line 2 already"),
    ("dev.tsv", f"{HEAD}0\ta\t \tyes\n1\tc\td\tno\n", {}, "s/dev.tsv, line 2: pair (two) is empty"),
    ("dev.tsv", GOOD, {"columns": {"text": "uno", "label": "label"}},
     "s/dev.tsv, line 2: no column 'uno' for 'text'; there are index, one, two, label"),
    ("dev.tsv", GOOD, {"columns": {"text": "one", "label": "gold"}},
     "s/dev.tsv, line 2: no column 'gold' for 'label'; there are index, one, two, label; a split without labels says"),
    ("dev.tsv", GOOD, {"label_names": [], "labels": ["n", "y"]}, "s/dev.tsv, line 2: label 'yes' is not one of n, y"),
    ("dev.tsv", HEAD.encode() + b"0\tcaf\xe9\tb\tyes\n", {}, "dev.tsv:2: not UTF-8 text"),
    ("dev.csv", QUOTED + "1,c,d,no,x\n", {}, "dev.csv, row 2: more fields than the header has; are quotes missing?"),
    ("dev.csv", QUOTED + "1,c,d\n", {}, "s/dev.csv, row 2: label '' is not one of no, yes"),
    ("dev.csv", QUOTED + '1,"c,d,no\n', {}, "dev.csv:3: not valid CSV (unexpected end of data); are quotes missing?"),
    ("dev.csv", QUOTED + '1,"c" and,d,no\n', {}, "dev.csv:3: not valid CSV (',' expected after '\"')"),
    ("dev.csv", QUOTED, {"options": {"encoding": "utf-9"}}, "dev.csv: unknown encoding: utf-9"),
    ("dev.json", '[{"index": 0, "one": "a"', {}, "dev.json:1: not valid JSON (Expecting ',' delimiter)"),
    ("dev.json", "[5]", {}, "dev.json, row 1: not a JSON object: '5'"),
    ("dev.json", "{}", {"options": {"field": "rows"}}, "dev.json: no list of objects under 'rows'"),
    ("dev.json", '{"one": 5, "label": "no"}', PLAIN, "s/dev.json, row 1: text (one) is 5, not a text"),
    ("f.json", '{"data": [\n{"paragraphs": [', SQUAD, "f.json:2: not valid JSON"),
    ("f.json", '{"version": "1.1"}', SQUAD, "f.json: no 'data'; the file does not have SQuAD's format"),
    ("f.json", article({**asked(), "answers": [{"text": "x"}]}), SQUAD, f"f.json, {PLACE}: no 'answer_start'"),
    ("f.json", article(asked(start=True)), SQUAD, f"f.json, {PLACE}: 'answer_start' is not a whole number"),
    ("f.json", article(asked(), asked()), SQUAD,
     f"s/f.json, question q1 (data[0].paragraphs[0].qas[1]): id 'q1' stands in {PLACE} already"),
    ("f.json", article(asked(start=23)), SQUAD,
     f"s/f.json, {PLACE}: answer 'Oban' does not stand at character 23 of its context, where ' Oba' is"),
    ("f.json", article(asked(answer=" ", start=3)), SQUAD, f"s/f.json, {PLACE}: an answer is empty"),
    ("f.json", article(asked(answers=[])), SQUAD, f"s/f.json, {PLACE}: no answer; only tasks of type 'span-or-none'"),
    ("f.json", article(asked(is_impossible=True)), NONE, f"s/f.json, {PLACE}: is_impossible is true, and it has 1 ans"),
    ("f.json", article(asked()), {**SQUAD, "options": {"leave_out": ["q9"]}}, "f.json: leave_out: there is no q"),
    ("dev.tsv", "index\tone\tone\tlabel\n0\ta\tb\tyes\n1\tc\td\tno\n", PLAIN,
     "s/dev.tsv, line 1: two columns are called 'one'; rename one of the two"),
    ("dev.csv", "one,one,label\na,b,yes\nc,d,no\n", PLAIN,
     "s/dev.csv, line 1: two columns are called 'one'; rename one of the two"),
    *(("dev.tsv", f"{HEAD}0\ta\tb\t{score}\n1\tc\td\t1\n", SCORES, f"s/dev.tsv, line 2: score '{score}' {OUT}")
      for score in ("nan", "inf", "1e308", "1e400", "-1e7", "1_0", "٣", "0x10", "")),
    ("dev.tsv", f"{HEAD}0\ta\tb\t7\n1\tc\td\t1\n", {**SCORES, "bounds": (0, 5)},
     "s/dev.tsv, line 2: score '7' is not a number from 0 to 5"),
    ("dev.jsonl", '{"one": "a", "label": true}\n', {**PLAIN, **SCORES}, f"s/dev.jsonl, line 1: score 'True' {OUT}"),
    ("dev.jsonl", '{"one": "a", "label": NaN}\n', {**PLAIN, **SCORES}, f"s/dev.jsonl, line 1: score 'nan' {OUT}"),
    ("dev.jsonl", '{"one": "a", "label": [1]}\n', {**PLAIN, **SCORES}, f"s/dev.jsonl, line 1: score '[1]' {OUT}"),
    ("dev.jsonl", f'{{"one": "a", "label": {LONG}}}\n', {**PLAIN, **SCORES}, "s/dev.jsonl, line 1: score '9999"),
    ("dev.jsonl", f'{{"one": "a", "label": {LONG * 20}}}\n', {**PLAIN, **SCORES},
     "s/dev.jsonl, line 1: a number has thousands of digits"),
    ("dev.jsonl", f'{{"one": {DEEP}}}\n', PLAIN, "s/dev.jsonl, line 1: lists or objects are nested too deep"),
    ("dev.jsonl", f'{{"one": {HALF}, "label": "yes"}}\n', PLAIN, r"s/dev.jsonl, line 1: '\ud800' is half a character"),
    ("dev.jsonl", '{"one": "a", "one": "b", "label": "yes"}\n', PLAIN, "s/dev.jsonl, line 1: 'one' is given twice"),
    ("dev.jsonl", '{"one": "a", "label": {"a": 1}}\n', PLAIN, "s/dev.jsonl, line 1: label '{\"a\": 1}' is not one of"),
    ("dev.jsonl", '{"id": [1], "one": "a", "label": "yes"}\n', {"columns": {**PLAIN["columns"], "id": "id"}},
     "s/dev.jsonl, line 1: id (id) is [1], not a text or a number"),
    ("dev.jsonl", '["a"]\n', PLAIN, "s/dev.jsonl, line 1: not a JSON object: '[\"a\"]'"),
    ("dev.json", f'{{"one": {DEEP}}}\n', PLAIN, "dev.json: lists or objects are nested too deep"),
    ("dev.json", "[" * 100_000, PLAIN, "dev.json: lists or objects are nested too deep"),
    ("dev.json", f'[{{"one": {HALF}, "label": "yes"}}]', PLAIN, r"dev.json: '\ud800' is half a character"),
    ("dev.json", '[\n{"one": "a", "one": "b", "label": "yes"}\n]', PLAIN, "dev.json: 'one' is given twice"),
    ("dev.json", '[\n{"one": "a",\n"one": "b", "label": "yes"}\n]', PLAIN, "dev.json: 'one' is given twice"),
    ("f.json", '{"data": 1, "data": 2}', SQUAD, "f.json: 'data' is given twice"),
    ("f.json", f'{{"data": {DEEP}}}', SQUAD, "f.json: lists or objects are nested too deep"),
    ("f.json", f'{{"data": [{HALF}]}}', SQUAD, r"f.json: '\ud800' is half a character"),
]

# the text of a file of ratings from which splits are drawn, its options, the line
DRAWN: list[tuple[str, dict[str, Any], str]] = [
    ("1\t2.5\ta text\n", {"neutral_below": 999},
     "s/dev.txt holds no rows; is it the right file, and do its options leave rows?"),
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
    ("1\t0.5\ta\tb\n", "rated.txt:1: not 'id, rating, text' with tabs between: '1\\t0.5\\ta\\tb'"),
    ("1\t0.5\ta\n2\t1\t \n", "rated.txt:2: the text is empty; take the line out"),
    ("1\t0.5\ta\n2\t1\tb\0\n", "rated.txt:2: the text holds a NUL byte; is the file damaged"),
    ("1\t0.5\ta\n1\t1\tb\n", "rated.txt:2: id '1' stands in line 1 already"),
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


def read_rows(folder: Path, name: str, content: str | bytes, **says: Any) -> SplitRows:
    """Write the file of a split and read it as encoding does; its ending is its format, unless `says` has another."""
    (folder / "s").mkdir(exist_ok=True)
    (folder / "s" / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    task = one_split(**{"format": name.split(".")[1], "files": {"dev": {"file": name, "rows": [1, 2]}}, **says})
    ((_, rows),) = read_task(task, task_type_of(task), {"s": folder / "s"})
    return rows


def read_drawn(folder: Path, text: str, options: dict[str, Any]) -> None:
    """Write a file of ratings and draw splits of it as encoding does."""
    (folder / "s").mkdir()
    (folder / "s" / "dev.txt").write_text(text, encoding="utf-8")
    task = rated_task({"seed": 1, "test": 1, "dev": 1}, file="dev.txt", source="s", **options)
    list(read_task(task, task_type_of(task), {"s": folder / "s"}))


def read_ratings(folder: Path, text: str) -> None:
    """Write a file of ratings and read it."""
    (folder / "rated.txt").write_text(text, encoding="utf-8")
    list(rated_lines(folder / "rated.txt", "utf-8"))


def read_texts(folder: Path, form: str, name: str, data: bytes) -> None:
    """Write a file of a corpus and read its documents."""
    (folder / name).write_bytes(data)
    list(texts[form](Section(folder / name)))
