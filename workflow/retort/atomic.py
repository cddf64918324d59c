"""Atomic writes: a file is at its path whole or not at all, at whatever moment its writer ends.

The content is written beside the file, under a name with that of the process, and then takes the place of the file. So
two processes never write to one file at a time. What a killed process leaves beside a file is deleted later.
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

PART = ".part"  # how the name of a file ends that is being written
OLD = 3600.0  # seconds without a write after which what a process of another machine writes counts as left behind


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path of a file to write, which takes the place of `path` when the block ends; an error deletes it.

    A crash of the machine may lose the content: call `flush` at the end of the block where it must not.

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
    """Return the path beside a file under which this process writes it."""
    return path.with_name(f".{path.name}.{machine.name()}.{os.getpid()}{PART}")


def flush(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def write_text(path: Path | str, text: str) -> None:
    """Write a text to a file as UTF-8, atomically: the file is either complete or not there."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def write_json(path: Path | str, content: Any, indent: int | None = 1) -> None:
    """Write JSON to a file atomically: the file is either complete or not there."""
    write_text(path, json.dumps(content, indent=indent) + "\n")


def remove_leftovers(folder: Path) -> None:
    """Delete what processes were writing in a folder when they were killed."""
    for part in folder.glob(f".*{PART}"):
        with contextlib.suppress(OSError):
            if _is_left_behind(part):
                part.unlink()


def _is_left_behind(part: Path) -> bool:
    *_, system, process = part.name.removesuffix(PART).split(".")
    if system == machine.name() and process.isdecimal():
        return not machine.is_alive(int(process))
    return time.time() - part.stat().st_mtime > OLD
