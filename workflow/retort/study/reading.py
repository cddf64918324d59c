"""Find the files of each split of a task; where its source is ('local' or 'hub') selects them."""

from __future__ import annotations

from typing import Literal

from retort.errors import RetortError
from retort.registry import nearest, unknown
from retort.specs import catalogue
from retort.specs.loading import Problems
from retort.specs.source import HubSource
from retort.specs.task import Task
from retort.specs.task_files import Files
from retort.study import questions
from retort.study.cells import expand, profiled, served
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
                problems.validate(study.files["tasks", name], f"{where}.options", formats[files.format].schema, options)
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


# Find the sources that a study requires.


def sends(study: Study) -> bool:
    """Return whether tables require the zips for servers; at other scales users may ask for them by name."""
    return study.scale.submissions


def submitted(study: Study) -> list[tuple[str, str]]:
    """Return the (student, task) pairs that some table of the study shows and only a server can score."""
    pairs = [pair for exhibit in study.exhibits.values() for pair in served(study, exhibit)]
    return list(dict.fromkeys(pairs))


def tasks(study: Study) -> set[str]:
    """Return the names of the tasks on which some cell of the study is scored, here or by a server."""
    return {cell.task for cell in expand(study)} | {task for _, task in submitted(study) if sends(study)}


def required(study: Study) -> set[str]:
    """Return the names of what the cells and profiles of the study need: 'models/roberta-base', 'sources/cc100', ..."""
    cells, sent = expand(study), submitted(study) if sends(study) else []
    students = {cell.student for cell in cells} | {student for student, _ in sent}
    profiles = {name for exhibit in study.exhibits.values() for name in profiled(study, exhibit)}
    return set().union(
        *(questions.of_student(study, student) for student in students),
        *(questions.of_profile(study, name) for name in profiles),
        *(questions.of_task(study, task) for task in tasks(study)),
        *(questions.of_submission(study, task) for task in {task for _, task in sent}),
    )


def sources(study: Study) -> set[str]:
    """Return the names of the sources that the cells and profiles of the study are made from."""
    return of_folder("sources", required(study))


def of_folder(folder: str, names: set[str]) -> set[str]:
    """Return the names of one folder among names such as 'sources/cc100'."""
    return {name.split("/", 1)[1] for name in names if name.startswith(f"{folder}/")}


def check_sources(study: Study, problems: Problems) -> None:
    """Add a problem for each hub commit without a note of where it was read, and each task that cannot be read."""
    for name, source in study.sources.items():
        if isinstance(source, HubSource) and source.hub.commit and not source.hub.found:
            problems.add(study.files["sources", name], "hub.found: say where the commit was read")
    check_locations(study, tasks(study), problems)
