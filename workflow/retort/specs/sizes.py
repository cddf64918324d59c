"""What an objective requires of the sizes of both models.

An objective declares its requirements as literals on its class. The checks of the YAML files read them from the source,
without importing torch; the loss of a stage reads them from the class. Both call `Requirements.unmet`. So a student
that does not fit an objective is refused before anything runs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

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
