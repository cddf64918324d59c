"""Check a term of a stage: its options, and that both models have the layers and sizes that it needs."""

from __future__ import annotations

from collections.abc import Iterator

from retort.errors import RetortError
from retort.specs import catalogue
from retort.specs.model import Architecture
from retort.specs.options import check_options
from retort.specs.sizes import ModelSize, Requirements
from retort.specs.student import Term
from retort.study.questions import layer_pairs

LAYERED = ("layer", "layers")  # the levels of objectives that need a mapping


def problems(
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
    wrong_options = check_options("objective", entry, term.options)
    yield from (f".options: {line}" for line in wrong_options)
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
    if wrong_options:
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
