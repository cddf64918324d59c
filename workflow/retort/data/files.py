"""Files on disk: checksums, and the lines of text files, plain or compressed with gzip."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path

from retort.checksums import sha256 as sha256
from retort.errors import RetortError


def git_blob(path: Path) -> str:
    """Return the hexadecimal SHA-1 name that git gives to the content of a file (its blob id)."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode())
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


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
