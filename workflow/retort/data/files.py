"""Checksums of files, and folders of the user that are linked instead of copied."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from retort.errors import RetortError
from retort.specs.source import FolderSource


def sha256(path: Path) -> str:
    """Return the hexadecimal SHA-256 digest of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def git_blob(path: Path) -> str:
    """Return the hexadecimal SHA-1 name that git gives to the content of a file (its blob id)."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode())
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def link(here: Path, to: Path) -> int:
    """Mirror the folder `here` in `to`, with real folders and one symbolic link per file; return the number of links.

    Folders are real so that Snakemake writes its timestamp in `to`, and so that deleting `to` deletes only links. Names
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
    """Link the files of the user's folder in the folder `to` and return how many there are.

    Args:
        source: names the user's folder, relative to the working directory.
        to: the folder to fill; it must exist and be empty.
        state: not used; linking has nothing to resume.

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
