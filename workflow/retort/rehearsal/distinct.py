"""Find the distinct trainings of a plan: it is enough to run one of each kind to find what cannot be trained."""

from __future__ import annotations

import json
from collections.abc import Hashable

from retort.plan.plan import Plan
from retort.specs.student import Initialisation, Term
from retort.specs.task import Task
from retort.study.cells import score_address
from retort.study.questions import seeds_of
from retort.study.study import Study


def distinct_trainings(plan: Plan) -> list[str]:
    """Return the results of one training for each distinct combination, in the order of the plan.

    - The combination of a distillation: objectives with options and mappings of each stage, initialisation, family of
      the model, and on a task the type of the task.
    - The combination of a fine-tuning: initialisation of a student that is not distilled, family, and type of the task.
      Also, each task is learnt at least once.
    """
    study, chosen, met = plan.study, list[str](), set[Hashable]()
    for student, task in plan.pairs:
        if keys := _training(plan, student, task) - met:
            met |= keys
            chosen.append(_score(study, student, task))
    finetuned = {address.split("/")[2] for address in chosen}
    distilled = sorted(plan.task_agnostic, key=lambda student: student not in finetuned)  # these are trained anyway
    for student in distilled:
        if (key := _distillation(study, student)) not in met:
            met.add(key)
            chosen.append(f"results/students/{student}/model")
    return chosen


def _training(plan: Plan, student: str, task: str) -> set[Hashable]:
    """Return the combinations that a training on a task covers; none for a teacher, which students need anyway."""
    study = plan.study
    if student in plan.task_specific:
        return {(*_distillation(study, student), _type(study.tasks[task]))}
    if student not in plan.task_agnostic:
        return set()
    published = not study.students[student].stages
    start = _start(study.students[student].initialisation) if published else None
    return {(family(study, student), _type(study.tasks[task]), start), task}


def family(study: Study, student: str) -> str:
    """Return the family of the models of a student and its teacher."""
    model = study.teachers[study.students[student].teacher].model
    return study.scale.miniature.family(model) if study.scale.miniature else model


def _score(study: Study, student: str, task: str) -> str:
    return score_address(student, task, seeds_of(study, student)[0])


def _distillation(study: Study, name: str) -> tuple[Hashable, ...]:
    student = study.students[name]
    stages = tuple((stage.data == "task", *map(_term, stage.terms)) for stage in student.stages)
    return stages, _start(student.initialisation), family(study, name)


def _term(term: Term) -> tuple[str, ...]:
    mapping = term.mapping if isinstance(term.mapping, str) else next(iter(term.mapping or {}), "")
    return term.objective, mapping, json.dumps(term.options, sort_keys=True)


def _start(start: Initialisation) -> tuple[str, ...]:
    """Return the given keys of an initialisation, and the model whose layers are taken."""
    return (*sorted(key for key, value in start.model_dump().items() if value), start.of)


def _type(task: Task) -> tuple[Hashable, ...]:
    return task.task_type, bool(task.subsets), len(task.labels)
