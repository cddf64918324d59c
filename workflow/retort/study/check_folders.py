"""Checks of a study's folders, before their files are read: they are there, names differ, Python files can be used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from retort import own_code
from retort.errors import first_line
from retort.specs import catalogue
from retort.specs.catalogue import Registered
from retort.specs.config import Config
from retort.specs.exhibit import KINDS, exhibit_type
from retort.specs.loading import Found, Problems, shown

# what each folder of a study holds by name, in a file or folder of its own
NAMED = ("sources/*.yaml", "models/*.yaml", "tasks/*.yaml", "corpora/*.yaml", "protocols/*.yaml", "scales/*.yaml",
         "papers/*/", *(f"{folder}/*.py" for folder in own_code.FOLDERS))  # fmt: skip

CATALOGUES = {"objectives": catalogue.objectives, "mappings": catalogue.mappings, "metrics": catalogue.metrics}


def check_folders(config: Config, problems: Problems) -> None:
    """Add what is wrong with the study's folders and their Python files, which can be used from here on."""
    for name, folder in zip(config.study, config.study_folders, strict=True):
        if not (folder / "papers").is_dir():
            wrong = "has no folder 'papers'; name the folder of a study"
            what = f"{name} {wrong}" if folder.is_dir() else f"there is no folder {name}"
            problems.add(config.origin("study"), f"study: {what}")
    problems.add_all(_twice(config))
    if not problems.lines:
        problems.attempt(config.origin("study"), "study", own_code.read_from, config.study_folders)
    if not problems.lines:
        _check_code(config, problems)


def _twice(config: Config) -> Iterator[Found]:
    """Yield what two folders hold under one name."""
    first = dict[Path, Path]()
    for folder in config.study_folders:
        for path in (path for pattern in NAMED for path in sorted(folder.glob(pattern))):
            other = first.setdefault(path.relative_to(folder), path)
            if other != path:
                yield path, f"{shown(other, config.study_folders)} has this name, too; rename one"


def _check_code(config: Config, problems: Problems) -> None:
    """Add what is wrong with the study's Python files: each is imported or read, and registers what can be used."""
    for noun in KINDS:
        problems.attempt(config.origin("study"), "study", exhibit_type, noun)
    for kind, read in CATALOGUES.items():
        entries = problems.attempt(config.origin("study"), "study", read) or {}
        for path in own_code.files(kind) if not problems.lines else ():
            own = [entry for entry in entries.values() if entry.file == path]
            problems.add_all((path, line) for entry in own for line in _wrong(kind, entry))
            if not own:
                problems.add(path, f'nothing is registered; write @{kind}.register("a-name") above it')


def _wrong(kind: str, entry: Registered) -> Iterator[str]:
    """Yield what is wrong with an entry of the study's Python files."""
    if kind == "metrics" and entry.facts.get("of") not in ("classification", "regression"):
        yield f'\'{entry.name}\': write of="classification" or of="regression" behind its name'
    if kind == "metrics" and not _are_limits(entry.facts.get("limits", {})):
        yield f'\'{entry.name}\': limits: write {{"ge": 0.0, "le": 1.0}}, the least and the greatest value, or one'
    try:
        entry.schema  # noqa: B018
    except Exception as error:
        yield f"'{entry.name}': the annotations of its options cannot be read: {first_line(error)}"


def _are_limits(limits: Any) -> bool:
    return isinstance(limits, dict) and all(
        key in ("ge", "le") and isinstance(limit, int | float) for key, limit in limits.items()
    )
