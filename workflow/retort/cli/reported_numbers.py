"""The verbs on the numbers that papers report, and on ours: `reported`, `compare` and `record`."""

from __future__ import annotations

import argparse
import difflib
from pathlib import Path

from retort.atomic import write_text
from retort.audit import as_text, audit
from retort.cli.base import argument, config_of, verb, wrapped_line
from retort.errors import RetortError
from retort.judgement.paired_rows import compare_rows
from retort.plan.deviations import unknown_names
from retort.registry import unknown_name
from retort.study.load import open_study, open_whole, with_every_paper
from retort.tables import reported
from retort.tables.recordings import record, record_scale

MOST = 60  # lines of what would change in a file


@verb(
    "reported",
    argument(
        "what",
        choices=["audit", "check", "cells", "show"],
        help="tell which cannot be right, count, list every value as CSV, or show a table",
    ),
    argument("table", nargs="?", default="", help="with show: paper/table"),
)
def reported_numbers(arguments: argparse.Namespace) -> int:
    """Audit, count, list as CSV or show the numbers that all papers report, whichever the configuration names.

    `audit` tells which of them cannot be right, or cannot both be right; `check` also fails on a deviation that names
    no cell and no setting.
    """
    study = open_whole(config_of(arguments))
    if arguments.what == "audit":
        print("\n".join(map(wrapped_line, as_text(audit(study)).splitlines())))
        return 0
    if arguments.what == "check":
        print("\n".join(reported.counts(study)))
        problems = unknown_names(study)
        print("\n".join(problems) or "every deviation names a cell or a setting")
        return 1 if problems else 0
    if arguments.what == "cells":
        print(reported.cells_csv(study), end="")
    else:
        print(reported.show(study, arguments.table))
    return 0


@verb(
    "compare",
    argument("table", help="paper/table"),
    argument("row", help="the label of a row"),
    argument("other", nargs="?", help="the label of another row (default: the same row of the recorded run)"),
    argument("--recorded", action="store_true", help="compare the recorded scores of the configuration's scale"),
)
def compare_two(arguments: argparse.Namespace) -> int:
    """Print the mean difference of two rows of a table of scores, and paired tests over tasks and seeds."""
    study = open_study(with_every_paper(config_of(arguments)))
    if arguments.recorded and not arguments.other:
        raise RetortError("--recorded compares two rows of the recorded run", "name a second row")
    rows = [arguments.row, *filter(None, [arguments.other])]
    print("\n".join(map(wrapped_line, compare_rows(study, arguments.table, rows, arguments.recorded))))
    return 0


@verb(
    "record",
    argument("paper", help="a study of ours, or a paper at a scale that is smaller than reported"),
    argument("--yes", action="store_true", help="write without asking"),
)
def record_run(arguments: argparse.Namespace) -> int:
    """Store the numbers of the last run: of a study of ours as its reported ones, else next to those of its scale."""
    config = config_of(arguments)
    study, every = open_study(config), with_every_paper(config).papers or []
    if arguments.paper not in every:
        raise unknown_name("paper", arguments.paper, every)
    if arguments.paper not in (running := study.running_papers):
        raise RetortError(
            f"{config.file} runs {', '.join(running)} at scale {config.scale}, and not '{arguments.paper}'",
            "name the configuration of the run with --config",
        )
    make = record if study.papers[arguments.paper].ours else record_scale
    files = make(study, arguments.paper)
    for path, text in files.items():
        print(*_changes(path, text), sep="\n")
    if not (arguments.yes or _agrees("write this?")):
        print("nothing was written; --yes writes without asking")
        return 1
    for path, text in files.items():
        write_text(path, text)
    print(f"recorded in {', '.join(map(str, files))}")
    return 0


def _changes(path: Path, text: str) -> list[str]:
    """Return lines that tell how a file would change: those of a YAML file, and of others whether they would."""
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    if text == before or path.suffix != ".yaml":
        return [f"{path}: {'as before' if text == before else 'drawn anew' if before else 'new'}"]
    old, new = before.splitlines(), text.splitlines()
    lines = list(difflib.unified_diff(old, new, f"{path} as it is", str(path), n=0, lineterm=""))
    return lines[:MOST] + [f"... and {len(lines) - MOST:,} lines more"] * (len(lines) > MOST)


def _agrees(question: str) -> bool:
    """Ask a question, and return whether the answer is yes; without anyone to ask, it is no."""
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False
