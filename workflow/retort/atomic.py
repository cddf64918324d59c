"""Atomic writes: at its path, a file is either complete or not there, even if its writer is killed.

A process writes the content to a temporary file of its own in the same folder, and then renames it. So two processes
never write to one file at a time. Temporary files of killed processes are deleted later.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from retort import machine
from retort.errors import RetortError

PART = ".part"  # suffix of a temporary file
OLD = 3600.0  # seconds without a write after which a temporary file of another machine counts as left behind


@contextlib.contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces `path` when the block ends; an error deletes it.

    A crash of the machine may lose the content. To prevent that, call `flush_to_disk` at the end of the block.

    Raises:
        RetortError: there is a folder at `path`.
    """
    if path.is_dir():
        raise RetortError(f"{path} is a folder, and a file belongs there", "delete it and run again")
    part = part_of(path)
    try:
        yield part
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def part_of(path: Path) -> Path:
    """Return the path of the temporary file in which this process writes a file."""
    return path.with_name(f".{path.name}.{machine.name()}.{os.getpid()}{PART}")


def flush_to_disk(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def write_text(path: Path | str, text: str) -> None:
    """Write a text to a file as UTF-8, atomically; make its folder."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing_file(path) as part:
        part.write_text(text, encoding="utf-8")


def write_json(path: Path | str, content: Any, indent: int | None = 1) -> None:
    """Write JSON to a file, atomically; make its folder."""
    write_text(path, json.dumps(content, indent=indent) + "\n")


def remove_leftovers(folder: Path) -> None:
    """Delete the temporary files that killed processes left in a folder."""
    for part in folder.glob(f".*{PART}"):
        with contextlib.suppress(OSError):
            if _is_left_behind(part):
                part.unlink()


def _is_left_behind(part: Path) -> bool:
    *_, system, process = part.name.removesuffix(PART).split(".")
    if system == machine.name() and process.isdecimal():
        import psutil  # late: it is read only where a temporary file is found

        return not psutil.pid_exists(int(process))
    return time.time() - part.stat().st_mtime > OLD
