"""Distillation: train the stages of a student one after another, on a task or on corpora."""

from __future__ import annotations

from typing import Any

from retort.data.shards import Blocks
from retort.errors import Diverged, RetortError
from retort.jobs import Job
from retort.models import build
from retort.models.cards import card
from retort.models.initialise import initialise, with_pooler
from retort.models.stored_activations import StoredActivations
from retort.training.distillation import on_corpora, on_task, online, run_stages
from retort.training.evaluate import measure, write_score
from retort.training.setup import checkpoint_of, head_of, set_seed, stepped, training_rows


def distill_on_task(
    job: Job,
    settings: dict[str, Any],
    student: str,
    task: str,
    seed: int,
    encoded: str,
    teacher: str | None,
    model: str,
    parent: str | None,
    activations: str | None,
    score: str,
    weights: str | None,
) -> None:
    """Distil a student on a task and write its score; a divergence is recorded in the score, not raised.

    Args:
        job: the running job.
        settings: the settings of the distillation.
        student: the student's name.
        task: the task's name.
        seed: of the initial weights, the order of the batches and dropout.
        encoded: the folder of the encoded task.
        teacher: the folder of the fine-tuned teacher; None if the student reads nothing of it.
        model: the folder of the published model behind the teacher, which gives the tokenizer.
        parent: the folder of the student or the published model that this student starts from; None if there is none.
        activations: the folder of the teacher's stored activations; None to run the teacher on every batch.
        score: the score file to write.
        weights: the folder in which the weights are saved; None to discard them.
    """
    set_seed(job, seed)
    data = settings["teacher"]["data"]
    (head, num_labels), rows = head_of(data), training_rows(encoded, data)
    stages = [{**stage, "schedule": stepped(stage["schedule"], len(rows))} for stage in settings["stages"]]
    network = initialise(settings, teacher, model, parent, head, num_labels).to(job.device)
    heads = settings["teacher"]["model"]["architecture"]["heads"]
    live = online(teacher, head, num_labels, job.device) if teacher and not activations else None
    taught = on_task(
        settings, rows, seed, live or (lambda keys, _: StoredActivations(str(activations), rows, keys, heads))
    )
    checkpoint = checkpoint_of(job, settings, seed)
    try:
        run_stages(job, network, {**settings, "stages": stages}, seed, taught, num_labels, checkpoint)
        result: Any = measure(network, encoded, data["evaluation_split"], data, settings["precision"], job.device)
    except Diverged as error:
        result = error
    if weights:
        build.save(network, model, weights, card(f"{student} on {task}, seed {seed}", settings, job.device))
    write_score(job, score, student, task, seed, settings, result)
    checkpoint.remove()


def distill_student(
    job: Job,
    settings: dict[str, Any],
    student: str,
    corpora: dict[str, str],
    teacher: str,
    model: str,
    parent: str | None,
    to: str,
) -> None:
    """Distil a task-agnostic student and save it in the folder `to`, ready to be fine-tuned.

    Args:
        job: the running job.
        settings: the settings of the distillation, with its seed.
        student: the student's name.
        corpora: corpus name -> folder of its blocks, for every corpus that a stage reads.
        teacher: the folder of the teacher, with a masked-LM head if a stage reads its logits.
        model: the folder of the published model behind the teacher, which gives the tokenizer.
        parent: the folder of the student or the published model that this student starts from; None if there is none.
        to: the folder to write.

    Raises:
        RetortError: the training diverged, so that there is no student to fine-tune; or the teacher needs a masked-LM
            head and has none.
    """
    seed, known = settings["seed"], settings["teacher"]["model"]["vocabulary"]
    set_seed(job, seed)
    head = "masked-lm" if {"data", "head"} & set(settings["teacher"]) else "none"
    if head != "none" and not build.has_masked_lm(teacher):
        raise RetortError(f"{teacher} has no masked-LM head", "leave 'masked_lm' out of the model's file")
    blocks = {name: len(Blocks(folder)) for name, folder in corpora.items()}
    stages = [{**stage, "schedule": stepped(stage["schedule"], blocks[stage["data"]])} for stage in settings["stages"]]
    network = initialise(settings, teacher, model, parent, head, known).to(job.device)
    taught = on_corpora(settings, corpora, online(teacher, head, known, job.device))
    checkpoint = checkpoint_of(job, settings, seed)
    try:
        run_stages(job, network, {**settings, "stages": stages}, seed, taught, known, checkpoint)
    except Diverged as error:
        raise RetortError(f"student '{student}' diverged at step {error.step}", "lower its learning rate") from error
    encoder = with_pooler(network, settings["architecture"], parent or model)
    build.save(encoder, model, to, card(student, settings, job.device))
    checkpoint.remove()
    job.say(f"done  ({job.seconds():.0f} s)")
