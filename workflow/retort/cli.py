"""The `retort` command: list, check, record, published and audit; none of them imports torch."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from retort import mappings
from retort.errors import RetortError
from retort.registry import Registry, unknown
from retort.specs import catalogue
from retort.specs.base import read_yaml
from retort.specs.book import Book, open_book, read, whole
from retort.specs.config import ROOT, Config, read_config
from retort.specs.expand import expand

Verb = Callable[[argparse.Namespace], int]
verbs: Registry[Verb] = Registry("verb")


def _config(given: argparse.Namespace) -> Config:
    path = Path(given.config) if given.config else ROOT / "config.yaml"
    if not path.is_file():
        raise RetortError(f"{path} does not exist", "name a configuration with --config")
    return read_config(read_yaml(path))


def _lines(title: str, entries: dict[str, str]) -> list[str]:
    width = max((len(name) for name in entries), default=0)
    return [f"{title}:", *(f"  {name:<{width}}  {what}" for name, what in entries.items()), ""]


def _kinds(book: Book) -> dict[str, dict[str, str]]:
    exhibits = {f"{paper}/{name}": shown.title for (paper, name), shown in sorted(book.exhibits.items())}
    return {
        "objectives": {name: entry.summary for name, entry in catalogue.objectives().items()},
        "mappings": {name: (mappings.mappings[name].__doc__ or "").splitlines()[0] for name in mappings.mappings},
        "tasks": {name: task.title for name, task in book.tasks.items()},
        "students": {
            **{name: teacher.title for name, teacher in book.teachers.items()},
            **{name: student.title for name, student in book.students.items()},
        },
        "tables": exhibits,
    }


@verbs.register("list")
def list_everything(given: argparse.Namespace) -> int:
    """Print objectives, mappings, tasks, students and tables, each with one line of what it is."""
    book, problems = read(_config(given))
    kinds = _kinds(book)
    if given.what and given.what not in kinds:
        raise unknown("list", given.what, kinds)
    for title, entries in kinds.items():
        if given.what in (None, title):
            print("\n".join(_lines(title, entries)))
    if problems:
        print(f"{len(problems)} problems in the study's files; see `retort check`", file=sys.stderr)
    return 0


@verbs.register("check")
def check_everything(given: argparse.Namespace) -> int:
    """Validate every YAML file and print all problems; the exit status is 1 if there are any."""
    config = _config(given)
    book, problems = read(config)
    for problem in problems:
        print(problem)
    if problems:
        print(f"{len(problems)} problem{'s' * (len(problems) != 1)}", file=sys.stderr)
        return 1
    cells = expand(book)
    scores = {(cell.student, cell.task, cell.seed) for cell in cells}
    papers = f"{len(book.papers)} paper{'s' * (len(book.papers) != 1)}"
    print(
        f"{papers}, {len(book.exhibits)} tables and figures, {len(book.students)} students, "
        f"{len(book.tasks)} tasks: no problem; {len(cells)} cells read {len(scores)} scores "
        f"at scale {config.scale} in {config.resolved_precision()}"
    )
    return 0


@verbs.register("record")
def record_run(given: argparse.Namespace) -> int:
    """Make the last run's numbers the published ones of a paper that is our own study."""
    from retort.tables.record import record

    book = open_book(_config(given))
    if given.paper not in book.papers:
        raise unknown("paper", given.paper, book.papers)
    print(f"recorded in {', '.join(record(book, given.paper))}")
    return 0


@verbs.register("published")
def published_numbers(given: argparse.Namespace) -> int:
    """Count, list as CSV or show what the papers print, whichever papers the configuration names."""
    from retort.tables import published

    book = open_book(whole(_config(given)))
    if given.what == "check":
        print("\n".join(published.counts(book)))
    elif given.what == "cells":
        print(published.cells_csv(book), end="")
    else:
        print(published.show(book, given.table))
    return 0


@verbs.register("audit")
def audit_papers(given: argparse.Namespace) -> int:
    """Print what cannot be right, or cannot both be, in what the papers print."""
    from retort.audit import as_text, audit

    print(as_text(audit(open_book(whole(_config(given))))))
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line's parser."""
    top = argparse.ArgumentParser(prog="retort", description="Rebuild the tables of papers on distilling encoders.")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--config", help="configuration file (default: config.yaml of the repository)")
    under = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name in verbs:
        said = (verbs[name].__doc__ or "").splitlines()[0]
        verb = under.add_parser(name, help=said, description=said, parents=[shared])
        if name == "list":
            verb.add_argument("what", nargs="?", help="objectives, mappings, tasks, students or tables")
        if name == "record":
            verb.add_argument("paper", help="the paper whose published numbers are of a run of ours")
        if name == "published":
            verb.add_argument("what", choices=["check", "cells", "show"], help="count, list or show")
            verb.add_argument("table", nargs="?", default="", help="with show: paper/table")
    return top


def main(arguments: list[str] | None = None) -> Any:
    """The exit status: 0, 1 for problems found, 2 for a call that cannot be carried out."""
    given = parser().parse_args(arguments)
    try:
        status = verbs[given.verb](given)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader has seen enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except RetortError as error:
        print(f"retort {given.verb}: {error}", file=sys.stderr)
        return 2
