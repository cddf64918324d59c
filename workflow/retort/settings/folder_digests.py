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
from retort.checksums import DIGEST, FileChecksum, content_digest, file_digests, is_sealed, with_digest

KNOWN = Path("results/sources/.contents")
EARLIER = 3  # states of a source that are known next to the present one
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
    known, earlier = _read(note)
    if not folder.is_dir():
        return content_digest(known) if known else ABSENT
    paths = {each: path for each, path in files_in(folder) if path.is_file()}
    as_known = {each: file for each, file in known.items() if each in paths and not file.has_moved(paths[each])}
    now = {each: as_known.get(each) or FileChecksum.of(path) for each, path in paths.items()}
    if now != known:
        states = [*earlier.items(), *([(content_digest(known), file_digests(known))] if known else [])]
        files = {each: file.model_dump() for each, file in now.items()}
        with contextlib.suppress(OSError):  # a folder of results that cannot be written only makes the next start slow
            write_json(note, with_digest({"files": files, "earlier": dict(states[-EARLIER:])}))
    return content_digest(now)


def changed_files(digest: str) -> list[str]:
    """Return the files that were added, taken away or edited since a source had this digest; empty if it is unknown."""
    for note in KNOWN.glob("*.json"):
        files, earlier = _read(note)
        if then := earlier.get(digest):
            now = file_digests(files)
            return sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))
    return []


def _read(note: Path) -> tuple[dict[str, FileChecksum], dict[str, dict[str, str]]]:
    """Return the last known checksums of a source's files, and what it held before: its digest -> file -> digest.

    Both are empty if they are not known.
    """
    try:
        content = json.loads(note.read_text(encoding="utf-8"))
        if is_sealed(content):
            files = content["files"].items()
            known = {name: FileChecksum.model_validate(file) for name, file in files if name != DIGEST}
            return known, dict(content.get("earlier", {}))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    return {}, {}
