"""The registry of kinds of figures: how each kind collects its tidy lines, and how it draws them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from retort.registry import Registry
from retort.study.study import Study
from retort.tables.collect import Record, Scores
from retort.tables.tidy import Line


@dataclass(frozen=True)
class Inputs:
    """The inputs of a figure: the study, the figure's paper and name, and the contents of the files that it reads."""

    study: Study
    paper: str
    name: str
    scores: Scores = field(default_factory=dict)
    profiles: Mapping[str, Record] = field(default_factory=dict)
    tables: Mapping[str, list[Line]] = field(default_factory=dict)

    @property
    def spec(self) -> Any:
        """The figure's YAML file."""
        return self.study.exhibits[self.paper, self.name]


@dataclass(frozen=True)
class Kind:
    """A kind of figure.

    Args:
        collect: returns the tidy lines of a figure.
        draw: draws the lines and saves the figure at each path, by file format ('svg', 'png').
    """

    collect: Callable[[Inputs], list[Line]]
    draw: Callable[[Inputs, list[Line], dict[str, str]], None]


kinds: Registry[Kind] = Registry("kind of figure")
