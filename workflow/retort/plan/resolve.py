"""Resolve the settings of each job from the study: every value that can change a result.

The settings are the params of the Snakemake rules (a changed value re-runs the job) and are written into every result
(a score made with other settings is refused). Labels, titles, resources and the parts of a grid are left out, as they
change no result.
"""

from __future__ import annotations

from typing import Any

from retort.specs import catalogue, timing
from retort.specs.protocol import Protocol
from retort.specs.source import in_force
from retort.specs.student import Stage, Student
from retort.specs.task import Task
from retort.study import questions
from retort.study.questions import layer_pairs
from retort.study.reading import reading
from retort.study.study import Study

Settings = dict[str, Any]

# The version of the code of each type of job: raise it when a change of the code changes the meaning of a number.
# It is part of the job's settings.
STAGES = {
    "corpus": 1,
    "encode": 2,
    "teacher": 1,
    "head": 2,
    "activations": 1,
    "distill": 2,
    "grid": 1,
    "finetune": 1,
    "predict": 1,
    "profile": 1,
}


def plain(spec: Any, *without: str) -> Settings:
    """Return a spec as plain dicts and lists, without title, description and the fields in `without`."""
    dumped: Settings = spec.model_dump(mode="json", exclude={"title", "description", *without})
    return dumped


def source(study: Study, name: str) -> Settings:
    """Return the settings of the source in use: an archive's checksum, a commit of the hub, or a folder's path."""
    found = plain(in_force(study.sources[name], study.config), "licence", "local")
    hub = found.get("hub", {})
    return {**found, "hub": {key: hub[key] for key in hub if key not in ("branch", "found")}} if hub else found


def model(study: Study, name: str) -> Settings:
    """Return the settings of a pre-trained model: the source of its files and its architecture."""
    spec = study.models[name]
    return {**plain(spec, "source", "masked_lm"), "source": source(study, spec.source)}


TASK = {
    "task_type", "labels", "bounds", "subsets", "train_split", "validation_split", "evaluation_split", "max_length",
    "windows", "version",
}  # fmt: skip


def task_settings(spec: Task) -> Settings:
    """Return the settings that a task's own file gives, except how the files of its splits are read."""
    return spec.model_dump(mode="json", include={*TASK, "reader", "split"}, exclude_none=True)


def task(study: Study, name: str, splits: list[str] | None = None) -> Settings:
    """Return the settings of a task: how its splits are made or read, and the sources of their files.

    Args:
        study: the study.
        name: the task.
        splits: the splits that are read; None for those that training and scoring use.
    """
    spec = study.tasks[name]
    found = task_settings(spec)
    if spec.splits:
        found["splits"] = {split: reading(study, spec, split) for split in splits or spec.used}
        found["sample"] = study.config.sample
    others = sorted({how["source"] for how in found.get("splits", {}).values()} - {spec.source})
    return {
        **found,
        "task_type_version": catalogue.task_types()[spec.task_type].version,
        "source": source(study, spec.source),
        "further_sources": {other: source(study, other) for other in others},
        "encode": STAGES["encode"],
    }


def corpus(study: Study, name: str) -> Settings:
    """Return the settings of a corpus, with those of its sources."""
    spec = study.corpora[name]
    return {
        **plain(spec),
        "sources": {part: source(study, part) for part in corpus_sources(study, name)},
        "stage": STAGES["corpus"],
    }


def corpus_sources(study: Study, name: str) -> list[str]:
    """Return the sources of a corpus's components, each once, sorted by name."""
    return sorted({component.source for component in study.corpora[name].components})


def schedule(protocol: Protocol, *given: Any) -> Settings:
    """Return a protocol's schedule as plain values, with `steps` or `epochs`: the one of the two that is set.

    Args:
        protocol: the protocol.
        given: the arguments of `Protocol.for_task`: the data set, then any changes.
    """
    found = plain(protocol.for_task(*given))
    return {key: value for key, value in found.items() if key not in ("steps", "epochs") or value is not None}


def _scaled(schedule: Settings, steps_factor: float) -> Settings:
    if "epochs" in schedule:
        return {**schedule, "epochs": schedule["epochs"] * steps_factor}
    return {**schedule, "steps": max(1, round(schedule["steps"] * steps_factor))}


def _stage(study: Study, student: Student, stage: Stage, place: str) -> Settings:
    architecture = study.model_of(student.teacher).architecture
    objectives = catalogue.objectives()
    terms = [
        {
            "objective": term.objective,
            "version": objectives[term.objective].version,
            "pairs": [
                list(pair)
                for pair in layer_pairs(term, student.architecture.layers, architecture.layers, student.initial_layers)
            ],
            "weight": term.weight,
            "options": {**objectives[term.objective].options, **term.options},
        }
        for term in stage.on(place)
    ]
    protocol = study.protocols[student.protocol]
    found = schedule(protocol, place if stage.data == "task" else stage.data, *stage.changes(place))
    return {
        "data": stage.data,
        "terms": terms,
        "schedule": _scaled(found, stage.steps_factor),
        "teacher_dropout": stage.teacher_dropout,
    }


def teacher(study: Study, name: str, place: str) -> Settings:
    """Return the settings of a teacher fine-tuned on a task, or given a new masked-LM head on a corpus."""
    spec = study.teachers[name]
    fine_tuned = place in study.tasks
    data = task(study, place) if fine_tuned else corpus(study, place)
    return {
        "model": model(study, spec.model),
        "data": data,
        "schedule": schedule(study.protocols[spec.protocol], place),
        "seed": spec.seed,
        "precision": study.config.resolved_precision(),
        "versions": [STAGES["teacher" if fine_tuned else "head"], spec.version, study.protocols[spec.protocol].version],
    }


def _student(study: Study, name: str, place: str) -> Settings:
    student = study.students[name]
    return {
        "architecture": plain(student.architecture),
        "initialisation": {**plain(student.initialisation, "truncated"), "layers": student.initial_layers},
        "stages": [_stage(study, student, stage, place) for stage in student.stages],
        "precision": study.config.resolved_precision(),
        "versions": [STAGES["distill"], student.version, study.protocols[student.protocol].version],
    }


def grid_seed(study: Study, name: str) -> int:
    """Return the seed of a student's task-agnostic distillation, which is run once for all its seeds."""
    protocol = study.protocols[study.students[name].protocol]
    return protocol.grid.seed if protocol.grid else protocol.seeds[0]


def on_task(study: Study, name: str, place: str) -> Settings:
    """Return the settings of a task-specific distillation: of the student, its teacher, the task and its parent."""
    settings, learns_from = _student(study, name, place), study.students[name].teacher
    settings["teacher"] = (
        teacher(study, learns_from, place)
        if reads_teacher(study.students[name])
        else {"model": model(study, study.teachers[learns_from].model), "data": task(study, place)}
    )
    return {**settings, **_parent(study, name)}


def _parent(study: Study, name: str) -> Settings:
    """Return the settings of the student or published model that a student starts from; empty if there is none."""
    start = study.students[name].initialisation
    if start.checkpoint:
        return {"parent": model(study, start.checkpoint)}
    return {"parent": on_corpus(study, start.student)} if start.student else {}


def reads_teacher(student: Student) -> bool:
    """Return whether a task-specific student starts from the fine-tuned teacher or reads an activation of it."""
    objectives = catalogue.objectives()
    terms = [term for stage in student.stages for term in stage.terms]
    begins = student.initial_layers is not None and student.initialisation.of == "teacher"
    return begins or any(objectives[term.objective].teacher_activations for term in terms)


RECORDED = ("hidden", "queries", "keys", "values")  # the activations that objectives read most, stored for every layer


def activations(study: Study, name: str, place: str) -> Settings:
    """Return the settings of a teacher's stored activations on a task.

    Every layer is stored, even if no student reads it, and the embeddings as layer 0. So the files depend on the
    teacher alone: a new student, whatever it reads, does not change the files that other students read.
    """
    layers = range(1, study.model_of(name).architecture.layers + 1)
    listed = [["logits", None], ["hidden", 0], *([activation, layer] for activation in RECORDED for layer in layers)]
    return {"teacher": teacher(study, name, place), "activations": listed, "stage": STAGES["activations"]}


def recorded(study: Study, name: str, place: str) -> bool:
    """Return whether all teacher activations that a student reads on a task are stored; else the teacher must run."""
    objectives, student = catalogue.objectives(), study.students[name]
    if any(stage.teacher_dropout for stage in student.stages):  # with dropout, each pass gives other activations
        return False
    if any("max_length" in _stage(study, student, stage, place)["schedule"] for stage in student.stages):
        return False  # the stored activations are of rows that were not cut to this length
    read = {
        activation
        for stage in student.stages
        for term in stage.on(place)
        for activation_read in objectives[term.objective].teacher_activations
        for activation in catalogue.BASIS.get(activation_read, (activation_read,))
    }
    return read <= {"logits", *RECORDED}


def on_corpus(study: Study, name: str) -> Settings:
    """Return the settings of a task-agnostic distillation: those of the student, its corpora, teacher and parent."""
    student = study.students[name]
    settings = _student(study, name, "")
    settings["seed"] = grid_seed(study, name)
    settings["corpora"] = {stage.data: corpus(study, stage.data) for stage in student.stages}
    fitted = questions.fitted_on(study, name)
    settings["teacher"] = (
        teacher(study, student.teacher, fitted)
        if fitted
        else {"model": model(study, study.teachers[student.teacher].model), **questions.published(study, name)}
    )
    return {**settings, **_parent(study, name)}


def grid(study: Study, name: str, place: str) -> Settings:
    """Return the settings of a grid search: the student, the task, the schedule, the points."""
    protocol = study.protocols[study.students[name].protocol]
    tried = protocol.grid_of(place)
    return {
        "student": on_corpus(study, name),
        "task": task(study, place),
        "schedule": schedule(protocol, place),
        "points": tried.points() if tried else [{}],
        "seed": tried.seed if tried else grid_seed(study, name),
        "metric_for_best_model": study.tasks[place].chosen_by,
        "precision": study.config.resolved_precision(),
        "versions": [STAGES["grid"], protocol.version],
    }


def finetune(study: Study, name: str, place: str) -> Settings:
    """Return the settings of a fine-tuned student's score: its grid's, and the version of the fine-tuning code."""
    return {**grid(study, name, place), "stage": STAGES["finetune"]}


def score(study: Study, name: str, place: str) -> Settings:
    """Return the settings that the score file of a student or teacher on a task must hold."""
    if name in study.teachers:
        return teacher(study, name, place)
    return on_task(study, name, place) if study.students[name].distilled_on == "task" else finetune(study, name, place)


def profile(study: Study, name: str) -> Settings:
    """Return the settings of a model's profile: its architecture, and how its latency is measured."""
    if name in study.teachers:
        architecture = plain(study.model_of(name).architecture)
        vocabulary = study.model_of(name).vocabulary
    else:
        architecture = plain(study.students[name].architecture)
        vocabulary = study.model_of(study.students[name].teacher).vocabulary
    return {
        "architecture": architecture,
        "vocabulary": vocabulary,
        "batch": timing.ROWS,
        "length": timing.TOKENS,
        **({"further": more} if (more := questions.further(study, name)) else {}),
        "runs": 5,
        "passes": 30,
        "threads": 1,
        "stage": STAGES["profile"],
    }
