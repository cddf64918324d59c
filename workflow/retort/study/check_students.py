"""Check the initialisation of a student: layers exist and fit, and a parent has the student's shape and vocabulary.

The check of students reports unknown names.
"""

from __future__ import annotations

from collections.abc import Iterator

from retort.errors import RetortError
from retort.specs import catalogue
from retort.specs.catalogue import ModelSize, Requirements, wrong_options
from retort.specs.model import Architecture, Model
from retort.specs.student import Term
from retort.study.questions import layer_pairs
from retort.study.study import Study


def initialisation_problems(study: Study, name: str) -> Iterator[str]:
    """Yield one line for each reason why a student's initialisation cannot work; the line begins with the key."""
    for check in (_layers, _student, _checkpoint):
        yield from check(study, name)


def _layers(study: Study, name: str) -> Iterator[str]:
    student = study.students[name]
    if student.initial_layers is None:
        return
    key = "truncated" if student.initialisation.truncated else "layers"
    teacher = study.model_of(student.teacher).architecture
    if max(student.initial_layers) > teacher.layers:
        yield f"{key}: teacher '{student.teacher}' has no layer {max(student.initial_layers)}; it has {teacher.layers}"
    if student.architecture.widths != teacher.widths:
        yield (
            f"{key}: a student of width {_widths(student.architecture)} cannot take layers of a teacher of "
            f"{_widths(teacher)}; use 'random: true'"
        )


def _widths(shape: Architecture) -> str:
    embedding = f" with embeddings of {shape.embedding}" if shape.embedding else ""
    return f"{shape.hidden} x {shape.intermediate}{embedding}"


def _student(study: Study, name: str) -> Iterator[str]:
    student = study.students[name]
    start = student.initialisation.student
    if start is None or start not in study.students:
        return
    chain = [name]
    parent: str | None = start
    while parent is not None and parent in study.students:
        if parent in chain:
            if parent == name:  # a circle without this student is reported for the students in it
                yield f"student: '{name}' starts from itself: {' <- '.join([*chain, name])}"
            return
        chain.append(parent)
        parent = study.students[parent].initialisation.student
    other = study.students[start]
    if other.architecture != student.architecture or other.distilled_on == "task":
        yield f"student: '{start}' is not a task-agnostic student of the same architecture"
    teacher = study.teachers.get(other.teacher)
    if teacher is not None and teacher.model in study.models:
        yield from _vocabulary(study, name, "student", start, study.models[teacher.model])


def _checkpoint(study: Study, name: str) -> Iterator[str]:
    student = study.students[name]
    start = student.initialisation.checkpoint
    if start is None or start not in study.models:
        return
    published, required = study.models[start].architecture.model_dump(), student.architecture.model_dump()
    for size in sorted({*published, *required} - {"heads"}):  # the number of heads changes the shape of no weight
        if published.get(size) != required.get(size):
            yield (
                f"checkpoint: '{start}' has {size}: {published.get(size, 'none')}, "
                f"the student's architecture {size}: {required.get(size, 'none')}"
            )
    yield from _vocabulary(study, name, "checkpoint", start, study.models[start])


def _vocabulary(study: Study, name: str, key: str, start: str, other: Model) -> Iterator[str]:
    teacher = study.students[name].teacher
    own = study.model_of(teacher)
    if own.vocabulary != other.vocabulary:
        yield (
            f"{key}: '{start}' has a vocabulary of {other.vocabulary} tokens, teacher '{teacher}' one of "
            f"{own.vocabulary}; both must read the same tokens"
        )


# Check a term of a stage: its options, and that both models have the layers and sizes that it needs.


LAYERED = ("layer", "layers")  # the levels of objectives that need a mapping


def term_problems(
    term: Term, student: Architecture, teacher: Architecture, initial_layers: list[int] | None = None
) -> Iterator[str]:
    """Yield one line for each reason why a term cannot be computed for two models; the line begins with the key.

    Args:
        term: the term; its objective must be registered.
        student: the architecture of the student.
        teacher: the architecture of the teacher.
        initial_layers: the teacher layers that the student starts from; None if it starts from something else.
    """
    entry = catalogue.objectives()[term.objective]
    options = {**entry.options, **term.options}
    wrong = wrong_options(entry, term.options, "options")
    yield from (f".{line}" for line in wrong)
    if (entry.level in LAYERED) != (term.mapping is not None):
        layered = entry.level in LAYERED
        what = "needs a mapping, such as 'last'" if layered else "is on the output: leave out 'mapping'"
        yield f".mapping: objective '{term.objective}' {what}"
        return
    activations = [
        activation for activation in entry.activations if activation != "scores" or options.get("attention", True)
    ]
    try:
        pairs = layer_pairs(term, student.layers, teacher.layers, initial_layers)
    except RetortError as error:
        if term.mapping != "initial" or initial_layers is None:  # else the initialisation has a line for it
            yield f".mapping: {error}"
    else:
        yield from _mapping(term, activations, pairs)
    if wrong:
        return
    sizes = [ModelSize(shape.hidden, shape.heads) for shape in (student, teacher)]
    for misfit in Requirements.of(entry.facts).unmet(options, *sizes):
        key = f".options.{misfit.option}" if misfit.option in term.options else ""
        yield f"{key}: objective '{term.objective}': {misfit.message}; {misfit.hint}"


def data_problems(objective: str, data: str) -> Iterator[str]:
    """Yield a line if an objective reads labels that a stage's data do not have.

    Args:
        objective: its name.
        data: 'task' or the name of a corpus.
    """
    entry = catalogue.objectives().get(objective)
    is_task = data == "task"
    required = entry.facts.get("data") if entry else None
    if required and required != ("task" if is_task else "corpus"):
        labels = {"task": "the labels of a task", "corpus": "the masked tokens of a corpus"}[required]
        yield f"'{objective}' reads {labels}, and this stage is on {'the task' if is_task else 'a corpus'}"


def _mapping(term: Term, activations: list[str], pairs: list[tuple[int, int]]) -> Iterator[str]:
    inside = {name for activation in activations for name in catalogue.BASIS.get(activation, (activation,))} - {
        "hidden"
    }
    if inside and any(0 in pair for pair in pairs):
        yield (
            f".mapping: layer 0 is the output of the embeddings, which has no {', '.join(sorted(inside))}; "
            f"objective '{term.objective}' takes layers from 1 on"
        )
