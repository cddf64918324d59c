"""The digest of the files in a folder of the user: it stands for the folder in settings, wherever the folder lies.

Reading gigabytes at each start would be slow. So the digest of each file is kept with the file's size and time, and a
file is read again only if one of them has changed.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Iterator
from pathlib import Path

from retort.atomic import write_json
from retort.checksums import DIGEST, FileChecksum, digest_of, is_sealed, sealed

KNOWN = Path("results/sources/.contents")
ABSENT = "absent"  # the digest of a folder that is not there and never was


def files_in(folder: Path, above: frozenset[str] = frozenset()) -> Iterator[tuple[str, Path]]:
    """Yield (path in the folder, path) for each file in a folder, its subfolders and the folders that it links to.

    Broken links and folders that cannot be read are yielded too. Names that begin with a dot are left out, and so is a
    link to a folder that holds the link.

    Args:
        folder: the folder.
        above: the real paths of the folders that hold it.
    """
    real = os.path.realpath(folder)
    if real in above:
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except PermissionError:
        yield folder.name, folder
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False) or (entry.is_symlink() and path.is_dir()):
            yield from ((f"{entry.name}/{name}", file) for name, file in files_in(path, above | {real}))
        else:
            yield entry.name, path


@functools.cache
def content_of(name: str, folder: Path) -> str:
    """Return the digest of the files in a source's folder; for a folder that is gone, its last known digest.

    Args:
        name: the name of the source.
        folder: the folder.
    """
    note = KNOWN / f"{name}.json"
    known = _read(note)
    if not folder.is_dir():
        return _digest(known) if known else ABSENT
    now = {each: _checksum(path, known.get(each)) for each, path in files_in(folder) if path.is_file()}
    if now != known:
        with contextlib.suppress(OSError):  # a folder of results that cannot be written only makes the next start slow
            write_json(note, sealed({"files": {each: file.model_dump() for each, file in now.items()}}))
    return _digest(now)


def _checksum(path: Path, known: FileChecksum | None) -> FileChecksum:
    return known if known and not known.has_moved(path) else FileChecksum.of(path)


def _digest(files: dict[str, FileChecksum]) -> str:
    return digest_of({name: file.sha256 for name, file in files.items()})


def _read(note: Path) -> dict[str, FileChecksum]:
    """Return the last known checksums of a source's files; empty if there are none."""
    try:
        content = json.loads(note.read_text(encoding="utf-8"))
        if not is_sealed(content):
            return {}
        return {name: FileChecksum.model_validate(file) for name, file in content["files"].items() if name != DIGEST}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
