"""What a verb of the command line is: a function, its arguments, and the configuration it reads."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retort.errors import RetortError
from retort.registry import Registry
from retort.specs.base import read_yaml
from retort.specs.config import ROOT, Config, read_config

Run = Callable[[argparse.Namespace], int]
Argument = tuple[tuple[str, ...], dict[str, Any]]


@dataclass(frozen=True)
class Verb:
    """A function that answers with the exit status; its docstring's first line is the verb's help."""

    run: Run
    arguments: tuple[Argument, ...]


verbs: Registry[Verb] = Registry("verb")


def argument(*names: str, **options: Any) -> Argument:
    """One argument of a verb, in argparse's words."""
    return names, options


def verb(name: str, *arguments: Argument) -> Callable[[Run], Run]:
    """A decorator that makes a function a verb."""

    def add(run: Run) -> Run:
        verbs.register(name)(Verb(run, arguments))
        return run

    return add


def config_of(given: argparse.Namespace) -> Config:
    """The checked configuration that a call names; that of the repository where it names none.

    Raises:
        RetortError: there is no such file.
    """
    path = Path(given.config) if given.config else ROOT / "config.yaml"
    if not path.is_file():
        raise RetortError(f"{path} does not exist", "name a configuration with --config")
    return read_config(read_yaml(path))
