"""What students, teachers and tasks are made from: models, corpora, tasks and sources.

Each has a name such as 'models/roberta-base' or 'sources/cc100', by which a run also lists what it leaves out.
"""

from __future__ import annotations

from retort.study.questions import submitted_sources
from retort.study.study import Study


def lineage(study: Study, student: str) -> list[str]:
    """Return a student, the student that it starts from, and so on; empty for a teacher."""
    names: list[str] = []
    parent: str | None = student
    while parent is not None and parent in study.students and parent not in names:
        names.append(parent)
        parent = study.students[parent].initialisation.student
    return names


def of_model(study: Study, name: str) -> set[str]:
    """Return what a pre-trained model needs: its own source, and the model with its tokenizer."""
    models = {name, study.tokenizer_of(name)}
    return {key for each in models for key in (f"models/{each}", f"sources/{study.models[each].source}")}


def of_corpus(study: Study, name: str) -> set[str]:
    """Return what a corpus is built from."""
    return {f"corpora/{name}", *(f"sources/{each.source}" for each in study.corpora[name].components)}


def of_task(study: Study, name: str) -> set[str]:
    """Return what training and scoring on a task needs."""
    return {f"tasks/{name}", *(f"sources/{source}" for source in study.tasks[name].sources)}


def of_submission(study: Study, name: str) -> set[str]:
    """Return what the predictions on a task's test sets need, besides what training on it needs."""
    return {f"submissions/{name}", *(f"sources/{source}" for source in submitted_sources(study.tasks[name]))}


def of_profile(study: Study, name: str) -> set[str]:
    """Return what the profile of a student or teacher needs: the model whose family it has."""
    return of_model(study, study.teachers[study.teacher_of(name)].model)


def of_student(study: Study, name: str) -> set[str]:
    """Return what a student or teacher is made from, whatever the task."""
    needed = of_profile(study, name)
    for student in (study.students[each] for each in lineage(study, name)):
        needed |= of_model(study, study.teachers[student.teacher].model)
        if student.initialisation.checkpoint:
            needed |= of_model(study, student.initialisation.checkpoint)
        for stage in student.stages:
            needed |= of_corpus(study, stage.data) if stage.data != "task" else set()
    return needed


def missing(study: Study, needed: set[str]) -> str:
    """Return why something that needs these names cannot be made in this run; empty if it can."""
    why = study.config.run_sources.missing
    return next((why[name] for name in sorted(needed & why.keys())), "") if why else ""


def missing_for(study: Study, student: str, task: str) -> str:
    """Return why a student or teacher cannot be scored on a task in this run; empty if it can."""
    return missing(study, of_student(study, student) | of_task(study, task)) if study.config.run_sources.missing else ""
