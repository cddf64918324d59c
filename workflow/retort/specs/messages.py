"""Turn the errors of pydantic into one line for each mistake: the key, what is wrong, what would be right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from retort.registry import nearest, unknown

Keys = tuple[str, ...]
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
    r"^\S+$": "a name without spaces",
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
    texts = [_text(mistake) for mistake in mistakes if not _is_rival(mistake, mistakes)]
    above = (where,) if where else ()
    return [
        ": ".join(filter(None, (".".join((*above, *keys)), text))) for keys, text in (*texts, *_undecided(mistakes))
    ]


def _locate(item: ErrorDetails, content: Any) -> _Mistake:
    """Return an error with its location split into keys of the file and pydantic's names of union members."""
    keys: list[str] = []
    members: list[tuple[Keys, str]] = []
    here, is_known = content, content is not None
    *_, last = [None, *range(len(item["loc"]))]
    for position, entry in enumerate(item["loc"]):
        if isinstance(entry, int) and isinstance(here, (list, tuple)):
            keys.append(str(entry + 1))
            here = here[entry] if entry < len(here) else None  # a list that is too short
        elif isinstance(here, dict) and entry in here:
            keys.append(str(entry))
            here = here[entry]
        elif not is_known:
            keys.append(str(entry + 1 if isinstance(entry, int) else entry))
        elif item["type"] == "missing" and position == last:
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


def _is_rival(mistake: _Mistake, mistakes: list[_Mistake]) -> bool:
    """Return whether the mistake can be dropped, because another member of its union is nearer to the value."""
    for keys, members in _unions(mistakes).items():
        ways = [way for way in mistake.members if way[0] == keys]
        if ways and ways[0][1] != _nearest_member(keys, members):
            return True
    return False


def _nearest_member(keys: Keys, members: dict[str, list[_Mistake]]) -> str | None:
    """Return the member of a union with the deepest mistake in the value; None if no member has its type."""
    depths = {member: max(len(mistake.keys) for mistake in mistakes) for member, mistakes in members.items()}
    deepest = max(depths, key=lambda member: depths[member])
    return deepest if depths[deepest] > len(keys) else None


def _undecided(mistakes: list[_Mistake]) -> list[tuple[Keys, str]]:
    """Return the keys and the text of each union whose value has the type of no member."""
    texts = []
    for keys, members in _unions(mistakes).items():
        if _nearest_member(keys, members) is None:
            items = [mistake.item for rivals in members.values() for mistake in rivals]
            types = list(dict.fromkeys(filter(None, (_type_of(item) for item in items))))
            texts.append((keys, f"give {' or '.join(types)}, not {items[0]['input']!r}"))
    return texts


def _type_of(item: ErrorDetails) -> str:
    """Return what the value should have been, by the type of the error."""
    return TYPES.get(item["type"].split("_")[0], item["msg"].removeprefix("Input should be "))


def _text(mistake: _Mistake) -> tuple[Keys, str]:
    return TEXTS.get(mistake.item["type"], _plain)(mistake)


def _plain(mistake: _Mistake) -> tuple[Keys, str]:
    item = mistake.item
    text = item["msg"].removeprefix("Value error, ").replace("Tuple should", "List should")
    if isinstance(item["input"], dict | list) and not item["type"].endswith("_type"):
        return mistake.keys, text  # the value is too long to print, and its type is right
    return mistake.keys, f"{text}, not {_describe(item['input'])}"


def _describe(value: Any) -> str:
    """Return a value for a message; mappings and lists are not printed in full."""
    kinds = {dict: "a mapping", list: "a list", type(None): "nothing"}
    return kinds.get(type(value), repr(value))


def _wrong_container(mistake: _Mistake) -> tuple[Keys, str]:
    """Return the text for a value that is no list or no mapping."""
    return mistake.keys, f"give {_type_of(mistake.item)}, not {_describe(mistake.item['input'])}"


def _quoted_number(mistake: _Mistake) -> tuple[Keys, str]:
    keys, text = _plain(mistake)
    value = mistake.item["input"]
    is_number = isinstance(value, str) and re.fullmatch(r"\s*[-+]?[\d.]+(e[-+]?\d+)?\s*", value, re.IGNORECASE)
    return keys, text + "; write the number without quotes" * bool(is_number)


def _own_message(mistake: _Mistake) -> tuple[Keys, str]:
    return mistake.keys, mistake.item["msg"].removeprefix("Value error, ")


def _not_text(mistake: _Mistake) -> tuple[Keys, str]:
    keys, text = _plain(mistake)
    is_bool = isinstance(mistake.item["input"], bool)
    return keys, text + "; put it in quotes: YAML reads no and yes as false and true" * is_bool


def _wrong_pattern(mistake: _Mistake) -> tuple[Keys, str]:
    pattern = mistake.item["ctx"]["pattern"]
    words = f"; write {PATTERNS[pattern]}" if pattern in PATTERNS else ""
    return mistake.keys, f"{mistake.item['input']!r} does not match the pattern {pattern}{words}"


def _wrong_kind(mistake: _Mistake) -> tuple[Keys, str]:
    """Return the text for a key, such as `kind`, whose value names no member of a union."""
    context = mistake.item["ctx"]
    key = context["discriminator"].strip("'")
    return (*mistake.keys, key), str(unknown(key, context["tag"], re.findall(r"'(.*?)'", context["expected_tags"])))


def _no_kind(mistake: _Mistake) -> tuple[Keys, str]:
    """Return the text for a missing or misspelt key, such as `kind`, that names a member of a union."""
    key = mistake.item["ctx"]["discriminator"].strip("'")
    near = nearest(key, map(str, mistake.item["input"])) if isinstance(mistake.item["input"], dict) else None
    if near is None:
        return (*mistake.keys, key), "Field required"
    return (*mistake.keys, near), str(unknown("key", near, [key]))


TEXTS: dict[str, Callable[[_Mistake], tuple[Keys, str]]] = {
    "missing": _own_message,
    "value_error": _own_message,
    "unknown_key": _own_message,
    "no_source": _own_message,
    "string_type": _not_text,
    "int_type": _quoted_number,
    "float_type": _quoted_number,
    "list_type": _wrong_container,
    "tuple_type": _wrong_container,
    "dict_type": _wrong_container,
    "model_type": _wrong_container,
    "model_attributes_type": _wrong_container,
    "string_pattern_mismatch": _wrong_pattern,
    "union_tag_invalid": _wrong_kind,
    "union_tag_not_found": _no_kind,
}
