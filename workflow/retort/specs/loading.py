"""Load YAML files as models, and collect the problems of all files instead of raising errors.

Each error of pydantic becomes a line: the key, what is wrong, what would be right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from retort.errors import RetortError, printable
from retort.registry import nearest, unknown
from retort.specs.base import CUSTOM, Name
from retort.specs.names import Names
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
    r"^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$": "letters and digits, with single dashes between them",
    r"^[^\r\n]$": "one character",
    r"^\S+$": "a name without spaces",
    r"^[\w.@-]+$": "letters, digits, and any of . @ - _",
    r"^[0-9a-f]{64}$": "64 hexadecimal digits",
    r"^[0-9a-f]{40}$": "40 hexadecimal digits",
    r"^[a-z]{2,3}([_-][A-Za-z]+)*$": "a code such as 'en' or 'zh-Hans'",
}


@dataclass(frozen=True)
class _Mistake:
    """An error of pydantic.

    Args:
        keys: the keys that lead to the value, as the file has them; entries of a list count from 1.
        members: (keys that lead to a union, the member of the union that the error is about), outermost first.
        item: the error.
    """

    keys: Keys
    members: tuple[tuple[Keys, str], ...]
    item: ErrorDetails


def readable(error: ValidationError, content: Any = None, where: str = "") -> list[str]:
    """Return one line for each mistake.

    Args:
        error: what pydantic found.
        content: what was validated; None if that is not known, as for a schedule that was put together.
        where: the key of the content in its file; empty for the whole file.
    """
    mistakes = [_locate(item, content) for item in error.errors(include_url=False)]
    dropped: list[_Mistake] = []
    undecided: list[tuple[Keys, str]] = []
    for keys, members in _unions(mistakes).items():
        nearest_member, depth = max(
            ((name, max(len(mistake.keys) for mistake in rivals)) for name, rivals in members.items()),
            key=lambda pair: pair[1],
        )
        if depth <= len(keys):  # no member has the type of the value
            items = [mistake.item for rivals in members.values() for mistake in rivals]
            types = dict.fromkeys(filter(None, map(_type_of, items)))
            undecided.append((keys, f"give {' or '.join(types)}, not {items[0]['input']!r}"))
            nearest_member = ""
        dropped += [mistake for name, rivals in members.items() if name != nearest_member for mistake in rivals]
    texts = [
        ((*mistake.keys, *_key_of(mistake.item)), TEXTS.get(mistake.item["type"], _plain)(mistake.item))
        for mistake in mistakes
        if mistake not in dropped
    ]
    return [": ".join(filter(None, (".".join(filter(None, (where, *keys))), text))) for keys, text in texts + undecided]


def _locate(item: ErrorDetails, content: Any) -> _Mistake:
    """Return an error with its location split into keys of the file and pydantic's names of union members."""
    keys: list[str] = []
    members: list[tuple[Keys, str]] = []
    here, is_known = content, content is not None
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
        elif entry != "[key]":  # of an error in a key
            members.append((tuple(keys), str(entry)))
    return _Mistake(tuple(keys), tuple(members), item)


def _unions(mistakes: Iterable[_Mistake]) -> dict[Keys, dict[str, list[_Mistake]]]:
    """Return the unions with no member that accepts the value: keys -> member -> its mistakes.

    Left out are unions whose member follows from a key of the value, such as `kind`: only that member has mistakes.
    """
    unions: dict[Keys, dict[str, list[_Mistake]]] = {}
    for mistake in mistakes:
        for keys, member in mistake.members:
            unions.setdefault(keys, {}).setdefault(member, []).append(mistake)
    return {keys: members for keys, members in unions.items() if len(members) > 1}


def _type_of(item: ErrorDetails) -> str:
    """Return what the value should have been, by the type of the error."""
    return TYPES.get(item["type"].split("_")[0], item["msg"].removeprefix("Input should be "))


def _describe(value: Any) -> str:
    """Return a value for a message; mappings and lists are not printed in full."""
    return {dict: "a mapping", list: "a list", type(None): "nothing"}.get(type(value), repr(value))


def _plain(item: ErrorDetails) -> str:
    text = item["msg"].removeprefix("Value error, ").replace("Tuple should", "List should")
    if isinstance(item["input"], dict | list) and not item["type"].endswith("_type"):
        return text  # the value is too long to print, and its type is right
    return f"{text}, not {_describe(item['input'])}"


def _own_message(item: ErrorDetails) -> str:
    return item["msg"].removeprefix("Value error, ")


def _wrong_container(item: ErrorDetails) -> str:
    return f"give {_type_of(item)}, not {_describe(item['input'])}"


def _no_number(item: ErrorDetails) -> str:
    is_number = re.fullmatch(r"\s*[-+]?[\d.]+(e[-+]?\d+)?\s*", str(item["input"]), re.IGNORECASE)
    return _plain(item) + "; write the number without quotes" * bool(is_number and isinstance(item["input"], str))


def _no_text(item: ErrorDetails) -> str:
    is_bool = isinstance(item["input"], bool)
    return _plain(item) + "; put it in quotes: YAML reads no and yes as false and true" * is_bool


def _wrong_pattern(item: ErrorDetails) -> str:
    pattern = item["ctx"]["pattern"]
    words = f"; write {PATTERNS[pattern]}" if pattern in PATTERNS else ""
    return f"{item['input']!r} does not match the pattern {pattern}{words}"


def _key_of(item: ErrorDetails) -> Keys:
    """Return the key, such as `kind`, by which a union is decided and which is wrong, missing or misspelt."""
    if "discriminator" not in item.get("ctx", {}):
        return ()
    key = item["ctx"]["discriminator"].strip("'")
    return (nearest(key, map(str, item["input"])) or key,) if isinstance(item["input"], dict) else (key,)


def _wrong_kind(item: ErrorDetails) -> str:
    known = re.findall(r"'(.*?)'", item["ctx"]["expected_tags"])
    return str(unknown(item["ctx"]["discriminator"].strip("'"), item["ctx"]["tag"], known))


def _no_kind(item: ErrorDetails) -> str:
    key, (found,) = item["ctx"]["discriminator"].strip("'"), _key_of(item)
    return "Field required" if found == key else str(unknown("key", found, [key]))


TEXTS: dict[str, Callable[[ErrorDetails], str]] = {
    **dict.fromkeys(("missing", "value_error", *CUSTOM), _own_message),
    **dict.fromkeys(("list_type", "tuple_type", "dict_type", "model_type", "model_attributes_type"), _wrong_container),
    **dict.fromkeys(("int_type", "float_type"), _no_number),
    "string_type": _no_text,
    "string_pattern_mismatch": _wrong_pattern,
    "union_tag_invalid": _wrong_kind,
    "union_tag_not_found": _no_kind,
}


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


class Problems:
    """A list of error messages, each beginning with the name of its file.

    Args:
        folder: the folder of the study; file names are printed relative to its parent.

    Attributes:
        lines: the messages.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[str] = []

    def add(self, path: Path | str, what: object) -> None:
        """Add one message about a file."""
        name = path
        if isinstance(path, Path) and path.is_relative_to(self.folder.parent):
            name = path.relative_to(self.folder.parent)
        line = printable(f"{name}: {what}")  # keys and names stand in it
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
            for line in readable(error, None, where):
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
            for line in readable(error, {} if content is None else content, where):
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


def without_anchors(path: Path, content: Any) -> Any:
    """Return the content of a file without the entries that only hold YAML anchors."""
    if not isinstance(content, dict):
        return content
    return {key: entry for key, entry in content.items() if str(key)[:1] != "_"}


def named(path: Path, model: Any, problems: Problems, names: Names | None = None) -> dict[str, Any]:
    """Load a file that maps names to models; return none if it does not exist, or if an entry has a problem."""
    if not is_there(path):
        return {}
    return one(path, dict[Name, model], problems, names, without_anchors) or {}


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
