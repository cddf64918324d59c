"""Duplicate column names in the header of a file: a task that names such a column gets an error."""

from __future__ import annotations

import collections
import csv
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from retort.data import builders
from retort.data.files import check_json, lines, open_text, read_json
from retort.errors import RetortError
from retort.registry import Registry


class Duplicate:
    """The placeholder for the value of a column whose name is in the header twice."""


DUPLICATE = Duplicate()


def duplicate_columns(names: Iterable[str]) -> dict[str | int, Duplicate]:
    """Return name -> placeholder for the names that are in a header more than once."""
    return {name: DUPLICATE for name, count in collections.Counter(names).items() if count > 1}


def csv_header(path: Path, delimiter: str, quotechar: str, encoding: str) -> list[str]:
    """Return the column names in the first line of a file of separated values; none if the file cannot be read.

    The library that reads the rows renames the second of two equal names. It also reports a file that cannot be read.
    """
    try:
        with open_text(path, encoding, newline="") as stream:
            rows = csv.reader(stream, delimiter=delimiter, quotechar=quotechar)
            names = next((row for row in rows if row), [])
    except (OSError, EOFError, zlib.error, UnicodeError, LookupError, TypeError, csv.Error):
        return []
    return [name.removeprefix("\ufeff") for name in names]


# File formats of tasks: each yields the fields of a row with its location in the file, for error messages.
#
# The original files of the benchmarks (tsv, jsonl, squad) are read here, as the library `datasets` cannot name the line
# of a mistake. Files of other formats (csv, json, parquet) are read by its builders, and located by the row's number. A
# file may be compressed with gzip: `train.tsv` is also found as `train.tsv.gz`.


Fields = dict[str | int, Any]
Row = tuple[str, Fields]  # (location such as 'line 17', {column name, or number from 1: value})
OnBroken = Callable[[str, str], None]  # called with a location and what is wrong there

Format = Callable[..., Iterator[Row]]  # (path, on_broken, *, options) -> rows

MOST_COLUMNS = 1000  # of a CSV file

formats: Registry[Format] = Registry("format")


@formats.register("tsv")
def tsv(path: Path, on_broken: OnBroken, *, header: bool = True) -> Iterator[Row]:
    """Yield the rows of a tab-separated file; columns by number from 1 and by header name; quotes are text."""
    names: list[str] | None = None
    duplicates: Fields = {}
    width = 0
    for number, line in lines(path):
        values = line.split("\t")
        if number == 1:
            width, names = len(values), values if header else None
            duplicates = duplicate_columns(names or [])
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
    for number, line in lines(path):
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

    Every value is text, exactly as in the file: 'NA' and '007' stay as they are.

    Args:
        path: the file.
        on_broken: not called: the first error in such a file is raised.
        delimiter: the character between two values.
        quotechar: the character around a value that holds a delimiter or a line end.
        column_names: the names of the columns, for a file without a header.
        encoding: the encoding of the file.
    """
    duplicates = duplicate_columns(column_names or csv_header(path, delimiter, quotechar, encoding))
    as_text = {"converters": dict.fromkeys(range(MOST_COLUMNS), str), "keep_default_na": False, "na_filter": False}
    named = {"delimiter": delimiter, "quotechar": quotechar, "column_names": column_names, "encoding": encoding}
    for location, row in builders.rows("csv", path, **as_text, **named):
        if "__index_level_0__" in row:  # how pandas names a column without a name
            raise RetortError(f"{path.name}, {location}: more fields than the header has", "are quotes missing?")
        yield location, row | duplicates


@formats.register("json")
def json_rows(path: Path, on_broken: OnBroken, *, field: str | None = None, encoding: str = "utf-8") -> Iterator[Row]:
    """Yield the rows of a JSON file: a list of objects, the list under the key `field`, or an object a line."""
    check_json(path, encoding)
    return builders.rows("json", path, field=field, encoding=encoding)


@formats.register("parquet")
def parquet(path: Path, on_broken: OnBroken) -> Iterator[Row]:
    """Yield the rows of a Parquet file, the hub's format for data sets; columns by name."""
    return builders.rows("parquet", path)


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
    if not isinstance(node, dict) or key not in node:
        raise RetortError(f"{where}no '{key}'", "the file does not have SQuAD's format")
    if type(node[key]) is not expected:
        raise RetortError(f"{where}'{key}' is not {_TYPES[expected]}", "the file does not have SQuAD's format")
    return node[key]


def _parse_json(path: Path) -> Any:
    """Return the parsed JSON of a file, plain or gzip.

    Raises:
        RetortError: the file is cut short, not UTF-8, not JSON, or JSON that cannot be kept as it is.
    """
    text = "\n".join(text for _, text in lines(path))
    try:
        return read_json(text)
    except json.JSONDecodeError as error:
        raise RetortError(f"{path.name}:{error.lineno}: not valid JSON ({error.msg})", "is it cut short?") from error
    except RetortError as error:
        raise RetortError(f"{path.name}: {error}") from None
