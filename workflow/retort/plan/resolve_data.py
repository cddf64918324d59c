"""Resolve the settings of data from the study: sources, pre-trained models, encoded tasks, packed corpora."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from retort.checksums import digest_of
from retort.settings.folder_digests import content_of
from retort.settings.inputs import (
    ContentSettings,
    CorpusSettings,
    FetchSettings,
    ModelSettings,
    SourceSettings,
    SplitFile,
    SplitSettings,
    TaskSettings,
    TokenizedCorpusSettings,
    TokenizedTaskSettings,
)
from retort.specs import catalogue
from retort.specs.base import path_of_user
from retort.specs.model import Made
from retort.specs.source import Folder, HubRepository
from retort.specs.task import Task
from retort.study.questions import files_of, submitted_sources
from retort.study.study import Study

# The version of the code of each type of job, which belongs to the job's settings. Raise it when a change of the code
# changes the meaning of a number.
VERSIONS = {
    "corpus": 2,
    "encode": 3,
    "teacher": 2,
    "head": 3,
    "distill": 3,
    "grid": 2,
    "finetune": 1,
    "predict": 1,
    "profile": 2,
    "verdicts": 5,
}


def taken_over(spec: BaseModel, settings: type[BaseModel]) -> dict[str, Any]:
    """Return the fields of a spec that settings have, too; those of another meaning are overridden by the caller."""
    return {name: getattr(spec, name) for name in settings.model_fields if name in type(spec).model_fields}


def source(study: Study, name: str) -> SourceSettings:
    """Return the settings of the source in use: an archive with its checksum, a commit of the hub, or a digest."""
    return _identify(study.sources[name].in_use(study.config).fetched, name)


def fetched_content(study: Study, name: str) -> SourceSettings:
    """Return the settings of what is fetched of a source: as `fetched`, but a digest for a folder or made data."""
    return _identify(fetched(study, name), name)


def _identify(fetched: FetchSettings, name: str) -> SourceSettings:
    """Return settings that identify the content of a source.

    The address of an archive or of a commit does so by itself; a folder and made data are identified by a digest.
    """
    if isinstance(fetched, Folder):
        return ContentSettings(local=name, sha256=content_of(name, path_of_user(fetched.path).absolute()))
    if isinstance(fetched, Made):
        return ContentSettings(made=name, sha256=digest_of(fetched.model_dump(mode="json")))
    return fetched


def tokenizer(study: Study, name: str) -> SourceSettings:
    """Return the settings of the source that holds the files of a pre-trained model's tokenizer."""
    return source(study, study.models[study.tokenizer_of(name)].source)


def fetched(study: Study, name: str) -> FetchSettings:
    """Return what is needed to fetch the source in use: an archive, a commit of the hub or a part of it, or a path.

    A part is enough for a data set of the hub that only corpora read, if each corpus says how many blocks it needs.
    The number of characters is no setting of the corpora: they read the first texts in both cases.
    """
    settings = study.sources[name].in_use(study.config).fetched
    corpora = [corpus for corpus in study.corpora.values() if name in corpus.sources]
    of_tasks = {source for task in study.tasks.values() for source in (*task.sources, *submitted_sources(task))}
    if not isinstance(settings, HubRepository) or settings.hub.repo_type != "dataset":
        return settings
    if not corpora or name in of_tasks:
        return settings
    parts = [corpus.first_rows(name) for corpus in corpora]
    if None in parts or len({(*part.files, part.column) for part in parts if part}) > 1:
        return settings
    return HubRepository(hub=settings.hub, first=max(filter(None, parts), key=lambda part: part.characters))


def model_settings(study: Study, name: str) -> ModelSettings:
    """Return the settings of a pre-trained model: the sources of its files and its architecture."""
    spec = study.models[name]
    own = {"source": source(study, spec.source), "tokenizer": tokenizer(study, name) if spec.tokenizer else None}
    return ModelSettings(**{**taken_over(spec, ModelSettings), **own})


def split_settings(study: Study, task: Task, name: str) -> SplitSettings:
    """Return how the files of a split are read.

    Raises:
        RetortError: the task names no file of this split where its source is.
    """
    spec, files = task.filed[name], files_of(study, task, name)
    change = files.of(name)

    def file_of(subset: str | None) -> SplitFile:
        return SplitFile(
            file=files.files[name].replace("{subset}", subset or ""),
            rows=spec.expected(subset),
            subset=subset,
            name=change.name and change.name.replace("{subset}", subset or ""),
        )

    return SplitSettings(
        source=spec.source or task.source,
        format=files.format,
        options=change.options,
        columns=change.columns,
        label_names=files.label_names,
        exclude_labels=files.exclude_labels,
        labelled=spec.labelled,
        unlabelled_sample=spec.unlabelled_sample or None,
        broken=files.broken.get(name, 0),
        empty=files.empty.get(name, 0),
        files={key: file_of(subset) for key, (of, subset) in task.encoded_splits.items() if of == name}
        or {name: file_of(None)},
    )


def task_settings(study: Study, name: str, splits: list[str] | None = None) -> TaskSettings:
    """Return the settings of a task: how its splits are made or read, and the sources of their files.

    Args:
        study: the study.
        name: the task.
        splits: the splits that are read; None for those that training and scoring use.

    Raises:
        RetortError: the task names no file of one of the splits where its source is.
    """
    spec = study.tasks[name]
    read = {each: split_settings(study, spec, each) for each in splits or spec.read_splits}
    others = sorted({files.source for files in read.values()} - {spec.source})
    own = {
        "splits": read,
        "sample": study.config.may_be_sample(name),
        "task_type_version": catalogue.task_types()[spec.task_type].version,
        "source": source(study, spec.source),
        "further_sources": {other: source(study, other) for other in others},
        "encode": VERSIONS["encode"],
    }
    return TaskSettings(**{**taken_over(spec, TaskSettings), **own})


def tokenized_task(study: Study, model_name: str, name: str, splits: list[str] | None = None) -> TokenizedTaskSettings:
    """Return the settings of a task that is encoded with the tokenizer of a model; for `splits` see `task_settings`."""
    return TokenizedTaskSettings(task=task_settings(study, name, splits), tokenizer=tokenizer(study, model_name))


def tokenized_corpus(study: Study, model_name: str, name: str) -> TokenizedCorpusSettings:
    """Return the settings of a corpus that is packed with the tokenizer of a model."""
    return TokenizedCorpusSettings(corpus=corpus_settings(study, name), tokenizer=tokenizer(study, model_name))


def corpus_settings(study: Study, name: str) -> CorpusSettings:
    """Return the settings of a corpus, with those of its sources."""
    sources = {each: source(study, each) for each in sorted(study.corpora[name].sources)}
    shared = taken_over(study.corpora[name], CorpusSettings)
    return CorpusSettings(**{**shared, "sources": sources, "stage": VERSIONS["corpus"]})
