"""Distil students of one teacher side by side: its pass over each batch is made once for all of them."""

from __future__ import annotations

from contextlib import ExitStack

from retort.errors import RetortError
from retort.jobs import Job, acting_for
from retort.models.initialise import StartFolders
from retort.settings import CorpusDistillationSettings
from retort.stages.distill import corpus_source, corpus_student
from retort.training.distillation import Student, run_stages
from retort.training.side_by_side import divergence_noted, leave_divergence, leave_last_state

RULE = "distill_student"  # the rule of the jobs that go on from the checkpoints


def distill_together(
    job: Job,
    settings: dict[str, CorpusDistillationSettings],
    corpus_folders: dict[str, str],
    folders: dict[str, StartFolders],
) -> None:
    """Train task-agnostic students on the same batches, and leave each its last state as a checkpoint of its own job.

    That job then takes no step, and saves the student. One that diverges leaves the step at which it did. One at which
    another process is at work, or that cannot begin, is left to its own job.

    Args:
        job: the running job.
        settings: student -> settings of its distillation; all with the same teacher, corpora, batch sizes and seed.
        corpus_folders: corpus name -> folder of its blocks, for every corpus that a stage reads.
        folders: student -> the folders that it starts from, all with the same teacher.
    """
    with ExitStack() as jobs:
        students = []
        for name, own in settings.items():
            try:
                inputs = _inputs(own, corpus_folders, folders[name])
                acting = jobs.enter_context(acting_for(job, RULE, name, inputs))
                students.append(_student(acting, own, folders[name]))
            except RetortError as error:
                job.say(f"without {name}: {error}")
        if students:
            first = next(iter(settings))
            run_stages(students, corpus_source(job, settings[first], corpus_folders, folders[first]))
        for student in students:
            leave_divergence(student)
    job.say(f"done: {len(students)} students  ({job.seconds():.0f} s)")


def _inputs(settings: CorpusDistillationSettings, corpus_folders: dict[str, str], folders: StartFolders) -> list[str]:
    """Return what the job of a student reads, in the order of its rule: the state on disk is valid for these alone."""
    corpora = [corpus_folders[stage.data] for stage in settings.stages]
    return list(filter(None, [*corpora, folders.teacher, folders.model, folders.tokenizer, folders.parent]))


def _student(job: Job, settings: CorpusDistillationSettings, folders: StartFolders) -> Student:
    student = corpus_student(job, settings, folders)
    student.diverged = divergence_noted(student.checkpoint)
    leave_last_state(student)
    return student
