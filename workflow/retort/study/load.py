"""The study: all tasks, models, protocols, students, tables and figures, read from YAML and checked together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from retort.errors import RetortError, StudyError
from retort.registry import unknown
from retort.specs import loading
from retort.specs.config import ROOT, Config
from retort.specs.corpus import Corpus
from retort.specs.loading import Problems
from retort.specs.model import Model
from retort.specs.paper import Facts
from retort.specs.protocol import Protocol
from retort.specs.scale import Scale
from retort.specs.source import Source
from retort.specs.task import Task
from retort.specs.yaml_reader import read_yaml
from retort.study.check import Checker, check, check_scale
from retort.study.check_files import check_names, check_scaled
from retort.study.load_paper import read_paper
from retort.study.reading import check_sources
from retort.study.scaled_study import scale_study
from retort.study.study import Study

Check = Callable[[Study, loading.Problems], None]

FOLDERS: dict[str, Any] = {
    "sources": Source,
    "models": Model,
    "tasks": Task,
    "corpora": Corpus,
    "protocols": Protocol,
}


def read_files(config: Config) -> tuple[Study, loading.Problems]:
    """Read the study and check all of its files; return it with every problem found.

    Sources that are not available are not checked here.
    """
    study = Study(folder=config.folder, config=config)
    problems = loading.Problems(config.folder)
    if not config.folder.is_dir():
        problems.add(config.origin("study"), f"study: there is no folder {config.study}")
        return study, problems
    if not (config.folder / "papers").is_dir():
        problems.add(
            config.origin("study"), f"study: {config.study} has no folder 'papers'; name the folder of a study"
        )
        return study, problems
    for name, model in FOLDERS.items():
        specs = loading.folder(config.folder / name, model, problems, _enter_own_source(study, problems))
        setattr(study, name, specs)
        study.files.update({(name, key): config.folder / name / f"{key}.yaml" for key in specs})
    study.apply(config.run_sources)
    if loading.is_there(config.folder / "facts.yaml"):
        path = config.folder / "facts.yaml"
        study.facts = loading.named(path, Facts, problems)
        study.files.update({("facts", str(name)): path for name in loading.entries(path, problems)})
    folders = {path.name: path for path in sorted((config.folder / "papers").glob("*")) if path.is_dir()}
    study.scale = read_scales(config, problems).get(config.scale, Scale(title=config.scale))
    papers = config.papers or _papers_of_scale(folders, study.scale)
    check_names(config.folder, (*FOLDERS, "scales"), [slug for slug in papers if slug in folders], problems)
    for slug in papers:
        if slug in folders:
            if loading.checked_entry_name(folders[slug], slug, problems):
                read_paper(study, folders[slug], problems)
        else:
            problems.add(config.origin("papers"), f"papers: {unknown('paper', slug, folders)}")
    for task in config.sampled:
        if task not in study.tasks:
            problems.add(config.origin("sample"), f"sample: {unknown('task', task, study.tasks)}")
    check(study, problems)
    return study, problems


def _enter_own_source(study: Study, problems: loading.Problems) -> loading.Change:
    """Return a change of task files: a source that is given in the file is entered as a source with the task's name.

    A `source` that is a name, and all other files, stay unchanged.
    """

    def enter(path: Path, content: Any) -> Any:
        if path.parent.name != "tasks" or not isinstance(content, dict) or not isinstance(content.get("source"), dict):
            return content
        source, name = problems.validate(path, "source", Source, content["source"]), path.stem
        if name in study.sources:
            problems.add(path, f"source: sources/{name}.yaml has this name too; write `source: {name}`, or rename one")
        elif source is None:
            problems.unread.add(name)
        else:
            study.sources[name], study.files["sources", name] = source, path
        return {**content, "source": name}

    return enter


def read(config: Config, *checks: Check) -> tuple[Study, list[str]]:
    """Read the study, apply the scale, and check the sources; return it with every problem found.

    If there are problems, the study may lack entries.

    Args:
        config: the checked configuration.
        *checks: further checks of the study as its files have it; they run only if no other problem was found.
    """
    study, problems = read_files(config)
    for check_further in checks if not problems.lines else ():
        check_further(study, problems)
    if not problems.lines:
        scale_study(study)
        check_scaled(study, problems)
        check_sources(study, problems)
    return study, problems.lines


def read_scales(config: Config, problems: loading.Problems) -> dict[str, Scale]:
    """Return the scales of the study by name; a study without a folder `scales` uses those of the repository."""
    own = config.folder / "scales"
    scales: dict[str, Scale] = loading.folder(own if own.is_dir() else ROOT / "workflow" / "scales", Scale, problems)
    return scales


def is_ours(path: Path) -> bool | None:
    """Return whether a `paper.yaml` describes one of our own studies (`ours: true`); None if it cannot be read."""
    try:
        content = read_yaml(path)
    except RetortError:
        return None
    return bool(content.get("ours")) if isinstance(content, dict) else None


def _papers_of_scale(folders: dict[str, Path], scale: Scale) -> list[str]:
    """Return the papers that a scale runs by default: either our own studies or the printed papers.

    A paper whose `paper.yaml` cannot be read is included, so that its problem is reported.
    """
    included = (scale.papers == "ours", None)
    return [name for name, path in folders.items() if is_ours(path / "paper.yaml") in included]


def open_written(config: Config) -> Study:
    """Return the study as its files describe it, without the changes that a scale makes.

    It is meant for reading, not for running, so no source needs to be available.

    Raises:
        StudyError: the files have problems; the error lists every problem of every file.
    """
    study, problems = read_files(config)
    if problems.lines:
        raise StudyError(problems.lines)
    return study


def open_whole(config: Config) -> Study:
    """Return the same as `open_written`, with every paper in the study's folder, whatever `papers` names.

    Raises:
        StudyError: the files have problems; the error lists every problem of every file.
    """
    return open_written(with_every_paper(config))


def with_every_paper(config: Config) -> Config:
    """Return the configuration with every paper in the study's folder, whatever `papers` names."""
    papers = sorted(path.parent.name for path in (config.folder / "papers").glob("*/paper.yaml"))
    return config.model_copy(update={"papers": papers or config.papers})


def open_study(config: Config, *checks: Check) -> Study:
    """Read the study and return it if it has no problems.

    Args:
        config: the checked configuration.
        *checks: further checks, as of `read`.

    Raises:
        StudyError: the files have problems; the error lists every problem of every file.
    """
    study, problems = read(config, *checks)
    if problems:
        raise StudyError(problems)
    return study


def check_files(config: Config, *checks: Check) -> tuple[Study, list[str]]:
    """Read the whole study and return it with every problem of every file.

    Args:
        config: names the study's folder; its papers and its scale do not matter.
        *checks: further checks of the study; they run only if no other problem was found.
    """
    papers = sorted(path.name for path in (config.folder / "papers").glob("*") if path.is_dir())
    study, problems = read_files(config.model_copy(update={"papers": papers or config.papers}))
    scales = read_scales(config, Problems(config.folder)) if (config.folder / "scales").is_dir() else {}
    for name, scale in scales.items():
        check_scale(study, name, scale, Checker(study, problems).known)
    for check_further in checks if not problems.lines else ():
        check_further(study, problems)
    for name, scale in scales.items() if not problems.lines else ():
        scaled = at_scale(study, name, scale)
        scale_study(scaled)
        check_scaled(scaled, problems)
    return study, problems.lines


def at_scale(study: Study, name: str, scale: Scale) -> Study:
    """Return a copy of the study under another scale; scaling the copy does not change the study."""
    return dataclasses.replace(
        study,
        config=study.config.model_copy(update={"scale": name}),
        scale=scale,
        students=dict(study.students),
        teachers=dict(study.teachers),
        protocols=dict(study.protocols),
        not_run={},
    )
