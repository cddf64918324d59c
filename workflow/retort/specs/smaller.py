"""Make a scaled study: the papers' students are made smaller, with a small teacher and short training runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retort.specs.base import Settings
from retort.specs.model import Architecture
from retort.specs.protocol import Protocol
from retort.specs.scale import Smaller
from retort.specs.student import Initialisation, Stage, Student, Term

if TYPE_CHECKING:
    from retort.specs.book import Book

SCHEDULED = {"steps", "epochs", "batch_size", "learning_rate"}  # only the scale sets these
PARTS = ("heads", "splits")  # options that count the equal parts into which a width is split
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
        found = [max(min(layer, 1), layer * self.new.layers // self.old.layers) for layer in listed]
        if all(a < b for a, b in itertools.pairwise(listed)):
            for i in range(1, len(found)):
                found[i] = max(found[i], found[i - 1] + 1)
        return found

    def width(self, size: int, old: int, new: int, of: int = 1) -> int:
        """Return a width scaled by new / old, a multiple of `of`; a width equal to `old` becomes `new`."""
        return new if size == old else max(1, round(size * new / old / of)) * of

    def architecture(self, shape: Architecture) -> Architecture:
        """Return a student's architecture for the small teacher.

        The number of layers stays the same, and so does the number of heads, unless it is the old teacher's: then it
        becomes the small teacher's.
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


def _mapping(term: Term, shrink: Shrink) -> Term:
    """Return the term with each teacher layer of its mapping moved to the same relative depth of the small teacher."""
    if not isinstance(term.mapping, dict):
        return term
    name, given = next(iter(term.mapping.items()))
    given = dict(given)
    if "layer" in given:
        given["layer"] = shrink.layers([given["layer"]])[0]
    if "pairs" in given:
        below = shrink.layers([teacher for _, teacher in given["pairs"]])
        given["pairs"] = [[student, layer] for (student, _), layer in zip(given["pairs"], below, strict=True)]
    return term.model_copy(update={"mapping": {name: given}})


def _parts(term: Term, widths: int) -> Term:
    """Return the term with its number of relation heads or splits lowered until it divides the widths of both models.

    Args:
        term: the term as printed.
        widths: the greatest common divisor of both models' widths.
    """
    given = {name: term.options[name] for name in PARTS if isinstance(term.options.get(name), int)}
    fitting = {name: next(n for n in range(parts, 0, -1) if widths % n == 0) for name, parts in given.items()}
    return term.model_copy(update={"options": {**term.options, **fitting}})


def _stage(stage: Stage, smaller: Smaller, shrink: Shrink, hidden: int) -> Stage:
    on_corpus = stage.data != "task"
    changed: Settings = {
        "data": smaller.corpus if on_corpus else stage.data,
        "terms": [_parts(_mapping(term, shrink), math.gcd(hidden, shrink.new.hidden)) for term in stage.terms],
        "schedule": {**_kept(stage.schedule), **(smaller.distillation if on_corpus else smaller.training)},
        "share": 1.0,
        "tasks": {task: _kept(given) for task, given in stage.tasks.items()},
    }
    return stage.model_copy(update=changed)


def _kept(given: Settings) -> Settings:
    return {key: value for key, value in given.items() if key not in SCHEDULED}


def _start(student: Student, shrink: Shrink, model: str, teacher_model: str) -> Initialisation:
    start = student.initialisation
    if start.layers is not None:
        return start.model_copy(update={"layers": shrink.layers(start.layers)})
    if start.checkpoint == teacher_model:
        return start.model_copy(update={"checkpoint": model})
    if start.checkpoint:  # published weights do not fit a smaller student; use the teacher's if the widths are equal
        fits = student.architecture.widths == shrink.old.widths
        return Initialisation(truncated=True, of="model") if fits else Initialisation(random=True)
    return start


def _student(student: Student, smaller: Smaller, shrink: Shrink, teacher_model: str) -> Student:
    start = student.initialisation
    shape = shrink.new if start.checkpoint == teacher_model else shrink.architecture(student.architecture)
    return student.model_copy(
        update={
            "architecture": shape,
            "initialisation": _start(student, shrink, smaller.model, teacher_model),
            "stages": [_stage(stage, smaller, shrink, shape.hidden) for stage in student.stages],
        }
    )


def _protocol(protocol: Protocol, smaller: Smaller, given: Settings, corpora: set[str]) -> Protocol:
    """Return the protocol with the scale's schedule; its changes for a corpus now apply to the corpus of the scale."""
    length = {"steps": None, "epochs": None}
    tasks = {smaller.corpus if name in corpora else name: _kept(changes) for name, changes in protocol.tasks.items()}
    changed: Settings = {
        "schedule": protocol.schedule.model_copy(update={**length, **given}),
        "tasks": tasks,
        "grid": smaller.grid if protocol.grid else None,
        "grids": {},
        "seeds": protocol.seeds[: smaller.seeds],
    }
    return protocol.model_copy(update=changed)


def _too_large(book: Book, name: str, layers: int) -> str:
    """Return the reason why a student cannot be made smaller; empty if it can."""
    student = book.students[name]
    start = student.initialisation
    whole = start.checkpoint == book.teachers[student.teacher].model
    if start.checkpoint and not student.stages and not whole:
        return WEIGHTS
    if student.architecture.layers > layers and not whole:
        return DEEPER
    return _too_large(book, start.student, layers) if start.student else ""


def fit(book: Book) -> None:
    """Change the study, in place, to what its scale runs.

    The students of the printed papers are marked as not run at this scale, made smaller, or left as printed.

    Args:
        book: the study, free of problems.
    """
    if book.scale.papers == "ours":
        book.idle |= {name: "" for name in (*book.students, *book.teachers) if book.is_printed(name)}
    if book.scale.smaller:
        shrink(book, book.scale.smaller)


def shrink(book: Book, smaller: Smaller) -> None:
    """Make the students, teachers and protocols of the printed papers smaller, in place.

    A student that cannot be made smaller is marked as not run at this scale, with the reason.

    Args:
        book: the study, free of problems.
        smaller: the replacements for what the papers print.
    """
    small = book.models[smaller.model].architecture
    learning, teaching = set(), set()
    for name in filter(book.is_printed, list(book.students)):
        student = book.students[name]
        model = book.teachers[student.teacher].model
        learning.add(student.protocol)
        reason = _too_large(book, name, small.layers)
        if reason:
            book.idle[name] = reason
        else:
            by = Shrink(book.models[model].architecture, small)
            book.students[name] = _student(student, smaller, by, model)
    for name in filter(book.is_printed, list(book.teachers)):
        teaching.add(book.teachers[name].protocol)
        book.teachers[name] = book.teachers[name].model_copy(update={"model": smaller.model})
    for name in learning | teaching:
        given = smaller.training if name in learning else smaller.teaching
        book.protocols[name] = _protocol(book.protocols[name], smaller, given, set(book.corpora))
