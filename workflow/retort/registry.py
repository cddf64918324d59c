"""A registry of entries by name. An unknown name raises an error that suggests the nearest known one."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from retort import own_code
from retort.errors import RetortError

Entry = TypeVar("Entry")
MANY = 60  # the most names that a message lists


def nearest_name(name: object, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to a name; None if none is similar.

    A name that differs only in a digit is no misspelling: 'table4' is never suggested for 'table9'.
    """
    near = difflib.get_close_matches(str(name), sorted(known), n=1, cutoff=0.6)
    return near[0] if near and _without_digits(near[0]) != _without_digits(str(name)) else None


def _without_digits(name: str) -> str:
    return re.sub(r"\d", "#", name)


def unknown_name(noun: str, name: object, known: Iterable[str]) -> RetortError:
    """Return the error for an unknown name; it suggests the nearest known name, or lists all of them."""
    names = sorted(known)
    near = nearest_name(name, names)
    listed = ", ".join([*map(quote_commas, names[:MANY]), *["..."] * (len(names) > MANY)])
    hint = f"did you mean '{near}'?" if near else f"there are: {listed or 'none'}"
    return RetortError(f"no {noun} is called '{name}'", hint)


def quote_commas(name: str) -> str:
    """Return a name for a list of names: in quotes if it holds a comma, as labels of rows may."""
    return f"'{name}'" if "," in name else name


class Registry(dict[str, Entry]):
    """A dictionary to which a decorator adds entries; it is iterated in the order of the names.

    Args:
        noun: what an entry is, for error messages, such as 'objective'.
    """

    def __init__(self, noun: str) -> None:
        super().__init__()
        self.noun = noun

    def register(self, name: str, **facts: Any) -> Callable[[Entry], Entry]:
        """Return a decorator that adds an entry under `name`.

        Args:
            name: the name.
            **facts: facts about a function, as literals, which the catalogue reads from the source; a class has them
                as attributes.

        Raises:
            RetortError: raised by the decorator if another entry has this name.
        """

        def add(entry: Entry) -> Entry:
            if name in self:
                other = sys.modules[self[name].__module__].__file__
                raise RetortError(f"two {self.noun}s are called '{name}'", f"rename one; the other is in {other}")
            self[name] = entry
            return entry

        return add

    def __missing__(self, name: str) -> Entry:
        own_code.load(f"{self.noun}s", name)
        if name in self:
            return self[name]
        raise unknown_name(self.noun, name, self)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.keys()))
