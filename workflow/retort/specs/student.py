"""The specs of students and teachers: architecture, initialisation, stages; the loss of a stage is a sum of terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from retort.specs import catalogue, mappings
from retort.specs.base import Deviation, Distinct, Flag, Label, Name, Real, Seed, Settings, Spec, Version, Whole
from retort.specs.fields import ModelName, ProtocolName, StudentName, TaskName, entry_of, left_out
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
