"""The verb `show`, which prints a student's settings with their origins."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from retort.cli.base import argument, config_of, verb
from retort.errors import RetortError
from retort.plan.origins import Value, values
from retort.registry import unknown
from retort.specs.config import Config
from retort.study.load import open_written, with_every_paper
from retort.study.scaled_study import scale_study
from retort.study.study import Study


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
        raise unknown("student", name, {*short, *short.values()})
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
    written, study = open_written(config), open_written(config)
    scale_study(study)
    full = student_called(study, name)
    if task and task not in study.tasks:
        raise unknown("task", task, study.tasks)
    yield f"{full}{f' on {task}' if task else ''}, scale {config.scale}: {study.students[full].title}"
    if full in study.not_run:
        yield f"(not run at this scale{f': it {study.not_run[full]}' if study.not_run[full] else ''})"
    yield ""
    yield from _table(values(written, study, full, task))


def _table(rows: list[Value]) -> list[str]:
    texts = [(row.key, _text(row.value), row.origin) for row in rows]
    widths = [max(len(text[column]) for text in texts) for column in (0, 1)]
    return [f"{key:<{widths[0]}}  {value:<{widths[1]}}  {origin}" for key, value, origin in texts]


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
