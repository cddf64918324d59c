"""The stages before any training: sources, encoded tasks and corpora; none of them imports torch."""

from __future__ import annotations

import os
from pathlib import Path

from retort.data import corpora, encoded, sources
from retort.data.tokenizers import tokenizer_file
from retort.jobs import Job, write_json
from retort.settings import SourceSettings, TokenizedCorpusSettings, TokenizedTaskSettings
from retort.tasks import task_type_of


def fetch_source(job: Job, settings: SourceSettings, output: str) -> None:
    """Fetch the files of a source into the folder `output`, and write the settings to a file beside it.

    The file outlives the folder: who deletes the folder to save space can run on without the hub.
    """
    count = sources.fetch(settings, Path(output), job.checkpoints)
    write_json(f"{output}.json", settings.model_dump(mode="json"))
    job.say(f"{count} files")


def encode_task(
    job: Job, settings: TokenizedTaskSettings, source_folders: list[str], tokenizer_folder: str, output: str
) -> None:
    """Encode the splits of a task with a tokenizer and write them to the folder `output`.

    Raises:
        RetortError: there is no tokenizer, or a file of the task is missing or not as expected.
    """
    os.environ |= {"TOKENIZERS_PARALLELISM": "true", "RAYON_NUM_THREADS": str(job.threads)}
    folders = {Path(folder).name: Path(folder) for folder in source_folders}
    task, tokenizer = settings.task, tokenizer_file(Path(tokenizer_folder))
    counts = encoded.encode_task(task, task_type_of(task), folders, tokenizer, Path(output), job.say)
    job.say(", ".join(f"{rows} {name} rows" for name, rows in counts.items()))


def build_corpus(
    job: Job, settings: TokenizedCorpusSettings, source_folders: list[str], tokenizer_folder: str, output: str
) -> None:
    """Pack a corpus into blocks of a tokenizer's tokens and write them to the folder `output`.

    `source_folders` are in the order of the sources that the settings name.

    Raises:
        RetortError: there is no tokenizer, or a component has no files or too little text.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if job.threads > 1 else "false"
    os.environ["RAYON_NUM_THREADS"] = str(job.threads)
    corpus, tokenizer = settings.corpus, tokenizer_file(Path(tokenizer_folder))
    folders = dict(zip(corpus.sources, map(Path, source_folders), strict=True))
    blocks = corpora.build_corpus(corpus, folders, tokenizer.parent, Path(output), job.checkpoints, job.say)
    job.say(f"{blocks} blocks of {corpus.block} tokens")
