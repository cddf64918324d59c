"""File formats of tasks: each yields the fields of a row with its location in the file, for error messages.

A file may be compressed with gzip: `train.tsv` is also found as `train.tsv.gz`.
"""

from __future__ import annotations

import collections
import csv
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retort.data.files import numbered_lines, parquet_rows, read_json, read_text, text_stream
from retort.errors import RetortError
from retort.registry import Registry
from retort.specs.task_files import rating_of

Fields = dict[str | int, Any]
Row = tuple[str, Fields]  # (location such as 'line 17', {column name, or number from 1: value})
OnBroken = Callable[[str, str], None]  # called with a location and what is wrong there

DAMAGED = "is the file damaged, or in another encoding?"
Format = Callable[..., Iterator[Row]]  # (path, on_broken, *, options) -> rows

formats: Registry[Format] = Registry("format")


class Duplicate:
    """The placeholder for the value of a column whose name is in the header twice; a task cannot use it."""


DUPLICATE = Duplicate()


def _duplicates(names: list[str]) -> Fields:
    """Return name -> placeholder for the names that are in a header more than once."""
    return {name: DUPLICATE for name, count in collections.Counter(names).items() if count > 1}


@formats.register("tsv")
def tsv(path: Path, on_broken: OnBroken, *, header: bool = True) -> Iterator[Row]:
    """Yield the rows of a tab-separated file; columns by number from 1 and by header name; quotes are text."""
    names, width = list[str](), 0
    blank = list[int]()  # lines; those at the end are no rows
    for number, line in numbered_lines(path):
        values = line.split("\t")
        if not line and width > 1:
            blank.append(number)
            continue
        while blank:
            on_broken(f"line {blank.pop(0)}", f"it is blank, and line 1 has {width} fields")
        if number == 1:
            names, width = values if header else [], len(values)
            duplicates = _duplicates(names)
            if header:
                continue
        if len(values) != width:
            on_broken(f"line {number}", f"{len(values)} fields, and line 1 has {width}: {line[:60]!r}")
            continue
        numbered: Fields = dict(enumerate(values, start=1))
        yield f"line {number}", numbered | (dict(zip(names, values, strict=True)) if names else {}) | duplicates


@formats.register("jsonl")
def jsonl(path: Path, on_broken: OnBroken) -> Iterator[Row]:
    """Yield the rows of a file with one JSON object per line; columns by the object's keys."""
    return _json_lines(path, on_broken, "utf-8")


def _json_lines(path: Path, on_broken: OnBroken, encoding: str) -> Iterator[Row]:
    for number, line in numbered_lines(path, encoding):
        if not line.strip():
            continue
        try:
            value = read_json(line)
        except json.JSONDecodeError:
            value = None
        except RetortError as error:
            on_broken(f"line {number}", str(error))
            continue
        if isinstance(value, dict):
            yield f"line {number}", value
        else:
            on_broken(f"line {number}", f"not a JSON object: {line[:60]!r}")


@formats.register("csv", limits={"delimiter": {"pattern": r"^[^\r\n]$"}, "quotechar": {"pattern": r"^[^\r\n]$"}})
def comma_separated(
    path: Path,
    on_broken: OnBroken,
    *,
    delimiter: str = ",",
    quotechar: str = '"',
    column_names: list[str] | None = None,
    encoding: str = "utf-8",
) -> Iterator[Row]:
    """Yield the rows of a file of separated values, in which a text may stand in quotes; columns by name.

    Every value is text, exactly as in the file: 'NA' and '007' stay as they are. Fields that a row lacks are empty.

    Args:
        path: the file.
        on_broken: not called: the first error in such a file is raised.
        delimiter: the character between two values.
        quotechar: the character around a value that holds a delimiter or a line end.
        column_names: the names of the columns, for a file without a header.
        encoding: the encoding of the file.

    Raises:
        RetortError: a quote does not end, something follows it, or a row has more fields than the header.
    """
    csv.field_size_limit(sys.maxsize)
    with text_stream(path, encoding) as text:
        reader = csv.reader(text, delimiter=delimiter, quotechar=quotechar, strict=True)
        rows = filter(None, reader)
        try:
            names = column_names or next(rows, [])
            duplicates = _duplicates(names)
            for number, values in enumerate(rows, start=1):
                if len(values) > len(names):
                    what = f"{path.name}, row {number}: more fields than the header has"
                    raise RetortError(what, "are quotes missing?")
                padded = values + [""] * (len(names) - len(values))
                yield f"row {number}", {**dict(zip(names, padded, strict=True)), **duplicates}
        except csv.Error as error:
            what = f"{path.name}:{reader.line_num}: not valid CSV ({error})"
            raise RetortError(what, "are quotes missing?") from None


@formats.register("json")
def json_rows(path: Path, on_broken: OnBroken, *, field: str | None = None, encoding: str = "utf-8") -> Iterator[Row]:
    """Yield the rows of a JSON file: a list of objects, the list under the key `field`, or an object a line."""
    try:
        value = _parse_json(path, encoding)
    except RetortError as error:
        if getattr(error.__cause__, "msg", None) != "Extra data":  # what Python says of a further line
            raise
        yield from _json_lines(path, on_broken, encoding)
        return
    rows = value if field is None or not isinstance(value, dict) else value.get(field)
    if field is not None and not isinstance(rows, list):
        raise RetortError(f"{path.name}: no list of objects under '{field}'", "see the option 'field' of the task")
    for number, row in enumerate(rows if isinstance(rows, list) else [rows], start=1):
        if not isinstance(row, dict):
            raise RetortError(f"{path.name}, row {number}: not a JSON object: {str(row)[:60]!r}")
        yield f"row {number}", row


@formats.register("parquet")
def parquet(path: Path, on_broken: OnBroken) -> Iterator[Row]:
    """Yield the rows of a Parquet file, the hub's format for data sets; columns by name."""
    for number, row in enumerate(parquet_rows(path), start=1):
        yield f"row {number}", dict(row.items())


@formats.register("squad")
def squad(path: Path, on_broken: OnBroken, *, leave_out: list[str] | None = None) -> Iterator[Row]:
    """Yield the questions of a file in the JSON format of SQuAD 1.1, SQuAD 2.0 and MLQA, plain or gzip.

    The columns are those of the hub's copies: id, title, context, question, answers {text, answer_start}, and
    is_impossible where the file has it.

    Args:
        path: the file.
        on_broken: not called: the first error in such a file is raised, as it has no separate lines to skip.
        leave_out: ids of questions to skip, for a file with questions that cannot be used.

    Raises:
        RetortError: a required key is missing or its value has the wrong type (the message says where), or
            `leave_out` names a question that the file does not hold.
    """
    excluded, seen = set(leave_out or ()), set()
    for i, article in enumerate(_get(path, "", _parse_json(path), "data", list)):
        for j, paragraph in enumerate(_get(path, f"data[{i}]", article, "paragraphs", list)):
            location = f"data[{i}].paragraphs[{j}]"
            shared: Fields = {"title": article.get("title"), "context": _get(path, location, paragraph, "context", str)}
            for k, asked in enumerate(_get(path, location, paragraph, "qas", list)):
                row = _question(path, f"{location}.qas[{k}]", asked)
                seen.add(row["id"])
                if row["id"] not in excluded:
                    yield f"question {row['id']} ({location}.qas[{k}])", shared | row
    if excluded - seen:
        raise RetortError(
            f"{path.name}: leave_out: there is no question {min(excluded - seen)}", "take it out of the list"
        )


def _question(path: Path, location: str, asked: Any) -> Fields:
    """Return the columns of a question, without those it shares with its paragraph (title, context)."""
    name = _get(path, location, asked, "id", str)
    at = f"question {name} ({location})"
    row: Fields = {"id": name, "question": _get(path, at, asked, "question", str)}
    if "answers" in asked:
        answers = _get(path, at, asked, "answers", list)
        row["answers"] = {
            "text": [_get(path, at, answer, "text", str) for answer in answers],
            "answer_start": [_get(path, at, answer, "answer_start", int) for answer in answers],
        }
    if "is_impossible" in asked:
        row["is_impossible"] = _get(path, at, asked, "is_impossible", bool)
    return row


_TYPES = {list: "a list", str: "a text", int: "a whole number", bool: "true or false"}


def _get(path: Path, location: str, node: Any, key: str, expected: type) -> Any:
    """Return the value of a key of a JSON object; raise an error if it is missing or of another type."""
    where = f"{path.name}, {location}: " if location else f"{path.name}: "
    hint = "the file does not have SQuAD's format"
    if not isinstance(node, dict) or key not in node:
        raise RetortError(f"{where}no '{key}'", hint)
    if type(node[key]) is not expected:
        raise RetortError(f"{where}'{key}' is not {_TYPES[expected]}", hint)
    return node[key]


def _parse_json(path: Path, encoding: str = "utf-8") -> Any:
    """Return the JSON value of a file.

    Raises:
        RetortError: it is cut short, not in the encoding, not JSON, or JSON that cannot be kept as it is.
    """
    text = read_text(path, encoding)
    try:
        return read_json(text)
    except json.JSONDecodeError as error:
        raise RetortError(f"{path.name}:{error.lineno}: not valid JSON ({error.msg})", "is it cut short?") from error
    except RetortError as error:
        raise RetortError(f"{path.name}: {error}") from None


@dataclass(frozen=True, slots=True)
class Record:
    """One example.

    Args:
        text: the text, or the first one of a pair.
        pair: the second text; None for a single text.
        label: the class number or the score.
    """

    text: str
    pair: str | None
    label: float


def rated_lines(path: Path, encoding: str = "latin-1") -> Iterator[tuple[str, float, str]]:
    """Yield (id, mean human rating, text) for each line of a rated-text file: tab-separated.

    Raises:
        RetortError: a line is not in the encoding, does not have the three fields, or has a rating that is not a
            number, or one that is out of range, an id that stands in another line, or no text.
    """
    seen: dict[str, int] = {}  # id -> its line
    for number, line in numbered_lines(path, encoding):
        if not line.strip():
            continue
        where, fields = f"{path.name}:{number}", line.split("\t")
        if len(fields) != 3:
            raise RetortError(f"{where}: not 'id, rating, text' with tabs between: {line[:60]!r}")
        identity, rated, text = fields
        try:
            mean = rating_of(rated)
        except ValueError as error:
            raise RetortError(f"{where}: the rating {rated[:60]!r} is {error}") from None
        if not text.strip():
            raise RetortError(f"{where}: the text is empty", "take the line out")
        if "\0" in text:
            raise RetortError(f"{where}: the text holds a NUL byte", DAMAGED)
        if (first := seen.setdefault(identity, number)) != number:
            raise RetortError(f"{where}: id {identity[:60]!r} stands in line {first} already")
        yield identity, mean, text.strip()


@formats.register("ratings", limits={"neutral_below": {"ge": 0, "le": 1000}, "scale": {"ge": 0.001, "le": 1000}})
def ratings(
    path: Path, on_broken: OnBroken, *, neutral_below: float = 0.0, scale: float = 1.0, encoding: str = "latin-1"
) -> Iterator[Row]:
    """Yield the rows of a file of ratings: an id, a rating and a text a line, with tabs between and no header.

    The columns are id, text, rating, and positive, which is 1 for a rating above 0, else 0.

    Args:
        path: the file.
        on_broken: not called: the first error in such a file is raised.
        neutral_below: ratings that are nearer to 0 are left out.
        scale: ratings are divided by it.
        encoding: the encoding of the file.
    """
    for identity, rating, text in rated_lines(path, encoding):
        if abs(rating) >= neutral_below:
            columns: Fields = {"id": identity, "text": text, "rating": rating / scale, "positive": int(rating > 0)}
            yield f"id {identity}", columns


def folded(text: str) -> str:
    """Return a text in lower case with single spaces: near duplicates have the same, and are drawn into one split."""
    return " ".join(text.lower().split())


def spell_label(value: Any) -> str:
    """Return how the label of a row is spelled: a text as it is, another value as in JSON, such as '-1' or 'true'."""
    return value if isinstance(value, str) else json.dumps(value)
