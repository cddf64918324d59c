"""Duplicate column names in the header of a file: a task that names such a column gets an error."""

from __future__ import annotations

import collections
import csv
import zlib
from collections.abc import Iterable
from pathlib import Path

from retort.data.files import open_text


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
