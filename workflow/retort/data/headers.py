"""Column names that stand twice in the header of a file: which of the two columns is meant, nobody can tell."""

from __future__ import annotations

import collections
import csv
import zlib
from collections.abc import Iterable
from pathlib import Path

from retort.data.files import open_text


class Doubled:
    """The value of a column whose name stands twice in the header: there is none."""


DOUBLED = Doubled()


def doubled_columns(names: Iterable[str]) -> dict[str | int, Doubled]:
    """Return the columns whose names stand twice in a header, each with the value that it has in every row."""
    return {name: DOUBLED for name, count in collections.Counter(names).items() if count > 1}


def csv_header(path: Path, delimiter: str, quotechar: str, encoding: str) -> list[str]:
    """Return the names of the columns of a file of separated values, as its first line has them.

    The library that reads the rows renames the second of two equal names. Of a file that cannot be read, no names are
    returned: the reading of the rows says what is wrong.
    """
    try:
        with open_text(path, encoding, newline="") as stream:
            rows = csv.reader(stream, delimiter=delimiter, quotechar=quotechar)
            names = next((row for row in rows if row), [])
    except (OSError, EOFError, zlib.error, UnicodeError, LookupError, TypeError, csv.Error):
        return []
    return [name.removeprefix("\ufeff") for name in names]
