"""Distil students of one teacher side by side: the teacher makes one pass over a batch for all of them."""

from __future__ import annotations

from contextlib import ExitStack

from retort.attempts import TRAINS_FOR
from retort.errors import RetortError
from retort.jobs import Job, acting_for, lock_of
from retort.models.initialise import StartFolders
from retort.settings import CorpusDistillationSettings
from retort.stages.distill import corpus_student, corpus_teacher_and_data
from retort.training.distillation import Student, run_stages
from retort.training.launch import on_every_gpu
from retort.training.side_by_side import leave_divergence, leave_last_state, read_divergence

RULE = TRAINS_FOR["distill_together"]  # the rule of the students' own jobs, which go on from the checkpoints


def distill_together(
    job: Job,
    settings: dict[str, CorpusDistillationSettings],
    corpus_folders: dict[str, str],
    folders: dict[str, StartFolders],
) -> None:
    """Train task-agnostic students on the same batches, and write each one's last state as a checkpoint of its own job.

    That job then takes no step, and saves the student. A student that diverges leaves a note with the step. A student
    that another process already trains is skipped.

    Args:
        job: the running job.
        settings: student -> settings of its distillation; all with the same teacher, corpora, batch sizes and seed.
        corpus_folders: corpus name -> folder of its blocks, for every corpus that a stage reads.
        folders: student -> folders from which it starts, all with the same teacher.
    """
    with ExitStack() as locks:
        free = {}
        for name, own in settings.items():
            try:
                locks.enter_context(lock_of(RULE, name))
                free[name] = own
            except RetortError as error:
                job.say(f"without {name}: {error}")
        if free:
            _train(job, free, corpus_folders, folders)


@on_every_gpu
def _train(
    job: Job,
    settings: dict[str, CorpusDistillationSettings],
    corpus_folders: dict[str, str],
    folders: dict[str, StartFolders],
) -> None:
    """Train students whose jobs are locked; one that cannot begin is left to its own job.

    Raises:
        RetortError: none of them can begin.
    """
    with ExitStack() as logs:
        students: dict[str, Student] = {}
        for name, own in settings.items():
            try:
                acting = logs.enter_context(acting_for(job, RULE, name, _inputs(own, corpus_folders, folders[name])))
                students[name] = _student(acting, own, folders[name])
            except RetortError as error:
                if not students and name == list(settings)[-1]:
                    raise
                job.say(f"without {name}: {error}")
        first = next(iter(students))
        run_stages(
            list(students.values()), corpus_teacher_and_data(job, settings[first], corpus_folders, folders[first])
        )
    job.say(f"done: {len(students)} student{'s' * (len(students) != 1)}  ({job.seconds():.0f} s)")


def _inputs(settings: CorpusDistillationSettings, corpus_folders: dict[str, str], folders: StartFolders) -> list[str]:
    """Return the inputs of a student's own job, in the order of its rule: its checkpoint is valid only for these."""
    corpora = [corpus_folders[stage.data] for stage in settings.stages]
    return list(filter(None, [*corpora, folders.teacher, folders.model, folders.tokenizer, folders.parent]))


def _student(job: Job, settings: CorpusDistillationSettings, folders: StartFolders) -> Student:
    """Return a student that leaves its outcome in the checkpoint of its own job."""
    student = corpus_student(job, settings, folders)
    student.diverged = read_divergence(student.checkpoint)
    leave_last_state(student)
    leave_divergence(student)
    return student
