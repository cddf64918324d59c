"""The verb `bench`, which measures the time and memory of objectives."""

from __future__ import annotations

import argparse
from typing import Any

from retort.cli.base import argument, config_of, verb
from retort.errors import RetortError
from retort.registry import unknown
from retort.specs import catalogue

SIZES = "layers,heads,hidden,intermediate"


def _read_sizes(text: str) -> tuple[Any, ...]:
    """Return the four sizes of an encoder, from a text such as '6,12,384,1536'."""
    numbers = tuple(int(number) for number in text.split(",") if number.strip().isdigit())
    if len(numbers) != 4 or min(numbers) < 1 or numbers[2] % numbers[1]:
        raise RetortError(f"'{text}' is no encoder", f"write four whole numbers {SIZES}, such as 6,12,384,1536")
    return numbers


@verb(
    "bench",
    argument("what", choices=["objectives"], help="what is timed"),
    argument("names", nargs="*", help="only these objectives (default: all)"),
    argument("--teacher", default="12,12,768,3072", help=f"{SIZES} (default: %(default)s)"),
    argument("--student", default="6,12,384,1536", help=f"{SIZES} (default: %(default)s)"),
    argument("--batch", type=int, default=16, help="examples a step (default: %(default)s)"),
    argument("--length", type=int, default=128, help="tokens an example (default: %(default)s)"),
    argument(
        "--repeats", type=int, default=5, help="pairs of steps of which the median is taken (default: %(default)s)"
    ),
)
def bench(arguments: argparse.Namespace) -> int:
    """Print the time and peak memory of a training step with each objective, as ratios to a step with a zero loss."""
    known = catalogue.objectives()
    for name in arguments.names:
        if name not in known:
            raise unknown("objective", name, known)
    sizes = _read_sizes(arguments.teacher), _read_sizes(arguments.student)
    from retort.bench import objectives as measured

    precision = config_of(arguments).resolved_precision()
    for device in measured.devices():
        setting = measured.Setting(*sizes, arguments.batch, arguments.length, precision, device, arguments.repeats)
        for line in measured.lines(setting, measured.measure(setting, arguments.names or list(known))):
            print(line, flush=True)
        print()
    return 0
