"""Teachers: fine-tune one on a task, fit its masked-LM head on a corpus, and store its activations once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from retort.data.collate import in_order
from retort.data.encoded import Encoded
from retort.data.masking import masked_batches
from retort.data.shards import Blocks
from retort.errors import Diverged, RetortError
from retort.jobs import Job
from retort.models import build
from retort.models.cards import card
from retort.models.recorder import Recorder
from retort.models.stored_activations import create
from retort.objectives.compose import compose
from retort.training.evaluate import measure, write_score
from retort.training.finetuning import supervised
from retort.training.loop import TrainingRun, train
from retort.training.setup import LOGITS, checkpoint_of, head_of, progress_of, set_seed, stepped, training_rows


def finetune_teacher(
    job: Job, settings: dict[str, Any], teacher: str, task: str, encoded: str, model: str, to: str, score: str
) -> None:
    """Fine-tune a teacher on a task, save it in the folder `to` and write its score to `score`.

    Raises:
        RetortError: the training diverged, so that no student can be distilled from this teacher.
    """
    seed, data, precision = settings["seed"], settings["data"], settings["precision"]
    set_seed(job, seed)
    build.check_shape(model, settings["model"]["architecture"], settings["model"]["vocabulary"])
    network = build.load(model, *head_of(data))
    build.ready(network, settings["schedule"])
    run = supervised(network, training_rows(encoded, data), settings["schedule"], data, seed)
    checkpoint = checkpoint_of(job, settings, seed)
    try:
        train(run, seed, checkpoint, progress_of(job), precision, job.device)
    except Diverged as error:
        raise RetortError(f"teacher '{teacher}' diverged on '{task}' at step {error.step}", "lower its rate") from error
    build.save(network, model, to, card(f"{teacher} on {task}", settings, job.device))
    result = measure(network, encoded, data["evaluation_split"], data, precision, job.device)
    write_score(job, score, teacher, task, seed, settings, result)
    checkpoint.remove()


def fit_teacher_head(
    job: Job, settings: dict[str, Any], teacher: str, corpus: str, blocks: str, model: str, to: str
) -> None:
    """Fit a masked-LM head of a teacher on a corpus, and save the teacher with its head in the folder `to`.

    A sentence encoder is published without the head of its pre-training. A new head gives it an output distribution: it
    is trained on top of the frozen encoder, and its decoder is tied to the word embeddings, as in BERT.

    Raises:
        RetortError: the training diverged.
    """
    seed, data = settings["seed"], settings["data"]
    schedule = stepped(settings["schedule"], len(Blocks(blocks)))
    set_seed(job, seed)
    build.check_shape(model, settings["model"]["architecture"], settings["model"]["vocabulary"])
    network = build.load(model, "masked-lm")
    build.ready(network, {"freeze": ["encoder"], "dropout": 0.0})
    shape = build.shape_of(network, settings["model"]["vocabulary"])
    loss, recorder = compose([{"objective": "masked-lm"}], shape, shape, 1, 1), Recorder(network, {LOGITS})
    run = TrainingRun(
        modules=[network],
        schedule=schedule,
        batches=lambda start: masked_batches(
            blocks, data["masking"]["probability"], schedule["batch_size"], seed, start
        ),
        loss=lambda batch: loss(recorder(batch), {}, batch),
    )
    checkpoint = checkpoint_of(job, settings, seed)
    try:
        train(run, seed, checkpoint, progress_of(job), settings["precision"], job.device)
    except Diverged as error:
        raise RetortError(f"the head of '{teacher}' diverged at step {error.step}", "lower its rate") from error
    build.save(network, model, to, card(f"{teacher} with a masked-LM head, on {corpus}", settings, job.device))
    checkpoint.remove()
    job.say(f"done  ({job.seconds():.0f} s)")


@torch.no_grad()
def record_activations(job: Job, settings: dict[str, Any], encoded: str, teacher: str, to: str) -> None:
    """Store every activation that students of this teacher read on a task's training rows, in the folder `to`."""
    wanted = {(activation, layer) for activation, layer in settings["activations"]}
    Path(to).mkdir(parents=True, exist_ok=True)
    if not wanted:
        return
    set_seed(job, settings["teacher"]["seed"])
    task, precision = settings["teacher"]["data"], settings["teacher"]["precision"]
    rows = training_rows(encoded, task)
    network = build.load(teacher, *head_of(task)).eval().to(job.device)
    recorder = Recorder(network, wanted)
    stores: dict[Any, Any] = {}
    with torch.autocast(job.device, torch.bfloat16, enabled=precision == "bfloat16"):
        for numbers, batch in in_order(rows, 64):
            for key, value in recorder(batch.to(job.device)).items():
                each = value.dim() == 3  # a vector per token; only the logits of whole rows are 2-D
                kept = value[batch.attention_mask] if each else value
                if key not in stores:
                    length = int(rows.offsets[-1]) if each else len(rows)
                    stores[key] = create(Path(to), key, length, kept.shape[-1], precision)
                place = flat_places(rows, numbers.numpy()) if each else numbers.numpy()
                stores[key].write(place, kept.cpu())
    total = sum(store.nbytes for store in stores.values())
    job.say(f"{len(stores)} activations, {total / 1e6:.0f} MB  ({job.seconds():.0f} s)")


def flat_places(encoded: Encoded, rows: np.ndarray) -> np.ndarray:
    """Return the positions of the rows' tokens in the flat arrays of a split, which hold one row after another."""
    return np.concatenate([np.arange(encoded.offsets[row], encoded.offsets[row + 1]) for row in rows])
