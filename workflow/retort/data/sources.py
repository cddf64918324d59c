"""Fetching of sources: a package, a hub repository or a folder becomes one folder of files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from retort.data import files, hub, packages
from retort.specs.source import FolderSource, HubSource, PackageSource, Source

FETCH: dict[type, Callable[[Any, Path, Path], int]] = {
    PackageSource: packages.fetch,
    FolderSource: files.fetch,
    HubSource: hub.fetch,
}


def fetch(source: Source, to: Path, state: Path) -> int:
    """Fetch the files of a source into the folder `to` and return how many there are.

    Args:
        source: says where the files are.
        to: the folder to fill; it is empty or does not exist.
        state: the folder where an interrupted download leaves its files for the next one.

    Raises:
        RetortError: the files cannot be fetched, or are not those that the source names.
    """
    to.mkdir(parents=True, exist_ok=True)
    return FETCH[type(source)](source, to, state)
