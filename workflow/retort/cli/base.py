"""The verbs (subcommands) of the command line: how one is defined, and how it reads the configuration."""

from __future__ import annotations

import argparse
import contextlib
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retort.errors import RetortError
from retort.registry import Registry
from retort.specs.config import ROOT, Config, content_of, read_config

Run = Callable[[argparse.Namespace], int]
CONFIG = "config.yaml"
WIDTH = 120  # of the lines that are printed
Argument = tuple[tuple[str, ...], dict[str, Any]]


@dataclass(frozen=True)
class Verb:
    """A subcommand: a function that returns the exit status, whose docstring's first line is the help text."""

    run: Run
    arguments: tuple[Argument, ...]


verbs: Registry[Verb] = Registry("verb")


def argument(*names: str, **options: Any) -> Argument:
    """Return an argument of a verb; the parameters are those of `argparse.ArgumentParser.add_argument`."""
    return names, options


def positive_number(text: str) -> float:
    """Return the number that an argument gives.

    Raises:
        ArgumentTypeError: it is none, not finite, or not above 0.
    """
    with contextlib.suppress(ValueError):
        if 0 < (number := float(text)) < math.inf:
            return number
    raise argparse.ArgumentTypeError(f"{text} is no number above 0")


def verb(name: str, *arguments: Argument) -> Callable[[Run], Run]:
    """Return a decorator that registers a function as a verb."""

    def add(run: Run) -> Run:
        verbs.register(name)(Verb(run, arguments))
        return run

    return add


def wrapped_line(text: str, indent: int = 2) -> str:
    """Return a line of text as lines of at most `WIDTH` characters, of which all but the first are indented."""
    return textwrap.fill(text, WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def config_of(arguments: argparse.Namespace) -> Config:
    """Read and check the configuration of `--config`, by default the `config.yaml` of the repository.

    As with Snakemake's `--configfile`, a key that the named file lacks has the value of `config.yaml` in the current
    folder, if there is one.

    Raises:
        RetortError: a file does not exist, or is wrong.
    """
    path = Path(arguments.config) if arguments.config else ROOT / CONFIG
    if not (ROOT / "workflow").is_dir():
        hint = (
            "work in a clone of retort: `make install` there gives its command, whose papers and rules lie next to it"
        )
        raise RetortError("this is the package without its workflow", hint)
    if not path.exists():
        raise RetortError(f"{path} does not exist", "name a configuration with --config")
    below = [Path(CONFIG)] if arguments.config and Path(CONFIG).exists() else []
    keys: dict[str, object] = {}
    origins: dict[str, str] = {}
    for file in (*below, path):
        content = content_of(file)
        if not isinstance(content, dict):
            return read_config(content, file.name)  # raises: it names the file and what is wrong
        keys |= content
        origins |= dict.fromkeys(content, file.name)
    return read_config(keys, path.name, origins)
