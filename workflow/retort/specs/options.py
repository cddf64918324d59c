"""Check the options that a YAML file gives to an objective, a reader or a file format: names, types, ranges.

An objective writes the limits of its numbers as a literal on its class, in pydantic's words, which the catalogue reads:

    limits = {"temperature": {"ge": 0.001, "le": 1000}}
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from retort.registry import unknown
from retort.specs.catalogue import Entry

# type -> what a message calls its values
TYPE_NAMES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a text",
    "list": "a list",
    "list[float]": "a list of numbers",
    "list[str]": "a list of texts",
}
COMPARED = {"gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le}
WORDS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
SEED = {"ge": 0, "lt": 2**32}  # the limits of every option that is called 'seed'


def check_options(registered: str, entry: Entry, options: dict[str, Any]) -> list[str]:
    """Return what is wrong with an entry's options: unknown names, wrong types, values that are not allowed.

    Args:
        registered: what the entry is, such as 'objective'.
        entry: the entry.
        options: name of an option -> value.
    """
    problems = []
    for name, value in options.items():
        if name not in entry.options:
            problems.append(str(unknown(f"option of {registered} '{entry.name}'", name, entry.options)))
            continue
        wrong = _wrong_type(entry, name, value)
        checks = (_wrong_list, _wrong_text, _out_of_range)
        texts = [wrong] if wrong else [text for check in checks for text in check(entry, name, value)]
        problems += [f"option '{name}' of {registered} '{entry.name}' {text}" for text in texts]
        if not wrong:
            problems += _not_allowed(registered, entry, name, value)
    return problems


def _is_of(value: Any, type_name: str) -> bool:
    """Return whether a value is of a type; true and false are no numbers, and a type not named here fits any value."""
    if type_name.startswith("list["):
        return isinstance(value, list) and all(_is_of(entry, type_name[5:-1]) for entry in value)
    if type_name in ("int", "float"):
        return isinstance(value, (int, float) if type_name == "float" else int) and not isinstance(value, bool)
    return isinstance(value, {"bool": bool, "str": str, "list": list, "None": type(None)}.get(type_name, object))


def _wrong_type(entry: Entry, name: str, value: Any) -> str | None:
    """Return a message if an option's value has a wrong type, else None."""
    default = entry.options[name]
    types = entry.types.get(name, ()) if default is None else (type(default).__name__,)
    if not types or any(_is_of(value, type_name) for type_name in types):
        return None
    expected = " or ".join(TYPE_NAMES.get(type_name, type_name) for type_name in types if type_name != "None")
    return f"takes {expected}, not {value!r}"


def _wrong_text(entry: Entry, name: str, value: Any) -> Iterator[str]:
    """Yield a message if a text must be one character or the name of an encoding, and is not."""
    if name in entry.facts.get("one_character", ()) and not (len(value) == 1 and value not in "\r\n"):
        yield f"takes one character, not {value!r}"
    if name == "encoding":
        try:
            "a".encode(value)
        except (LookupError, ValueError):  # also of codecs that are no encodings of text
            yield f"takes an encoding such as utf-8 or latin-1, not {value!r}"


def _wrong_list(entry: Entry, name: str, value: Any) -> Iterator[str]:
    """Yield a message if a list is empty, and one if it has a text or a choice twice."""
    if value == []:
        yield "is an empty list; leave it out"
    if isinstance(value, list) and (name in entry.choices or all(isinstance(each, str) for each in value)):
        twice = [each for number, each in enumerate(value) if each in value[:number]]
        yield from (f"lists {each!r} twice" for each in twice[:1])


def _out_of_range(entry: Entry, name: str, value: Any) -> Iterator[str]:
    """Yield a message if a number, or a number of a list, is outside its limits."""
    limits = SEED if name == "seed" else entry.facts.get("limits", {}).get(name, {})
    numbers = [each for each in (value if isinstance(value, list) else [value]) if _is_of(each, "float")]
    wrong = [each for each in numbers if not all(COMPARED[limit](each, bound) for limit, bound in limits.items())]
    if wrong:
        yield f"must be {' and '.join(f'{WORDS[limit]} {bound}' for limit, bound in limits.items())}, not {wrong[0]!r}"


def _not_allowed(registered: str, entry: Entry, name: str, value: Any) -> Iterator[str]:
    """Yield a message for each value of an option, or of its list, that is not one of the option's choices."""
    allowed = entry.choices.get(name, ())
    for each in value if isinstance(value, list) else [value]:
        if allowed and each not in allowed:
            yield str(unknown(f"{name} of {registered} '{entry.name}'", each, allowed))
