"""Load YAML files as models, and collect the problems of all files instead of raising errors.

Each error of pydantic becomes a line: the key, what is wrong, what would be right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from retort.errors import RetortError, escape_controls
from retort.registry import nearest_name, unknown_name
from retort.specs.base import CUSTOM, NAME, Name, Names
from retort.specs.yaml_reader import read_yaml

Keys = tuple[str, ...]
Found = tuple[Path, str]  # a file, and what is wrong with it
# the beginning of an error's type -> what a value should have been
TYPES = {
    "int": "a whole number",
    "float": "a number",
    "string": "a text",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "dict": "a mapping",
    "model": "a mapping",
}
# pattern -> what a text must be, in words
PATTERNS = {
    NAME: "letters and digits, with single dashes between them",
    r"^[^\r\n]$": "one character",
    r"^\S+$": "a name without spaces",
    r"^[\w.@-]+$": "letters, digits, and any of . @ - _",
    r"^[0-9a-f]{64}$": "64 hexadecimal digits",
    r"^[0-9a-f]{40}$": "40 hexadecimal digits",
    r"^https://\S+$": "an address that begins with https://",
    r"^(https://\S+|mailto:\S+@\S+)?$": "an address that begins with https:// or mailto:; empty: none",
    r"^\d{4}-\d{2}-\d{2}$": "a day such as 2026-11-28",
    r"^[a-z]{2,3}([_-][A-Za-z]+)*$": "a code such as 'en' or 'zh-Hans'",
}


class _Mistake(NamedTuple):
    """An error of pydantic.

    Args:
        keys: the keys that lead to the value, as the file has them; entries of a list count from 1.
        union: the keys that lead to the outermost union around the value; None if there is none.
        member: the member of this union that the error is about.
        item: the error.
    """

    keys: Keys
    union: Keys | None
    member: str
    item: ErrorDetails


def readable_mistakes(error: ValidationError, content: Any = None, where: str = "") -> list[str]:
    """Return one line for each mistake.

    Of a union, those of the member that fits best are told; where none has the type of the value, all types are.

    Args:
        error: what pydantic found.
        content: what was validated; None if that is not known, as for a schedule that was put together.
        where: the key of the content in its file; empty for the whole file.
    """
    mistakes = [_locate(item, content) for item in error.errors(include_url=False)]
    told: list[tuple[Keys, str]] = []
    for keys, union, member, item in mistakes:
        rivals = [each for each in mistakes if each.union == union]
        deepest = max(rivals, key=lambda each: len(each.keys))
        if union is None or len({each.member for each in rivals}) == 1:
            told.append(((*keys, *_key_of(item)), _text(item)))
        elif deepest.keys == union:  # no member has the type of the value
            types = dict.fromkeys(_type_of(each.item) for each in rivals)
            told.append((keys, f"give {' or '.join(types)}, not {item['input']!r}"))
        elif member == deepest.member:
            told.append((keys, _text(item)))
    lines = (((where, *keys), text) for keys, text in dict.fromkeys(told))
    return [": ".join(filter(None, (".".join(filter(None, keys)), text))) for keys, text in lines]


def _locate(item: ErrorDetails, content: Any) -> _Mistake:
    """Return an error with its location split into keys of the file and pydantic's name of a union's member."""
    keys: list[str] = []
    union: Keys | None = None
    here, is_known, member = content, content is not None, ""
    for position, entry in enumerate(item["loc"], start=1):
        if isinstance(entry, int) and isinstance(here, (list, tuple)):
            keys.append(str(entry + 1))
            here = here[entry] if entry < len(here) else None  # a list that is too short
        elif isinstance(here, dict) and entry in here:
            keys.append(str(entry))
            here = here[entry]
        elif not is_known:
            keys.append(str(entry + 1 if isinstance(entry, int) else entry))
        elif item["type"] == "missing" and position == len(item["loc"]):
            keys.append(str(entry))
        elif entry != "[key]" and union is None:  # '[key]' is of an error in a key
            union, member = tuple(keys), str(entry)
    return _Mistake(tuple(keys), union, member, item)


def _type_of(item: ErrorDetails) -> str:
    """Return what the value should have been, by the type of the error."""
    return TYPES.get(item["type"].split("_")[0], item["msg"].removeprefix("Input should be "))


def _text(item: ErrorDetails) -> str:
    """Return what is wrong with a value, and what would be right."""
    kind, value = item["type"], item["input"]
    text = item["msg"].removeprefix("Value error, ").replace("Tuple should", "List should")
    described = {dict: "a mapping", list: "a list", type(None): "nothing"}.get(type(value), repr(value))
    if kind in ("missing", "value_error", *CUSTOM):
        return text
    if kind in ("list_type", "tuple_type", "dict_type", "model_type", "model_attributes_type"):
        return f"give {_type_of(item)}, not {described}"
    if kind == "string_pattern_mismatch":
        pattern = item["ctx"]["pattern"]
        words = f"; write {PATTERNS[pattern]}" if pattern in PATTERNS else ""
        return f"{value!r} does not match the pattern {pattern}{words}"
    if kind == "union_tag_invalid":
        known = re.findall(r"'(.*?)'", item["ctx"]["expected_tags"])
        return str(unknown_name(item["ctx"]["discriminator"].strip("'"), item["ctx"]["tag"], known))
    if kind == "union_tag_not_found":
        key, (found,) = item["ctx"]["discriminator"].strip("'"), _key_of(item)
        return "Field required" if found == key else str(unknown_name("key", found, [key]))
    if isinstance(value, dict | list) and not kind.endswith("_type"):
        return text  # the value is too long to print, and its type is right
    is_number = re.fullmatch(r"\s*[-+]?[\d.]+(e[-+]?\d+)?\s*", str(value), re.IGNORECASE)
    hint = ""
    if kind in ("int_type", "float_type") and isinstance(value, str) and is_number:
        hint = "; write the number without quotes"
    elif kind == "string_type" and isinstance(value, bool):
        hint = "; put it in quotes: YAML reads no and yes as false and true"
    elif kind == "string_type" and isinstance(value, int | float):
        hint = "; put it in quotes: YAML reads digits as a number"
    return f"{text}, not {described}{hint}"


def _key_of(item: ErrorDetails) -> Keys:
    """Return the key, such as `kind`, by which a union is decided and which is wrong, missing or misspelt."""
    if "discriminator" not in item.get("ctx", {}):
        return ()
    key = item["ctx"]["discriminator"].strip("'")
    return (nearest_name(key, map(str, item["input"])) or key,) if isinstance(item["input"], dict) else (key,)


Result = TypeVar("Result")
Change = Callable[[Path, Any], Any]
UNREAD = object()  # a change returns it in place of a content that needs an entry with a problem of its own


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    """Return the validator of a model; it is cached, because a study has hundreds of entries of few models."""
    return TypeAdapter(model)


def unchanged(path: Path, content: Any) -> Any:
    """Return the content of a file as it is."""
    return content


def shown(path: Path | str, folders: Iterable[Path]) -> Path | str:
    """Return a file of a study as messages name it: relative to the parent of its folder, of these folders."""
    inside = (folder.parent for folder in folders if isinstance(path, Path) and path.is_relative_to(folder))
    return next((Path(path).relative_to(parent) for parent in inside), path)


class Problems:
    """A list of error messages, each beginning with the name of its file.

    Args:
        *folders: the folders of the study; file names are printed relative to their parents.

    Attributes:
        lines: the messages.
    """

    def __init__(self, *folders: Path) -> None:
        self.folders = folders
        self.lines: list[str] = []

    def add(self, path: Path | str, what: object) -> None:
        """Add one message about a file."""
        line = escape_controls(f"{shown(path, self.folders)}: {what}")  # keys and names stand in it
        if line not in self.lines:  # the students of a family share their mistakes
            self.lines.append(line)

    def add_all(self, found: Iterable[Found]) -> None:
        """Add a message for each (file, what is wrong with it)."""
        for path, what in found:
            self.add(path, what)

    def attempt(self, path: Path | str, where: str, action: Callable[..., Result], *arguments: Any) -> Result | None:
        """Call an action and return its result; on an error, add the error to the messages and return None."""
        try:
            return action(*arguments)
        except ValidationError as error:
            for line in readable_mistakes(error, None, where):
                self.add(path, line)
        except RetortError as error:
            self.add(path, f"{where}{': ' if where else ''}{error}")
        return None

    def validate(self, path: Path | str, where: str, model: Any, content: Any, names: Names | None = None) -> Any:
        """Return the content as a model; on an error, add one message for each mistake and return None.

        Args:
            path: the file.
            where: the key of the content in the file; empty for the whole file.
            model: the model.
            content: what the file holds there; `UNREAD` is returned as None.
            names: the names that the file can use; None to check none.
        """
        if content is UNREAD:
            return None
        try:
            return _adapter(model).validate_python(content, context=names)
        except ValidationError as error:
            for line in readable_mistakes(error, {} if content is None else content, where):
                self.add(path, line)
        return None


def checked_name(name: str, noun: str = "table|figure") -> str:
    """Return the name of a table or figure unchanged if it can be used in a file path.

    Raises:
        RetortError: the name is not "table" or "figure" followed by small letters, digits and single dashes.
    """
    if not re.fullmatch(rf"({noun})[a-z0-9]*(-[a-z0-9]+)*", name):
        raise RetortError(f"'{name}' is not a name such as table1, table5-acl or figure2", "rename it")
    return name


def is_there(path: Path) -> bool:
    """Return whether a path exists; a broken link counts, as reading it adds a problem."""
    return path.exists() or path.is_symlink()


def one(path: Path, model: Any, problems: Problems, names: Names | None = None, change: Change = unchanged) -> Any:
    """Load one file as a model; if it fails, add its problems and return None.

    Args:
        path: the file.
        model: the model.
        problems: the list to which problems are added.
        names: the names that the file can use; None to check none.
        change: called with the file and its content, before it is validated; returns the content to validate.
    """
    before = len(problems.lines)
    content = problems.attempt(path, "", read_yaml, path)
    content = change(path, content) if len(problems.lines) == before else UNREAD
    return problems.validate(path, "", model, content, names)


def named(path: Path, model: Any, problems: Problems, names: Names | None = None) -> dict[str, Any]:
    """Load a file that maps names to models; return none if it does not exist, or if an entry has a problem."""
    if not is_there(path):
        return {}
    return one(path, dict[Name, model], problems, names) or {}


def folder(path: Path, model: Any, problems: Problems, names: Names, change: Change = unchanged) -> dict[str, Any]:
    """Load every YAML file of a folder as a model, by file name; a file that fails is left out, its problems added.

    Args:
        path: the folder.
        model: the model.
        problems: the list to which problems are added.
        names: the names that the files can use.
        change: as of `one`.
    """
    files = [file for file in sorted(path.glob("*.yaml")) if problems.validate(file, "file name", Name, file.stem)]
    models = {file.stem: one(file, model, problems, names, change) for file in files}
    return {name: value for name, value in models.items() if value is not None}
