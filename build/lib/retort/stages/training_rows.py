"""Make a set of training rows, from a file or by a generator, and encode it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch

from retort.batch import Batch
from retort.data.encoding import encode_splits
from retort.data.generators import Generator, PretrainedWords, generators
from retort.data.splits import SplitRows
from retort.data.tokenizers import tokenizer_file
from retort.data.training_rows import rows_of_file, rows_of_generator
from retort.data.word_vectors import read_word_vectors
from retort.engine.job import Job
from retort.errors import RetortError
from retort.models import build
from retort.models.initialise import check_published
from retort.models.recorder import Recorder
from retort.settings.inputs import ModelSettings, RowSetSettings, TokenizedRowSetSettings
from retort.tasks import task_type_of

LOGITS = ("logits", None)


def make_training_rows(
    job: Job,
    settings: TokenizedRowSetSettings,
    source_folders: list[str],
    tokenizer_folder: str,
    model_folders: list[str],
    output: str,
) -> None:
    """Read or make the rows of a set, encode them as the training split of their task, and write them to `output`.

    Args:
        job: the running job.
        settings: the settings of the set, and of its task and tokenizer.
        source_folders: the folders of the sources of the set and, for a generator, of the task's training rows.
        tokenizer_folder: the folder of the tokenizer that encodes the rows.
        model_folders: the folders of the model that a generator asks and of its tokenizer; empty if it asks none.
        output: the folder to write.

    Raises:
        RetortError: a file is missing or not as expected, or the model has no masked-LM head.
    """
    os.environ |= {"TOKENIZERS_PARALLELISM": "true", "RAYON_NUM_THREADS": str(job.threads)}
    folders = {Path(folder).name: Path(folder) for folder in source_folders}
    task, tokenizer = settings.task, tokenizer_file(Path(tokenizer_folder))
    rows = _rows(job, settings, folders, model_folders)
    counts = encode_splits(task, task_type_of(task), [(task.train_split, rows)], tokenizer, Path(output), job.say)
    job.say(f"{counts[task.train_split]:,} rows  ({job.seconds():.0f} s)")


def _rows(job: Job, settings: TokenizedRowSetSettings, folders: dict[str, Path], model_folders: list[str]) -> SplitRows:
    made, task = settings.rows.generator, settings.task
    if made is None:
        return rows_of_file(settings.rows, task, task_type_of(task), folders)
    generator = _generator(job, settings.rows, folders, model_folders)
    return rows_of_generator(generator, made, task, task_type_of(task), folders)


def _generator(job: Job, rows: RowSetSettings, folders: dict[str, Path], model_folders: list[str]) -> Generator:
    """Return the generator of a set, with the model and the word vectors that it asks."""
    made = rows.generator
    assert made is not None
    vectors = read_word_vectors(folders[next(iter(rows.sources))] / made.vectors) if made.vectors else None
    words = pretrained_words(job, made.model, *model_folders) if made.model else None
    return generators[made.name](words, vectors, **made.options)


def pretrained_words(job: Job, model: ModelSettings, folder: str, tokenizer_folder: str) -> PretrainedWords:
    """Load a model with a masked-LM head, which predicts in float32 on the device of the job.

    Args:
        job: the running job.
        model: the settings of the model.
        folder: the folder of the model.
        tokenizer_folder: the folder of its tokenizer.

    Raises:
        RetortError: the model has no masked-LM head, or differs from the study's description.
    """
    check_published(folder, model)
    if not build.has_masked_lm(folder):
        raise RetortError(f"{folder} has no masked-LM head", "leave 'masked_lm' out of the model's file")
    torch.set_num_threads(job.threads)
    network: Any = build.load(folder, "masked-lm").eval().to(job.device)
    record = Recorder(network, [LOGITS])

    @torch.no_grad()
    def predict(input_ids: np.ndarray, positions: np.ndarray) -> np.ndarray:
        ids = torch.from_numpy(input_ids)  # (rows, tokens)
        masked = torch.from_numpy(positions + np.arange(len(ids)) * ids.shape[1])  # (rows,), in the flat batch
        batch = Batch(ids, torch.zeros_like(ids), torch.ones_like(ids, dtype=torch.bool), positions=masked)
        logits: np.ndarray = record(batch.to(job.device))[LOGITS].float().cpu().numpy()  # (rows, vocabulary)
        return logits

    embeddings = network.get_input_embeddings().weight.detach().cpu().numpy()  # (vocabulary, width)
    return PretrainedWords.load(Path(tokenizer_folder), model.positions, embeddings, predict)
