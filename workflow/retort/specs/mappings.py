"""Layer mappings: which student layer learns from which teacher layer.

Layers count from 1, as in the papers; layer 0 is the output of the embeddings. Every mapping takes the numbers of
layers of student and teacher, and returns pairs (student layer, teacher layer). A mapping with a third positional
parameter also gets the teacher layers that the student starts from, or None. Keyword-only parameters are options.
This module does not import torch, because the checks of the YAML files use it.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from retort.errors import RetortError
from retort.registry import Registry, unknown

Pairs = list[tuple[int, int]]

mappings: Registry[Callable[..., Pairs]] = Registry("mapping")


def check_pairs(pairs: Pairs, student_layers: int, teacher_layers: int) -> Pairs:
    """Return the pairs unchanged if both models have all of their layers.

    Raises:
        RetortError: a pair names a layer that the student or the teacher does not have, or is there twice.
    """
    for number, (student, teacher) in enumerate(pairs):
        if any(type(layer) is not int for layer in (student, teacher)):  # isinstance would accept true
            raise RetortError(f"{[student, teacher]} is no pair of layers", "layers are whole numbers")
        if (student, teacher) in pairs[:number]:
            raise RetortError(f"the pair {[student, teacher]} is listed twice", "name each once; terms have weights")
        if not 0 <= student <= student_layers:
            raise RetortError(f"student has no layer {student}", f"its layers go from 0 to {student_layers}")
        if not 0 <= teacher <= teacher_layers:
            raise RetortError(f"teacher has no layer {teacher}", f"its layers go from 0 to {teacher_layers}")
    return pairs


def check_depth(student_layers: int, teacher_layers: int) -> None:
    """Check that the student does not have more layers than the teacher; for one-to-one mappings.

    Raises:
        RetortError: the student has more layers.
    """
    if student_layers > teacher_layers:
        raise RetortError(
            f"teacher has no layer {student_layers}",
            f"a student of {student_layers} layers cannot take as many of a teacher of {teacher_layers}",
        )


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
    return check_pairs([(student_layers, layer)], student_layers, teacher_layers)


@mappings.register("last-k")
def last_k(student_layers: int, teacher_layers: int) -> Pairs:
    """Pair the student layers, in order, with the last teacher layers: 6 of 12 are 7 to 12.

    Udagawa et al. (2023), section 4, 'Last'.
    """
    check_depth(student_layers, teacher_layers)
    return [(s, teacher_layers - student_layers + s) for s in range(1, student_layers + 1)]


@mappings.register("first")
def first(student_layers: int, teacher_layers: int) -> Pairs:
    """Pair each student layer with the teacher layer of the same number."""
    check_depth(student_layers, teacher_layers)
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
def listed(student_layers: int, teacher_layers: int, *, pairs: Sequence[Sequence[int]]) -> Pairs:
    """Return the pairs that the option `pairs` lists.

    Args:
        student_layers: number of student layers.
        teacher_layers: number of teacher layers.
        pairs: a list of [student layer, teacher layer].

    Raises:
        RetortError: an entry is not a pair, or names a layer that a model does not have.
    """
    if not pairs:
        raise RetortError("mapping 'listed' lists no pair", "write [student layer, teacher layer] for each")
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise RetortError(f"{pair} is no pair of layers", "write [student layer, teacher layer]")
    return check_pairs([(s, t) for s, t in pairs], student_layers, teacher_layers)


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
    return check_pairs(list(enumerate(initial_layers, start=1)), student_layers, teacher_layers)


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


def call_with_options(
    noun: str, name: str, function: Callable[..., Any], options: Mapping[str, Any], *arguments: Any
) -> Any:
    """Check the options of a function, call it with them, and return its result.

    Args:
        noun: what the function is, for error messages, such as 'mapping'.
        name: the name of the function, for error messages.
        function: the function; its keyword-only parameters are its options.
        options: the values of these options.
        *arguments: the positional arguments.

    Raises:
        RetortError: an option is unknown, or a required one is missing.
    """
    known = inspect.signature(function).parameters.values()
    allowed = {parameter.name: parameter for parameter in known if parameter.kind is parameter.KEYWORD_ONLY}
    for option in options:
        if option not in allowed:
            raise unknown(f"option of {noun} '{name}'", option, allowed)
    for option, value in options.items():
        if isinstance(allowed[option].default, bool) and not isinstance(value, bool):
            raise RetortError(f"option '{option}' of {noun} '{name}' takes true or false, not {value!r}")
    for option, parameter in allowed.items():
        if parameter.default is parameter.empty and option not in options:
            raise RetortError(f"{noun} '{name}' needs the option '{option}'", f"write {{{name}: {{{option}: ...}}}}")
    return function(*arguments, **options)


def _count_positional(function: Callable[..., Any]) -> int:
    """Return the number of positional parameters of a function."""
    parameters = inspect.signature(function).parameters.values()
    return sum(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in parameters)


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
    sizes = (student_layers, teacher_layers, initial_layers)[: _count_positional(function)]
    try:
        pairs: Pairs = call_with_options("mapping", name, function, options or {}, *sizes)
    except (TypeError, ValueError) as error:
        raise RetortError(f"mapping '{name}' cannot take {options}", "layers are whole numbers") from error
    return pairs


# What an objective requires of the sizes of both models.
#
# An objective declares its requirements as literals on its class. The checks of the YAML files read them from the
# source, without importing torch; the loss of a stage reads them from the class. Both call `Requirements.unmet`. So a
# student that does not fit an objective is refused before anything runs.


# True: always; False: never; {"map": ["never"]}: only if the option 'map' has one of the listed values
Condition = bool | dict[str, list[Any]]


class ModelSize(NamedTuple):
    """The sizes of one model that a requirement may depend on: its width and its number of attention heads."""

    width: int
    heads: int


@dataclass(frozen=True)
class Misfit:
    """A requirement that two models do not meet.

    Args:
        option: the option that sets the requirement; empty if no option does.
        message: what does not fit.
        hint: what would fit.
    """

    option: str
    message: str
    hint: str


@dataclass(frozen=True)
class Requirements:
    """The requirements of an objective; each field is an attribute of its class.

    Args:
        equal_heads: both models have the same number of attention heads.
        equal_widths: both models have the same width.
        divides_widths: sources of a number that must divide both widths: the name of an option, or 'student' or
            'teacher' for the attention heads of that model. The first source that is not None counts.
        divides_teacher_heads: the same number divides the teacher's attention heads, too.
        equal_lengths: the names of options that are lists of equal length; an option that is None does not count.
        reads_padding: the objective reads activations at padding, which stored activations do not have.
    """

    equal_heads: Condition = False
    equal_widths: Condition = False
    divides_widths: tuple[str, ...] = ()
    divides_teacher_heads: Condition = False
    equal_lengths: tuple[str, ...] = ()
    reads_padding: Condition = False

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Requirements:
        """Return the requirements that are among the attributes of an objective's class."""
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(**{name: facts[name] for name in names if name in facts})

    def unmet(self, options: Mapping[str, Any], student: ModelSize, teacher: ModelSize) -> Iterator[Misfit]:
        """Yield the requirements that two models do not meet.

        Args:
            options: the value of every option, defaults included.
            student: the sizes of the student.
            teacher: the sizes of the teacher.
        """
        if student.heads != teacher.heads and _holds(self.equal_heads, options):
            message = f"the student has {student.heads} attention heads and its teacher {teacher.heads}"
            hint = "attention is compared head by head; 'relations' has no such limit"
            yield Misfit(_option(self.equal_heads), message, hint)
        if student.width != teacher.width and _holds(self.equal_widths, options):
            option = _option(self.equal_widths)
            hint = f"choose another '{option}'" if option else "choose an objective that learns one"
            yield Misfit(option, f"widths {student.width} and {teacher.width} cannot be compared without a map", hint)
        yield from self._indivisible(options, student, teacher)
        lengths = {name: len(options[name]) for name in self.equal_lengths if isinstance(options[name], list)}
        if len(set(lengths.values())) > 1:
            counts = " and ".join(f"{count} '{name}'" for name, count in lengths.items())
            yield Misfit(self.equal_lengths[-1], f"there are {counts}", "give as many of each")

    def counts_padding(self, options: Mapping[str, Any]) -> bool:
        """Return whether the objective reads activations at padding; `options` includes the defaults."""
        return _holds(self.reads_padding, options)

    def _indivisible(self, options: Mapping[str, Any], student: ModelSize, teacher: ModelSize) -> Iterator[Misfit]:
        """Yield the first width or number of heads that the number in `divides_widths` does not divide."""
        numbers = {**options, "student": student.heads, "teacher": teacher.heads}
        name = next((name for name in self.divides_widths if numbers[name] is not None), None)
        if name is None or not isinstance(number := numbers[name], int):
            return
        option = self.divides_widths[0] if self.divides_widths[0] in options else ""
        cut = f"cannot be cut into {number} {option or 'heads'}"
        for side, width in (("student", student.width), ("teacher", teacher.width)):
            if number < 1 or width % number:
                hint = "both widths must be multiples of the number" + f"; set '{option}'" * (option != "")
                yield Misfit(option, f"the {side}'s width {width} {cut}", hint)
                return
        if _holds(self.divides_teacher_heads, options) and teacher.heads % number:
            message = f"the teacher's {teacher.heads} heads cannot be divided among {number} {option or 'heads'}"
            hint = f"take a number that divides them, or another '{_option(self.divides_teacher_heads)}'"
            yield Misfit(option, message, hint)


def _holds(condition: Condition, options: Mapping[str, Any]) -> bool:
    """Return whether a condition is true with these options."""
    if isinstance(condition, bool):
        return condition
    return any(options[name] in values for name, values in condition.items())


def _option(condition: Condition) -> str:
    """Return the option on which a condition depends; empty if none."""
    return "" if isinstance(condition, bool) else next(iter(condition))
