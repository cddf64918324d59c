"""Resolve how each split of a task is read; the form of its source under the configuration selects the files."""

from __future__ import annotations

from typing import Any

from retort.errors import RetortError
from retort.registry import unknown
from retort.specs import catalogue
from retort.specs.load import Problems
from retort.specs.source import form_of
from retort.specs.task import Files, Task
from retort.study.study import Study

Settings = dict[str, Any]


def files_of(study: Study, task: Task, split: str) -> Files:
    """Return how the files of a split are read, for the form that its source has.

    Raises:
        RetortError: the task gives no files for this form, or none for this split.
    """
    source = task.splits[split].source or task.source
    form = "hub" if form_of(study.sources[source], study.config) == "hub" else "local"
    if form not in task.read:
        raise RetortError(f"read: nothing is said of form '{form}', which source '{source}' has", "see data_dir")
    if split not in task.read[form].files:
        raise RetortError(f"read.{form}.files: no file of split '{split}', which is used", "name one")
    return task.read[form]


def reading(study: Study, task: Task, split: str) -> Settings:
    """Return all that is needed to read a split, as plain values, for the settings of every job that reads it."""
    spec, files = task.splits[split], files_of(study, task, split)
    change = files.changes.get(split)
    subsets: list[str | None] = list(task.subsets) if spec.subsets else [None]
    return {
        "source": spec.source or task.source,
        "format": files.format,
        "options": {**files.options, **(change.options if change else {})},
        "columns": {**files.columns, **(change.columns if change else {})},
        "words": files.words,
        "without": files.without,
        "labelled": spec.labelled,
        "broken": files.broken.get(split, 0),
        "empty": files.empty.get(split, 0),
        "pieces": {
            f"{split}-{subset}" if subset else split: {
                "file": files.files[split].replace("{subset}", subset or ""),
                "rows": spec.expected(subset),
                **({"subset": subset} if subset else {}),
            }
            for subset in subsets
        },
    }


def pieces_of(task: Settings, split: str) -> list[str]:
    """Return the names under which the rows of a split are encoded: one per subset, or only the split's own name.

    Args:
        task: the settings of a task.
        split: the name of the split.
    """
    return list(task["splits"][split]["pieces"]) if "splits" in task else [split]


def check_tasks(study: Study, problems: Problems) -> None:
    """Add a problem for each format, option or column with which a task's files cannot be read."""
    formats, task_types = catalogue.formats(), catalogue.task_types()
    for name, task in study.tasks.items():
        for form, files in task.read.items():
            where = f"read.{form}"
            if files.format not in formats:
                problems.add(study.files["tasks", name], f"{where}: {unknown('format', files.format, formats)}")
                continue
            for options in (files.options, *(change.options for change in files.changes.values())):
                for line in catalogue.check_options("format", formats[files.format], options):
                    problems.add(study.files["tasks", name], f"{where}.options: {line}")
            facts = task_types[task.task_type].facts
            for line in _columns(files, facts["fields"], facts["optional"]):
                problems.add(study.files["tasks", name], f"{where}.columns: {line}")


def _columns(files: Files, fields: tuple[str, ...], optional: tuple[str, ...]) -> list[str]:
    given = [*files.columns, *(field for change in files.changes.values() for field in change.columns)]
    wrong = [str(unknown("field", field, (*fields, *optional))) for field in given if field not in (*fields, *optional)]
    return wrong + [f"'{field}' is missing" for field in fields if field not in files.columns]


def readable(study: Study, name: str, splits: list[str]) -> bool:
    """Return whether each of the splits has a file in the form of its source; True if the task draws its splits."""
    task = study.tasks[name]
    try:
        return all(files_of(study, task, split) for split in splits if task.splits)
    except RetortError:
        return False


def check_forms(study: Study, tasks: set[str], problems: Problems) -> None:
    """Add a problem for each task with a used split that has no file in the form of its source."""
    for name in sorted(tasks):
        task = study.tasks[name]
        for split in task.used if task.splits else []:
            if problems.attempt(study.files["tasks", name], "", files_of, study, task, split) is None:
                break  # the other splits would repeat the same problem
