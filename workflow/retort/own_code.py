"""The Python files of a study: they register objectives, mappings, metrics and kinds next to those of the package.

A folder of the study holds them by what they register: `objectives/*.py`, `metrics/*.py`, ... The environment names
the folders, so that all processes of a run know them.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from retort.errors import RetortError, first_line

VARIABLE = "RETORT_STUDY"  # the environment variable that lists the folders of the study
FOLDERS = ("objectives", "mappings", "metrics", "tables", "figures")
REGISTERS = re.compile(r'^@(?:objectives|mappings|metrics)\.register\(\s*"([^"]+)"', re.MULTILINE)


def read_from(folders: Iterable[Path]) -> None:
    """Set the folders of the study in this process, and in those that it starts."""
    os.environ[VARIABLE] = json.dumps([str(folder.absolute()) for folder in folders])


def folders() -> tuple[str, ...]:
    """Return the folders of the study; none before a study was read."""
    return _listed(os.environ.get(VARIABLE, "[]"))


@functools.cache
def _listed(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def files(kind: str) -> list[Path]:
    """Return the Python files of the study in the folders of one kind, such as 'objectives'."""
    return [path for folder in folders() for path in sorted(Path(folder, kind).glob("*.py"))]


def name_of(path: Path) -> str:
    """Return the name of a file, which is the same wherever its study lies: 'objectives/absolute'."""
    return f"{path.parent.name}/{path.stem}"


def load(kind: str, name: str) -> None:
    """Import the file that registers a name, if one does; a file that nothing uses is never imported."""
    for path in files(kind):
        if name in REGISTERS.findall(path.read_text(encoding="utf-8")):
            load_file(path)


def load_file(path: Path) -> None:
    """Import a file, unless it is imported.

    Raises:
        RetortError: the import fails.
    """
    name = f"retort_study.{name_of(path).replace('/', '.')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if name in sys.modules or spec is None or spec.loader is None:
        return
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        why = str(error) if isinstance(error, RetortError) else f"{type(error).__name__}: {first_line(error)}"
        raise RetortError(f"{path} cannot be imported: {why}") from error
