"""Sources: whatever their form, their files come to stand in one folder, checked."""

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
    """How many files came to stand in the folder `to`.

    Args:
        source: where the files are.
        to: the folder to fill; empty or not there.
        state: the folder of what an interrupted download leaves for the next one.

    Raises:
        RetortError: the files cannot be had, or are not those that the source names.
    """
    to.mkdir(parents=True, exist_ok=True)
    return FETCH[type(source)](source, to, state)
