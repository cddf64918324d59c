"""Archives of packages that are damaged, hostile or not those that a source names."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from retort.specs.source import Package

NAME = "made-1.0.tar.gz"
MADE: dict[str, Any] = {"package": "made", "version": "1.0", "distribution": "sdist", "sha256": "0" * 64}


def source(**fields: Any) -> Package:
    """Return a source whose folder is `data` in the archive of the package 'made', unless the fields say otherwise."""
    return Package(**{**MADE, "folder": "made-1.0/data", **fields})


def tar(*members: tuple[str, bytes], kind: bytes = tarfile.REGTYPE) -> bytes:
    """Return a .tar.gz with these members."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd" if kind != tarfile.REGTYPE else ""
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return held.getvalue()


def zipped(*members: tuple[str, bytes]) -> bytes:
    """Return a .zip with these members."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return held.getvalue()


def encrypted() -> bytes:
    """Return a .zip whose only member says that it is encrypted."""
    data = bytearray(zipped(("made-1.0/data/a", b"a")))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    data[6] |= 1
    return bytes(data)


FILE = ("made-1.0/data/a.txt", b"text")
INNER = tar(("data/a.txt", b"text"))
LACKS = "made 1.0 holds no folder made-1.0/data"
NO_ARCHIVE = "is no archive that can be read"
Make = Callable[[], bytes]
# name of the archive, its content, fields of the source, words of the line
# fmt: off
REFUSED: list[tuple[str, Make, dict[str, Any], str]] = [
    (NAME, lambda: b"damaged", {}, NO_ARCHIVE),
    (NAME, lambda: tar(FILE)[:40], {}, NO_ARCHIVE),
    (NAME, lambda: gzip.compress(b"no tar"), {}, NO_ARCHIVE),
    (NAME, lambda: b"", {}, NO_ARCHIVE),
    ("made-1.0.zip", lambda: b"damaged", {}, NO_ARCHIVE),
    ("made-1.0.zip", lambda: zipped(FILE)[:-30], {}, NO_ARCHIVE),
    ("made-1.0.zip", encrypted, {}, NO_ARCHIVE),
    (NAME, lambda: tar(("made-1.0/other/a.txt", b"text")), {}, LACKS),
    (NAME, lambda: tar(FILE), {"folder": "made-1.0/dat"}, "made 1.0 holds no folder made-1.0/dat"),
    (NAME, lambda: tar(("made-1.0/data/../../../out", b"text")), {}, LACKS),
    (NAME, lambda: tar(("/made-1.0/data/out", b"text")), {}, LACKS),
    (NAME, lambda: tar(("made-1.0/data//etc/out", b"text")), {}, LACKS),
    (NAME, lambda: tar(("made-1.0/data/link", b""), kind=tarfile.SYMTYPE), {}, LACKS),
    (NAME, lambda: tar(("made-1.0/data/link", b""), kind=tarfile.LNKTYPE), {}, LACKS),
    (NAME, lambda: tar(("made-1.0/data/device", b""), kind=tarfile.CHRTYPE), {}, LACKS),
    (NAME, lambda: tar(("made-1.0/data/pipe", b""), kind=tarfile.FIFOTYPE), {}, LACKS),
    (NAME, lambda: tar(("made-1.0/data", b"")), {}, LACKS),
    (NAME, lambda: tar(FILE), {"inner": "more/data.tar.gz"}, "made 1.0 holds no more/data.tar.gz"),
    (NAME, lambda: tar(("made-1.0/data.tar.gz", b"damaged")), {"inner": "data.tar.gz"}, NO_ARCHIVE),
    (NAME, lambda: tar(("made-1.0/data.tar.gz", INNER)), {"inner": "data.tar.gz", "folder": "dat"}, "no folder dat"),
]
# fmt: on


def write(folder: Path, name: str, make: Make) -> Path:
    """Write an archive to a folder and return its path."""
    (folder / name).write_bytes(make())
    return folder / name
