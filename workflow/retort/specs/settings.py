"""Resolve the settings of each job from the study: every value that can change a result.

The settings are the params of the Snakemake rules (a changed value re-runs the job) and are written into every result
(a score made with other settings is refused). Labels, titles, resources and the parts of a grid are left out, as they
change no result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retort.specs import catalogue, heads, timing
from retort.specs.protocol import Protocol
from retort.specs.reading import reading
from retort.specs.source import in_force
from retort.specs.student import Stage, Student
from retort.specs.task import Task
from retort.specs.terms import layer_pairs

if TYPE_CHECKING:
    from retort.specs.book import Book

Settings = dict[str, Any]

# The version of the code of each type of job: raise it when a change of the code changes the meaning of a number.
# It is part of the job's settings.
STAGES = {
    "corpus": 1,
    "encode": 2,
    "teacher": 1,
    "head": 2,
    "taps": 1,
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


def source(book: Book, name: str) -> Settings:
    """Return the settings of the source in use: an archive's checksum, a commit of the hub, or a folder's path."""
    found = plain(in_force(book.sources[name], book.config), "licence", "local")
    hub = found.get("hub", {})
    return {**found, "hub": {key: hub[key] for key in hub if key not in ("branch", "found")}} if hub else found


def model(book: Book, name: str) -> Settings:
    """Return the settings of a pre-trained model: the source of its files and its architecture."""
    spec = book.models[name]
    return {**plain(spec, "source", "masked_lm"), "source": source(book, spec.source)}


TASK = {
    "kind", "labels", "bounds", "parts", "train_on", "choose_on", "evaluate_on", "max_length", "windows", "version"
}  # fmt: skip


def task_settings(spec: Task) -> Settings:
    """Return the settings that a task's own file gives, except how the files of its splits are read."""
    return spec.model_dump(mode="json", include={*TASK, "reader", "split"}, exclude_none=True)


def task(book: Book, name: str, splits: list[str] | None = None) -> Settings:
    """Return the settings of a task: how its splits are made or read, and the sources of their files.

    Args:
        book: the study.
        name: the task.
        splits: the splits that are read; None for those that training and scoring use.
    """
    spec = book.tasks[name]
    found = task_settings(spec)
    if spec.splits:
        found["splits"] = {split: reading(book, spec, split) for split in splits or spec.used}
        found["sample"] = book.config.sample
    others = sorted({how["source"] for how in found.get("splits", {}).values()} - {spec.source})
    return {
        **found,
        "kind_version": catalogue.kinds()[spec.kind].version,
        "source": source(book, spec.source),
        "further_sources": {other: source(book, other) for other in others},
        "encode": STAGES["encode"],
    }


def corpus(book: Book, name: str) -> Settings:
    """Return the settings of a corpus, with those of its sources."""
    spec = book.corpora[name]
    return {
        **plain(spec),
        "sources": {part: source(book, part) for part in corpus_sources(book, name)},
        "stage": STAGES["corpus"],
    }


def corpus_sources(book: Book, name: str) -> list[str]:
    """Return the sources of a corpus's components, each once, sorted by name."""
    return sorted({part.source for part in book.corpora[name].parts})


def schedule(protocol: Protocol, *given: Any) -> Settings:
    """Return a protocol's schedule as plain values, with `steps` or `epochs`: the one of the two that is set.

    Args:
        protocol: the protocol.
        given: the arguments of `Protocol.for_task`: the data set, then any changes.
    """
    found = plain(protocol.for_task(*given))
    return {key: value for key, value in found.items() if key not in ("steps", "epochs") or value is not None}


def _scaled(schedule: Settings, share: float) -> Settings:
    if "epochs" in schedule:
        return {**schedule, "epochs": schedule["epochs"] * share}
    return {**schedule, "steps": max(1, round(schedule["steps"] * share))}


def _stage(book: Book, student: Student, stage: Stage, place: str) -> Settings:
    architecture = book.model_of(student.teacher).architecture
    objectives = catalogue.objectives()
    terms = [
        {
            "objective": term.objective,
            "version": objectives[term.objective].version,
            "pairs": [list(p) for p in layer_pairs(term, student.architecture.layers, architecture.layers)],
            "weight": term.weight,
            "options": {**objectives[term.objective].options, **term.options},
        }
        for term in stage.on(place)
    ]
    protocol = book.protocols[student.protocol]
    found = schedule(protocol, place if stage.data == "task" else stage.data, *stage.changes(place))
    return {
        "data": stage.data,
        "terms": terms,
        "schedule": _scaled(found, stage.share),
        "teacher_dropout": stage.teacher_dropout,
    }


def teacher(book: Book, name: str, place: str) -> Settings:
    """Return the settings of a teacher fine-tuned on a task, or given a new masked-LM head on a corpus."""
    spec = book.teachers[name]
    fine_tuned = place in book.tasks
    data = task(book, place) if fine_tuned else corpus(book, place)
    return {
        "model": model(book, spec.model),
        "data": data,
        "schedule": schedule(book.protocols[spec.protocol], place),
        "seed": spec.seed,
        "precision": book.config.resolved_precision(),
        "versions": [STAGES["teacher" if fine_tuned else "head"], spec.version, book.protocols[spec.protocol].version],
    }


def _student(book: Book, name: str, place: str) -> Settings:
    student = book.students[name]
    return {
        "architecture": plain(student.architecture),
        "initialisation": {**plain(student.initialisation, "truncated"), "layers": student.taken},
        "stages": [_stage(book, student, stage, place) for stage in student.stages],
        "precision": book.config.resolved_precision(),
        "versions": [STAGES["distill"], student.version, book.protocols[student.protocol].version],
    }


def grid_seed(book: Book, name: str) -> int:
    """Return the seed of a student's task-agnostic distillation, which is run once for all its seeds."""
    protocol = book.protocols[book.students[name].protocol]
    return protocol.grid.seed if protocol.grid else protocol.seeds[0]


def on_task(book: Book, name: str, place: str) -> Settings:
    """Return the settings of a task-specific distillation: of the student, its teacher, the task and its parent."""
    settings, learns_from = _student(book, name, place), book.students[name].teacher
    settings["teacher"] = (
        teacher(book, learns_from, place)
        if reads_teacher(book.students[name])
        else {"model": model(book, book.teachers[learns_from].model), "data": task(book, place)}
    )
    return {**settings, **_parent(book, name)}


def _parent(book: Book, name: str) -> Settings:
    """Return the settings of the student or published model that a student starts from; empty if there is none."""
    start = book.students[name].initialisation
    if start.checkpoint:
        return {"parent": model(book, start.checkpoint)}
    return {"parent": on_corpus(book, start.student)} if start.student else {}


def reads_teacher(student: Student) -> bool:
    """Return whether a task-specific student starts from the fine-tuned teacher or reads an activation of it."""
    objectives = catalogue.objectives()
    terms = [term for stage in student.stages for term in stage.terms]
    begins = student.taken is not None and student.initialisation.of == "teacher"
    return begins or any(objectives[term.objective].teacher_taps for term in terms)


RECORDED = ("hidden", "queries", "keys", "values")  # the activations that objectives read most, stored for every layer


def taps(book: Book, name: str, place: str) -> Settings:
    """Return the settings of a teacher's stored activations on a task.

    Every layer is stored, even if no student reads it, and the embeddings as layer 0. So the files depend on the
    teacher alone: a new student, whatever it reads, does not change the files that other students read.
    """
    layers = range(1, book.model_of(name).architecture.layers + 1)
    listed = [["logits", None], ["hidden", 0], *([tap, layer] for tap in RECORDED for layer in layers)]
    return {"teacher": teacher(book, name, place), "taps": listed, "stage": STAGES["taps"]}


def recorded(book: Book, name: str, place: str) -> bool:
    """Return whether all teacher activations that a student reads on a task are stored; else the teacher must run."""
    objectives, student = catalogue.objectives(), book.students[name]
    if any(stage.teacher_dropout for stage in student.stages):  # with dropout, each pass gives other activations
        return False
    if any("max_length" in _stage(book, student, stage, place)["schedule"] for stage in student.stages):
        return False  # the stored activations are of rows that were not cut to this length
    read = {
        tap
        for stage in student.stages
        for term in stage.on(place)
        for tap_read in objectives[term.objective].teacher_taps
        for tap in catalogue.BASIS.get(tap_read, (tap_read,))
    }
    return read <= {"logits", *RECORDED}


def on_corpus(book: Book, name: str) -> Settings:
    """Return the settings of a task-agnostic distillation: those of the student, its corpora, teacher and parent."""
    student = book.students[name]
    settings = _student(book, name, "")
    settings["seed"] = grid_seed(book, name)
    settings["corpora"] = {stage.data: corpus(book, stage.data) for stage in student.stages}
    fitted = heads.fitted_on(book, name)
    settings["teacher"] = (
        teacher(book, student.teacher, fitted)
        if fitted
        else {"model": model(book, book.teachers[student.teacher].model), **heads.published(book, name)}
    )
    return {**settings, **_parent(book, name)}


def grid(book: Book, name: str, place: str) -> Settings:
    """Return the settings of a grid search: the student, the task, the schedule, the points."""
    protocol = book.protocols[book.students[name].protocol]
    tried = protocol.grid_of(place)
    return {
        "student": on_corpus(book, name),
        "task": task(book, place),
        "schedule": schedule(protocol, place),
        "points": tried.points() if tried else [{}],
        "seed": tried.seed if tried else grid_seed(book, name),
        "choose_by": book.tasks[place].chosen_by,
        "precision": book.config.resolved_precision(),
        "versions": [STAGES["grid"], protocol.version],
    }


def finetune(book: Book, name: str, place: str) -> Settings:
    """Return the settings of a fine-tuned student's score: its grid's, and the version of the fine-tuning code."""
    return {**grid(book, name, place), "stage": STAGES["finetune"]}


def score(book: Book, name: str, place: str) -> Settings:
    """Return the settings that the score file of a student or teacher on a task must hold."""
    if name in book.teachers:
        return teacher(book, name, place)
    return on_task(book, name, place) if book.students[name].road == "task" else finetune(book, name, place)


def profile(book: Book, name: str) -> Settings:
    """Return the settings of a model's profile: its architecture, and how its latency is measured."""
    if name in book.teachers:
        architecture = plain(book.model_of(name).architecture)
        vocabulary = book.model_of(name).vocabulary
    else:
        architecture = plain(book.students[name].architecture)
        vocabulary = book.model_of(book.students[name].teacher).vocabulary
    return {
        "architecture": architecture,
        "vocabulary": vocabulary,
        "batch": timing.ROWS,
        "length": timing.TOKENS,
        **({"further": more} if (more := timing.further(book, name)) else {}),
        "runs": 5,
        "passes": 30,
        "threads": 1,
        "stage": STAGES["profile"],
    }
