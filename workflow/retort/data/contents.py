"""What a folder of the user holds: the digest of its files, by which settings know it wherever it lies.

Reading gigabytes at each start would be slow. So the digest of each file is kept with the file's size and time, and a
file is read again only if one of them has moved.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterator
from pathlib import Path

from retort.atomic import write_json
from retort.checksums import DIGEST, FileChecksum, digest_of, is_sealed, sealed

KNOWN = Path("results/sources/.contents")
ABSENT = "absent"  # the digest of a folder that is not there and never was


def files_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield (path in the folder, path) for each file; names that begin with a dot are left out, as when linking."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in name.parts):
            yield name.as_posix(), path


@functools.cache
def content_of(name: str, folder: Path) -> str:
    """Return the digest of the files of a source's folder; of a folder that is gone, the digest that it had.

    Args:
        name: the name of the source.
        folder: the folder.
    """
    note = KNOWN / f"{name}.json"
    known = _read(note)
    if not folder.is_dir():
        return _digest(known) if known else ABSENT
    now = {each: _checksum(path, known.get(each)) for each, path in files_in(folder)}
    if now != known:
        with contextlib.suppress(OSError):  # a folder of results that cannot be written only makes the next start slow
            write_json(note, sealed({"files": {each: file.model_dump() for each, file in now.items()}}))
    return _digest(now)


def _checksum(path: Path, known: FileChecksum | None) -> FileChecksum:
    return known if known and not known.has_moved(path) else FileChecksum.of(path)


def _digest(files: dict[str, FileChecksum]) -> str:
    return digest_of({name: file.sha256 for name, file in files.items()})


def _read(note: Path) -> dict[str, FileChecksum]:
    """Return the checksums of a source's files as they were known last; empty if they are not known."""
    try:
        content = json.loads(note.read_text(encoding="utf-8"))
        if not is_sealed(content):
            return {}
        return {name: FileChecksum.model_validate(file) for name, file in content["files"].items() if name != DIGEST}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
