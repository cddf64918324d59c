"""Find the sources that a study requires, so that a missing one is reported before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from retort.specs.load import Problems
from retort.specs.source import SETTING, FolderSource, HubSource
from retort.study.cells import expand, profiled, served
from retort.study.questions import tested_sources
from retort.study.reading import check_locations
from retort.study.study import Study


def _lineage(study: Study, student: str) -> list[str]:
    lineage: list[str] = []
    parent: str | None = student
    while parent is not None and parent in study.students and parent not in lineage:
        lineage.append(parent)
        parent = study.students[parent].initialisation.student
    return lineage


def _of_teacher(study: Study, name: str) -> set[str]:
    model = study.teachers[name].model
    return {study.models[model].source, study.models[study.tokenizer_of(model)].source}


def _of_student(study: Study, name: str) -> set[str]:
    if name in study.teachers:
        return _of_teacher(study, name)
    line = [study.students[ancestor] for ancestor in _lineage(study, name)]
    corpora = {stage.data for student in line for stage in student.stages if stage.data != "task"}
    used = {component.source for corpus in corpora for component in study.corpora[corpus].components}
    starts = [student.initialisation.checkpoint for student in line]
    return used | _of_teacher(study, line[0].teacher) | {study.models[start].source for start in starts if start}


def sends(study: Study) -> bool:
    """Return whether tables require the zips for servers: only at scale `paper`; at others users may ask for them."""
    return study.config.scale == "paper"


def submitted(study: Study) -> list[tuple[str, str]]:
    """Return the (student, task) pairs that some table of the study shows and only a server can score."""
    pairs = [pair for exhibit in study.exhibits.values() for pair in served(study, exhibit)]
    return list(dict.fromkeys(pairs))


def tasks(study: Study) -> set[str]:
    """Return the names of the tasks on which some cell of the study is scored, here or by a server."""
    return {cell.task for cell in expand(study)} | {task for _, task in submitted(study) if sends(study)}


def _of_task(study: Study, name: str, sent: bool) -> set[str]:
    task = study.tasks[name]
    return {*task.sources, *(tested_sources(task) if sent else ())}


def sources(study: Study) -> set[str]:
    """Return the names of the sources that the cells and profiles of the study are made from."""
    cells, sent = expand(study), submitted(study) if sends(study) else []
    students = {cell.student for cell in cells} | {student for student, _ in sent}
    students |= {name for exhibit in study.exhibits.values() for name in profiled(study, exhibit)}
    answered = {task for _, task in sent}
    used = {source for task in tasks(study) for source in _of_task(study, task, task in answered)}
    return used.union(*(_of_student(study, student) for student in students))


def check_sources(study: Study, problems: Problems) -> None:
    """Add a problem for each hub commit without a note of where it was read, and each task that cannot be read."""
    for name, source in study.sources.items():
        if isinstance(source, HubSource) and source.hub.commit and not source.hub.found:
            problems.add(study.files["sources", name], "hub.found: say where the commit was read")
    check_locations(study, tasks(study), problems)


def lacking(study: Study, names: Iterable[str] | None = None) -> list[str]:
    """Return one line for each required source that is not available: its commit is unknown, or its folder is missing.

    Args:
        study: a study without problems. Even if sources are missing, its printed numbers can be read and its jobs
            planned.
        names: the required sources; None for all that the cells and profiles of the study are made from.
    """
    problems = Problems(study.folder)
    for name in sorted(sources(study) if names is None else names):
        source, path = study.sources[name], study.files["sources", name]
        if not isinstance(source, HubSource):
            continue
        folder = source.in_use(study.config)
        setting = SETTING[source.hub.repo_type]
        if isinstance(folder, FolderSource) and not Path(folder.path).is_dir():
            problems.add(path, f"local: {setting} holds no folder {source.local}; put it there, or set {setting}: null")
        if source.location(study.config) == "hub" and source.hub.commit is None:
            local = f", or give {setting} in config.yaml" if source.local else ""
            problems.add(path, f"hub.commit: none is known; run `retort pin {name}` once{local}")
    return problems.lines
