"""Distillation: train the stages of a student one after another, on a task or on corpora."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from retort.checksums import TIMESTAMP
from retort.data.encoded import Encoded
from retort.data.tokenizers import check_same_tokenizer
from retort.errors import Diverged, RetortError
from retort.job.context import RunningJob
from retort.models import build, weights
from retort.models.card import About
from retort.models.initialise import StartFolders, check_released, initialise_student, with_pooler
from retort.models.stored_activations import StoredActivations
from retort.models.weights import save_with_card
from retort.settings.trainings import CorpusDistillationSettings, TaskDistillationSettings, TeacherHeadSettings
from retort.settings.trials import best_of
from retort.training.distillation import (
    StudentInTraining,
    Teacher,
    TeacherAndData,
    online_teacher,
    run_stages,
    task_agnostic,
    task_specific,
)
from retort.training.evaluate import ScoreToWrite, evaluate_model, write_score
from retort.training.how.launch import on_every_gpu
from retort.training.how.micro_batches import no_teacher
from retort.training.setup import checkpoint_of, head_of, set_seed


@dataclass(frozen=True)
class TaskFolders:
    """The folders that a task-specific student is distilled from.

    Args:
        encoded: the encoded task.
        start: the fine-tuned teacher, the released model, its tokenizer and the parent.
        activations: the folder of the teacher's stored activations; None: it runs on every batch, or nothing reads it.
    """

    encoded: str
    start: StartFolders
    activations: str | None = None

    @classmethod
    def of(cls, inputs: Any) -> TaskFolders:
        """Return the folders among the inputs of a Snakemake job."""
        start = StartFolders(inputs.teacher or None, inputs.model, inputs.tokenizer, next(iter(inputs.parent), None))
        return cls(inputs.encoded, start, inputs.activations or None)


@on_every_gpu
def distill_on_task(
    job: RunningJob,
    settings: TaskDistillationSettings,
    score: ScoreToWrite,
    folders: TaskFolders,
    trials_files: list[str],
    weights_folder: str | None,
    licences: Mapping[str, str],
) -> None:
    """Distil a student on a task, at the best point of its grid, and write its score.

    A divergence, of this training or of every grid point, is recorded in the score, not raised.

    Args:
        job: the running job.
        settings: the settings of the distillation.
        score: the score to write; its seed is for the initial weights, the order of the batches and dropout.
        folders: the folders that the job reads.
        trials_files: the trials of all parts of the grid; empty without a grid.
        weights_folder: the folder in which the weights are saved; None to discard them.
        licences: those that the card of the weights names.

    Raises:
        RetortError: the tokenizer of the model or the parent differs from the one that encoded the task.
    """
    point, failed = best_of(trials_files, settings.grid)
    student = distil(job, settings.at(point), score.seed, folders, failed)
    result = student.diverged or evaluate_model(job, student.network, folders.encoded, settings)
    ways = student.checkpoint.conditions
    if weights_folder:
        about = score.about(result, licences, ways)
        save_with_card(job, settings, student.network, folders.start.tokenizer, weights_folder, about)
        weights.note_result(weights_folder, result)
    write_score(job, score, settings, result, chosen=point if settings.grid else None, conditions=ways)


def distil(
    job: RunningJob,
    settings: TaskDistillationSettings,
    seed: int,
    folders: TaskFolders,
    diverged: Diverged | None = None,
) -> StudentInTraining:
    """Distil a student on a task with one seed, and return it with its divergence, if it or its parent diverged.

    Args:
        job: the running job.
        settings: the settings of the distillation, at a point of its grid.
        seed: the seed of the initial weights, the order of the batches and dropout.
        folders: the folders that the job reads.
        diverged: a divergence known beforehand, after which nothing is trained.

    Raises:
        RetortError: the tokenizer of the model or the parent differs from the one that encoded the task.
    """
    start = folders.start
    check_same_tokenizer(start.model, start.tokenizer, start.parent)
    set_seed(job, seed)
    check_released(start.model, settings.teacher.model)
    head, num_labels = head_of(settings.task)
    vocabulary, labels = settings.teacher.model.vocabulary, settings.task.labels
    network = initialise_student(settings, vocabulary, start, head, num_labels, labels, job.say).to(job.device)
    if settings.pooler_relu:
        build.add_pooler_relu(network)
    teacher_and_data = _teacher_and_data(job, settings, seed, folders)
    student = StudentInTraining(job, network, settings, seed, num_labels, checkpoint_of(job, settings, seed))
    try:
        weights.check_not_diverged(start.parent)
        student.diverged = diverged
        run_stages([student], teacher_and_data)
    except Diverged as error:
        student.diverged = error
    return student


def _teacher_and_data(
    job: RunningJob, settings: TaskDistillationSettings, seed: int, folders: TaskFolders
) -> TeacherAndData:
    """Return the teacher and the batches of each stage; the teacher runs on every batch or is read from disk."""
    rows, head = Encoded.load(folders.encoded, settings.task.train_split), head_of(settings.task)
    teacher: Teacher = lambda keys, dropout: no_teacher  # noqa: E731 # of a student that reads none
    if folder := folders.activations:
        heads = settings.teacher.model.architecture.heads
        teacher = lambda keys, dropout: StoredActivations(folder, rows, keys, heads)  # noqa: E731
    elif folders.start.teacher:
        teacher = online_teacher(folders.start.teacher, *head, job.device, settings.precision, settings.pooler_relu)
    return task_specific(job, settings, folders.encoded, rows, seed, teacher)


@on_every_gpu
def distill_students(
    job: RunningJob,
    settings: dict[str, CorpusDistillationSettings],
    corpus_folders: list[str],
    folders: StartFolders,
    output: str,
    licences: Mapping[str, Mapping[str, str]],
) -> None:
    """Distil task-agnostic students side by side on the same batches, and save each, ready to be fine-tuned.

    If a student or its parent diverges, save the weights before that step with a note.

    Args:
        job: the running job.
        settings: student -> settings of its distillation; all with the same teacher, corpora, batch sizes and seed.
        corpus_folders: the folders of the blocks of all corpora that a stage reads, in the order of the settings.
        folders: the folders of the teacher (with a masked-LM head if a stage reads its logits), the released model and
            the parent.
        output: the folder to write to, a folder a student.
        licences: student -> the licences that its card names.

    Raises:
        RetortError: the teacher needs a masked-LM head and has none, or the tokenizer of the model or the parent
            differs from the one that encoded the corpora.
    """
    with ExitStack() as logs:
        students: dict[str, StudentInTraining] = {}
        for name, own in settings.items():
            students[name] = corpus_student(logs.enter_context(part_of(job, name, len(settings))), own, folders)
        trained = list(students.values())
        try:
            weights.check_not_diverged(folders.parent)
            run_stages(trained, _corpus_teacher_and_data(job, trained[0], corpus_folders, folders))
        except Diverged as error:  # of the parent
            for student in trained:
                student.diverged = error
        for name, student in students.items():
            folder = f"{output}/{name}"
            about = About(name, licences.get(name, {}), student.checkpoint.conditions)
            _save(student, settings[name], folders, folder, about)
            job.resumed_from |= student.job.resumed_from
            if job.writes:
                replace(student.job, name=job.name).take_checksums(Path(folder))  # the name tells the group, see `plan`
    job.say(f"done{f': {len(students)} students' * (len(settings) > 1)}  ({job.seconds():.0f} s)")


@contextmanager
def part_of(job: RunningJob, student: str, students: int) -> Iterator[RunningJob]:
    """Yield the part of a job that distils one of some students, with its own checkpoints and log.

    The checkpoints are known by the student, and not by its group, which may be another when a run goes on.
    `save_student` deletes them.
    """
    own = replace(job, result=f"results/students/{student}/model", resumed_from=set())
    if students == 1:
        yield own
        return
    path = Path(job.log.name).with_name(f"{student}.log")
    with open(path if job.writes else os.devnull, "a", encoding="utf-8") as log:
        yield replace(own, name=f"distill_students({student})", log=log)


def _save(
    student: StudentInTraining, settings: CorpusDistillationSettings, folders: StartFolders, output: str, about: About
) -> None:
    """Save a distilled student, and a note if it has diverged."""
    encoder = with_pooler(student.network, settings, folders.parent or folders.model, settings.seed)
    save_with_card(student.job, settings, encoder, folders.tokenizer, output, about)
    if diverged := student.diverged:
        weights.note_result(output, diverged)
        student.job.say(
            f"diverged at step {diverged.step}, and so does all that starts from it; lower its learning rate"
        )


def corpus_student(job: RunningJob, settings: CorpusDistillationSettings, folders: StartFolders) -> StudentInTraining:
    """Return a task-agnostic student with its initial weights.

    Args:
        job: the running job.
        settings: the settings of the distillation.
        folders: the folders from which the student starts.

    Raises:
        RetortError: the teacher needs a masked-LM head and has none; or a model differs from the study's description.
    """
    check_same_tokenizer(folders.model, folders.tokenizer, folders.parent)
    set_seed(job, settings.seed)
    check_released(folders.model, settings.teacher.model)
    head, vocabulary = _masked_lm_head(settings), settings.teacher.model.vocabulary
    if head != "none" and not build.has_masked_lm(_teacher_folder(folders)):
        raise RetortError(f"{folders.teacher} has no masked-LM head", "leave 'masked_lm' out of the model's file")
    network = initialise_student(settings, vocabulary, folders, head, vocabulary).to(job.device)
    return StudentInTraining(
        job, network, settings, settings.seed, vocabulary, checkpoint_of(job, settings, settings.seed)
    )


def _corpus_teacher_and_data(
    job: RunningJob, student: StudentInTraining, corpus_folders: list[str], folders: StartFolders
) -> TeacherAndData:
    """Return the teacher of task-agnostic students, with batches from their corpora."""
    settings = student.settings
    assert isinstance(settings, CorpusDistillationSettings)
    vocabulary = settings.teacher.model.vocabulary
    head = _masked_lm_head(settings)
    teacher = online_teacher(_teacher_folder(folders), head, vocabulary, job.device, settings.precision)
    return task_agnostic(settings, dict(zip(settings.corpora, corpus_folders, strict=True)), teacher)


def _masked_lm_head(settings: CorpusDistillationSettings) -> str:
    """Return the head of both models, a key of `build.HEADS`."""
    teacher = settings.teacher
    return "masked-lm" if isinstance(teacher, TeacherHeadSettings) or teacher.head else "none"


def _teacher_folder(folders: StartFolders) -> str:
    assert folders.teacher is not None  # every task-agnostic student has one
    return folders.teacher


def save_student(job: RunningJob, student: str, group: str, output: str) -> None:
    """Link the files of a student from the folder of its group, with the checksums that were taken of them."""
    ignored = shutil.ignore_patterns(TIMESTAMP)
    shutil.copytree(Path(group) / student, output, copy_function=_link, ignore=ignored, dirs_exist_ok=True)
    job.taken.add(output)


def _link(file: str, to: str) -> None:
    """Hard-link a file; copy it with its times if the file system has no links between folders."""
    try:
        os.link(file, to)
    except OSError:
        shutil.copy2(file, to)
