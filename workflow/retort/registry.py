"""Names to things, with an answer that helps when a name is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from retort.errors import RetortError

Thing = TypeVar("Thing")


def unknown(kind: str, name: object, known: Iterable[str]) -> RetortError:
    """The error for a name that is not known, with the nearest known name or the whole list."""
    names = sorted(known)
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.6)
    hint = f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(names) or 'none'}"
    return RetortError(f"no {kind} is called '{name}'", hint)


class Registry(Generic[Thing]):
    """A dictionary that things join by a decorator.

    Args:
        kind: what the things are, for the error text ('objective').
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._things: dict[str, Thing] = {}

    def register(self, name: str) -> Callable[[Thing], Thing]:
        """A decorator that adds its thing under `name`; a second thing of one name is an error."""

        def add(thing: Thing) -> Thing:
            if name in self._things:
                raise RetortError(f"two {self.kind}s are called '{name}'")
            self._things[name] = thing
            return thing

        return add

    def __getitem__(self, name: str) -> Thing:
        if name not in self._things:
            raise unknown(self.kind, name, self._things)
        return self._things[name]

    def __contains__(self, name: object) -> bool:
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._things))

    def __len__(self) -> int:
        return len(self._things)
