"""Find the sources that a study requires."""

from __future__ import annotations

from retort.specs.load import Problems
from retort.specs.source import HubSource
from retort.study import needs
from retort.study.cells import expand, profiled, served
from retort.study.reading import check_locations
from retort.study.study import Study


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
        *(needs.of_student(study, student) for student in students),
        *(needs.of_profile(study, name) for name in profiles),
        *(needs.of_task(study, task) for task in tasks(study)),
        *(needs.of_submission(study, task) for task in {task for _, task in sent}),
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
