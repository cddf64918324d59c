"""The verbs `published` and `audit`, on the numbers that papers print."""

from __future__ import annotations

import argparse

from retort.cli.base import argument, config_of, verb
from retort.study.load import open_whole


@verb(
    "published",
    argument("what", choices=["check", "cells", "show"], help="count, list every value as CSV, or show a table"),
    argument("table", nargs="?", default="", help="with show: paper/table"),
)
def published_numbers(arguments: argparse.Namespace) -> int:
    """Count, list as CSV or show the numbers that all papers print, whichever papers the configuration names.

    `check` also fails on a deviation that names no cell and no setting.
    """
    from retort.tables import deviations, published

    study = open_whole(config_of(arguments))
    if arguments.what == "check":
        print("\n".join(published.counts(study)))
        problems = deviations.unknown_names(study)
        print("\n".join(problems) or "every deviation names a cell or a setting")
        return 1 if problems else 0
    if arguments.what == "cells":
        print(published.cells_csv(study), end="")
    else:
        print(published.show(study, arguments.table))
    return 0


@verb("audit")
def audit_papers(arguments: argparse.Namespace) -> int:
    """Print which of the papers' printed numbers cannot be right, or cannot both be right."""
    from retort.audit import as_text, audit

    print(as_text(audit(open_whole(config_of(arguments)))))
    return 0
