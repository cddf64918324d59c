"""The verb `record`, which stores the numbers of a run of ours as published numbers."""

from __future__ import annotations

import argparse

from retort.cli.base import argument, config_of, verb
from retort.registry import unknown
from retort.study.load import open_study


@verb("record", argument("paper", help="the paper whose published numbers are of a run of ours"))
def record_run(arguments: argparse.Namespace) -> int:
    """Store the numbers of the last run as the published numbers of a paper that is our own study."""
    from retort.tables.record import record

    study = open_study(config_of(arguments))
    if arguments.paper not in study.papers:
        raise unknown("paper", arguments.paper, study.papers)
    print(f"recorded in {', '.join(record(study, arguments.paper))}")
    return 0
