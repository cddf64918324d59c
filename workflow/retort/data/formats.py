"""File formats of tasks: they yield each row's fields with its location in the file, for error messages.

A file may be compressed with gzip: `train.tsv` is also found as `train.tsv.gz`.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from retort.errors import RetortError
from retort.registry import Registry

Fields = dict[str | int, Any]
Row = tuple[str, Fields]  # (location such as 'line 17', {column name, or number from 1: value})
Broken = Callable[[str, str], None]  # called with a location and what is wrong there

formats: Registry = Registry("format")


def found(path: Path) -> Path:
    """Return the path of the file, or of its gzip version `<name>.gz` where only that exists.

    Raises:
        RetortError: neither exists; the message lists the files that do.
    """
    for there in (path, path.with_name(f"{path.name}.gz")):
        if there.is_file():
            return there
    names = sorted(p.name for p in path.parent.iterdir()) if path.parent.is_dir() else []
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    raise RetortError(f"{path} does not exist", f"{path.parent} holds {shown or 'nothing'}")


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, text) for each line of a UTF-8 file, without byte order mark and line end.

    Only a line feed ends a line (a carriage return before it is removed): other characters at which Python's
    `splitlines` would split are text.

    Raises:
        RetortError: a line is not UTF-8, or the gzip is damaged.
    """
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for number, raw in enumerate(stream, start=1):
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                yield number, text.removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise RetortError(f"{path.name}:{number}: not UTF-8 text ({error.reason})", "save the file as UTF-8") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RetortError(f"{path.name}: not a whole gzip file ({error})", "the download is damaged") from None


@formats.register("tsv")
def tsv(path: Path, broken: Broken, *, header: bool = True) -> Iterator[Row]:
    """Yield the rows of a tab-separated file; columns by number from 1 and by header name; quotes are text."""
    names: list[str] | None = None
    width = 0
    for number, line in lines(path):
        values = line.split("\t")
        if number == 1:
            width, names = len(values), values if header else None
            if header:
                continue
        if len(values) != width:
            broken(f"line {number}", f"{len(values)} fields, and line 1 has {width}: {line[:60]!r}")
            continue
        numbered: Fields = dict(enumerate(values, start=1))
        yield f"line {number}", numbered | (dict(zip(names, values, strict=True)) if names else {})


@formats.register("jsonl")
def jsonl(path: Path, broken: Broken) -> Iterator[Row]:
    """Yield the rows of a file with one JSON object per line; columns by the object's keys."""
    for number, line in lines(path):
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        if isinstance(value, dict):
            yield f"line {number}", value
        elif line.strip():
            broken(f"line {number}", f"not a JSON object: {line[:60]!r}")


@formats.register("parquet")
def parquet(path: Path, broken: Broken) -> Iterator[Row]:
    """Yield the rows of a Parquet file, the Hugging Face hub's format for data sets; columns by name."""
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        number = 0
        for batch in ParquetFile(path).iter_batches():
            for row in batch.to_pylist():
                number += 1
                yield f"row {number}", row
    except pyarrow.ArrowInvalid as error:
        raise RetortError(f"{path.name}: not a Parquet file ({error})", "the download is damaged") from None
