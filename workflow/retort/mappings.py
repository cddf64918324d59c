"""Which student layer learns from which teacher layer.

Layers count from 1, as in the papers; 0 is the output of the embeddings. Every mapping answers with pairs
(student layer, teacher layer). Nothing here needs torch: the checks of the YAML files call it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from retort.errors import RetortError
from retort.registry import Registry, unknown

Pairs = list[tuple[int, int]]

mappings: Registry[Callable[..., Pairs]] = Registry("mapping")


def checked(pairs: Pairs, student_layers: int, teacher_layers: int) -> Pairs:
    """The same pairs, when both models have every layer that they name."""
    for student, teacher in pairs:
        if not 0 <= student <= student_layers:
            raise RetortError(f"student has no layer {student}", f"its layers go from 0 to {student_layers}")
        if not 0 <= teacher <= teacher_layers:
            raise RetortError(f"teacher has no layer {teacher}", f"its layers go from 0 to {teacher_layers}")
    return pairs


def deep_enough(student_layers: int, teacher_layers: int) -> None:
    """Nothing; a one-to-one mapping of a student that is deeper than its teacher is an error."""
    if student_layers > teacher_layers:
        raise RetortError(
            f"teacher has no layer {student_layers}",
            f"a student of {student_layers} layers cannot take as many of a teacher of {teacher_layers}",
        )


def uniform_ends(student_layers: int, teacher_layers: int) -> list[int]:
    """The teacher layers where student_layers even parts of the teacher end, after a 0 where the first begins.

    The i-th end is i * teacher_layers / student_layers rounded up, so the teacher's last layer is always the last
    end, and no two ends agree as long as the student is not the deeper model.
    """
    return [-(-i * teacher_layers // student_layers) for i in range(student_layers + 1)]


@mappings.register("last")
def last(student_layers: int, teacher_layers: int) -> Pairs:
    """The last student layer with the last teacher layer."""
    return [(student_layers, teacher_layers)]


@mappings.register("single")
def single(student_layers: int, teacher_layers: int, *, layer: int) -> Pairs:
    """The last student layer with the one teacher layer that is named.

    Args:
        layer: the teacher's layer, counted from 1.
    """
    return checked([(student_layers, layer)], student_layers, teacher_layers)


@mappings.register("last-k")
def last_k(student_layers: int, teacher_layers: int) -> Pairs:
    """Each student layer with one of the teacher's last layers, in order: 6 of 12 are 7 to 12.

    Udagawa et al. (2023), section 4, 'Last'.
    """
    deep_enough(student_layers, teacher_layers)
    return [(s, teacher_layers - student_layers + s) for s in range(1, student_layers + 1)]


@mappings.register("first")
def first(student_layers: int, teacher_layers: int) -> Pairs:
    """Each student layer with the teacher layer of the same number."""
    deep_enough(student_layers, teacher_layers)
    return [(s, s) for s in range(1, student_layers + 1)]


@mappings.register("uniform")
def uniform(student_layers: int, teacher_layers: int) -> Pairs:
    """Each student layer with every k-th teacher layer: 6 of 12 are 2, 4, ..., 12.

    Udagawa et al. (2023), section 4, 'Uniform', for depths that divide. Where they do not, k times the last student
    layer would lie above the teacher; the steps are then rounded up one by one, so that the layers stay distinct and
    end at the teacher's last: 5 of 12 are 3, 5, 8, 10, 12.
    """
    ends = uniform_ends(student_layers, teacher_layers)
    return [(s, ends[s]) for s in range(1, student_layers + 1)]


@mappings.register("uniform-consecutive")
def uniform_consecutive(student_layers: int, teacher_layers: int, *, disjoint: bool = False) -> Pairs:
    """Each student layer with a run of consecutive teacher layers: 3 of 6 are 1-2, 2-4, 4-6.

    Udagawa et al. (2023), section 4, 'Uniform-Cons.': the i-th run is [k(i - 1), ki], both ends included, so that
    neighbours share a layer; the paper's mappings begin at layer 1, which takes the 0 out of the first run.

    Args:
        disjoint: leave each run's lower end to the run below: 3 of 6 are 1-2, 3-4, 5-6.
    """
    ends = uniform_ends(student_layers, teacher_layers)
    pairs = []
    for s in range(1, student_layers + 1):
        lowest = ends[s - 1] + 1 if disjoint else max(ends[s - 1], 1)
        pairs += [(s, t) for t in range(lowest, ends[s] + 1)]
    return pairs


@mappings.register("uniform-last")
def uniform_last(student_layers: int, teacher_layers: int) -> Pairs:
    """The pairs of 'uniform' and of 'last-k' together, each pair once.

    Udagawa et al. (2023), section 4, 'Uniform+Last'. A student layer's teachers are a set there, so the last pair,
    which both have, counts once.
    """
    both = uniform(student_layers, teacher_layers) + last_k(student_layers, teacher_layers)
    return sorted(set(both))


@mappings.register("listed")
def listed(student_layers: int, teacher_layers: int, *, pairs: Sequence[Sequence[int]]) -> Pairs:
    """The pairs that are listed.

    Args:
        pairs: [student layer, teacher layer] each.
    """
    for pair in pairs:
        if len(pair) != 2:
            raise RetortError(f"{list(pair)} is no pair of layers", "write [student layer, teacher layer]")
    return checked([(int(s), int(t)) for s, t in pairs], student_layers, teacher_layers)


@mappings.register("emd")
def emd(student_layers: int, teacher_layers: int, *, embeddings: bool = False) -> Pairs:
    """Every student layer with every teacher layer, for objectives that read all of them at once.

    Args:
        embeddings: the output of the embeddings, layer 0, is one of them.
    """
    lowest = 0 if embeddings else 1
    return [(s, t) for s in range(lowest, student_layers + 1) for t in range(lowest, teacher_layers + 1)]


def called(kind: str, name: str, thing: Callable[..., Any], options: Mapping[str, Any], *given: Any) -> Any:
    """What the thing returns for the given values and options; an option that it does not have is an error."""
    known = inspect.signature(thing).parameters.values()
    allowed = {parameter.name: parameter for parameter in known if parameter.kind is parameter.KEYWORD_ONLY}
    for option in options:
        if option not in allowed:
            raise unknown(f"option of {kind} '{name}'", option, allowed)
    for option, parameter in allowed.items():
        if parameter.default is parameter.empty and option not in options:
            raise RetortError(f"{kind} '{name}' needs the option '{option}'", f"write {{{name}: {{{option}: ...}}}}")
    return thing(*given, **options)


def pairs_of(mapping: str | Mapping[str, Any], student_layers: int, teacher_layers: int) -> Pairs:
    """The layer pairs of a mapping given by its name, or by its name with options."""
    if isinstance(mapping, str):
        mapping = {mapping: {}}
    if len(mapping) != 1:
        raise RetortError(f"a term has one mapping, not {len(mapping)}", "write its name, or {name: {option: value}}")
    ((name, options),) = mapping.items()
    try:
        pairs: Pairs = called("mapping", name, mappings[name], options or {}, student_layers, teacher_layers)
    except (TypeError, ValueError) as error:
        raise RetortError(f"mapping '{name}' cannot take {options}", "layers are whole numbers") from error
    return pairs
