"""The verbs on the study's files: `list`, `check`, `show` and `pin`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from retort.cli import inventory
from retort.cli.base import WIDTH, argument, config_of, verb, wrapped_line
from retort.cost.cluster import read_cluster
from retort.errors import RetortError
from retort.plan.deviations import Unstated, unstated_settings
from retort.plan.settings_cells import check_settings_cells
from retort.plan.value_lines import setting_values
from retort.registry import unknown_name
from retort.run.pinning import pin
from retort.run.run_sources import absent_in_folders
from retort.specs import catalogue
from retort.specs.config import Config
from retort.specs.loading import Problems
from retort.study.cells import expand, required
from retort.study.load import check_files, open_written, read_study, with_every_paper
from retort.study.reasons import not_run
from retort.study.scaled_study import scale_study
from retort.study.study import Study


@verb("list", argument("what", nargs="?", help="objectives, mappings, tasks, students or tables"))
def list_everything(arguments: argparse.Namespace) -> int:
    """Print objectives, mappings, tasks, students and tables, each with a one-line description."""
    study, problems = read_study(config_of(arguments))
    lists: dict[str, dict[str, str]] = {
        "objectives": {name: entry.summary for name, entry in catalogue.objectives().items()},
        "mappings": {name: entry.summary for name, entry in catalogue.mappings().items()},
        "tasks": {name: task.title for name, task in study.tasks.items()},
        "students": {name: teacher.title for name, teacher in study.teachers.items()}
        | {name: student.title for name, student in study.students.items()},
        "tables": {f"{paper}/{name}": exhibit.title for (paper, name), exhibit in sorted(study.exhibits.items())},
    }
    if arguments.what and arguments.what not in lists:
        raise unknown_name("list", arguments.what, lists)
    for title, entries in lists.items():
        if arguments.what in (None, title):
            width = max(map(len, entries), default=0)
            listed = (wrapped_line(f"  {name:<{width}}  {what}", width + 4) for name, what in entries.items())
            print(f"{title}:", *listed, "", sep="\n")
    if problems:
        print(f"{len(problems)} problems in the study's files; see `retort check`", file=sys.stderr)
    return 0


def _refuse(problems: list[str], unreached: Sequence[str] = ()) -> int:
    """Print problems, their number and what is checked once they are mended, and return the exit status."""
    print("\n".join(problems))
    later = f"; mend these first: not checked yet are {', '.join(unreached)}" if unreached else ""
    print(f"{len(problems)} problem{'s' * (len(problems) != 1)}{later}", file=sys.stderr)
    return 1


@verb(
    "check",
    argument("paper", nargs="?", help="a paper: list the settings of which its files say nothing"),
    argument("--data", action="store_true", help="tell where sources are, and read models and the rows of tasks"),
    argument("--all", action="store_true", help="with --data: also what no table of this configuration reads"),
)
def check_everything(arguments: argparse.Namespace) -> int:
    """Validate every YAML file, of all papers and scales, and print all problems; the exit status is 1 if any."""
    config = config_of(arguments)
    read_cluster(config.cluster)  # for its errors
    found: dict[str, list[Unstated]] = {}

    def look_for_unstated(study: Study, problems: Problems) -> None:
        found.update({paper: unstated_settings(study, paper) for paper, spec in study.papers.items() if not spec.ours})

    whole, problems, unreached = check_files(config, check_settings_cells, look_for_unstated)
    if problems:
        return _refuse(problems, unreached)
    study, problems = read_study(config)
    if problems:
        return _refuse(problems)
    needed = required(study)
    lacking = absent_in_folders(study, needed)
    if arguments.data:
        lines, counts = inventory.inventory(study, lacking, arguments.all)
        print(*lines, inventory.summary(counts), sep="\n")
        return int(counts[inventory.PROBLEM] > 0)
    if lacking:
        return _refuse([absence.line(study) for absence in lacking])
    cells = expand(study)
    scores = {(cell.student, cell.task, cell.seed) for cell in cells}
    papers = f"{len(whole.papers)} paper{'s' * (len(whole.papers) != 1)}"
    print(
        f"{papers}, {len(whole.exhibits)} tables and figures, {len(whole.students)} students, "
        f"{len(whole.tasks)} tasks: no problem"
    )
    print(
        f"{config.file} runs {', '.join(study.running_papers)} at scale {config.scale} "
        f"in {config.resolved_precision()}: {len(cells)} cells read {len(scores)} scores"
    )
    if arguments.paper:
        if arguments.paper not in whole.papers:
            raise unknown_name("paper", arguments.paper, whole.papers)
        lines = [_unstated_line(setting) for setting in found.get(arguments.paper, [])]
    else:
        lines = [
            f"{paper}: neither its files nor its deviations say anything of {len(settings)} settings of reported rows; "
            f"see `retort check {paper}`"
            for paper, settings in found.items()
            if settings
        ]
    print(*lines, sep="\n", end="\n" * bool(lines))
    return 0


def _unstated_line(setting: Unstated) -> str:
    students = f"{len(setting.students)} student{'s' * (len(setting.students) != 1)}"
    where = "with the student" if ".terms." in setting.key or setting.key.startswith("init") else "in the protocol"
    return (
        f"{students}: {setting.key} is {_text(setting.value)} by default; the files of the paper do not say: "
        f"state it {where}, or declare it in deviations.yaml"
    )


def student_called(study: Study, name: str) -> str:
    """Return the full name of a student, from its full or its short name.

    Raises:
        RetortError: no student or more than one has this name.
    """
    if name in study.students:
        return name
    short = {full: full.removeprefix(f"{study.paper_of(full)}-") for full in study.students}
    matches = [full for full, own in short.items() if own == name]
    if not matches:
        raise unknown_name("student", name, {*short, *short.values()})
    if len(matches) > 1:
        raise RetortError(f"{len(matches)} papers have a student '{name}'", f"write {' or '.join(matches)}")
    return matches[0]


def lines(config: Config, name: str, task: str = "") -> Iterator[str]:
    """Yield the settings of a student, a line each: key, value, origin.

    Args:
        config: the configuration, with every paper that may be asked for.
        name: the full or short name of a student.
        task: the task; empty for the settings shared by all tasks.

    Raises:
        RetortError: the student or the task is unknown.
    """
    study = open_written(config)
    scale_study(study)
    full = student_called(study, name)
    if task and task not in study.tasks:
        raise unknown_name("task", task, study.tasks)
    yield f"{full}{f' on {task}' if task else ''}, scale {config.scale}: {study.students[full].title}"
    if why := not_run(study, full):
        yield f"({why.sentence})"
    yield ""
    rows = [(value.key, _text(value.value), value.origin) for value in setting_values(study.written, study, full, task)]
    key_width, text_width, origin_width = (max(map(len, column)) for column in zip(*rows, strict=True))
    text_width = min(text_width, max(24, WIDTH - key_width - origin_width - 4))
    for key, text, origin in rows:
        line = f"{key:<{key_width}}  {text:<{text_width}}"
        if len(text) > text_width:
            line = f"{wrapped_line(line, key_width + 2)}\n{'':<{key_width + 2 + text_width}}"
        yield f"{line}  {origin}"


def _text(value: object) -> str:
    """Return a value as YAML writes it, on one line."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return f"[{', '.join(map(_text, value))}]" if isinstance(value, list | tuple) else str(value)


@verb(
    "show",
    argument("student", help="a student, by its full name or by its name inside its paper"),
    argument("task", nargs="?", default="", help="the settings on this task (default: those that hold on every task)"),
)
def show_student(arguments: argparse.Namespace) -> int:
    """Print the settings of a student, each with the file and line that it comes from."""
    print("\n".join(lines(with_every_paper(config_of(arguments)), arguments.student, arguments.task)))
    return 0


@verb(
    "pin",
    argument("source", nargs="*", help="sources that are pinned anew (default: all of the hub that have no commit)"),
)
def pin_sources(arguments: argparse.Namespace) -> int:
    """Ask the Hugging Face hub for the commit of each source's branch, and write it into the source's file."""
    study, _ = read_study(config_of(arguments))
    for line in pin(study, arguments.source):
        print(line)
    return 0
