"""Make a scaled study: the papers' students become smaller, with a small teacher and short training runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from retort.specs.base import Settings
from retort.specs.model import Architecture
from retort.specs.protocol import Protocol
from retort.specs.scale import Replacements
from retort.specs.student import Initialisation, Stage, Student, Term
from retort.study.miniature import make_miniature
from retort.study.narrow import DIVISORS
from retort.study.study import Study

SCHEDULED = {"steps", "epochs", "batch_size", "learning_rate", "decay_steps"}  # only the scale sets these

WEIGHTS = "starts from published weights of the size that the paper prints"
DEEPER = "is deeper than the teacher of this scale"


@dataclass(frozen=True)
class Shrink:
    """A change of the teacher's architecture to a smaller one, applied to the layers and widths of students.

    Args:
        old: the architecture of the teacher as printed.
        new: the architecture of the model that replaces it.
    """

    old: Architecture
    new: Architecture

    def layers(self, listed: Sequence[int]) -> list[int]:
        """Return the teacher layers at the same relative depth, rounded down.

        Only layer 0 (the embeddings) becomes layer 0. A strictly increasing list stays strictly increasing.
        """
        scaled = [max(min(layer, 1), layer * self.new.layers // self.old.layers) for layer in listed]
        if all(a < b for a, b in itertools.pairwise(listed)):
            for i in range(1, len(scaled)):
                scaled[i] = max(scaled[i], scaled[i - 1] + 1)
        return scaled

    def width(self, size: int, old: int, new: int, multiple_of: int = 1) -> int:
        """Return a width scaled by new / old, rounded to a multiple; a width equal to `old` becomes `new`."""
        return new if size == old else max(1, round(size * new / old / multiple_of)) * multiple_of

    def architecture(self, shape: Architecture) -> Architecture:
        """Return a student's architecture for the small teacher.

        The number of layers stays the same. So does the number of heads, but the old teacher's number becomes the small
        teacher's.
        """
        old, new = self.old, self.new
        heads = new.heads if shape.heads == old.heads else shape.heads
        hidden = self.width(shape.hidden, old.hidden, new.hidden, heads)
        embedding = shape.embedding and self.width(shape.embedding, old.hidden, new.hidden)
        return Architecture(
            layers=shape.layers,
            heads=heads,
            hidden=hidden,
            intermediate=self.width(shape.intermediate, old.intermediate, new.intermediate),
            embedding=embedding,
        )


def _shrink_mapping(term: Term, shrink: Shrink) -> Term:
    """Return the term with each teacher layer of its mapping moved to the same relative depth of the small teacher."""
    if not isinstance(term.mapping, dict):
        return term
    name, options = next(iter(term.mapping.items()))
    options = dict(options)
    if "layer" in options:
        options["layer"] = shrink.layers([options["layer"]])[0]
    if "pairs" in options:
        below = shrink.layers([teacher for _, teacher in options["pairs"]])
        options["pairs"] = [[student, layer] for (student, _), layer in zip(options["pairs"], below, strict=True)]
    return term.model_copy(update={"mapping": {name: options}})


def _lower_divisors(term: Term, widths: int) -> Term:
    """Return the term with fewer relation heads or splits, so that they divide the widths of both models.

    Args:
        term: the term as printed.
        widths: the greatest common divisor of both models' widths.
    """
    divisors = {name: term.options[name] for name in DIVISORS if isinstance(term.options.get(name), int)}
    fitting = {name: next(n for n in range(divisor, 0, -1) if widths % n == 0) for name, divisor in divisors.items()}
    return term.model_copy(update={"options": {**term.options, **fitting}})


def _shrink_stage(
    stage: Stage, replacements: Replacements, shrink: Shrink, hidden: int, paper: str, protocol: Protocol
) -> Stage:
    terms = [
        _lower_divisors(_shrink_mapping(term, shrink), math.gcd(hidden, shrink.new.hidden)) for term in stage.terms
    ]
    on_task = stage.data == "task"
    changed = _on_task(stage, replacements, paper) if on_task else _on_corpus(stage, replacements, protocol)
    return stage.model_copy(update={"terms": terms, **changed})


def _on_task(stage: Stage, replacements: Replacements, paper: str) -> Settings:
    """Return the fields of a stage on a task that change."""
    return {
        "schedule": {**_drop_scheduled(stage.schedule), **replacements.training_for(paper)},
        "steps_factor": 1.0,
        "tasks": _on_tasks(stage.tasks, replacements.training_on),
    }


def _on_corpus(stage: Stage, replacements: Replacements, protocol: Protocol) -> Settings:
    """Return the fields of a stage on a corpus that change: it gets the scale's schedule, in the printed proportions.

    A stage whose printed learning rate or length is, say, half of its protocol's has half of the scale's.
    """
    usual, printed = protocol.for_task(stage.data), protocol.for_task(stage.data, stage.schedule)
    lengths = [(printed.steps, usual.steps), (printed.epochs, usual.epochs)]
    rate = replacements.distillation["learning_rate"] * printed.learning_rate / usual.learning_rate
    return {
        "data": replacements.corpus,
        "schedule": {**_drop_scheduled(stage.schedule), **replacements.distillation, "learning_rate": rate},
        "steps_factor": stage.steps_factor * next((own / whole for own, whole in lengths if own and whole), 1.0),
        "tasks": _on_tasks(stage.tasks, {}),
    }


def _on_tasks(printed: dict[str, Settings], changes: dict[str, Settings]) -> dict[str, Settings]:
    """Return task -> changes of a schedule: the printed ones that are kept, and the scale's own."""
    names = dict.fromkeys([*printed, *changes])
    return {task: {**_drop_scheduled(printed.get(task, {})), **changes.get(task, {})} for task in names}


def _drop_scheduled(changes: Settings) -> Settings:
    return {key: value for key, value in changes.items() if key not in SCHEDULED}


def _shrink_initialisation(student: Student, shrink: Shrink, model: str, teacher_model: str) -> Initialisation:
    start = student.initialisation
    if start.layers is not None:
        return start.model_copy(update={"layers": shrink.layers(start.layers)})
    if start.checkpoint == teacher_model:
        return start.model_copy(update={"checkpoint": model})
    if start.checkpoint:  # published weights do not fit a smaller student
        return Initialisation(truncated=True, of="model")
    return start


def _shrink_architecture(student: Student, shrink: Shrink, teacher_model: str) -> Architecture:
    """Return a student's architecture; one that starts from published weights is as wide as the small teacher."""
    shape, checkpoint = shrink.architecture(student.architecture), student.initialisation.checkpoint
    if checkpoint == teacher_model:
        return shrink.new
    return shrink.new.model_copy(update={"layers": shape.layers, "heads": shape.heads}) if checkpoint else shape


def _shrink_student(study: Study, name: str, replacements: Replacements, shrink: Shrink, teacher_model: str) -> Student:
    student, paper = study.students[name], study.paper_of(name)
    protocol = study.protocols[student.protocol]  # as printed: protocols are made smaller after the students
    shape = _shrink_architecture(student, shrink, teacher_model)
    return student.model_copy(
        update={
            "architecture": shape,
            "initialisation": _shrink_initialisation(student, shrink, replacements.model, teacher_model),
            "stages": [
                _shrink_stage(stage, replacements, shrink, shape.hidden, paper, protocol) for stage in student.stages
            ],
        }
    )


def _shrink_protocol(
    protocol: Protocol,
    replacements: Replacements,
    training: Settings,
    training_on: dict[str, Settings],
    corpora: set[str],
) -> Protocol:
    """Return the protocol with the scale's schedule; its changes for a corpus now apply to the corpus of the scale."""
    length = {"steps": None, "epochs": None}
    printed = {replacements.corpus if name in corpora else name: changes for name, changes in protocol.tasks.items()}
    changed: Settings = {
        "schedule": protocol.schedule.model_copy(update={**length, **training}),
        "tasks": _on_tasks(printed, training_on),
        "grid": replacements.grid if protocol.grid else None,
        "grids": {},
        "seeds": list(range(1, replacements.seeds + 1)),
    }
    return protocol.model_copy(update=changed)


def _why_too_large(study: Study, name: str, layers: int) -> str:
    """Return the reason why a student cannot be made smaller; empty if it can."""
    student = study.students[name]
    start = student.initialisation
    whole = start.checkpoint == study.teachers[student.teacher].model
    if start.checkpoint and not student.stages and not whole:
        return WEIGHTS
    if student.architecture.layers > layers and not whole:
        return DEEPER
    return _why_too_large(study, start.student, layers) if start.student else ""


def scale_study(study: Study) -> None:
    """Change the study, in place, to what its scale runs.

    The students of the printed papers are marked as not run at this scale, made smaller, or left as printed.

    Args:
        study: the study, free of problems.
    """
    if study.scale.papers == "ours":
        study.not_run |= {name: "" for name in (*study.students, *study.teachers) if study.is_printed(name)}
    if study.scale.replacements:
        shrink(study, study.scale.replacements)
    if study.scale.miniature:
        make_miniature(study, study.scale.miniature)


def shrink(study: Study, replacements: Replacements) -> None:
    """Make the students, teachers and protocols of the printed papers smaller, in place.

    A student that cannot be made smaller is marked as not run at this scale, with the reason.

    Args:
        study: the study, free of problems.
        replacements: the replacements for what the papers print.
    """
    small = study.models[replacements.model].architecture
    learning, teaching = set(), set()
    for name in filter(study.is_printed, list(study.students)):
        student = study.students[name]
        model = study.teachers[student.teacher].model
        learning.add(student.protocol)
        reason = _why_too_large(study, name, small.layers)
        if reason:
            study.not_run[name] = reason
        else:
            by = Shrink(study.models[model].architecture, small)
            study.students[name] = _shrink_student(study, name, replacements, by, model)
    for name in filter(study.is_printed, list(study.teachers)):
        teaching.add(study.teachers[name].protocol)
        study.teachers[name] = study.teachers[name].model_copy(update={"model": replacements.model})
    for name in learning | teaching:
        taught = name not in learning
        training = replacements.teaching if taught else {**replacements.training, **replacements.finetuning}
        training_on = replacements.teaching_on if taught else replacements.training_on
        study.protocols[name] = _shrink_protocol(
            study.protocols[name], replacements, training, training_on, set(study.corpora)
        )
