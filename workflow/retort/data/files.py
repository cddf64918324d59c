"""Files: their checksums, and folders that are linked instead of copied."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from retort.errors import RetortError
from retort.specs.source import FolderSource


def sha256(path: Path) -> str:
    """The hexadecimal sha256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def git_blob(path: Path) -> str:
    """The hexadecimal name that git gives to the content of a file."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode())
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def link(here: Path, to: Path) -> int:
    """How many entries were linked: `to` mirrors the folder `here` with real folders and a symbolic link a file.

    Folders are real so that Snakemake's timestamp lands in `to`, and so that deleting `to` deletes links alone. Names
    that begin with a dot are left out.
    """
    count = 0
    for entry in sorted(os.scandir(here), key=lambda entry: entry.name):
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            (to / entry.name).mkdir(exist_ok=True)
            count += link(Path(entry.path), to / entry.name)
        else:
            (to / entry.name).symlink_to(Path(entry.path).absolute())
            count += 1
    return count


def fetch(source: FolderSource, to: Path, state: Path) -> int:
    """How many files of the user's folder are linked in the folder `to`.

    Args:
        source: the folder, relative to the working directory.
        to: the folder to fill; it is empty.
        state: not used; there is nothing to resume.

    Raises:
        RetortError: the folder is missing or empty.
    """
    here = Path(source.path).expanduser()
    if not here.is_dir():
        raise RetortError(f"source folder {source.path} does not exist", "paths count from the working directory")
    count = link(here, to)
    if not count:
        raise RetortError(f"source folder {source.path} is empty")
    return count
