"""The stages before any training: sources, encoded tasks and corpora; none of them imports torch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from retort.data import corpora, sources
from retort.data import encoded as tasks
from retort.jobs import Job
from retort.specs.source import Source
from retort.tasks import task_type_of


def fetch_source(job: Job, settings: dict[str, Any], to: str) -> None:
    """Fetch the files of a source into the folder `to`."""
    source: Source = TypeAdapter(Source).validate_python({"title": to, "licence": "-", **settings})
    count = sources.fetch(source, Path(to), job.checkpoints)
    job.say(f"{count} files")


def encode_task(job: Job, settings: dict[str, Any], source: str | list[str], model: str, to: str) -> None:
    """Tokenise the splits of a task with the model's tokenizer and write them to the folder `to`."""
    os.environ |= {"TOKENIZERS_PARALLELISM": "true", "RAYON_NUM_THREADS": str(job.threads)}
    folders = {Path(folder).name: Path(folder) for folder in ([source] if isinstance(source, str) else source)}
    counts = tasks.encode_task(
        settings, task_type_of(settings), folders, Path(model) / "tokenizer.json", Path(to), job.say
    )
    job.say(", ".join(f"{rows} {name} rows" for name, rows in counts.items()))


def build_corpus(job: Job, settings: dict[str, Any], sources: list[str], model: str, to: str) -> None:
    """Pack a corpus into blocks of the model's tokens and write them to the folder `to`.

    `sources` are folders, in the same order as the sources that the settings name.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if job.threads > 1 else "false"
    os.environ["RAYON_NUM_THREADS"] = str(job.threads)
    folders = dict(zip(settings["sources"], map(Path, sources), strict=True))
    blocks = corpora.build_corpus(settings, folders, Path(model), Path(to), job.checkpoints, job.say)
    job.say(f"{blocks} blocks of {settings['block']} tokens")
