"""Files on disk: texts, plain or compressed with gzip, JSON, and Parquet."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from retort.errors import RetortError, check_file, first_line


def plain_or_gzip(path: Path) -> Path:
    """Return the path of the file, or of its gzip version `<name>.gz` where only that exists.

    Raises:
        RetortError: neither exists; the message lists the files that do.
    """
    for candidate in (path, path.with_name(f"{path.name}.gz")):
        if candidate.is_file():
            return candidate
    names = sorted(p.name for p in path.parent.iterdir()) if path.parent.is_dir() else []
    listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    raise RetortError(f"{path} does not exist", f"{path.parent} holds {listed or 'nothing'}")


def system_error(error: Exception) -> int | None:
    """Return the errno of an error of the disk or the system; None for damaged data, where no library sets one."""
    return error.errno if isinstance(error, OSError) else None


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return the text of a file, without a byte order mark.

    Raises:
        RetortError: it is not in the encoding, there is no such encoding, or the gzip is damaged.
    """
    data, name = b"", encoding.upper()
    try:
        with _opened(path) as stream:
            data = stream.read()
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        what = f"{path.name}:{number}: not {name} text ({error.reason})"
        raise RetortError(what, f"save the file as {name}") from None
    except LookupError as error:
        raise RetortError(f"{path.name}: {error}", "name another encoding") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RetortError(f"{path.name}: not a whole gzip file ({error})", "the download is damaged") from None


# how a file begins that is not what it is taken for -> what it is, and what would help
OTHERS: dict[bytes, tuple[str, str]] = {
    b"\x1f\x8b": ("compressed with gzip", "give it the suffix .gz, or unpack it"),
    b"pk\x03\x04": ("a zip archive", "unpack it"),
    b"version https://git-lfs": ("a pointer of Git LFS, not the file itself", "run `git lfs pull` in its repository"),
    **dict.fromkeys((b"<!doctype html", b"<html"), ("an HTML page", "download the file itself, not the page about it")),
}


def check_content(path: Path) -> None:
    """Check that a file is not what is often stored in the place of data.

    Raises:
        RetortError: it is a pipe, an archive, a pointer of Git LFS or an HTML page.
    """
    check_file(path)
    with path.open("rb") as stream:
        begins = stream.read(64).removeprefix(codecs.BOM_UTF8).lstrip().lower()
    found = next((what for start, what in OTHERS.items() if begins.startswith(start)), None)
    if found and not (path.suffix == ".gz" and begins.startswith(b"\x1f\x8b")):
        raise RetortError(f"{path.name} is {found[0]}", found[1])


def _opened(path: Path) -> gzip.GzipFile | io.BufferedReader:
    """Open a file, plain or compressed with gzip."""
    check_content(path)
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


@contextlib.contextmanager
def text_stream(path: Path, encoding: str = "utf-8", newline: str = "") -> Iterator[IO[str]]:
    """Open a text file, of which only the part that is being read is in memory; without a byte order mark.

    Args:
        path: the file, plain or compressed with gzip.
        encoding: its encoding.
        newline: as that of `open`.

    Raises:
        RetortError: as `read_text`.
    """
    try:
        known = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding  # skips the mark
        with _opened(path) as stream, io.TextIOWrapper(stream, known, newline=newline) as text:
            yield text
    except (UnicodeError, LookupError, EOFError, zlib.error, gzip.BadGzipFile):
        read_text(path, encoding)  # it says which line it is
        raise


def numbered_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield (number from 1, text) for each line of a text file, without line ends.

    Only a line feed, with or without a carriage return, ends a line; other characters are text.

    Raises:
        RetortError: as `read_text`.
    """
    with text_stream(path, encoding, newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            yield number, line.removesuffix("\n").removesuffix("\r")


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # JSON escapes a character beyond 16 bits as a pair of them


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, object]:
    """Return an object of these keys and values.

    Raises:
        RetortError: a key is given twice.
    """
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise RetortError(f"'{twice}' is given twice", "leave one of the two out")
    return values


def read_json(text: str) -> Any:
    """Return the value of a JSON text, strictly: Python itself accepts duplicate keys and unpaired surrogates.

    Raises:
        json.JSONDecodeError: it is no JSON.
        RetortError: it is nested too deep, an object gives a key twice, a number has thousands of digits, or a text
            holds an unpaired surrogate (half a character), which UTF-8 cannot encode.
    """
    try:
        value = json.loads(text, object_pairs_hook=_each_key_once)
    except RecursionError:
        raise RetortError("lists or objects are nested too deep", "is it the right file?") from None
    except json.JSONDecodeError:
        raise
    except ValueError:
        raise RetortError("a number has thousands of digits", "is it the right file?") from None
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start])
            raise RetortError(f"{half} is half a character", "write both halves, or neither") from None
    return value


def parquet_rows(path: Path, column: str | None = None) -> Iterator[dict[str, object]]:
    """Yield the rows of a Parquet file, with the values of one column or of all, by name.

    Raises:
        RetortError: it is damaged, or has no such column.
    """
    import pyarrow.parquet

    check_content(path)
    try:
        table = pyarrow.parquet.ParquetFile(path)
        names = table.schema_arrow.names
        if column is not None and column not in names:
            raise RetortError(f"{path.name} has no column '{column}'", f"it has {', '.join(names)}")
        for batch in table.iter_batches(batch_size=1000, columns=names if column is None else [column]):
            yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        if system_error(error) is not None:
            raise
        raise RetortError(f"{path}: not a whole Parquet file ({first_line(error)})", "fetch the file again") from error
