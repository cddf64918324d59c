"""The papers' students at a smaller scale: the same questions, asked of a small teacher in short trainings."""

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

SCHEDULED = {"steps", "epochs", "batch_size", "learning_rate"}  # what a scale sets, whoever else gives it
PARTS = ("heads", "splits")  # options that are numbers of equal parts of a width
WEIGHTS = "starts from published weights of the size that the paper prints"
DEEPER = "is deeper than the teacher of this scale"


@dataclass(frozen=True)
class Shrink:
    """From one architecture to a smaller one: how layers and widths of students follow.

    Args:
        old: the teacher's architecture as printed.
        new: that of the model in its place.
    """

    old: Architecture
    new: Architecture

    def layers(self, listed: Sequence[int]) -> list[int]:
        """Teacher layers at the same share of the depth, rounded down; distinct ones that rise stay so."""
        found = [max(min(layer, 1), layer * self.new.layers // self.old.layers) for layer in listed]
        if all(a < b for a, b in itertools.pairwise(listed)):
            for i in range(1, len(found)):
                found[i] = max(found[i], found[i - 1] + 1)
        return found

    def width(self, size: int, old: int, new: int, of: int = 1) -> int:
        """A width in proportion, a multiple of `of`; the teacher's own becomes the small teacher's."""
        return new if size == old else max(1, round(size * new / old / of)) * of

    def architecture(self, shape: Architecture) -> Architecture:
        """A student's architecture beside the small teacher, with as many layers and heads as it had."""
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
    """The term with the teacher layers that its mapping names at the same share of the depth."""
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
    """The term with the printed number of relation heads or splits, or the next one below that divides both widths.

    Args:
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
    if start.checkpoint:  # the weights of the paper's size do not fit: the teacher's, where they are as wide
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
    """The protocol with a schedule of the scale; what it says of a corpus is said of the corpus of the scale."""
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
    """Why a student cannot be made smaller; empty where it can."""
    student = book.students[name]
    start = student.initialisation
    whole = start.checkpoint == book.teachers[student.teacher].model
    if start.checkpoint and not student.stages and not whole:
        return WEIGHTS
    if student.architecture.layers > layers and not whole:
        return DEEPER
    return _too_large(book, start.student, layers) if start.student else ""


def fit(book: Book) -> None:
    """Nothing; the book holds what its scale runs: the papers' own students idle, made smaller, or as printed.

    Args:
        book: free of problems.
    """
    if book.scale.papers == "ours":
        book.idle |= {name: "" for name in (*book.students, *book.teachers) if book.is_printed(name)}
    if book.scale.smaller:
        shrink(book, book.scale.smaller)


def shrink(book: Book, smaller: Smaller) -> None:
    """Nothing; the students, teachers and protocols of the printed papers are made smaller in the book.

    Args:
        book: free of problems.
        smaller: what stands in place of what.
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
