"""The verbs `cost`, which estimates the jobs and hours of a study, and `bench`, which measures a GPU."""

from __future__ import annotations

import argparse

from retort.cli.base import argument, config_of, positive_number, verb, wrapped_line
from retort.cli.needs import lines_of_claims
from retort.cost import overview
from retort.cost.speed import STORED
from retort.registry import unknown_name
from retort.specs.base import Settings
from retort.specs.config import Config, read_config
from retort.study.load import with_every_paper

OF_COST = (  # what else a verb that estimates costs is told
    argument("--scale", help="instead of the configuration's"),
    argument(
        "--flops", type=positive_number, help="FLOPs a second of one device, such as 60e12, instead of a measurement"
    ),
)


def config_of_call(arguments: argparse.Namespace) -> Config:
    """Return the configuration with the papers and the scale of the call, if it names any.

    Raises:
        RetortError: there is no such paper or scale.
    """
    config = config_of(arguments)
    papers, every = list(dict.fromkeys(name.partition("/")[0] for name in arguments.what)), with_every_paper(config)
    for paper in papers:
        if paper not in (every.papers or []):
            raise unknown_name("paper", paper, every.papers or [])
    changed: Settings = {"papers": papers} if papers else {}
    changed |= {"scale": arguments.scale} if arguments.scale else {}
    return read_config({**config.model_dump(), **changed}, config.file, {"scale": "--scale"} if arguments.scale else {})


@verb(
    "cost",
    argument("what", nargs="*", metavar="paper[/table]", help="only these (default: the papers of the configuration)"),
    *OF_COST,
    argument("--claims", action="store_true", help="what each claim takes, instead"),
    argument("--calibrate", action="store_true", help="measure this machine for a minute first, and keep it"),
)
def cost(arguments: argparse.Namespace) -> int:
    """Print the jobs and hours that each table takes, what is done already, and the assumptions behind the estimate."""
    config = config_of_call(arguments)
    if arguments.calibrate:
        from retort.cost.bench.calibrate import calibrate  # late: it imports torch

        calibrate(config.resolved_precision(), config.gpus > 0, STORED)
    report = lines_of_claims if arguments.claims else overview.lines
    for line in report(config, arguments.what, arguments.flops):
        print(wrapped_line(line), flush=True)
    return 0


@verb("bench", argument("what", choices=["gpu"], help="the GPU of this machine; without one, all of it in small"))
def bench(arguments: argparse.Namespace) -> int:
    """Measure a GPU in ten minutes: kernels, steps and their memory, loading, resuming; print it, and keep it."""
    import torch  # late: it takes seconds

    from retort.cost.bench import gpu

    for line in gpu.lines("cuda" if torch.cuda.is_available() else "cpu"):
        print(wrapped_line(line), flush=True)
    return 0
