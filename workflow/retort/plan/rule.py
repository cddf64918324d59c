"""A rule of the workflow as data: what its jobs make and read, for all that plans without Snakemake."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Wildcards = Any
Paths = str | list[str]
Input = str | Callable[[Wildcards], Paths]

WILDCARD = re.compile(r"{(\w+)}")
NAME = "[^/]+"  # what a wildcard matches without a constraint
LETTER = "[A-Za-z0-9-]"  # of the name of a student or teacher
NOTHING = "(?!)"


@dataclass(frozen=True)
class Rule:
    """A rule of the workflow.

    Args:
        name: its name in Snakemake.
        outputs: name -> a path with wildcards.
        inputs: name -> a path with wildcards, or a function from wildcards to a path or a list of paths.
        params: name -> a value, or a function from wildcards to it.
        constraints: wildcard -> regular expression; other wildcards match any text without '/'.
        script: the name of its script, if that is not its own.
    """

    name: str
    outputs: Mapping[str, str]
    inputs: Mapping[str, Input] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    constraints: Mapping[str, str] = field(default_factory=dict)
    script: str = ""

    @cached_property
    def paths(self) -> list[str]:
        """Its outputs as one list of paths with wildcards."""
        return list(self.outputs.values())

    @cached_property
    def wildcards(self) -> list[str]:
        """The names of its wildcards, in the order of its first output."""
        return list(dict.fromkeys(WILDCARD.findall(self.paths[0])))

    @property
    def log(self) -> str:
        """The path of its log, with wildcards: a job is known by its log."""
        parts = [f"{{{name}}}" for name in self.wildcards]
        return f"results/logs/{self.name}{'/' * bool(parts)}{'.'.join(parts)}.log"

    def key(self, wildcards: Wildcards) -> str:
        """Return the path of a job's log."""
        return self.log.format(**vars(wildcards))

    @cached_property
    def patterns(self) -> list[re.Pattern[str]]:
        """Its outputs as regular expressions, whose groups are the wildcards."""
        return [re.compile(self._expression(path)) for path in self.paths]

    def _expression(self, path: str) -> str:
        seen = set[str]()

        def group(name: str) -> str:
            if name in seen:
                return f"(?P={name})"
            seen.add(name)
            return f"(?P<{name}>{self.constraints.get(name, NAME)})"

        parts = WILDCARD.split(path)  # text, name, text, name, ..., text
        return "".join(group(part) if index % 2 else re.escape(part) for index, part in enumerate(parts))

    def reads(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the inputs of a job: name -> a path or a list of paths."""
        given = vars(wildcards)
        return {name: one(wildcards) if callable(one) else one.format(**given) for name, one in self.inputs.items()}

    def input_paths(self, wildcards: Wildcards) -> list[str]:
        """Return the inputs of a job as one list of paths."""
        return [path for value in self.reads(wildcards).values() for path in paths_in(value)]

    def makes(self, wildcards: Wildcards) -> dict[str, str]:
        """Return the outputs of a job: name -> path."""
        return {name: path.format(**vars(wildcards)) for name, path in self.outputs.items()}


def paths_in(value: Paths) -> list[str]:
    """Return the paths of an input: itself, or those of a list."""
    return [value] if isinstance(value, str) else list(value)


def given(give: Callable[..., Any], *names: str) -> Callable[[Any, Wildcards], Any]:
    """Return a method from a function of the plan, which `self` has, and of the values of some wildcards."""
    return lambda self, of: give(self.plan, *(getattr(of, name) for name in names))


def one_of(names: Iterable[str]) -> str:
    """Return a regular expression that matches exactly these names; without names, it matches nothing."""
    return "|".join(re.escape(name) for name in sorted(names)) or NOTHING


def apart(names: Iterable[str], others: Iterable[str]) -> str:
    """Return a regular expression that matches these names and none of the others; of further names it says nothing.

    It is a tree of the first letters that tell both apart. Snakemake reads a constraint again for each path of each
    job: a list of all names would make planning grow with the square of a study.

    Args:
        names: letters, digits and dashes each.
        others: names of the same kind, none of them in `names`.
    """

    def below(prefix: str, mine: list[str], theirs: list[str]) -> str:
        mine, theirs = ([name for name in each if name.startswith(prefix)] for each in (mine, theirs))
        if not (mine and theirs):
            return "" if mine else NOTHING
        ends = dict.fromkeys(name[len(prefix) : len(prefix) + 1] for name in mine)
        trees = {end: below(prefix + end, mine, theirs) if end else f"(?!{LETTER})" for end in ends}
        alone = "".join(end for end, tree in trees.items() if not tree)  # first letters that no other name has
        ways = [end + tree for end, tree in trees.items() if tree]
        ways += [f"[{alone}]" if len(alone) > 1 else alone] if alone else []
        return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"

    return f"{below('', sorted(names), sorted(others))}{LETTER}*"
