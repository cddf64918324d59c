"""The kinds of figures by name: how each gets its tidy lines, and how it is drawn from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from retort.registry import Registry
from retort.specs.book import Book
from retort.tables.collect import Record, Scores
from retort.tables.tidy import Line


@dataclass(frozen=True)
class Inputs:
    """What a figure is made of: the book, where the figure stands in it, the files that it reads."""

    book: Book
    paper: str
    name: str
    scores: Scores = field(default_factory=dict)
    profiles: Mapping[str, Record] = field(default_factory=dict)
    tables: Mapping[str, list[Line]] = field(default_factory=dict)

    @property
    def spec(self) -> Any:
        """The figure's YAML file."""
        return self.book.exhibits[self.paper, self.name]


@dataclass(frozen=True)
class Kind:
    """A kind of figure."""

    collect: Callable[[Inputs], list[Line]]
    draw: Callable[[Inputs, list[Line], dict[str, str]], None]


kinds: Registry[Kind] = Registry("kind of figure")
