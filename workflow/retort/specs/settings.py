"""What decides a number: the settings of each job, resolved from the book.

They are the params of the rules (a changed value re-runs the job) and are stamped into every result (a score made
with other settings is refused). Labels, titles, resources and parts stay out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retort.specs import catalogue
from retort.specs.student import Stage, Student
from retort.specs.terms import layer_pairs

if TYPE_CHECKING:
    from retort.specs.book import Book

Settings = dict[str, Any]

# Raised when the code of a stage changes what a number means; part of every job's settings.
STAGES = {
    "corpus": 1,
    "encode": 1,
    "teacher": 1,
    "head": 1,
    "taps": 1,
    "distill": 1,
    "grid": 1,
    "finetune": 1,
    "profile": 1,
}


def plain(spec: Any, *without: str) -> Settings:
    """A spec as plain dicts and lists, less what decides no number."""
    dumped: Settings = spec.model_dump(mode="json", exclude={"title", "description", *without})
    return dumped


def model(book: Book, name: str) -> Settings:
    """The settings of a pre-trained model: its files' checksum or folder, and its shape."""
    spec = book.models[name]
    source = book.sources[spec.source]
    return {**plain(spec, "source"), "source": plain(source, "licence")}


def task(book: Book, name: str) -> Settings:
    """The settings of a task, with those of its source."""
    spec = book.tasks[name]
    return {
        **plain(spec, "sample", "jobs", "metrics"),
        "source": plain(book.sources[spec.source], "licence"),
        "encode": STAGES["encode"],
    }


def corpus(book: Book, name: str) -> Settings:
    """The settings of a corpus, with those of its source."""
    spec = book.corpora[name]
    return {**plain(spec), "source": plain(book.sources[spec.source], "licence"), "stage": STAGES["corpus"]}


def _scaled(schedule: Settings, share: float) -> Settings:
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
        for term in stage.terms
    ]
    protocol = book.protocols[student.protocol]
    schedule = plain(protocol.for_task(place if stage.data == "task" else stage.data, stage.schedule))
    return {
        "data": stage.data,
        "terms": terms,
        "schedule": _scaled(schedule, stage.share),
        "teacher_dropout": stage.teacher_dropout,
    }


def teacher(book: Book, name: str, place: str) -> Settings:
    """The settings of a teacher fine-tuned on a task, or given a masked-LM head on a corpus."""
    spec = book.teachers[name]
    fine_tuned = place in book.tasks
    data = task(book, place) if fine_tuned else corpus(book, place)
    return {
        "model": model(book, spec.model),
        "data": data,
        "schedule": plain(book.protocols[spec.protocol].for_task(place)),
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
    """The seed of what is done once for all seeds of a student: its task-agnostic distillation and its grid."""
    protocol = book.protocols[book.students[name].protocol]
    return protocol.grid.seed if protocol.grid else protocol.seeds[0]


def on_task(book: Book, name: str, place: str) -> Settings:
    """The settings of a student distilled on a task: its own, its teacher's, the task's."""
    settings, learns_from = _student(book, name, place), book.students[name].teacher
    settings["teacher"] = (
        teacher(book, learns_from, place)
        if reads_teacher(book.students[name])
        else {"model": model(book, book.teachers[learns_from].model), "data": task(book, place)}
    )
    return {**settings, **_parent(book, name)}


def _parent(book: Book, name: str) -> Settings:
    """The settings of the student or of the published model that a student starts from; empty where it does not."""
    start = book.students[name].initialisation
    if start.checkpoint:
        return {"parent": model(book, start.checkpoint)}
    return {"parent": on_corpus(book, start.student)} if start.student else {}


def reads_teacher(student: Student) -> bool:
    """False where a student on a task neither starts from the fine-tuned teacher nor reads a tap of it."""
    objectives = catalogue.objectives()
    terms = [term for stage in student.stages for term in stage.terms]
    begins = student.taken is not None and student.initialisation.of == "teacher"
    return begins or any(objectives[term.objective].teacher_taps for term in terms)


RECORDED = ("hidden", "queries", "keys", "values")  # the taps that objectives read most, kept for every layer


def taps(book: Book, name: str, place: str) -> Settings:
    """The settings of a teacher's recorded taps on a task.

    Every layer is recorded, whoever reads it, and the embeddings as layer 0: the files depend on the teacher alone, so
    that a new student, whatever it reads, leaves those of the others as they are.
    """
    layers = range(1, book.model_of(name).architecture.layers + 1)
    listed = [["logits", None], ["hidden", 0], *([tap, layer] for tap in RECORDED for layer in layers)]
    return {"teacher": teacher(book, name, place), "taps": listed, "stage": STAGES["taps"]}


def recorded(book: Book, name: str) -> bool:
    """True where all that a student on a task reads of its teacher is recorded; else the teacher runs beside it."""
    objectives, student = catalogue.objectives(), book.students[name]
    if any(stage.teacher_dropout for stage in student.stages):  # no two passes are alike
        return False
    read = {
        tap
        for stage in student.stages
        for term in stage.terms
        for tap_read in objectives[term.objective].teacher_taps
        for tap in catalogue.BASIS.get(tap_read, (tap_read,))
    }
    return read <= {"logits", *RECORDED}


def masked_lm_corpus(student: Student) -> str | None:
    """The corpus on which a stage reads the teacher's output distribution; None where no stage does."""
    objectives = catalogue.objectives()
    for stage in student.stages:
        if stage.data != "task" and any(objectives[term.objective].level == "output" for term in stage.terms):
            return stage.data
    return None


def on_corpus(book: Book, name: str) -> Settings:
    """The settings of a task-agnostic student: its own, its corpora's, its teacher's, its parent's."""
    student = book.students[name]
    settings = _student(book, name, "")
    settings["seed"] = grid_seed(book, name)
    settings["corpora"] = {stage.data: corpus(book, stage.data) for stage in student.stages}
    head = masked_lm_corpus(student)
    settings["teacher"] = (
        teacher(book, student.teacher, head) if head else {"model": model(book, book.teachers[student.teacher].model)}
    )
    return {**settings, **_parent(book, name)}


def grid(book: Book, name: str, place: str) -> Settings:
    """The settings of a grid search: the student, the task, the schedule, the points."""
    protocol = book.protocols[book.students[name].protocol]
    points = protocol.grid.points() if protocol.grid else [{}]
    return {
        "student": on_corpus(book, name),
        "task": task(book, place),
        "schedule": plain(protocol.for_task(place)),
        "points": points,
        "seed": grid_seed(book, name),
        "choose_by": book.tasks[place].metrics[0],
        "precision": book.config.resolved_precision(),
        "versions": [STAGES["grid"], protocol.version],
    }


def finetune(book: Book, name: str, place: str) -> Settings:
    """The settings of a fine-tuned student's score: those of its grid, and the stage's version."""
    return {**grid(book, name, place), "stage": STAGES["finetune"]}


def score(book: Book, name: str, place: str) -> Settings:
    """The settings that the score file of a student or teacher on a task must carry."""
    if name in book.teachers:
        return teacher(book, name, place)
    return on_task(book, name, place) if book.students[name].road == "task" else finetune(book, name, place)


def profile(book: Book, name: str) -> Settings:
    """The settings of a latency measurement: the architecture and how it is timed."""
    if name in book.teachers:
        architecture = plain(book.model_of(name).architecture)
        vocabulary = book.model_of(name).vocabulary
    else:
        architecture = plain(book.students[name].architecture)
        vocabulary = book.model_of(book.students[name].teacher).vocabulary
    return {
        "architecture": architecture,
        "vocabulary": vocabulary,
        "batch": 1,
        "length": 32,
        "runs": 5,
        "passes": 30,
        "threads": 1,
        "stage": STAGES["profile"],
    }
