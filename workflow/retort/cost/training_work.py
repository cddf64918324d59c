"""What trainings take: the stages of a student, and fine-tunings, which are stages with labels and no teacher."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from retort.cost import losses, memory, work
from retort.cost.memory import Step
from retort.cost.speed import GUESSED, Work
from retort.cost.volume import Rows, Volume
from retort.cost.work import TRAINED, Head
from retort.plan import resolve
from retort.settings.trainings import (
    CorpusDistillationSettings,
    GridSettings,
    PointSettings,
    TaskDistillationSettings,
    TeacherHeadSettings,
    TeacherSettings,
    TermSettings,
)
from retort.specs.model import Architecture
from retort.specs.protocol import Schedule
from retort.specs.student import is_joint
from retort.study.study import Study

OnTask = TeacherSettings | GridSettings | TaskDistillationSettings

LABELS = TermSettings(objective="supervised", version=1, pairs=[], weight=1.0, options={})
TOKENS = LABELS.model_copy(update={"objective": "masked-lm"})


@dataclass(frozen=True)
class TrainingCost:
    """A training of one model with one loss.

    Args:
        terms: of its loss.
        schedule: its schedule.
        rows: the rows or blocks that it is trained on; their mean length includes padding.
        longest: tokens of the longest of them.
        head: returns the head of both models for rows of a length.
        precision: 'bfloat16', 'tf32' or 'float32'.
        vocabulary: tokens of the vocabulary of both models.
        student: the sizes of the model.
        teacher: those of its teacher; None without one.
    """

    terms: list[TermSettings]
    schedule: Schedule
    rows: Rows
    longest: int
    head: Callable[[float], Head]
    precision: str
    vocabulary: int
    student: Architecture
    teacher: Architecture | None = None

    @property
    def own(self) -> Work:
        """The work of the model, its loss and its optimiser."""
        if self._head_alone:
            passes = work.forward(self.student, self.rows.length) + TRAINED * self._head.flops(self.student)
        else:
            passes = TRAINED * self._pass(0, self.student)
        loss = losses.cost_of(self.terms, *self._models, self.rows.length, self._head.outputs).work
        updated = work.updates(self.student, self.vocabulary, self.schedule, self.rows.count)
        return (Work(passes) + loss).times(self._seen) + updated

    @property
    def taught(self) -> Work:
        """The work of the teacher, which has no backward pass."""
        return Work(self._pass(1, self.teacher) if self.teacher else 0.0).times(self._seen)

    @property
    def outputs(self) -> float:
        """The logits of the longest row."""
        return self.head(self.longest).outputs

    @property
    def step(self) -> Step:
        """The memory of a step, next to a teacher that runs on every batch."""
        student = self.student
        layers, logits = losses.last_layer(self.terms, 0, student.layers)
        ran = 1 if self._head_alone else layers if logits else memory.layers_run(self.terms, layers)
        state, gradients = memory.trained_bytes(student, self.vocabulary, self.schedule)
        loss = losses.cost_of(self.terms, *self._models, self.longest, self.outputs)
        held = memory.row_bytes(student, ran, self.longest, self.precision)
        loaded = memory.loaded_bytes(self.teacher, self.vocabulary, self.terms) if self.teacher else 0.0
        joint = tuple(term.objective for term in self.terms if is_joint(term.objective, term.options))
        most = self.schedule.micro_batch or 0
        return Step(self.schedule.batch_size, state, gradients, held, loss, loaded, joint=joint, micro_batch=most)

    @property
    def _models(self) -> tuple[Architecture, Architecture]:
        return self.student, self.teacher or self.student

    @property
    def _head(self) -> Head:
        return self.head(self.rows.length)

    @property
    def _head_alone(self) -> bool:
        """Whether the encoder is frozen: its layers hold nothing once they ran, and have no backward pass."""
        return "encoder" in self.schedule.freeze

    @property
    def _seen(self) -> float:
        return work.examples(self.schedule, self.rows.count)

    def _pass(self, side: int, model: Architecture) -> float:
        """Return the FLOPs of one row through a model (0: student, 1: teacher).

        It runs only up to the last layer that a term reads, and to the head only if a term reads the logits. If only a
        head reads the last layer, that layer is computed at the positions of the head.
        """
        layers, logits = losses.last_layer(self.terms, side, model.layers)
        if not (layers or logits):
            return 0.0
        whole = not logits or losses.reads_all_positions(self.terms, side, model.layers)
        encoder = work.forward(model, self.rows.length, layers, None if whole else self._head.kept)
        return encoder + (self._head.flops(model) if logits else 0.0)


def work_of(trainings: Iterable[TrainingCost], stored: bool = False) -> Work:
    """Return the work of some trainings; the teacher does not run if its activations are stored."""
    return sum((each.own if stored else each.own + each.taught for each in trainings), Work())


def on_task(settings: OnTask, point: PointSettings | None, volume: Volume, model: str, task: str) -> list[TrainingCost]:
    """Return the trainings of a teacher or student on a task.

    Args:
        settings: its settings.
        point: the point of its grid; None for the settings as they are.
        volume: the rows of the study.
        model: the model whose tokenizer encodes them.
        task: the task.
    """

    def training(terms: list[TermSettings], schedule: Schedule, *models: Architecture) -> TrainingCost:
        rows, most = volume.batches(task, model, schedule), settings.task.max_length
        longest = min(most, schedule.max_length or most)
        head = partial(work.head_of, settings.task)
        return TrainingCost(terms, schedule, rows, longest, head, settings.precision, vocabulary, *models)

    if isinstance(settings, TaskDistillationSettings):
        teacher = settings.teacher.model
        vocabulary, models = teacher.vocabulary, (settings.architecture, teacher.architecture)
        return [
            training(each.terms, each.schedule, *models) for each in (settings.at(point) if point else settings).stages
        ]
    if isinstance(settings, TeacherSettings):
        vocabulary, own = settings.model.vocabulary, settings.model.architecture
    else:
        vocabulary, own = settings.student.teacher.model.vocabulary, settings.student.architecture
    return [training([LABELS], point.applied_to(settings.schedule) if point else settings.schedule, own)]


def on_corpora(settings: CorpusDistillationSettings, volume: Volume, model: str) -> list[TrainingCost]:
    """Return the stages of a task-agnostic student; the model is that whose tokenizer encodes its corpora."""
    teacher, trainings = settings.teacher.model, []
    for each in settings.stages:
        corpus, blocks = settings.corpora[each.data], volume.blocks(each.data, each.schedule, model)
        head = partial(work.masked_lm, teacher.vocabulary, corpus.masking.probability)
        models = settings.architecture, teacher.architecture
        trainings.append(
            TrainingCost(
                each.terms, each.schedule, blocks, corpus.block, head, settings.precision, teacher.vocabulary, *models
            )
        )
    return trainings


def of_head(settings: TeacherHeadSettings, volume: Volume, model: str, corpus: str) -> TrainingCost:
    """Return the training of a masked-LM head on top of a frozen teacher."""
    schedule, vocabulary = settings.schedule.model_copy(update={"freeze": ["encoder"]}), settings.model.vocabulary
    head = partial(work.masked_lm, vocabulary, settings.corpus.masking.probability)
    blocks, size = volume.blocks(corpus, schedule, model), settings.model.architecture
    return TrainingCost([TOKENS], schedule, blocks, settings.corpus.block, head, settings.precision, vocabulary, size)


# The columns of tables of training costs are computed from a student's settings alone. Nothing is measured, so the
# numbers are the same on every machine; they leave out interruptions, other devices and companions.

DEVICE = GUESSED[True]
COUNTED = (
    "Hours of ours are computed from the settings at the papers' own scale, not measured: matrix products of student, "
    f"teacher and losses, and what losses and the optimiser move, on a GPU with {DEVICE.flops / 1e12:g} TFLOP/s and "
    f"{DEVICE.bandwidth / 1e12:g} TB/s (one of the A100 class at a fifth of its peak). All stages of a student count, "
    "with a pass of the teacher over each batch and rows as long as a task allows; not its start, its teacher's "
    "training, or fine-tuning."
)
# column -> its unit, and the function of the stages of a student that computes it
COSTS: dict[str, tuple[str, Callable[[list[TrainingCost]], float]]] = {
    "hours": ("h", lambda stages: DEVICE.hours(work_of(stages), jobs=0)),
    "batch_size": ("rows", lambda stages: max(each.schedule.batch_size for each in stages)),
    "steps": ("steps", lambda stages: sum(each.schedule.steps_on(each.rows.count) for each in stages)),
}


def stages_of(study: Study, student: str, task: str) -> list[TrainingCost]:
    """Return the stages of a student, by the files of the study alone.

    Args:
        study: the study.
        student: the name of the student.
        task: the task that it is distilled on; empty for a task-agnostic student.
    """
    model, volume = study.teachers[study.teacher_of(student)].model, Volume(study, None)
    if task:
        return on_task(resolve.task_distillation(study, student, task), None, volume, model, task)
    return on_corpora(resolve.corpus_distillation(study, student), volume, model)
