"""Load YAML files as models; the problems of all files are collected, none is raised."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from retort.errors import RetortError
from retort.registry import unknown
from retort.specs.base import Name, Spec, read_yaml
from retort.specs.exhibit import figure_kinds, table_kinds

Kind = TypeVar("Kind")
# pydantic puts these names of union members into the location of an error, but they are not keys of a file
TAGS = {"package", "folder", "from-hub"}  # beside the kinds of tables and figures
_NAMES: TypeAdapter[str] = TypeAdapter(Name)


class Problems:
    """A list of error messages, each with the file that it is about.

    Args:
        folder: the folder of the study; file names are printed relative to its parent.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[str] = []

    def add(self, path: Path | str, what: object) -> None:
        """Add one message about a file."""
        shown = path
        if isinstance(path, Path) and path.is_relative_to(self.folder.parent):
            shown = path.relative_to(self.folder.parent)
        self.lines.append(f"{shown}: {what}")

    def attempt(self, path: Path | str, where: str, action: Callable[..., Kind], *given: Any) -> Kind | None:
        """Call an action and return its result; on an error, add the error to the messages and return None."""
        try:
            return action(*given)
        except ValidationError as error:
            for line in readable(error):
                self.add(path, f"{where}{': ' if where else ''}{line}")
        except RetortError as error:
            self.add(path, f"{where}{': ' if where else ''}{error}")
        return None


def readable(error: ValidationError) -> list[str]:
    """Return one line for each mistake: the key, what is wrong, what would be right."""
    everywhere = sorted({key for kind in _all_specs() for key in kind.model_fields})
    tags = {*TAGS, *table_kinds, *figure_kinds}
    lines = []
    for item in error.errors():
        place = ".".join(str(part) for part in item["loc"] if part not in tags)
        if item["type"] == "extra_forbidden":
            text = str(unknown("key", str(item["loc"][-1]), everywhere))
        elif item["type"] == "union_tag_invalid":
            key, tags_known = (
                item["ctx"]["discriminator"].strip("'"),
                re.findall("'([^']+)'", item["ctx"]["expected_tags"]),
            )
            text = f"{key}: {unknown(key, item['ctx']['tag'], tags_known)}"
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
    """Return the name of a table or figure unchanged if it can be used in a file path.

    Raises:
        RetortError: the name is not "table" or "figure" followed by small letters, digits and single dashes.
    """
    if not re.fullmatch(r"(table|figure)[a-z0-9]*(-[a-z0-9]+)*", name):
        raise RetortError(f"'{name}' is not of the form table1, table5-acl or figure2", "rename the file")
    return name


def one(path: Path, kind: Any, problems: Problems) -> Any:
    """Load one file as a model; if it fails, add its problems and return None."""
    return problems.attempt(path, "", lambda: TypeAdapter(kind).validate_python(read_yaml(path)))


def named(path: Path, kind: Any, problems: Problems) -> dict[str, Any]:
    """Load a file that maps names to models; an entry that fails is left out and its problems are added."""
    content = problems.attempt(path, "", read_yaml, path)
    if content is None:
        return {}
    if not isinstance(content, dict):
        problems.add(path, "this file maps names to entries")
        return {}
    adapter = TypeAdapter(kind)
    found = {}
    for name, entry in content.items():
        if str(name).startswith("_"):  # such a key only holds YAML anchors
            continue
        safe = problems.attempt(path, "", _NAMES.validate_python, name)
        value = problems.attempt(path, str(name), adapter.validate_python, entry)
        if safe is not None and value is not None:
            found[safe] = value
    return found


def folder(path: Path, kind: Any, problems: Problems) -> dict[str, Any]:
    """Load every YAML file of a folder as a model, by file name; a file that fails is left out, its problems added."""
    found = {}
    for file in sorted(path.glob("*.yaml")):
        if problems.attempt(file, "file name", _NAMES.validate_python, file.stem) is None:
            continue
        value = one(file, kind, problems)
        if value is not None:
            found[file.stem] = value
    return found
