"""From files to models, with every problem of every file collected and none raised."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from retort.errors import RetortError
from retort.registry import unknown
from retort.specs.base import Name, Spec, read_yaml

Kind = TypeVar("Kind")
# names of union members, which are no keys of a file
TAGS = {"package", "folder", "from-hub", "scores", "profiles", "paired-tests", "layers", "pareto", "tests",
        "settings", "counts"}  # fmt: skip
_NAMES: TypeAdapter[str] = TypeAdapter(Name)


class Problems:
    """Lines of what is wrong, each with its file.

    Args:
        folder: file names are printed relative to the parent of this folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[str] = []

    def add(self, path: Path | str, what: object) -> None:
        """Nothing; one more line."""
        shown = path
        if isinstance(path, Path) and path.is_relative_to(self.folder.parent):
            shown = path.relative_to(self.folder.parent)
        self.lines.append(f"{shown}: {what}")

    def attempt(self, path: Path | str, where: str, action: Callable[..., Kind], *given: Any) -> Kind | None:
        """What the action returns of what it is given, or None with its error written down."""
        try:
            return action(*given)
        except ValidationError as error:
            for line in readable(error):
                self.add(path, f"{where}{': ' if where else ''}{line}")
        except RetortError as error:
            self.add(path, f"{where}{': ' if where else ''}{error}")
        return None


def readable(error: ValidationError) -> list[str]:
    """One line a mistake: the key, what is wrong, what would be right."""
    everywhere = sorted({key for kind in _all_specs() for key in kind.model_fields})
    lines = []
    for item in error.errors():
        # names of union members stand in the location; they are no keys of the file
        place = ".".join(str(part) for part in item["loc"] if part not in TAGS)
        if item["type"] == "extra_forbidden":
            text = str(unknown("key", str(item["loc"][-1]), everywhere))
        elif item["type"] == "string_pattern_mismatch":
            text = f"{item['input']!r} does not have the form {item['ctx']['pattern']}"
        else:
            text = item["msg"].removeprefix("Value error, ")
            if item["type"] not in ("missing", "value_error") and not isinstance(item["input"], (dict, list)):
                text += f", not {item['input']!r}"
            if item["type"] == "string_type" and isinstance(item["input"], bool):
                text += "; put it in quotes: YAML reads no and yes as false and true"
        lines.append(f"{place}: {text}" if place else text)
    return lines


def _all_specs() -> list[type[Spec]]:
    found: list[type[Spec]] = [Spec]
    for kind in found:
        found.extend(kind.__subclasses__())
    return found


def checked_name(name: str) -> str:
    """The name of a table or figure, when it can be a part of an address: small letters, digits, single dashes.

    Raises:
        RetortError: it cannot.
    """
    if not re.fullmatch(r"(table|figure)[a-z0-9]*(-[a-z0-9]+)*", name):
        raise RetortError(f"'{name}' is not of the form table1, table5-acl or figure2", "rename the file")
    return name


def one(path: Path, kind: Any, problems: Problems) -> Any:
    """The file as a model, or None with its problems written down."""
    return problems.attempt(path, "", lambda: TypeAdapter(kind).validate_python(read_yaml(path)))


def named(path: Path, kind: Any, problems: Problems) -> dict[str, Any]:
    """A file that maps names to models; entries that fail are left out and written down."""
    content = problems.attempt(path, "", read_yaml, path)
    if content is None:
        return {}
    if not isinstance(content, dict):
        problems.add(path, "this file maps names to entries")
        return {}
    adapter = TypeAdapter(kind)
    found = {}
    for name, entry in content.items():
        if str(name).startswith("_"):  # a place for YAML anchors
            continue
        safe = problems.attempt(path, "", _NAMES.validate_python, name)
        value = problems.attempt(path, str(name), adapter.validate_python, entry)
        if safe is not None and value is not None:
            found[safe] = value
    return found


def folder(path: Path, kind: Any, problems: Problems) -> dict[str, Any]:
    """Every YAML file of a folder as a model, by the file's name."""
    found = {}
    for file in sorted(path.glob("*.yaml")):
        if problems.attempt(file, "file name", _NAMES.validate_python, file.stem) is None:
            continue
        value = one(file, kind, problems)
        if value is not None:
            found[file.stem] = value
    return found
