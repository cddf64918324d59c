"""The verb `pin`, which asks the Hugging Face hub for commits."""

from __future__ import annotations

import argparse

from retort.cli.base import argument, config_of, verb
from retort.study.load import read


@verb(
    "pin",
    argument("source", nargs="*", help="sources of the hub (default: all that have no commit)"),
    argument("--revision", help="branch, tag or commit to ask for (default: the branch that the file names)"),
    argument("--renew", action="store_true", help="replace commits that the files name"),
)
def pin_sources(arguments: argparse.Namespace) -> int:
    """Ask the Hugging Face hub for the commit of each source that has none, and write it into the source's file."""
    from retort.plan.pinning import pin

    study, _ = read(config_of(arguments))
    for line in pin(study, arguments.source, arguments.revision, arguments.renew):
        print(line)
    return 0
