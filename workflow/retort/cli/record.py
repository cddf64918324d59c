"""The verb `record`, which stores the numbers of a run of ours."""

from __future__ import annotations

import argparse

from retort.cli.base import argument, config_of, verb
from retort.registry import unknown
from retort.study.load import open_study


@verb("record", argument("paper", help="a study of ours, or a paper at a scale that is smaller than printed"))
def record_run(arguments: argparse.Namespace) -> int:
    """Store the numbers of the last run: of a study of ours as its published ones, else beside those of its scale."""
    from retort.tables.record import record
    from retort.tables.recordings import record_scale

    study = open_study(config_of(arguments))
    if arguments.paper not in study.papers:
        raise unknown("paper", arguments.paper, study.papers)
    if study.papers[arguments.paper].ours:
        written = record(study, arguments.paper)
    else:
        written = [record_scale(study, arguments.paper)]
    print(f"recorded in {', '.join(written)}")
    return 0
