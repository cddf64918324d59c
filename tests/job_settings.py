"""Settings of jobs for tests: each has defaults, of which a test names those that it is about."""

from __future__ import annotations

from typing import Any

from retort.settings.inputs import CorpusSettings, TaskSettings
from retort.settings.trainings import DistillationSettings, InitialisationSettings
from retort.specs.corpus import Corpus
from retort.specs.model import Architecture
from retort.specs.protocol import Schedule


def task_settings(**changes: Any) -> TaskSettings:
    """Return the settings of a task: a classification into two labels, unless the changes say otherwise."""
    defaults = {
        "task_type": "classification", "labels": ["no", "yes"], "subsets": [], "train_split": "train",
        "validation_split": "dev", "evaluation_split": "test", "max_length": 8, "version": 1, "task_type_version": 1,
        "source": {"local": "texts", "sha256": "0"}, "further_sources": {}, "encode": 1, "splits": {}, "sample": False,
    }  # fmt: skip
    return TaskSettings.model_validate({**defaults, **changes})


def split_settings(**changes: Any) -> dict[str, Any]:
    """Return how a split is read, as JSON values: `dev` of two text pairs in dev.tsv, unless changed."""
    defaults = {
        "source": "s", "format": "tsv", "options": {}, "label_names": ["no", "yes"], "exclude_labels": [],
        "columns": {"text": "one", "pair": "two", "label": "label", "id": "index"}, "labelled": True, "broken": 0,
        "empty": 0, "files": {"dev": {"file": "dev.tsv", "rows": [2]}},
    }  # fmt: skip
    return {**defaults, **changes}


def one_split(**changes: Any) -> TaskSettings:
    """Return the settings of a task of text pairs with one split; the changes are of the task and of its split."""
    own = {key: changes.pop(key) for key in list(changes) if key in TaskSettings.model_fields}
    return task_settings(**own, splits={"dev": split_settings(**changes)})


def rated_task(split: dict[str, int], file: str = "rated.txt", source: str = "texts", **options: Any) -> TaskSettings:
    """Return the settings of a task whose classes are the signs of ratings, with splits that are drawn from one file.

    Args:
        split: the seed, and the rows of 'test' and 'dev'.
        file: the file.
        source: the source that holds it.
        options: of the format.
    """
    read = {"format": "ratings", "options": options, "columns": {"text": "text", "label": "positive"}}
    files = {"files": {"all": {"file": file, "rows": []}}, "label_names": [], "source": source}
    return task_settings(split=split, splits={"all": split_settings(**read, **files)})


def corpus_settings(**fields: Any) -> CorpusSettings:
    """Return the settings of a corpus with these fields of its YAML file."""
    spec = Corpus(title="t", version=1, **fields)
    values = {name: value for name, value in spec if name not in ("title", "jobs")}
    return CorpusSettings(**values, sources={}, stage=1)


def schedule(**changes: Any) -> Schedule:
    """Return a schedule of two steps, unless the changes say otherwise."""
    length = {} if "epochs" in changes else {"steps": 2}
    return Schedule(**{**length, "batch_size": 2, "learning_rate": 0.01, **changes})


def distillation_settings(architecture: Architecture, **start: Any) -> DistillationSettings:
    """Return the settings of a distillation without stages, with this architecture and initialisation."""
    ways = {"layers": None, "of": "teacher", "student": None, "random": False}
    return DistillationSettings(
        architecture=architecture,
        initialisation=InitialisationSettings.model_validate({**ways, **start}),
        stages=[],
        precision="float32",
        versions=[1],
    )
