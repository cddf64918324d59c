"""Resolve the settings of teachers and students from the study: every value that can change a result.

Labels, titles, resources and the parts of a grid are left out, as they change no result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from retort.plan.resolve_data import VERSIONS, corpus_settings, model_settings, taken_over, task_settings
from retort.settings.inputs import ModelSettings
from retort.settings.trainings import (
    CorpusDistillationSettings,
    GridSettings,
    InitialisationSettings,
    PointSettings,
    ProfileSettings,
    ReleasedTeacherSettings,
    ScoreSettings,
    SearchSettings,
    StageSettings,
    TaskDistillationSettings,
    TeacherHeadSettings,
    TeacherSettings,
    TermSettings,
    points_of,
)
from retort.specs import catalogue, reported
from retort.specs.base import Settings as Changes
from retort.specs.protocol import Changes as KeyedChanges
from retort.specs.protocol import Protocol, Schedule, SearchGrid, SettingKey
from retort.specs.student import Stage, Student
from retort.study import questions
from retort.study.distillations import distillation_seed
from retort.study.study import Study

# the activations that objectives read most, which can be stored
STORED = ("hidden", "queries", "keys", "values")


@dataclass(frozen=True)
class TracedSchedule:
    """A schedule, and where its fields come from.

    Args:
        schedule: the schedule.
        given_by: field -> the key that won; a default has none.
        factor: what steps or epochs, and the steps of the decay, are multiplied by.
    """

    schedule: Schedule
    given_by: dict[str, SettingKey]
    factor: float = 1.0


def traced_schedule(
    protocol: Protocol, data: str, point: Changes | None = None, stage: Stage | None = None, at: int = 0, task: str = ""
) -> TracedSchedule:
    """Return the schedule of a training: the protocol's, changed by a point of a grid, and by the stage of a student.

    Args:
        protocol: the protocol.
        data: the task or corpus; empty for neither.
        point: the fields that a point of the grid changes.
        stage: the stage, whose changes win over all others; None for a training of another sort.
        at: the index of the stage.
        task: the task that the stage is on; empty for a corpus.
    """

    def keyed(
        of: Literal["protocol", "student"], changes: KeyedChanges, *above: str | int
    ) -> dict[SettingKey, Changes]:
        return {SettingKey(of, (*above, *steps)): fields for steps, fields in changes.items()}

    own = keyed("student", stage.changes(task), "stages", at) if stage else {}
    every = {**keyed("protocol", protocol.changes(data)), SettingKey("point"): point or {}, **own}
    schedule = protocol.schedule.changed(*list(every.values())[1:])
    given_by = {field: key for key, fields in every.items() for field in fields}
    if stage is None:
        return TracedSchedule(schedule, given_by)
    return TracedSchedule(schedule.scaled(stage.steps_factor), given_by, stage.steps_factor)


def traced_stages(
    student: Student, protocol: Protocol, task: str, point: Changes | None = None
) -> Iterator[TracedSchedule]:
    """Yield the schedule of each stage of a student on a task; see `traced_schedule`."""
    for index, stage in enumerate(student.stages):
        data = task if stage.data == "task" else stage.data
        yield traced_schedule(protocol, data, point, stage, index, task)


def divided(study: Study, schedule: Schedule, axes: SearchGrid | None = None) -> Schedule:
    """Return a schedule with the micro-batch of the configuration, if it has none and its batches are larger.

    Args:
        study: the study.
        schedule: the schedule.
        axes: the grid over the schedule; the largest batch of its points counts.
    """
    most, points = study.config.micro_batch, axes.points() if axes else []
    sizes = [schedule.batch_size, *(int(point.get("batch_size", 0)) for point in points)]
    if most is None or schedule.micro_batch or max(sizes) <= most:
        return schedule
    return schedule.changed({"micro_batch": most})


def teacher(study: Study, name: str, task_name: str) -> TeacherSettings:
    """Return the settings of a teacher that is fine-tuned on a task."""
    spec = study.teachers[name]
    protocol = study.protocols[spec.protocol]
    schedule = protocol.for_task(task_name)
    axes = questions.grid_of(study, name, task_name)
    return TeacherSettings(
        model=model_settings(study, spec.model),
        task=task_settings(study, task_name),
        schedule=divided(study, schedule, axes),
        seed=spec.seed,
        precision=study.config.resolved_precision(),
        versions=[VERSIONS["teacher"], spec.version, protocol.version],
        metric_for_best_model=questions.epoch_chosen_by(study, protocol, schedule, task_name),
        grid=_search(study, protocol, task_name, axes, []) if axes else None,
    )


def _search(
    study: Study, protocol: Protocol, task_name: str, axes: SearchGrid, stages: list[list[StageSettings]]
) -> SearchSettings:
    """Return the settings of a grid on a task, with the stages of a student at each of its points."""
    return SearchSettings(
        points=points_of(axes),
        stages=stages,
        seed=axes.seed,
        metric_for_best_model=questions.chosen_by(study, protocol, task_name),
        version=VERSIONS["grid"],
    )


def teacher_head(study: Study, name: str, corpus_name: str) -> TeacherHeadSettings:
    """Return the settings of a teacher that gets a new masked-LM head on a corpus."""
    spec = study.teachers[name]
    protocol = study.protocols[spec.protocol]
    return TeacherHeadSettings(
        model=model_settings(study, spec.model),
        corpus=corpus_settings(study, corpus_name),
        schedule=divided(study, protocol.for_task(corpus_name)),
        seed=spec.seed,
        precision=study.config.resolved_precision(),
        versions=[VERSIONS["head"], spec.version, protocol.version],
    )


def reads_teacher(student: Student) -> bool:
    """Return whether a task-specific student starts from the fine-tuned teacher or reads an activation of it."""
    objectives = catalogue.objectives()
    terms = [term for stage in questions.stages_of(student) for term in stage.terms]
    starts_from_teacher = student.initial_layers is not None and student.initialisation.of == "teacher"
    return starts_from_teacher or any(objectives[term.objective].teacher_activations for term in terms)


def reads_what_can_be_stored(study: Study, name: str, task_name: str) -> bool:
    """Return whether a student reads teacher activations on a task, and all of them can be stored.

    Otherwise the teacher runs next to the student, if that reads any.
    """
    objectives, student, axes = catalogue.objectives(), study.students[name], questions.grid_of(study, name, task_name)
    stages = questions.stages_of(student)
    if any(stage.teacher_dropout for stage in stages):  # with dropout, each pass gives other activations
        return False
    if student.pooler_relu:  # it changes the teacher's logits
        return False
    if any(questions.counts_padding(term) for stage in stages for term in stage.on(task_name)):
        return False  # only activations of real tokens are stored
    tried = [settings_of_stages(study, student, task_name, point) for point in (axes.points() if axes else [{}])]
    if any(stage.schedule.max_length for at_point in tried for stage in at_point):
        return False  # the stored activations are of rows that were not cut to this length
    read = {
        activation
        for stage in stages
        for term in stage.on(task_name)
        for activation_read in objectives[term.objective].teacher_activations
        for activation in catalogue.BASIS.get(activation_read) or (activation_read,)
    }
    return bool(read) and read <= {"logits", *STORED}


def settings_of_stages(
    study: Study, student: Student, task_name: str, point: Changes | None = None
) -> list[StageSettings]:
    """Return the settings of all stages of a student on a task, at a point of its grid if there is one."""
    point = point or {}
    changes = PointSettings(**point).of_schedule
    changed = questions.at_point(student, point)
    layers = changed.architecture.layers, study.model_of(student.teacher).architecture.layers
    protocol = study.protocols[student.protocol]
    return [
        StageSettings(
            data=stage.data,
            terms=[TermSettings.of(term, *layers, changed.initial_layers) for term in stage.on(task_name)],
            schedule=divided(study, traced.schedule),
            teacher_dropout=stage.teacher_dropout,
            metric_for_best_model=questions.epoch_chosen_by(study, protocol, traced.schedule, task_name),
        )
        for stage, traced in zip(changed.stages, traced_stages(changed, protocol, task_name, changes), strict=True)
    ]


def _parent(study: Study, name: str) -> CorpusDistillationSettings | ModelSettings | None:
    """Return the settings of the student or released model that a student starts from; None if there is none."""
    start = study.students[name].initialisation
    if start.checkpoint:
        return model_settings(study, start.checkpoint)
    return corpus_distillation(study, start.student) if start.student else None


def _distillation(study: Study, name: str, task_name: str) -> dict[str, Any]:
    """Return the settings that task-specific and task-agnostic distillation have in common."""
    student = study.students[name]
    start = {**taken_over(student.initialisation, InitialisationSettings), "layers": student.initial_layers}
    return {
        "architecture": student.architecture,
        "initialisation": InitialisationSettings(**start),
        "stages": settings_of_stages(study, student, task_name),
        "precision": study.config.resolved_precision(),
        "versions": [VERSIONS["distill"], student.version, study.protocols[student.protocol].version],
        "parent": _parent(study, name),
        "pooler_relu": student.pooler_relu,
    }


def task_distillation(study: Study, name: str, task_name: str) -> TaskDistillationSettings:
    """Return the settings of a task-specific distillation: of the student, its teacher, the task and its parent."""
    student, axes = study.students[name], questions.grid_of(study, name, task_name)
    read = reads_teacher(student)
    released = model_settings(study, study.teachers[student.teacher].model)
    stages = [settings_of_stages(study, student, task_name, point) for point in axes.points()] if axes else []
    return TaskDistillationSettings(
        **_distillation(study, name, task_name),
        grid=_search(study, study.protocols[student.protocol], task_name, axes, stages) if axes else None,
        teacher=teacher(study, student.teacher, task_name)
        if read
        else ReleasedTeacherSettings(model=released, task=task_settings(study, task_name)),
    )


def corpus_distillation(study: Study, name: str) -> CorpusDistillationSettings:
    """Return the settings of a task-agnostic distillation: those of the student, its corpora, teacher and parent."""
    student = study.students[name]
    fitted = questions.fitted_on(study, name)
    released = model_settings(study, study.teachers[student.teacher].model)
    return CorpusDistillationSettings(
        **_distillation(study, name, ""),
        seed=distillation_seed(study, name),
        corpora={stage.data: corpus_settings(study, stage.data) for stage in student.stages},
        teacher=teacher_head(study, student.teacher, fitted)
        if fitted
        else ReleasedTeacherSettings(
            model=released, head="published" if questions.corpus_of_output(study, name) else None
        ),
    )


def grid(study: Study, name: str, task_name: str, student: CorpusDistillationSettings | None = None) -> GridSettings:
    """Return the settings of a grid search: the student, resolved here if it is not given, task, schedule, points."""
    protocol, axes = questions.protocol_of(study, name), questions.grid_of(study, name, task_name)
    return GridSettings(
        student=student or corpus_distillation(study, name),
        task=task_settings(study, task_name),
        schedule=divided(study, protocol.for_task(task_name), axes),
        points=points_of(axes),
        seed=axes.seed if axes else protocol.seeds[0],
        metric_for_best_model=questions.chosen_by(study, protocol, task_name),
        precision=study.config.resolved_precision(),
        versions=[VERSIONS["grid"], protocol.version],
    )


def finetuned(searched: GridSettings) -> GridSettings:
    """Return the settings of a fine-tuned student's score: those of its grid, and the version of the fine-tuning."""
    return searched.model_copy(update={"stage": VERSIONS["finetune"]})


def score(study: Study, name: str, task_name: str) -> ScoreSettings:
    """Return the settings that the score file of a student or teacher on a task must hold."""
    if name in study.teachers:
        return teacher(study, name, task_name)
    if study.students[name].distilled_on == "task":
        return task_distillation(study, name, task_name)
    return finetuned(grid(study, name, task_name))


def profile(study: Study, name: str, timings: Mapping[str, list[reported.Timing]]) -> ProfileSettings:
    """Return the settings of a model's profile: its architecture, and how its latency is measured.

    Args:
        study: the study.
        name: the student or teacher.
        timings: of each model what `questions.further_timings` finds, which looks at all tables.
    """
    student, miniature = study.students.get(name), study.scale.miniature
    released = study.model_of(study.teacher_of(name))
    return ProfileSettings(
        architecture=student.architecture if student else released.architecture,
        vocabulary=released.vocabulary,
        batch=reported.ROWS,
        length=reported.TOKENS,
        further=timings.get(name) or None,
        runs=5,
        passes=miniature.passes if miniature else reported.PASSES,
        threads=1,
        stage=VERSIONS["profile"],
    )
