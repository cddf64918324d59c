"""The verb that makes a run of ours the published numbers."""

from __future__ import annotations

import argparse

from retort.cli.base import argument, config_of, verb
from retort.registry import unknown
from retort.specs.book import open_book


@verb("record", argument("paper", help="the paper whose published numbers are of a run of ours"))
def record_run(given: argparse.Namespace) -> int:
    """Make the last run's numbers the published ones of a paper that is our own study."""
    from retort.tables.record import record

    book = open_book(config_of(given))
    if given.paper not in book.papers:
        raise unknown("paper", given.paper, book.papers)
    print(f"recorded in {', '.join(record(book, given.paper))}")
    return 0
