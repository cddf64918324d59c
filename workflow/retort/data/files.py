"""Files on disk: checksums, and the lines of text files, plain or compressed with gzip."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from retort.checksums import sha256 as sha256
from retort.errors import RetortError


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


def open_text(path: Path, encoding: str, newline: str | None = None) -> IO[str]:
    """Open a text file, plain or gzip."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding=encoding, newline=newline)
    return path.open(encoding=encoding, newline=newline)


def system_error(error: Exception) -> int | None:
    """Return the errno of an error of the disk or the system; None for damaged data, where no library sets one."""
    return error.errno if isinstance(error, OSError) else None


def lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield (number from 1, text) for each line of a text file, without line ends and UTF-8's byte order mark.

    Only a line feed, with or without a carriage return, ends a line; other characters are text.

    Raises:
        RetortError: a line is not in the encoding, or the gzip is damaged.
    """
    number, name = 0, encoding.upper()
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for number, raw in enumerate(stream, start=1):
                text = raw.decode("utf-8-sig" if number == 1 and name == "UTF-8" else encoding)
                yield number, text.removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        what = f"{path.name}:{number}: not {name} text ({error.reason})"
        raise RetortError(what, f"save the file as {name}") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RetortError(f"{path.name}: not a whole gzip file ({error})", "the download is damaged") from None


# Read JSON strictly: Python itself accepts duplicate keys and unpaired surrogates.


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # JSON escapes a character beyond 16 bits as a pair of them


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
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
    """Return the value of a JSON text.

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


def check_json(path: Path, encoding: str) -> None:
    """Check a JSON file, plain or gzip, before a library reads it: one value, or one value on each line.

    The library keeps one of two equal keys, and ends the process if objects are nested too deep. It reports itself a
    file that is no JSON.

    Raises:
        RetortError: the file holds what `read_json` refuses.
    """
    try:
        with open_text(path, encoding) as stream:
            text = stream.read()
    except (OSError, EOFError, zlib.error, UnicodeError, LookupError):
        return
    by_line = [_is_json(f"{path.name}:{number}", line) for number, line in enumerate(text.split("\n"), start=1)]
    if not all(by_line):
        _is_json(path.name, text)


def _is_json(place: str, text: str) -> bool:
    """Return whether a text is JSON.

    Raises:
        RetortError: `read_json` refuses it; the message begins with its place.
    """
    try:
        read_json(text)
    except json.JSONDecodeError:
        return False
    except RetortError as error:
        raise RetortError(f"{place}: {error}") from None
    return True
