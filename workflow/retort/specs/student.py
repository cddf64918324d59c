"""The specs of students and teachers: architecture, initialisation, stages; the loss of a stage is a sum of terms."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from retort.specs import catalogue, mappings
from retort.specs.base import (
    Deviation,
    Distinct,
    Flag,
    Label,
    ModelName,
    Name,
    ProtocolName,
    Real,
    Seed,
    Settings,
    Spec,
    StudentName,
    TaskName,
    Version,
    Whole,
    entry_of,
    left_out,
)
from retort.specs.model import Sizes
from retort.specs.protocol import OF_ROWS, Changes, ScheduleChanges, SearchGrid

LAYERED = ("layer", "layers")  # the levels of objectives that need a mapping


class Initialisation(Spec):
    """Where the initial weights come from; exactly one of the fields is given, apart from `of` and `new_heads`.

    Args:
        layers: listed layers, counted from 1; embeddings and heads come along.
        truncated: the first layers, as many as the student has.
        of: the teacher (fine-tuned, where the stage is on a task) or the model as released.
        new_heads: pooler and heads start at random, not as those of the model whose layers are copied.
        student: another student's checkpoint.
        checkpoint: a released model, an entry of workflow/models, of the student's architecture.
        random: random first weights.
    """

    layers: Distinct[Whole] | None = None
    truncated: Flag = False
    of: Literal["teacher", "model"] = "teacher"
    new_heads: Flag = left_out(False)
    student: Annotated[StudentName, entry_of("student", "students")] | None = None
    checkpoint: ModelName | None = left_out()
    random: Flag = False

    def _wrong(self) -> Iterator[str]:
        ways = {name: getattr(self, name) for name in ("layers", "truncated", "student", "checkpoint", "random")}
        if sum(value not in (None, False) for value in ways.values()) != 1:
            yield f"give exactly one of {', '.join(ways)}"
        if "of" in self.model_fields_set and self.layers is None and not self.truncated:
            yield "of: only where layers are copied, with 'layers' or 'truncated'"
        if self.new_heads and self.layers is None and not self.truncated:
            yield "new_heads: only where layers are copied, with 'layers' or 'truncated'"
        if self.layers is not None and (not self.layers or min(self.layers) < 1):
            yield "'layers' counts teacher layers from 1"
        if self.layers != (self.layers and sorted(self.layers)):
            yield "'layers' falls; the layers of a student are in the order of the teacher's"


class Term(Spec):
    """One term of a loss: weight times objective, on the layers of a mapping, with the objective's options.

    Args:
        objective: one of `retort list objectives`.
        mapping: which teacher layers a student layer learns from: a name, or a name with options.
        weight: times the objective's value; below 1e-9, the term would be lost in the rounding of the others.
        options: options of the objective.
        not_on: tasks on which the term is left out.
    """

    objective: Annotated[Name, catalogue.registered("objective", catalogue.objectives)]
    mapping: str | dict[str, dict[str, Any]] | None = None
    weight: Real = Field(default=1.0, ge=1e-9, le=1_000_000)
    options: Settings = {}
    not_on: Distinct[TaskName] = []

    def _wrong(self) -> Iterator[str]:
        entry = catalogue.objectives()[self.objective]
        entry.check(self.options)
        layered = entry.level in LAYERED
        if layered != (self.mapping is not None):
            what = "needs a mapping, such as 'last'" if layered else "is on the output: leave out 'mapping'"
            yield f"mapping: objective '{self.objective}' {what}"

    def layer_pairs(
        self, student_layers: int, teacher_layers: int, initial_layers: list[int] | None = None
    ) -> mappings.Pairs:
        """Return the (student layer, teacher layer) pairs of the term; empty for one without a mapping.

        Args:
            student_layers: number of student layers.
            teacher_layers: number of teacher layers.
            initial_layers: the teacher layers that the student starts from; None if it starts from something else.

        Raises:
            RetortError: the mapping is unknown, or names a layer that one of the two models does not have.
        """
        if self.mapping is None:
            return []
        return mappings.pairs_of(self.mapping, student_layers, teacher_layers, initial_layers)


class Stage(Spec):
    """One stage of a student's training: its loss terms, its data and its length.

    Args:
        data: 'task', or the name of a corpus.
        terms: the loss is their weighted sum.
        steps_factor: times the protocol's steps that this stage takes.
        schedule: fields of the protocol's schedule that this stage changes.
        tasks: fields of the schedule that the stage changes on a task; they win over all others.
        teacher_dropout: leave dropout on in the teacher while it teaches.
    """

    data: Annotated[Name, entry_of("corpus", "corpora", also="task")]
    terms: list[Term] = Field(min_length=1)
    steps_factor: Real = Field(default=1.0, gt=0, le=10)
    schedule: ScheduleChanges = {}
    tasks: dict[TaskName, ScheduleChanges] = {}
    teacher_dropout: Flag = False

    def _wrong(self) -> Iterator[str]:
        if self.data != "task" and (self.tasks or any(term.not_on for term in self.terms)):
            yield "'tasks' and 'not_on' are for stages on the task; a corpus has one schedule"
        for field in (field for field in OF_ROWS if self.data != "task" and field in self.schedule):
            yield f"schedule.{field}: it is for the rows of tasks, not for the blocks of a corpus; leave it out"
        if self.data != "task" and "load_best_model_at_end" in self.schedule:
            yield "schedule.load_best_model_at_end: a corpus has no validation split; leave it out"
        for number, term in enumerate(self.terms, start=1):
            required = catalogue.objectives()[term.objective].facts.get("data")
            if required and (required == "task") != (self.data == "task"):
                labels = {"task": "the labels of a task", "corpus": "the masked tokens of a corpus"}[required]
                where = "the task" if self.data == "task" else "a corpus"
                yield f"terms.{number}: '{term.objective}' reads {labels}, and this stage is on {where}"
            if self.data != "task" and "pooled" in catalogue.objectives()[term.objective].activations:
                yield f"terms.{number}: '{term.objective}' reads the pooler, which models have on a task alone"
            if term in self.terms[: number - 1]:
                yield f"terms.{number}: the same term stands above; give one of them the weight of both"
        everywhere = set.intersection(*(set(term.not_on) for term in self.terms))
        if everywhere:
            yield f"not_on: no term is left on '{min(everywhere)}'"

    def on(self, task: str) -> list[Term]:
        """Return the terms of the stage that are used on a task."""
        return [term for term in self.terms if task not in term.not_on]

    def changes(self, task: str) -> Changes:
        """Return the stage's changes to the protocol's schedule on a task, by the key that gives them."""
        return {("schedule",): self.schedule, ("tasks", task): self.tasks.get(task, {})}


class Student(Spec):
    """A student: one entry of a paper's students.yaml.

    Args:
        title: what it is, in one line.
        teacher: an entry of `teachers` in a paper.yaml.
        architecture: its sizes; or the name of a model that has them; or {like: the name, and sizes that differ}.
        initialisation: where its first weights come from.
        stages: one after the other; none: it is only fine-tuned.
        pooler_relu: a ReLU in the place of dropout between pooler and classifier, in the student, and in the teacher
            while it teaches; for BERT on a task.
        protocol: an entry of workflow/protocols.
        grid: settings that are tried on each task, instead of the protocol's grid; also of stages on the task, such as
            'stages.1.terms.2.weight: [0.2, 0.5]'.
        tasks: only these tasks; all where it is left out.
        deviations: what was chosen for this student where the paper is silent.
        version: raised when the same settings would give other numbers.
    """

    title: Label
    teacher: Annotated[StudentName, entry_of("teacher", "teachers")]
    architecture: Sizes
    initialisation: Initialisation
    stages: list[Stage] = []
    pooler_relu: Flag = False
    protocol: ProtocolName
    grid: SearchGrid | None = left_out()
    tasks: Distinct[TaskName] | None = Field(default=None, min_length=1)
    deviations: list[Deviation] = []
    version: Version = 1

    def _wrong(self) -> Iterator[str]:
        if len({stage.data == "task" for stage in self.stages}) > 1:
            yield "stages on the task and on a corpus are mixed; let a student start from a student instead"
        if self.pooler_relu and self.distilled_on == "corpus":
            yield "pooler_relu: only for students that are distilled on tasks"
        layers = self.initialisation.layers
        if layers is not None and len(layers) != self.architecture.layers:
            yield f"{len(layers)} teacher layers listed for {self.architecture.layers} student layers"

    @property
    def initial_layers(self) -> list[int] | None:
        """The teacher layers, counted from 1, that the student starts from; None if it starts from something else."""
        start = self.initialisation
        return list(range(1, self.architecture.layers + 1)) if start.truncated else start.layers

    @property
    def distilled_on(self) -> Literal["task", "corpus"]:
        """The type of distillation: 'task' for task-specific, 'corpus' for task-agnostic.

        A task-specific student is distilled on the task itself. A task-agnostic one is distilled once, then fine-tuned
        on each task with a grid search and several seeds.
        """
        return "task" if any(stage.data == "task" for stage in self.stages) else "corpus"


class Teacher(Spec):
    """A teacher, one entry of a paper's `teachers:`: a model, fine-tuned on each task with one seed.

    Args:
        title: what it is, in one line.
        model: an entry of workflow/models.
        protocol: an entry of workflow/protocols.
        seed: of its fine-tuning.
        version: raised when the same settings would give other numbers.
    """

    title: Label
    model: ModelName
    protocol: ProtocolName
    seed: Seed = 1
    version: Version = 1


# --- what an objective requires of the sizes of both models
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
        joint: the value depends on all examples of a batch at once, so a batch is never computed in parts.
    """

    equal_heads: Condition = False
    equal_widths: Condition = False
    divides_widths: tuple[str, ...] = ()
    divides_teacher_heads: Condition = False
    equal_lengths: tuple[str, ...] = ()
    reads_padding: Condition = False
    joint: Condition = False

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

    def is_joint(self, options: Mapping[str, Any]) -> bool:
        """Return whether the objective needs all examples of a batch at once; `options` includes the defaults."""
        return _holds(self.joint, options)

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


def is_joint(objective: str, options: Mapping[str, Any]) -> bool:
    """Return whether an objective needs all examples of a batch at once; `options` includes the defaults."""
    return Requirements.of(catalogue.objectives()[objective].facts).is_joint(options)


def _holds(condition: Condition, options: Mapping[str, Any]) -> bool:
    """Return whether a condition is true with these options."""
    if isinstance(condition, bool):
        return condition
    return any(options[name] in values for name, values in condition.items())


def _option(condition: Condition) -> str:
    """Return the option on which a condition depends; empty if none."""
    return "" if isinstance(condition, bool) else next(iter(condition))
