"""The verb `record`, which stores the numbers of a run of ours."""

from __future__ import annotations

import argparse

from retort.cli.base import argument, config_of, verb
from retort.errors import RetortError
from retort.registry import unknown
from retort.study.load import open_study, with_every_paper


@verb("record", argument("paper", help="a study of ours, or a paper at a scale that is smaller than printed"))
def record_run(arguments: argparse.Namespace) -> int:
    """Store the numbers of the last run: of a study of ours as its published ones, else beside those of its scale."""
    from retort.tables.record import record
    from retort.tables.recordings import record_scale

    config = config_of(arguments)
    study, every = open_study(config), with_every_paper(config).papers or []
    if arguments.paper not in every:
        raise unknown("paper", arguments.paper, every)
    if arguments.paper not in study.papers:
        raise RetortError(
            f"{config.file} runs {', '.join(study.papers)} at scale {config.scale}, and not '{arguments.paper}'",
            "name the configuration of the run with --config",
        )
    if study.papers[arguments.paper].ours:
        written = record(study, arguments.paper)
    else:
        written = [record_scale(study, arguments.paper)]
    print(f"recorded in {', '.join(written)}")
    return 0
