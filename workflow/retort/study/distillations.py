"""Distillations of a student under further seeds: what one distillation gives is partly the luck of its seed.

A student that is distilled on a corpus is trained once, whatever the number of its fine-tunings. If its protocol names
several `distillation_seeds`, there is a student for each: the first one has the student's own name, a further one is
called `<name>-distillation-<seed>`. It has files, jobs and a grid of its own, so that a further distillation trains
nothing else. One cell of a table shows them all (`results/collect.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from retort.specs.loading import Found
from retort.study.questions import first_seeds, protocol_of, start_lineage
from retort.study.study import Study


def further_name(student: str, seed: int | str) -> str:
    """Return the name of a further distillation of a student; the seed '*' gives a pattern of all of them."""
    return f"{student}-distillation-{seed}"


def has_distillation(study: Study, name: str) -> bool:
    """Return whether the fine-tunings of a student start from a distillation on a corpus, of itself or a parent."""
    return any(study.trained_on(each) == "corpus" for each in start_lineage(study, name))


def distillation_seed(study: Study, name: str) -> int:
    """Return the seed under which a student is distilled on a corpus."""
    return study.further[name][1] if name in study.further else _seeds(study, name)[0]


def _seeds(study: Study, name: str) -> list[int]:
    """Return the seeds of a student's distillations: those of its protocol, or as many as a budget has of them."""
    protocol, chosen = protocol_of(study, name), study.budget_of(name)
    seeds = protocol.distillation_seeds or [protocol.grid.seed if protocol.grid else protocol.seeds[0]]
    return first_seeds(seeds, chosen.distillations) if chosen else seeds


def distillations_of(study: Study, name: str) -> dict[int, str]:
    """Return seed -> name of each distillation of a student, beginning with its own; empty for any other model."""
    own = {distillation_seed(study, name): name} if has_distillation(study, name) else {}
    return own | study.distillations.get(name, {})


def trained_anew(study: Study, name: str) -> list[str]:
    """Return a student or teacher, and the students of its further distillations."""
    return [name, *study.distillations.get(name, {}).values()]


def add_distillations(study: Study) -> Iterator[Found]:
    """Add the students of further distillations that run to the study, in place; yield a line for each taken name."""
    for name in [name for name in study.running if has_distillation(study, name)]:
        for seed in _seeds(study, name)[1:]:
            study.distillations.setdefault(name, {})[seed] = further_name(name, seed)
    yield from enter_further(study, [(name, seed) for name, each in study.distillations.items() for seed in each])


def enter_further(study: Study, distillations: Iterable[tuple[str, int]]) -> Iterator[Found]:
    """Enter students of further distillations, and those that they start from; yield a line for each taken name.

    One whose student starts from a distilled student starts from a further distillation of that, which no table shows
    unless that student itself has as many.

    Args:
        study: the study, which is changed in place.
        distillations: the student and the seed of each.
    """
    ahead = [*distillations]
    for name, seed in ahead:  # it grows by the students that these start from
        if (further := further_name(name, seed)) in study.further:
            continue
        if further in study.students:
            where = study.files["students", further]
            yield where, f"'{further}' is taken: '{name}' is distilled under seed {seed}, too; rename the student"
        student = study.students[name]
        start, parent = student.initialisation, student.initialisation.student
        if parent and has_distillation(study, parent):
            ahead.append((parent, at := _seed_of_parent(study, name, parent, seed)))
            start = start.model_copy(update={"student": further_name(parent, at)})
        changed = {"title": f"{student.title}; distillation seed {seed}", "initialisation": start, "deviations": []}
        study.students[further] = student.model_copy(update=changed)
        study.files["students", further] = study.files["students", name]
        study.further[further] = name, seed
        study.untuned |= {further} if name in study.untuned else set()


def _seed_of_parent(study: Study, name: str, parent: str, seed: int) -> int:
    """Return the seed of the parent's distillation from which a further distillation of a student starts.

    It is the same one, unless the parent's own distillation has it: from that one the student's own starts.
    """
    return distillation_seed(study, name) if seed == distillation_seed(study, parent) else seed
