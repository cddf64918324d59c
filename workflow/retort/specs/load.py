"""Load YAML files as models; collect the problems of all files instead of raising errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from retort.errors import RetortError, printable
from retort.specs.base import Name
from retort.specs.messages import readable
from retort.specs.yaml_reader import read_yaml

Result = TypeVar("Result")
Change = Callable[[Path, Any], Any]
_NAMES: TypeAdapter[str] = TypeAdapter(Name)


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    """Return the validator of a model; it is cached, because a study has hundreds of entries of few models."""
    return TypeAdapter(model)


def _unchanged(path: Path, content: Any) -> Any:
    return content


class Problems:
    """A list of error messages, each beginning with the name of its file.

    Args:
        folder: the folder of the study; file names are printed relative to its parent.

    Attributes:
        lines: the messages.
        unread: names of files and entries that could not be read; `*` stands for an unknown part of a name.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[str] = []
        self.unread: set[str] = set()

    def add(self, path: Path | str, what: object) -> None:
        """Add one message about a file."""
        name = path
        if isinstance(path, Path) and path.is_relative_to(self.folder.parent):
            name = path.relative_to(self.folder.parent)
        line = printable(f"{name}: {what}")  # keys and names stand in it
        if line not in self.lines:  # the students of a family share their mistakes
            self.lines.append(line)

    def attempt(self, path: Path | str, where: str, action: Callable[..., Result], *arguments: Any) -> Result | None:
        """Call an action and return its result; on an error, add the error to the messages and return None."""
        try:
            return action(*arguments)
        except ValidationError as error:
            for line in readable(error, None, where):
                self.add(path, line)
        except RetortError as error:
            self.add(path, f"{where}{': ' if where else ''}{error}")
        return None

    def validate(self, path: Path | str, where: str, model: Any, content: Any, context: object = None) -> Any:
        """Return the content as a model; on an error, add one message for each mistake and return None.

        Args:
            path: the file.
            where: the key of the content in the file; empty for the whole file.
            model: the model.
            content: what the file holds there.
            context: the names that the file can use, for fields that name a student or teacher.
        """
        try:
            return _adapter(model).validate_python(content, context=context)
        except ValidationError as error:
            for line in readable(error, {} if content is None else content, where):
                self.add(path, line)
        return None

    def is_unread(self, name: str) -> bool:
        """Return whether a file or entry of this name could not be read, and so has a problem already."""
        return any(fnmatchcase(name, pattern) for pattern in self.unread)


def checked_name(name: str) -> str:
    """Return the name of a table or figure unchanged if it can be used in a file path.

    Raises:
        RetortError: the name is not "table" or "figure" followed by small letters, digits and single dashes.
    """
    if not re.fullmatch(r"(table|figure)[a-z0-9]*(-[a-z0-9]+)*", name):
        raise RetortError(f"'{name}' is not a name such as table1, table5-acl or figure2", "rename the file")
    return name


def is_there(path: Path) -> bool:
    """Return whether a path exists; a broken link counts, as reading it adds a problem."""
    return path.exists() or path.is_symlink()


def one(path: Path, model: Any, problems: Problems, context: object = None, change: Change = _unchanged) -> Any:
    """Load one file as a model; if it fails, add its problems and return None.

    Args:
        path: the file.
        model: the model.
        problems: the list to which problems are added.
        context: the names that the file can use, for fields that name a student or teacher.
        change: called with the file and its content, before it is validated; returns the content to validate.
    """
    before = len(problems.lines)
    content = problems.attempt(path, "", read_yaml, path)
    if len(problems.lines) == before:
        value = problems.validate(path, "", model, change(path, content), context)
    else:
        value = None
    if value is None:
        problems.unread.add(path.stem)
    return value


def entries(path: Path, problems: Problems, marked: bool = False) -> dict[Any, Any]:
    """Return the entries of a file that maps names to entries, without those that only hold YAML anchors.

    Args:
        path: the file.
        problems: the list to which problems are added.
        marked: make the keys of mappings know their lines.
    """
    content = problems.attempt(path, "", _mapping, path, marked)
    if content is None:
        problems.unread.add(f"{path.parent.name}-*")
    return {key: entry for key, entry in (content or {}).items() if str(key)[:1] != "_"}


def _mapping(path: Path, marked: bool) -> dict[Any, Any]:
    """Return the content of a file that holds a mapping.

    Raises:
        RetortError: the file cannot be read, is empty, or holds something else.
    """
    content = read_yaml(path, marked)
    if not isinstance(content, dict):
        raise RetortError("is empty" if content is None else "holds no mapping", "this file maps names to entries")
    return content


def named(path: Path, model: Any, problems: Problems) -> dict[str, Any]:
    """Load a file that maps names to models; an entry that fails is left out and its problems are added."""
    models = {}
    for name, entry in entries(path, problems).items():
        safe = checked_entry_name(path, name, problems)
        value = problems.validate(path, str(name), model, entry)
        if safe is not None and value is not None:
            models[safe] = value
        else:
            problems.unread.add(str(name))
    return models


def checked_entry_name(path: Path, name: Any, problems: Problems) -> str | None:
    """Return the name of an entry unchanged if it can be used in a file path; else add a problem and return None."""
    return problems.attempt(path, "", _NAMES.validate_python, name)


def folder(path: Path, model: Any, problems: Problems, change: Change = _unchanged) -> dict[str, Any]:
    """Load every YAML file of a folder as a model, by file name; a file that fails is left out, its problems added.

    `change` is called with each file and its content, before it is validated; it returns the content to validate.
    """
    models = {}
    for file in sorted(path.glob("*.yaml")):
        if problems.attempt(file, "file name", _NAMES.validate_python, file.stem) is None:
            problems.unread.add(file.stem)
            continue
        value = one(file, model, problems, change=change)
        if value is not None:
            models[file.stem] = value
    return models
