"""The `retort` command: one file for each verb or group of verbs. Only verbs that need torch import it."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

import argcomplete

from retort import __version__, machine
from retort.cli import budgeting, checking, measuring, new_paper, rehearsing, reported_numbers, status, verify
from retort.cli.base import verbs
from retort.errors import RetortError

# each registers its verbs
VERBS = (budgeting, checking, measuring, new_paper, reported_numbers, rehearsing, status, verify)


def parser() -> argparse.ArgumentParser:
    """Build the parser of the command line, with a subcommand for each verb."""
    top = argparse.ArgumentParser(prog="retort", description="Rebuild the tables of papers on distilling encoders.")
    top.add_argument("--version", action="version", version=f"retort {__version__}")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--config",
        help="configuration file; what it leaves out is read in config.yaml of the current folder, as Snakemake does "
        "with --configfile (default: config.yaml of the repository)",
    )
    under = top.add_subparsers(dest="verb", metavar="VERB")
    for name in verbs:
        summary = (verbs[name].run.__doc__ or "").splitlines()[0]
        subparser = under.add_parser(name, help=summary, description=summary, parents=[shared])
        for names, options in verbs[name].arguments:
            subparser.add_argument(*names, **options)
    return top


def main(arguments: list[str] | None = None) -> Any:
    """Run a verb, or print help, and return the exit status: 0; 1 if it found problems; 2 if it could not run."""
    machine.settle_environment()
    given, top = sys.argv[1:] if arguments is None else arguments, parser()
    argcomplete.autocomplete(top)  # answers a shell that asks for completions, and ends
    try:
        if given and not given[0].startswith("-"):
            verbs[given[0]]  # its error suggests a verb, which that of argparse does not
        parsed = top.parse_args(given or ["--help"])
        status = verbs[parsed.verb].run(parsed)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader of our output has closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except RetortError as error:
        print(f"retort {given[0]}: {error}", file=sys.stderr)
        return 2
