"""The verb `cost`, which estimates the jobs and hours of a study before anything runs."""

from __future__ import annotations

import argparse

from retort.cli.base import argument, config_of, verb
from retort.registry import unknown
from retort.specs.base import Settings
from retort.specs.config import Config, read_config
from retort.study.load import with_every_paper


def _config(arguments: argparse.Namespace) -> Config:
    """Return the configuration with the papers and the scale of the call, if it names any.

    Raises:
        RetortError: there is no such paper or scale.
    """
    config = config_of(arguments)
    papers, every = list(dict.fromkeys(name.partition("/")[0] for name in arguments.what)), with_every_paper(config)
    for paper in papers:
        if paper not in (every.papers or []):
            raise unknown("paper", paper, every.papers or [])
    changed: Settings = {"papers": papers} if papers else {}
    changed |= {"scale": arguments.scale} if arguments.scale else {}
    return read_config({**config.model_dump(), **changed}, config.file, {"scale": "--scale"} if arguments.scale else {})


@verb(
    "cost",
    argument("what", nargs="*", metavar="paper[/table]", help="only these (default: the papers of the configuration)"),
    argument("--scale", help="instead of the configuration's"),
    argument("--flops", type=float, help="FLOPs a second of one device, such as 60e12, instead of a measurement"),
    argument("--calibrate", action="store_true", help="measure this machine for a minute first, and keep it"),
)
def cost(arguments: argparse.Namespace) -> int:
    """Print the jobs and hours that each table takes, what is done already, and the assumptions behind the estimate."""
    from retort.cost import report  # imported late: it imports the plan, and so Snakemake
    from retort.cost.speed import STORED

    config = _config(arguments)
    if arguments.calibrate:
        from retort.bench.calibrate import calibrate

        calibrate(config.resolved_precision(), config.gpus > 0, STORED)
    for line in report.lines(config, arguments.what, arguments.flops):
        print(line, flush=True)
    return 0
