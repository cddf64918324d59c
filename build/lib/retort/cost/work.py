"""The work of trainings: FLOPs of encoders and heads, and bytes that losses and the optimiser move.

A multiply-add of a matrix product is two FLOPs; norms, softmax and losses are left out. A backward pass takes twice the
FLOPs of the forward pass: one product for the gradient of the input, and one for the gradient of the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from retort.cost import losses
from retort.cost.speed import GUESSED, Work
from retort.cost.volume import Rows, Volume
from retort.plan import resolve
from retort.settings.inputs import TaskSettings
from retort.settings.trainings import CorpusDistillationSettings, StageSettings, TaskDistillationSettings
from retort.specs import catalogue
from retort.specs.model import Architecture
from retort.specs.protocol import Schedule, steps_per_epoch
from retort.study.study import Study

Distillation = TaskDistillationSettings | CorpusDistillationSettings

POSITIONS = 516  # rows of the position and token type embeddings, and of a norm
TRAINED = 3  # passes of a training step: forward, and backward, which counts twice
UPDATED = 48  # bytes that a step moves for each weight: 28 of AdamW, 12 of the gradient's norm, 8 to make gradients


def matmul_parameters(architecture: Architecture, layers: int | None = None) -> int:
    """Count the weights of an encoder that are multiplied at every token: all matrices but the looked-up embeddings.

    Args:
        architecture: the sizes of the encoder.
        layers: count only this many of the first layers; None for all.
    """
    depth = architecture.layers if layers is None else layers
    return depth * architecture.layer_weights + (architecture.embedding or 0) * architecture.hidden


def parameters(architecture: Architecture, vocabulary: int, frozen: Sequence[str] = ()) -> int:
    """Count the weights of an encoder that are not frozen: embeddings, matrices, biases and norms.

    Args:
        architecture: the sizes of the encoder.
        vocabulary: the number of tokens in its vocabulary.
        frozen: weights to leave out: 'embeddings', 'encoder'.
    """
    width = architecture.embedding or architecture.hidden
    vectors = architecture.layers * (9 * architecture.hidden + architecture.intermediate)  # biases and norms
    counts = {"embeddings": (vocabulary + POSITIONS) * width, "encoder": matmul_parameters(architecture) + vectors}
    return sum(count for name, count in counts.items() if name not in frozen)


def forward(architecture: Architecture, length: float, layers: int | None = None, kept: float | None = None) -> float:
    """Return the FLOPs of one row through an encoder.

    Args:
        architecture: the sizes of the encoder.
        length: tokens of the row.
        layers: run only this many of the first layers; None for all.
        kept: number of positions at which the last layer computes what follows its attention; None for all.
    """
    depth = architecture.layers if layers is None else layers
    attention = 4 * length**2 * architecture.hidden  # queries times keys, attention weights times values
    left_out = 0.0 if kept is None or not depth else architecture.weights_after_attention * (length - kept)
    return 2 * (matmul_parameters(architecture, layers) * length - left_out) + depth * attention


@dataclass(frozen=True)
class Head:
    """What follows an encoder.

    Args:
        flops: returns the FLOPs of one row, by the sizes of the encoder.
        outputs: logits of a row.
        kept: positions of the last layer that it reads; None for all.
    """

    flops: Callable[[Architecture], float]
    outputs: float
    kept: int | None = None

    def pass_over(self, architecture: Architecture, length: float) -> float:
        """Return the FLOPs of one row through an encoder and this head."""
        return forward(architecture, length, kept=self.kept) + self.flops(architecture)


def classifier(outputs: int) -> Head:
    """Return a pooler and a classifier, which see only the first position."""
    return Head(lambda size: 2 * size.hidden * (size.hidden + outputs), outputs, kept=1)


def span(length: float) -> Head:
    """Return a span head, which gives a start and an end logit at each of `length` positions."""
    return Head(lambda size: 2 * size.hidden * 2 * length, 2 * length)


def masked_lm(vocabulary: int, masked: float, length: float) -> Head:
    """Return a masked-LM head, a dense layer and the decoder, at a fraction of the positions of a row."""

    def flops(size: Architecture) -> float:
        width = size.embedding or size.hidden
        return 2 * width * (size.hidden + vocabulary) * masked * length

    return Head(flops, masked * length * vocabulary)


def head_of(task: TaskSettings, length: float) -> Head:
    """Return the head of a task, for rows of `length` tokens."""
    if catalogue.task_types()[task.task_type].facts["has_windows"]:
        return span(length)
    return classifier(len(task.labels) or 1)


def examples(schedule: Schedule, rows: int) -> float:
    """Return how many rows a training run reads: its steps times the mean number of rows in a step."""
    return schedule.steps_on(rows) * rows / steps_per_epoch(rows, schedule.batch_size)


def updates(architecture: Architecture, vocabulary: int, schedule: Schedule, rows: int) -> Work:
    """Return the work of the optimiser, which updates all weights that are trained at each step."""
    trained = parameters(architecture, vocabulary, schedule.freeze)
    return Work(traffic=UPDATED * trained * schedule.steps_on(rows))


def stage(
    stage: StageSettings, rows: Rows, student: Architecture, teacher: Architecture, head: Head
) -> tuple[Work, Work]:
    """Return the work of one stage: of the student with its loss, and of the teacher, which has no backward pass.

    Both models run only up to the last layer that a term reads, and to the head only if a term reads the logits. If
    only a head reads the last layer, that layer is computed at the positions of the head.

    Args:
        stage: the stage's terms and schedule.
        rows: the rows or blocks that it is trained on; their length includes padding.
        student: the student's architecture.
        teacher: the teacher's architecture.
        head: the head of both.
    """
    passes = []
    for side, model in enumerate((student, teacher)):
        layers, logits = losses.last_layer(stage.terms, side, model.layers)
        whole = not logits or losses.reads_all_positions(stage.terms, side, model.layers)
        through = forward(model, rows.length, layers, None if whole else head.kept)
        passes.append(through + (head.flops(model) if logits else 0) if layers or logits else 0.0)
    loss = losses.cost_of(stage.terms, student, teacher, rows.length, head.outputs)
    seen = examples(stage.schedule, rows.count)
    own = Work(TRAINED * passes[0]) + loss.work
    return own.times(seen), Work(passes[1]).times(seen)


@dataclass(frozen=True)
class Trained:
    """A stage of a student, and what it is trained on.

    Args:
        stage: its terms and schedule.
        rows: the rows or blocks; their mean length includes padding.
        longest: tokens of the longest of them.
        head: returns the head of student and teacher for rows of a length.
    """

    stage: StageSettings
    rows: Rows
    longest: int
    head: Callable[[float], Head]


def stages_of(settings: Distillation, volume: Volume, model: str, task: str = "") -> list[Trained]:
    """Return the stages of a student with what each is trained on.

    Args:
        settings: the settings of the distillation.
        volume: the rows of the study.
        model: the model whose tokenizer encodes them.
        task: the task that the student is distilled on; empty for a task-agnostic student.
    """
    if isinstance(settings, TaskDistillationSettings):
        head = partial(head_of, settings.task)
        return [
            Trained(
                each,
                volume.batches(task, model, each.schedule, each.training_rows),
                longest(settings.task, each.schedule),
                head,
            )
            for each in settings.stages
        ]
    stages = [(each, settings.corpora[each.data]) for each in settings.stages]
    vocabulary = settings.teacher.model.vocabulary
    return [
        Trained(
            each,
            volume.blocks(each.data, each.schedule, model),
            corpus.block,
            partial(masked_lm, vocabulary, corpus.masking.probability),
        )
        for each, corpus in stages
    ]


def longest(task: TaskSettings, schedule: Schedule) -> int:
    """Return the most tokens that a training row of a task can have."""
    return min(task.max_length, schedule.max_length or task.max_length)


def distillation(settings: Distillation, stages: list[Trained]) -> tuple[Work, Work]:
    """Return the work of all stages of a student: its own, and that of its teacher on every batch."""
    student, teacher, own, taught = settings.architecture, settings.teacher.model, Work(), Work()
    for each in stages:
        first, second = stage(each.stage, each.rows, student, teacher.architecture, each.head(each.rows.length))
        own += first + updates(student, teacher.vocabulary, each.stage.schedule, each.rows.count)
        taught += second
    return own, taught


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


def training_of(study: Study, student: str, task: str) -> tuple[list[Trained], Work]:
    """Return the stages of a student and the work of training it, by the files of the study alone.

    Args:
        study: the study.
        student: the name of the student.
        task: the task that it is distilled on; empty for a task-agnostic student.
    """
    model = study.teachers[study.teacher_of(student)].model
    settings = resolve.task_distillation(study, student, task) if task else resolve.corpus_distillation(study, student)
    stages = stages_of(settings, Volume(study, None), model, task)
    own, taught = distillation(settings, stages)
    return stages, own + taught


def hours(study: Study, student: str, task: str) -> float:
    """Return the hours of training a student on one GPU."""
    return DEVICE.hours(training_of(study, student, task)[1], jobs=0)


def batch_size(study: Study, student: str, task: str) -> float:
    """Return the rows of a student's largest batch."""
    return max(each.stage.schedule.batch_size for each in training_of(study, student, task)[0])


def steps(study: Study, student: str, task: str) -> float:
    """Return the steps of all stages of a student."""
    return sum(each.stage.schedule.steps_on(each.rows.count) for each in training_of(study, student, task)[0])


# column -> its unit, and the function of a study, a student and a task that computes it
COSTS: dict[str, tuple[str, Callable[[Study, str, str], float]]] = {
    "hours": ("h", hours),
    "batch_size": ("rows", batch_size),
    "steps": ("steps", steps),
}
