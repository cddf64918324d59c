"""The stages before any training: sources, encoded tasks and corpora; none of them imports torch."""

from __future__ import annotations

import os
from pathlib import Path

from retort.data import corpora, encoding, sources
from retort.jobs import Job
from retort.settings import CorpusSettings, SourceSettings, TaskSettings
from retort.tasks import task_type_of


def fetch_source(job: Job, settings: SourceSettings, output: str) -> None:
    """Fetch the files of a source into the folder `output`."""
    count = sources.fetch(settings, Path(output), job.checkpoints)
    job.say(f"{count} files")


def encode_task(job: Job, settings: TaskSettings, source_folders: list[str], model_folder: str, output: str) -> None:
    """Tokenise the splits of a task with the model's tokenizer and write them to the folder `output`."""
    os.environ |= {"TOKENIZERS_PARALLELISM": "true", "RAYON_NUM_THREADS": str(job.threads)}
    folders = {Path(folder).name: Path(folder) for folder in source_folders}
    tokenizer = Path(model_folder) / "tokenizer.json"
    counts = encoding.encode_task(settings, task_type_of(settings), folders, tokenizer, Path(output), job.say)
    job.say(", ".join(f"{rows} {name} rows" for name, rows in counts.items()))


def build_corpus(job: Job, settings: CorpusSettings, source_folders: list[str], model_folder: str, output: str) -> None:
    """Pack a corpus into blocks of the model's tokens and write them to the folder `output`.

    `source_folders` are in the order of the sources that the settings name.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if job.threads > 1 else "false"
    os.environ["RAYON_NUM_THREADS"] = str(job.threads)
    folders = dict(zip(settings.sources, map(Path, source_folders), strict=True))
    blocks = corpora.build_corpus(settings, folders, Path(model_folder), Path(output), job.checkpoints, job.say)
    job.say(f"{blocks} blocks of {settings.block} tokens")
