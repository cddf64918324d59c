"""Make a scaled study: the papers' students become smaller, with a small teacher and short training runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from retort.specs.base import Settings
from retort.specs.model import Architecture
from retort.specs.protocol import STAGES, Protocol, SearchGrid
from retort.specs.scale import Replacements
from retort.specs.student import Initialisation, Stage, Student, Term
from retort.study.miniature import DIVISORS, make_miniature
from retort.study.questions import at_point, setting_at
from retort.study.study import Study

SCHEDULED = {"steps", "epochs", "batch_size", "learning_rate", "decay_steps"}  # only the scale sets these
LENGTHS = {*SCHEDULED, "steps_factor"}  # of stages

WEIGHTS = "starts from released weights of the size that the paper reports"
DEEPER = "is deeper than the teacher of this scale"


def scale_study(study: Study) -> None:
    """Change the study, in place, to what its scale runs.

    The students of the published papers are marked as not run at this scale, made smaller, or left as reported.

    Args:
        study: the study, free of problems.
    """
    written = study.copied()
    for paper, spec in study.papers.items():
        if because := spec.not_at.get(study.config.scale):
            study.unrun[paper] = f"its paper is left out: {because}"
        elif study.config.papers == [] or (study.scale.papers == "ours" and not spec.ours):
            study.unrun[paper] = ""
    for name in (*study.students, *study.teachers):
        if (paper := study.paper_of(name)) in study.unrun:
            study.not_run[name] = study.unrun[paper]
    if not (study.scale.replacements or study.scale.miniature) or not study.running_papers:
        return
    study.unscaled = written
    if study.scale.replacements:
        _shrink(study, study.scale.replacements)
    if study.scale.miniature:
        make_miniature(study, study.scale.miniature)


def _shrink(study: Study, new: Replacements) -> None:
    """Make the students, teachers and protocols of the published papers smaller, in place.

    A student that cannot be made smaller is marked as not run at this scale, with the reason.
    """
    reported = [name for name in study.running if study.is_of_others(name)]
    learning = {study.students[name].protocol for name in reported}
    smaller: dict[str, Student] = {}
    for name in reported:
        if reason := _why_too_large(study, name, study.models[new.model].architecture.layers):
            study.not_run[name] = reason
        else:
            smaller[name] = _shrink_student(study, name, new)
    study.students |= smaller
    agnostic = {name for name in reported if study.students[name].distilled_on == "corpus"}
    study.untuned |= {
        *reported,
        *filter(study.is_of_others, study.teachers),
    } - agnostic  # the scale's grid is not theirs
    for name in learning:
        training, on_tasks = {**new.training, **new.finetuning}, new.training_on
        study.protocols[name] = _shrink_protocol(study, name, new, training, on_tasks)
    for name in [name for name in study.teachers if study.is_of_others(name)]:
        teacher = study.teachers[name]
        study.teachers[name] = teacher.model_copy(update={"model": new.model})
        if teacher.protocol not in learning:
            learning.add(teacher.protocol)
            study.protocols[teacher.protocol] = _shrink_protocol(study, teacher.protocol, new, new.teaching, {})


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


@dataclass(frozen=True)
class Shrink:
    """A change of the teacher's architecture to a smaller one, applied to the layers and widths of students.

    Args:
        old: the architecture of the teacher as reported.
        new: the architecture of the model that replaces it.
    """

    old: Architecture
    new: Architecture

    def layers(self, listed: Sequence[int]) -> list[int]:
        """Return the teacher layers at the same relative depth, rounded down.

        Only layer 0 (the embeddings) becomes layer 0. A strictly increasing list stays strictly increasing if the small
        teacher has as many layers: first from the bottom, then from the top, a layer moves away from its neighbour.
        """
        scaled = [max(min(layer, 1), layer * self.new.layers // self.old.layers) for layer in listed]
        if all(a < b for a, b in itertools.pairwise(listed)) and sum(map(bool, listed)) <= self.new.layers:
            for i in range(1, len(scaled)):
                scaled[i] = max(scaled[i], scaled[i - 1] + 1)
            for i, layer in enumerate(reversed(range(self.new.layers + 1)[-len(scaled) :]), start=1):
                scaled[-i] = min(scaled[-i], layer)
        return scaled

    def architecture(self, shape: Architecture) -> Architecture:
        """Return a student's architecture for the small teacher.

        The number of layers stays the same. So does the number of heads, but the old teacher's number becomes the small
        teacher's.
        """
        old, new = self.old, self.new
        heads = new.heads if shape.heads == old.heads else shape.heads
        return Architecture(
            layers=shape.layers,
            heads=heads,
            hidden=_width(shape.hidden, old.hidden, new.hidden, heads),
            intermediate=_width(shape.intermediate, old.intermediate, new.intermediate),
            embedding=shape.embedding and _width(shape.embedding, old.hidden, new.hidden),
        )


def _width(size: int, old: int, new: int, multiple_of: int = 1) -> int:
    """Return a width scaled by new / old, rounded to a multiple; a width equal to `old` becomes `new`."""
    return new if size == old else max(1, round(size * new / old / multiple_of)) * multiple_of


def _shrink_student(study: Study, name: str, new: Replacements) -> Student:
    """Return a student for the small teacher; protocols are made smaller after the students."""
    student, model = study.students[name], study.teachers[study.students[name].teacher].model
    small = study.models[new.model].architecture
    by = Shrink(study.models[model].architecture, small)
    shape, start = by.architecture(student.architecture), student.initialisation
    if start.layers is not None:
        start = start.model_copy(update={"layers": by.layers(start.layers)})
    elif start.checkpoint == model:
        shape, start = small, start.model_copy(update={"checkpoint": new.model})
    elif start.checkpoint:  # released weights do not fit a smaller student, which is as wide as the small teacher
        shape = small.model_copy(update={"layers": shape.layers, "heads": shape.heads})
        start = Initialisation(truncated=True, of="model")
    shrink = partial(_shrink_stages, study, name, by=by, widths=math.gcd(shape.hidden, small.hidden), new=new)
    changed = {"architecture": shape, "initialisation": start, "stages": shrink(student)}
    return student.model_copy(update={**changed, "grid": student.grid and _shrink_grid(student, student.grid, shrink)})


def _shrink_stages(
    study: Study, name: str, student: Student, by: Shrink, widths: int, new: Replacements
) -> list[Stage]:
    """Return the stages of a student with the schedules of the scale, and with terms that fit the small teacher."""
    stages = []
    for stage in student.stages:
        changed: Settings = {"terms": [_shrink_term(term, by, widths) for term in stage.terms]}
        if stage.data == "task":
            changed["schedule"] = _kept(stage.schedule) | new.training | new.training_of.get(study.paper_of(name), {})
            changed |= {"steps_factor": 1.0, "tasks": _on_tasks(stage.tasks, new.training_on)}
        else:
            changed |= _on_corpus(stage, new, study.protocols[student.protocol])
        stages.append(stage.model_copy(update=changed))
    return stages


def _shrink_grid(student: Student, grid: SearchGrid, shrink: Callable[[Student], list[Stage]]) -> SearchGrid | None:
    """Return a student's own grid without the axes that the scale sets; None if no other is left.

    Each value becomes what the stages of the small student have in its place.
    """
    axes = {}
    for key, values in grid.axes.items():
        if key.startswith(STAGES) and key.rpartition(".")[2] not in LENGTHS:
            small = [
                setting_at(student.model_copy(update={"stages": shrink(at_point(student, {key: value}))}), key)
                for value in values
            ]
            axes[key] = [value for index, value in enumerate(small) if value not in small[:index]]
    return SearchGrid.model_validate({**axes, "seed": grid.seed}) if axes else None


def _shrink_term(term: Term, by: Shrink, widths: int) -> Term:
    """Return the term for the small teacher: with layers of the same relative depth, and splits that divide widths.

    Args:
        term: the term as reported.
        by: the change of the teacher.
        widths: the greatest common divisor of both models' widths.
    """
    mapping = term.mapping
    if isinstance(mapping, dict):
        ((name, options),) = mapping.items()
        options = dict(options)
        if "layer" in options:
            options["layer"] = by.layers([options["layer"]])[0]
        if "pairs" in options:
            below = by.layers([teacher for _, teacher in options["pairs"]])
            options["pairs"] = [[student, layer] for (student, _), layer in zip(options["pairs"], below, strict=True)]
        mapping = {name: options}
    divisors = {name: term.options[name] for name in DIVISORS if isinstance(term.options.get(name), int)}
    fitting = {name: next(n for n in range(divisor, 0, -1) if widths % n == 0) for name, divisor in divisors.items()}
    return term.model_copy(update={"mapping": mapping, "options": {**term.options, **fitting}})


def _on_corpus(stage: Stage, new: Replacements, protocol: Protocol) -> Settings:
    """Return the fields of a stage on a corpus that change: it gets the scale's schedule, in the reported proportions.

    A stage whose reported learning rate or length is, say, half of its protocol's has half of the scale's.
    """
    usual, reported = protocol.for_task(stage.data), protocol.for_task(stage.data, stage.schedule)
    lengths = [(reported.steps, usual.steps), (reported.epochs, usual.epochs)]
    rate = new.distillation["learning_rate"] * reported.learning_rate / usual.learning_rate
    return {
        "data": new.corpus,
        "schedule": {**_kept(stage.schedule), **new.distillation, "learning_rate": rate},
        "steps_factor": stage.steps_factor * next((own / whole for own, whole in lengths if own and whole), 1.0),
    }


def _shrink_protocol(
    study: Study, name: str, new: Replacements, training: Settings, on_tasks: dict[str, Settings]
) -> Protocol:
    """Return a protocol with the scale's schedule; its changes for a corpus now apply to the corpus of the scale."""
    protocol = study.protocols[name]
    reported = {new.corpus if key in study.corpora else key: changes for key, changes in protocol.tasks.items()}
    unset = dict.fromkeys(("steps", "epochs", "decay_steps"))
    changed: Settings = {
        "schedule": protocol.schedule.model_copy(update={**unset, **training}),
        "tasks": _on_tasks(reported, on_tasks),
        "grid": new.grid if protocol.grid else None,
        "grids": {},
        "seeds": list(range(1, new.seeds + 1)),
        "distillation_seeds": list(range(1, new.distillations + 1)),
    }
    return protocol.model_copy(update=changed)


def _on_tasks(reported: dict[str, Settings], changes: dict[str, Settings]) -> dict[str, Settings]:
    """Return task -> changes of a schedule: the reported ones that are kept, and the scale's own."""
    return {task: _kept(reported.get(task, {})) | changes.get(task, {}) for task in {**reported, **changes}}


def _kept(changes: Settings) -> Settings:
    """Return the changes of a schedule that a scale keeps as reported."""
    return {key: value for key, value in changes.items() if key not in SCHEDULED}
