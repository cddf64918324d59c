"""The stages before any training: sources, encoded tasks and corpora; none of them imports torch."""

from __future__ import annotations

import os
from pathlib import Path

from retort.atomic import write_json
from retort.data import corpora, corpus_parts, encoding
from retort.data.corpus_texts import CorpusTexts
from retort.data.sources import fetch
from retort.data.sources.synthetic_files import write_rows, write_texts
from retort.data.tokenizers import FILE, explained_panics, tokenizer_file
from retort.job.context import RunningJob
from retort.settings.inputs import FetchSettings, TokenizedCorpusSettings, TokenizedTaskSettings
from retort.specs.model import Made
from retort.tasks import task_type_of


def fetch_source(job: RunningJob, settings: FetchSettings, output: str) -> None:
    """Fetch the files of a source into the folder `output`, and write the settings to a file next to it.

    With the file, later runs need no hub even if the user deletes the folder to save space.
    """
    count = fetch.fetch(settings, Path(output), job.checkpoints)
    write_json(f"{output}.json", settings.model_dump(mode="json"))
    job.say(f"{count} files")


def encode_task(
    job: RunningJob, settings: TokenizedTaskSettings, source_folders: list[str], tokenizer_folder: str, output: str
) -> None:
    """Encode the splits of a task with a tokenizer and write them to the folder `output`.

    Raises:
        RetortError: there is no tokenizer, or a file of the task is missing or not as expected.
    """
    os.environ |= {"TOKENIZERS_PARALLELISM": "true", "RAYON_NUM_THREADS": str(job.threads)}
    folders = {Path(folder).name: Path(folder) for folder in source_folders}
    task, tokenizer = settings.task, tokenizer_file(Path(tokenizer_folder))
    with explained_panics(tokenizer):
        counts = encoding.encode_task(task, task_type_of(task), folders, tokenizer, Path(output), job.say)
    job.say(", ".join(f"{rows} {name} rows" for name, rows in counts.items()))


def tokenize_corpus(
    job: RunningJob,
    settings: TokenizedCorpusSettings,
    source_folders: list[str],
    tokenizer_folder: str,
    part: int,
    parts: int,
    output: str,
) -> None:
    """Clean and tokenise one part of the texts of a corpus and write the tokens to the folder `output`.

    `source_folders` are in the order of the sources that the settings name; parts count from 1.

    Raises:
        RetortError: there is no tokenizer, or a component has no files.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # parts run side by side
    texts = _corpus_texts(settings, source_folders, tokenizer_folder)
    with explained_panics(Path(tokenizer_folder) / FILE):
        tokens = corpus_parts.tokenize_part(texts, (part, parts), Path(output), job.checkpoints, job.say)
    job.say(f"{tokens:,} tokens")


def build_corpus(
    job: RunningJob,
    settings: TokenizedCorpusSettings,
    source_folders: list[str],
    tokenizer_folder: str,
    part_folders: list[str],
    output: str,
) -> None:
    """Pack the tokenised parts of a corpus into blocks and write them to the folder `output`.

    `source_folders` are in the order of the sources that the settings name.

    Raises:
        RetortError: a part is damaged, or a component has too little text.
    """
    texts = _corpus_texts(settings, source_folders, tokenizer_folder)
    blocks = corpora.build_corpus(texts, list(map(Path, part_folders)), Path(output))
    job.say(f"{blocks:,} blocks of {settings.corpus.block} tokens")


def _corpus_texts(settings: TokenizedCorpusSettings, source_folders: list[str], tokenizer_folder: str) -> CorpusTexts:
    folders = dict(zip(settings.corpus.sources, map(Path, source_folders), strict=True))
    return CorpusTexts.open(settings.corpus, folders, tokenizer_file(Path(tokenizer_folder)).parent)


def make_source(job: RunningJob, settings: Made, output: str) -> None:
    """Make the files of a source in the folder `output`, and write the settings to a file next to it."""
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    for rows in settings.rows:
        write_rows(folder, rows, settings.seed)
    for texts in settings.texts:
        write_texts(folder, texts, settings.seed)
    if settings.model:
        from retort.models.synthetic_models import write_model  # it imports torch, which takes seconds

        write_model(folder, settings.model, settings.seed)
    write_json(f"{output}.json", settings.model_dump(mode="json"))
    job.say(f"{len(settings.rows) + len(settings.texts)} files" + ", a model" * (settings.model is not None))
