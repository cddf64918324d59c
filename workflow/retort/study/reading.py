"""Find the files of each split of a task; where its source is ('local' or 'hub') selects them."""

from __future__ import annotations

from typing import Literal

from retort.errors import RetortError
from retort.registry import nearest, unknown
from retort.specs import catalogue
from retort.specs.load import Problems
from retort.specs.options import check_options
from retort.specs.task import Task
from retort.specs.task_files import Files
from retort.study.study import Study


def files_of(study: Study, task: Task, split: str) -> Files:
    """Return how the files of a split are read where its source is.

    Raises:
        RetortError: the task gives no files for this location, or none for this split.
    """
    source = task.splits[split].source or task.source
    location: Literal["hub", "local"] = "hub" if study.sources[source].location(study.config) == "hub" else "local"
    if location not in task.read:
        raise RetortError(f"read: '{location}' is missing, where the files of source '{source}' are", "see data_dir")
    if split not in task.read[location].files:
        raise RetortError(f"read.{location}.files: no file of split '{split}', which is used", "name one")
    return task.read[location]


def check_tasks(study: Study, problems: Problems) -> None:
    """Add a problem for each format, option or column with which a task's files cannot be read."""
    formats, task_types = catalogue.formats(), catalogue.task_types()
    for name, task in study.tasks.items():
        for location, files in task.read.items():
            where = f"read.{location}"
            if files.format not in formats:
                problems.add(study.files["tasks", name], f"{where}: {unknown('format', files.format, formats)}")
                continue
            for options in (files.options, *(change.options for change in files.changes.values())):
                for line in check_options("format", formats[files.format], options):
                    problems.add(study.files["tasks", name], f"{where}.options: {line}")
            facts = task_types[task.task_type].facts
            for line in _wrong_columns(files, facts["required_columns"], facts["optional_columns"]):
                problems.add(study.files["tasks", name], f"{where}.columns: {line}")


def _wrong_columns(files: Files, fields: tuple[str, ...], optional: tuple[str, ...]) -> list[str]:
    columns = [*files.columns, *(field for change in files.changes.values() for field in change.columns)]
    wrong = [
        str(unknown("field", field, (*fields, *optional))) for field in columns if field not in (*fields, *optional)
    ]
    meant = [nearest(field, (*fields, *optional)) for field in columns if field not in (*fields, *optional)]
    return wrong + [f"'{field}' is missing" for field in fields if field not in (*files.columns, *meant)]


def readable(study: Study, name: str, splits: list[str]) -> bool:
    """Return whether each split has a file where its source is; True if the task draws its splits."""
    task = study.tasks[name]
    try:
        return all(files_of(study, task, split) for split in splits if task.splits)
    except RetortError:
        return False


def check_locations(study: Study, tasks: set[str], problems: Problems) -> None:
    """Add a problem for each task with a used split that has no file at the location of its source."""
    for name in sorted(tasks):
        task = study.tasks[name]
        for split in task.used if task.splits else []:
            if problems.attempt(study.files["tasks", name], "", files_of, study, task, split) is None:
                break  # the other splits would repeat the same problem
