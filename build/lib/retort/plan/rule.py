"""A rule of the workflow: what its jobs make and read, for Snakemake and for all that plans without it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Wildcards = Any

WILDCARD = re.compile(r"{(\w+)}")
NAME = "[^/]+"  # what a wildcard matches without a constraint


@dataclass(frozen=True)
class Rule:
    """A rule of the workflow.

    Args:
        kind: what its jobs do: the name of what the cost model estimates, and mostly of its script. Several rules may
            be of one kind, with other seeds or students.
        outputs: name -> a path or a list of paths, with wildcards.
        inputs: name -> a path, a list of paths, or a function from wildcards to these.
        params: name -> a value, or a function from wildcards to it.
        constraints: wildcard -> regular expression; other wildcards match any text without '/'.
        label: what tells its log and its jobs from those of the same kind and wildcards, such as seeds.
        seeds: the seeds that a job trains, one after another.
        students: the companions that a job distils.
        stamped: whether its first outputs hold its settings, and are done only with the present ones.
        script: the name of its script, if that is not its kind.
    """

    kind: str
    outputs: Mapping[str, Any]
    inputs: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    constraints: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    seeds: tuple[int, ...] = ()
    students: tuple[str, ...] = ()
    stamped: bool = False
    script: str = ""

    @property
    def name(self) -> str:
        """Its name in Snakemake."""
        return "_".join([self.kind, *re.findall(r"\w+", self.label)])

    @cached_property
    def paths(self) -> list[str]:
        """Its outputs as one list of paths with wildcards."""
        return [path for value in self.outputs.values() for path in paths_in(value)]

    @cached_property
    def wildcards(self) -> list[str]:
        """The names of its wildcards, in the order of its first output."""
        return list(dict.fromkeys(WILDCARD.findall(self.paths[0])))

    @property
    def log(self) -> str:
        """The path of its log, with wildcards: a job is known by its log."""
        parts = [*(f"{{{name}}}" for name in self.wildcards), *filter(None, [self.label])]
        return f"results/logs/{self.kind}{'/' * bool(parts)}{'.'.join(parts)}.log"

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

    def reads(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the inputs of a job: name -> a path or a list of paths."""
        return {
            name: value(wildcards) if callable(value) else _filled(value, wildcards)
            for name, value in self.inputs.items()
        }

    def input_paths(self, wildcards: Wildcards) -> list[str]:
        """Return the inputs of a job as one list of paths."""
        return [path for value in self.reads(wildcards).values() for path in paths_in(value)]

    def makes(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the outputs of a job: name -> a path or a list of paths."""
        return {name: _filled(value, wildcards) for name, value in self.outputs.items()}

    def output_paths(self, wildcards: Wildcards) -> list[str]:
        """Return the outputs of a job as one list of paths."""
        return [path for value in self.makes(wildcards).values() for path in paths_in(value)]


def _filled(value: Any, wildcards: Wildcards) -> Any:
    """Return a path, or a list of paths, with the values of wildcards filled in."""
    values = vars(wildcards)
    return value.format(**values) if isinstance(value, str) else [path.format(**values) for path in value]


def paths_in(value: Any) -> list[str]:
    """Return the paths of an input or output: itself, or those of a list."""
    return [value] if isinstance(value, str) else list(value)


def matching(names: Iterable[str]) -> str:
    """Return a regular expression that matches exactly these names; without names, it matches nothing."""
    return "|".join(re.escape(name) for name in sorted(names)) or "(?!)"
