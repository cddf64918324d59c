"""The verbs `list` and `check`, on the study's files."""

from __future__ import annotations

import argparse
import sys

from retort.cli.base import argument, config_of, verb
from retort.plan.folder_check import absent_in_folders
from retort.plan.run_sources import unpinned
from retort.plan.settings_cells import check_settings_cells
from retort.registry import unknown
from retort.specs import catalogue, mappings
from retort.specs.cluster import read_cluster
from retort.study.cells import expand
from retort.study.check_files import check_files
from retort.study.load import read
from retort.study.required_sources import required
from retort.study.study import Study


def _lines(title: str, entries: dict[str, str]) -> list[str]:
    width = max((len(name) for name in entries), default=0)
    return [f"{title}:", *(f"  {name:<{width}}  {what}" for name, what in entries.items()), ""]


def _lists(study: Study) -> dict[str, dict[str, str]]:
    exhibits = {f"{paper}/{name}": exhibit.title for (paper, name), exhibit in sorted(study.exhibits.items())}
    return {
        "objectives": {name: entry.summary for name, entry in catalogue.objectives().items()},
        "mappings": {
            name: catalogue.summary_of(f"mappings.py: '{name}'", mappings.mappings[name].__doc__)
            for name in mappings.mappings
        },
        "tasks": {name: task.title for name, task in study.tasks.items()},
        "students": {
            **{name: teacher.title for name, teacher in study.teachers.items()},
            **{name: student.title for name, student in study.students.items()},
        },
        "tables": exhibits,
    }


@verb("list", argument("what", nargs="?", help="objectives, mappings, tasks, students or tables"))
def list_everything(arguments: argparse.Namespace) -> int:
    """Print objectives, mappings, tasks, students and tables, each with a one-line description."""
    study, problems = read(config_of(arguments))
    lists = _lists(study)
    if arguments.what and arguments.what not in lists:
        raise unknown("list", arguments.what, lists)
    for title, entries in lists.items():
        if arguments.what in (None, title):
            print("\n".join(_lines(title, entries)))
    if problems:
        print(f"{len(problems)} problems in the study's files; see `retort check`", file=sys.stderr)
    return 0


def _refuse(problems: list[str]) -> int:
    """Print problems and their number, and return the exit status."""
    print("\n".join(problems))
    print(f"{len(problems)} problem{'s' * (len(problems) != 1)}", file=sys.stderr)
    return 1


@verb(
    "check",
    argument("--data", action="store_true", help="find the files of all tasks, models and corpora"),
)
def check_everything(arguments: argparse.Namespace) -> int:
    """Validate every YAML file, of all papers and scales, and print all problems; the exit status is 1 if any."""
    config = config_of(arguments)
    read_cluster(config.cluster)  # for its errors
    whole, problems = check_files(config, check_settings_cells)
    if not problems:
        study, problems = read(config)
    if problems:
        return _refuse(problems)
    needed = required(study)
    lacking = [absence.line(study) for absence in absent_in_folders(study, needed)]
    if arguments.data:
        from retort.cli.inventory import report

        return max(report(study), _refuse(lacking) if lacking else 0)
    if lacking:
        return _refuse(lacking)
    for line in unpinned(study, needed):
        print(line)
    cells = expand(study)
    scores = {(cell.student, cell.task, cell.seed) for cell in cells}
    papers = f"{len(whole.papers)} paper{'s' * (len(whole.papers) != 1)}"
    print(
        f"{papers}, {len(whole.exhibits)} tables and figures, {len(whole.students)} students, "
        f"{len(whole.tasks)} tasks: no problem"
    )
    print(
        f"{config.file} runs {', '.join(study.papers)} at scale {config.scale} in {config.resolved_precision()}: "
        f"{len(cells)} cells read {len(scores)} scores"
    )
    return 0
