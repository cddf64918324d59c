"""Layer mappings: which student layer learns from which teacher layer.

Layers count from 1, as in the papers; layer 0 is the output of the embeddings. Every mapping takes the numbers of
layers of student and teacher, and returns pairs (student layer, teacher layer). A mapping with a third positional
parameter also gets the teacher layers that the student starts from, or None. Keyword-only parameters are options.
This module does not import torch, because the checks of the YAML files use it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from retort.errors import RetortError
from retort.registry import Registry
from retort.specs import catalogue

Pairs = list[tuple[int, int]]

mappings: Registry[Callable[..., Pairs]] = Registry("mapping")


def check_pairs(pairs: Pairs, student_layers: int, teacher_layers: int) -> Pairs:
    """Return the pairs unchanged if both models have all of their layers.

    Raises:
        RetortError: a pair names a layer that the student or the teacher does not have, or is there twice.
    """
    for number, (student, teacher) in enumerate(pairs):
        if (student, teacher) in pairs[:number]:
            raise RetortError(f"the pair {[student, teacher]} is listed twice", "name each once; terms have weights")
        if not 0 <= student <= student_layers:
            raise RetortError(f"student has no layer {student}", f"its layers go from 0 to {student_layers}")
        if not 0 <= teacher <= teacher_layers:
            raise RetortError(f"teacher has no layer {teacher}", f"its layers go from 0 to {teacher_layers}")
    return pairs


def group_ends(student_layers: int, teacher_layers: int) -> list[int]:
    """Return 0 and the last teacher layer of each of `student_layers` groups of equal size.

    The i-th group ends at layer i * teacher_layers / student_layers, rounded up. So the last group always ends at the
    teacher's last layer, and all ends differ as long as the student does not have more layers than the teacher.
    """
    return [-(-i * teacher_layers // student_layers) for i in range(student_layers + 1)]


@mappings.register("last")
def last(student_layers: int, teacher_layers: int) -> Pairs:
    """Pair the last student layer with the last teacher layer."""
    return [(student_layers, teacher_layers)]


@mappings.register("single")
def single(student_layers: int, teacher_layers: int, *, layer: int) -> Pairs:
    """Pair the last student layer with one chosen teacher layer.

    Args:
        student_layers: number of student layers.
        teacher_layers: number of teacher layers.
        layer: the teacher layer, counted from 1.
    """
    return [(student_layers, layer)]


@mappings.register("last-k")
def last_k(student_layers: int, teacher_layers: int) -> Pairs:
    """Pair the student layers, in order, with the last teacher layers: 6 of 12 are 7 to 12.

    Udagawa et al. (2023), section 4, 'Last'.

    Raises:
        RetortError: the student has more layers than the teacher.
    """
    if student_layers > teacher_layers:
        raise RetortError(f"teacher has no layer {student_layers}", f"its layers go from 0 to {teacher_layers}")
    return [(s, teacher_layers - student_layers + s) for s in range(1, student_layers + 1)]


@mappings.register("first")
def first(student_layers: int, teacher_layers: int) -> Pairs:
    """Pair each student layer with the teacher layer of the same number."""
    return [(s, s) for s in range(1, student_layers + 1)]


@mappings.register("uniform")
def uniform(student_layers: int, teacher_layers: int) -> Pairs:
    """Pair each student layer with every k-th teacher layer: 6 of 12 are 2, 4, ..., 12.

    Udagawa et al. (2023), section 4, 'Uniform', if the teacher's number of layers is a multiple of the student's.
    Otherwise k is a fraction, and each teacher layer is rounded up on its own. (A k rounded up once would put the last
    layers above the teacher.) So the layers stay distinct and end at the teacher's last: 5 of 12 are 3, 5, 8, 10, 12.
    """
    ends = group_ends(student_layers, teacher_layers)
    return [(s, ends[s]) for s in range(1, student_layers + 1)]


@mappings.register("uniform-consecutive")
def uniform_consecutive(student_layers: int, teacher_layers: int, *, disjoint: bool = False) -> Pairs:
    """Pair each student layer with consecutive teacher layers: 3 of 6 are 1-2, 2-4, 4-6.

    Udagawa et al. (2023), section 4, 'Uniform-Cons.': student layer i takes the teacher layers [k(i - 1), ki], both
    ends included, so neighbours share a layer. The paper's mappings begin at layer 1, so the first student layer does
    not take layer 0.

    Args:
        student_layers: number of student layers.
        teacher_layers: number of teacher layers.
        disjoint: give a shared layer only to the lower of the two neighbours: 3 of 6 are 1-2, 3-4, 5-6.
    """
    ends = group_ends(student_layers, teacher_layers)
    pairs = []
    for s in range(1, student_layers + 1):
        lowest = ends[s - 1] + 1 if disjoint else max(ends[s - 1], 1)
        pairs += [(s, t) for t in range(lowest, ends[s] + 1)]
    return pairs


@mappings.register("uniform-last")
def uniform_last(student_layers: int, teacher_layers: int) -> Pairs:
    """Combine the pairs of 'uniform' and 'last-k', each pair once.

    Udagawa et al. (2023), section 4, 'Uniform+Last'. The paper defines the teacher layers of a student layer as a set,
    so the last pair, which is in both mappings, counts once.
    """
    both = uniform(student_layers, teacher_layers) + last_k(student_layers, teacher_layers)
    return sorted(set(both))


@mappings.register("listed")
def listed(student_layers: int, teacher_layers: int, *, pairs: list[tuple[int, int]]) -> Pairs:
    """Return the pairs that the option `pairs` lists.

    Args:
        student_layers: number of student layers.
        teacher_layers: number of teacher layers.
        pairs: a list of [student layer, teacher layer].
    """
    return [(s, t) for s, t in pairs]


@mappings.register("initial")
def initial(student_layers: int, teacher_layers: int, initial_layers: Sequence[int] | None = None) -> Pairs:
    """Pair each student layer with the teacher layer that it starts from.

    Args:
        student_layers: number of student layers.
        teacher_layers: number of teacher layers.
        initial_layers: the teacher layers that the student starts from, in order. They follow from the student's
            initialisation, so the mapping has no options in YAML.

    Raises:
        RetortError: the student does not start from teacher layers.
    """
    if initial_layers is None:
        raise RetortError(
            "mapping 'initial' is for students that start from teacher layers",
            "write 'initialisation: {layers: [...]}' or 'truncated: true', or choose another mapping",
        )
    return list(enumerate(initial_layers, start=1))


@mappings.register("emd")
def emd(student_layers: int, teacher_layers: int, *, embeddings: bool = False) -> Pairs:
    """Pair every student layer with every teacher layer, for objectives that read all of them at once.

    Args:
        student_layers: number of student layers.
        teacher_layers: number of teacher layers.
        embeddings: include layer 0, the output of the embeddings.
    """
    lowest = 0 if embeddings else 1
    return [(s, t) for s in range(lowest, student_layers + 1) for t in range(lowest, teacher_layers + 1)]


def pairs_of(
    mapping: str | Mapping[str, Any],
    student_layers: int,
    teacher_layers: int,
    initial_layers: Sequence[int] | None = None,
) -> Pairs:
    """Return the layer pairs of a mapping, given as its name or as {name: {option: value}}.

    Args:
        mapping: the mapping.
        student_layers: number of student layers.
        teacher_layers: number of teacher layers.
        initial_layers: the teacher layers that the student starts from; None if it starts from something else.

    Raises:
        RetortError: the mapping or an option is unknown, or a value or layer is not possible.
    """
    if isinstance(mapping, str):
        mapping = {mapping: {}}
    if len(mapping) != 1:
        raise RetortError(f"a term has one mapping, not {len(mapping)}", "write its name, or {name: {option: value}}")
    ((name, options),) = mapping.items()
    function = mappings[name]
    if wrong := catalogue.wrong_options(catalogue.mappings()[name], options, name):
        raise RetortError("; ".join(wrong))
    sizes = (student_layers, teacher_layers, initial_layers)[: function.__code__.co_argcount]
    return check_pairs(function(*sizes, **options), student_layers, teacher_layers)
