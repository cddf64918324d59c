"""Distillation: train the stages of a student one after another, on a task or on corpora."""

from __future__ import annotations

from retort.data.tokenizers import check_same_tokenizer
from retort.errors import Diverged, RetortError
from retort.jobs import Job
from retort.models import build
from retort.models.cards import save_with_card
from retort.models.initialise import StartFolders, check_published, initialise, with_pooler
from retort.models.stored_activations import StoredActivations
from retort.settings import CorpusDistillationSettings, TaskDistillationSettings
from retort.training.distillation import Teacher, TeacherAndData, online, run_stages, task_agnostic, task_specific
from retort.training.evaluate import Measured, ScoreFiles, dev_score, evaluate, write_score
from retort.training.setup import checkpoint_of, head_of, set_seed, training_rows


def distill_on_task(
    job: Job,
    settings: TaskDistillationSettings,
    student: str,
    task: str,
    seed: int,
    encoded_folder: str,
    folders: StartFolders,
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
        folders: the folders of the fine-tuned teacher, the published model and the parent.
        activations_folder: the folder of the teacher's stored activations; None to run the teacher on every batch.
        files: the score file and the file of answers to write.
        weights_folder: the folder in which the weights are saved; None to discard them.

    Raises:
        RetortError: the task is encoded with another tokenizer than that of the model or the parent.
    """
    check_same_tokenizer(folders.model, folders.tokenizer, folders.parent)
    set_seed(job, seed)
    check_published(folders.model, settings.teacher.model)
    head, num_labels = head_of(settings.task)
    network = initialise(settings, settings.teacher.model.vocabulary, folders, head, num_labels).to(job.device)
    source = _teacher_and_data(job, settings, seed, encoded_folder, folders, activations_folder)
    checkpoint = checkpoint_of(job, settings, seed)
    try:
        run_stages(job, network, settings, seed, source, num_labels, checkpoint)
        result: Measured | Diverged = evaluate(job, network, encoded_folder, settings)
    except Diverged as error:
        result = error
    if weights_folder:
        save_with_card(job, settings, network, folders.tokenizer, weights_folder, f"{student} on {task}, seed {seed}")
    write_score(job, files, student, task, seed, settings, result)
    checkpoint.remove()


def _teacher_and_data(
    job: Job,
    settings: TaskDistillationSettings,
    seed: int,
    encoded_folder: str,
    folders: StartFolders,
    activations_folder: str | None,
) -> TeacherAndData:
    """Return the teacher, which runs on every batch or is read from disk, with batches of the training rows."""
    rows, heads = training_rows(encoded_folder, settings.task), settings.teacher.model.architecture.heads
    teacher: Teacher = (
        online(folders.teacher, *head_of(settings.task), job.device)
        if folders.teacher and not activations_folder
        else lambda keys, _: StoredActivations(str(activations_folder), rows, keys, heads)
    )
    source = task_specific(settings, rows, seed, teacher)
    source.score = lambda model, metric: dev_score(
        model, encoded_folder, metric, settings.task, settings.precision, job.device
    )
    return source


def distill_student(
    job: Job,
    settings: CorpusDistillationSettings,
    student: str,
    corpus_folders: dict[str, str],
    folders: StartFolders,
    output: str,
) -> None:
    """Distil a task-agnostic student and save it in the folder `output`, ready to be fine-tuned.

    Args:
        job: the running job.
        settings: the settings of the distillation, with its seed.
        student: the student's name.
        corpus_folders: corpus name -> folder of its blocks, for every corpus that a stage reads.
        folders: the folders of the teacher (with a masked-LM head if a stage reads its logits), the published model and
            the parent.
        output: the folder to write.

    Raises:
        RetortError: the training diverged, so that there is no student to fine-tune; or the teacher needs a masked-LM
            head and has none; or the corpora are packed with another tokenizer than that of the model or the parent.
    """
    check_same_tokenizer(folders.model, folders.tokenizer, folders.parent)
    seed, vocabulary = settings.seed, settings.teacher.model.vocabulary
    set_seed(job, seed)
    head = "masked-lm" if settings.teacher.has_masked_lm else "none"
    check_published(folders.model, settings.teacher.model)
    assert folders.teacher is not None  # every task-agnostic student has one
    if head != "none" and not build.has_masked_lm(folders.teacher):
        raise RetortError(f"{folders.teacher} has no masked-LM head", "leave 'masked_lm' out of the model's file")
    network = initialise(settings, vocabulary, folders, head, vocabulary).to(job.device)
    source = task_agnostic(settings, corpus_folders, online(folders.teacher, head, vocabulary, job.device))
    checkpoint = checkpoint_of(job, settings, seed)
    try:
        run_stages(job, network, settings, seed, source, vocabulary, checkpoint)
    except Diverged as error:
        raise RetortError(f"student '{student}' diverged at step {error.step}", "lower its learning rate") from error
    random_seed = seed if settings.initialisation.random else None
    encoder = with_pooler(network, settings.architecture, folders.parent or folders.model, random_seed)
    save_with_card(job, settings, encoder, folders.tokenizer, output, student)
    checkpoint.remove()
    job.say(f"done  ({job.seconds():.0f} s)")
