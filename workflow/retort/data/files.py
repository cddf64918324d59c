"""Files on disk: checksums, and the lines of text files, plain or compressed with gzip."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

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
