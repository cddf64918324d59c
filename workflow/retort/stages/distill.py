"""Distillation: train the stages of a student one after another, on a task or on corpora."""

from __future__ import annotations

from retort.errors import Diverged, RetortError
from retort.jobs import Job
from retort.models import build
from retort.models.cards import card
from retort.models.initialise import initialise, with_pooler
from retort.models.stored_activations import StoredActivations
from retort.settings import CorpusDistillationSettings, TaskDistillationSettings
from retort.training.distillation import Teacher, online, run_stages, task_agnostic, task_specific
from retort.training.evaluate import Measured, ScoreFiles, measure, write_score
from retort.training.setup import checkpoint_of, head_of, set_seed, training_rows


def distill_on_task(
    job: Job,
    settings: TaskDistillationSettings,
    student: str,
    task: str,
    seed: int,
    encoded_folder: str,
    teacher_folder: str | None,
    model_folder: str,
    parent_folder: str | None,
    activations_folder: str | None,
    files: ScoreFiles,
    weights_folder: str | None,
) -> None:
    """Distil a student on a task and write its score; a divergence is recorded in the score, not raised.

    Args:
        job: the running job.
        settings: the settings of the distillation.
        student: the student's name.
        task: the task's name.
        seed: of the initial weights, the order of the batches and dropout.
        encoded_folder: the folder of the encoded task.
        teacher_folder: the folder of the fine-tuned teacher; None if the student reads nothing of it.
        model_folder: the folder of the published model behind the teacher, which gives the tokenizer.
        parent_folder: the folder of the student or published model that this student starts from; None without one.
        activations_folder: the folder of the teacher's stored activations; None to run the teacher on every batch.
        files: the score file and the file of answers to write.
        weights_folder: the folder in which the weights are saved; None to discard them.
    """
    set_seed(job, seed)
    model = settings.teacher.model
    (head, num_labels), rows = head_of(settings.task), training_rows(encoded_folder, settings.task)
    network = initialise(settings, model.vocabulary, teacher_folder, model_folder, parent_folder, head, num_labels)
    network.to(job.device)
    teacher: Teacher = (
        online(teacher_folder, head, num_labels, job.device)
        if teacher_folder and not activations_folder
        else lambda keys, _: StoredActivations(str(activations_folder), rows, keys, model.architecture.heads)
    )
    checkpoint = checkpoint_of(job, settings, seed)
    result: Measured | Diverged
    try:
        run_stages(job, network, settings, seed, task_specific(settings, rows, seed, teacher), num_labels, checkpoint)
        result = measure(
            network, encoded_folder, settings.task.evaluation_split, settings.task, settings.precision, job.device
        )
    except Diverged as error:
        result = error
    if weights_folder:
        title = f"{student} on {task}, seed {seed}"
        build.save(network, model_folder, weights_folder, card(title, settings, job.device))
    write_score(job, files, student, task, seed, settings, result)
    checkpoint.remove()


def distill_student(
    job: Job,
    settings: CorpusDistillationSettings,
    student: str,
    corpus_folders: dict[str, str],
    teacher_folder: str,
    model_folder: str,
    parent_folder: str | None,
    output: str,
) -> None:
    """Distil a task-agnostic student and save it in the folder `output`, ready to be fine-tuned.

    Args:
        job: the running job.
        settings: the settings of the distillation, with its seed.
        student: the student's name.
        corpus_folders: corpus name -> folder of its blocks, for every corpus that a stage reads.
        teacher_folder: the folder of the teacher, with a masked-LM head if a stage reads its logits.
        model_folder: the folder of the published model behind the teacher, which gives the tokenizer.
        parent_folder: the folder of the student or published model that this student starts from; None without one.
        output: the folder to write.

    Raises:
        RetortError: the training diverged, so that there is no student to fine-tune; or the teacher needs a masked-LM
            head and has none.
    """
    seed, vocabulary = settings.seed, settings.teacher.model.vocabulary
    set_seed(job, seed)
    head = "masked-lm" if settings.teacher.has_masked_lm else "none"
    if head != "none" and not build.has_masked_lm(teacher_folder):
        raise RetortError(f"{teacher_folder} has no masked-LM head", "leave 'masked_lm' out of the model's file")
    network = initialise(settings, vocabulary, teacher_folder, model_folder, parent_folder, head, vocabulary)
    network.to(job.device)
    source = task_agnostic(settings, corpus_folders, online(teacher_folder, head, vocabulary, job.device))
    checkpoint = checkpoint_of(job, settings, seed)
    try:
        run_stages(job, network, settings, seed, source, vocabulary, checkpoint)
    except Diverged as error:
        raise RetortError(f"student '{student}' diverged at step {error.step}", "lower its learning rate") from error
    encoder = with_pooler(network, settings.architecture, parent_folder or model_folder)
    build.save(encoder, model_folder, output, card(student, settings, job.device))
    checkpoint.remove()
    job.say(f"done  ({job.seconds():.0f} s)")
