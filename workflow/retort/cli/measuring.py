"""The verbs `cost`, which estimates the jobs and hours of a study, and `bench`, which measures objectives."""

from __future__ import annotations

import argparse

from retort.cli.base import argument, config_of, verb, wrapped
from retort.cli.needs import lines_of_claims
from retort.cost import overview
from retort.cost.speed import STORED
from retort.errors import RetortError
from retort.registry import unknown
from retort.specs import catalogue
from retort.specs.base import Settings
from retort.specs.config import Config, read_config
from retort.specs.model import Architecture
from retort.study.load import with_every_paper


def config_of_call(arguments: argparse.Namespace) -> Config:
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
    argument("--claims", action="store_true", help="what each claim and each table takes, instead"),
    argument("--calibrate", action="store_true", help="measure this machine for a minute first, and keep it"),
)
def cost(arguments: argparse.Namespace) -> int:
    """Print the jobs and hours that each table takes, what is done already, and the assumptions behind the estimate."""
    config = config_of_call(arguments)
    if arguments.calibrate:
        from retort.bench.calibrate import calibrate  # late: it imports torch

        calibrate(config.resolved_precision(), config.gpus > 0, STORED)
    report = lines_of_claims if arguments.claims else overview.lines
    for line in report(config, arguments.what, arguments.flops):
        print(wrapped(line), flush=True)
    return 0


def _bench_gpu() -> int:
    """Measure the GPU of this machine or, without one, all of it in small on the CPU."""
    import torch  # late: it takes seconds

    from retort.bench import gpu

    for line in gpu.lines("cuda" if torch.cuda.is_available() else "cpu"):
        print(wrapped(line), flush=True)
    return 0


SIZES = "layers,heads,hidden,intermediate"
BATCH, VOCABULARY = 16, 30522  # of a step that is timed: examples; tokens of BERT's vocabulary


def _read_sizes(text: str) -> Architecture:
    """Return the four sizes of an encoder, from a text such as '6,12,384,1536'."""
    try:
        return Architecture(**dict(zip(SIZES.split(","), map(int, text.split(",")), strict=True)))
    except ValueError as error:
        raise RetortError(f"'{text}' is no encoder", f"write {SIZES}, such as 6,12,384,1536") from error


@verb(
    "bench",
    argument("what", choices=["objectives", "gpu"], help="what is timed: all that a GPU does for ten minutes, or"),
    argument("names", nargs="*", help="only these objectives (default: all)"),
    argument("--teacher", default="12,12,768,3072", help=f"{SIZES} (default: %(default)s)"),
    argument("--student", default="6,12,384,1536", help=f"{SIZES} (default: %(default)s)"),
    argument("--length", type=int, default=128, help="tokens an example (default: %(default)s)"),
)
def bench(arguments: argparse.Namespace) -> int:
    """Print the time and peak memory of a training step with each objective, as ratios to a step with a zero loss."""
    if arguments.what == "gpu":
        return _bench_gpu()
    known = catalogue.objectives()
    for name in arguments.names:
        if name not in known:
            raise unknown("objective", name, known)
    student, teacher = _read_sizes(arguments.student), _read_sizes(arguments.teacher)
    from retort.bench import objective_costs as measured  # late: it imports torch
    from retort.bench.steps import Shape

    shape = Shape("", student, teacher, VOCABULARY, BATCH, arguments.length, config_of(arguments).resolved_precision())
    for device in measured.DEVICES:
        for line in measured.lines(shape, device, arguments.names or list(known)):
            print(line, flush=True)
    return 0
