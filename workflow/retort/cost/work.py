"""FLOPs of encoders: two per multiply-add of a matrix product; norms, softmax and losses are left out.

A backward pass takes twice the FLOPs of the forward pass: one product for the gradient of the input, and one for the
gradient of the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retort.cost import losses
from retort.cost.preprocessing import Rows, Volume
from retort.settings.inputs import TaskSettings
from retort.settings.trainings import (
    ActivationSettings,
    CorpusDistillationSettings,
    FinetuneSettings,
    GridSettings,
    ProfileSettings,
    StageSettings,
    TaskDistillationSettings,
    TeacherHeadSettings,
    TeacherSettings,
)
from retort.specs import catalogue
from retort.specs.model import Architecture
from retort.specs.protocol import Schedule, steps_per_epoch

POSITIONS = 516  # rows of the position and token type embeddings, and of a norm
TRAINED = 3  # passes of a training step: forward, and backward, which counts twice


def matmul_parameters(architecture: Architecture, layers: int | None = None) -> int:
    """Count the weights of an encoder that are multiplied at every token: all matrices but the looked-up embeddings.

    Args:
        architecture: the sizes of the encoder.
        layers: count only this many of the first layers; None for all.
    """
    depth = architecture.layers if layers is None else layers
    projection = (architecture.embedding or 0) * architecture.hidden
    return depth * architecture.layer_weights + projection


def parameters(architecture: Architecture, vocabulary: int, frozen: Sequence[str] = ()) -> int:
    """Count the weights of an encoder that are not frozen: embeddings, matrices, biases and norms.

    Args:
        architecture: the sizes of the encoder.
        vocabulary: the number of tokens in its vocabulary.
        frozen: weights to leave out: 'embeddings', 'encoder'.
    """
    width = architecture.embedding or architecture.hidden
    vectors = architecture.layers * (9 * architecture.hidden + architecture.intermediate)  # biases and norms
    counts = {
        "embeddings": (vocabulary + POSITIONS) * width,
        "encoder": matmul_parameters(architecture) + vectors,
    }
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


def classifier(architecture: Architecture, outputs: int) -> float:
    """Return the FLOPs of one row through a pooler and a classifier, which see only the first position."""
    return 2 * architecture.hidden * (architecture.hidden + outputs)


def span(architecture: Architecture, length: float) -> float:
    """Return the FLOPs of one row through a span head, which gives a start and an end logit at every position."""
    return 2 * architecture.hidden * 2 * length


def masked_lm(architecture: Architecture, vocabulary: int, positions: float) -> float:
    """Return the FLOPs of one row through a masked-LM head at its masked positions: a dense layer and the decoder."""
    width = architecture.embedding or architecture.hidden
    return 2 * width * (architecture.hidden + vocabulary) * positions


# The work of jobs: FLOPs of models, bytes that losses and the optimiser move, and other seconds.


UPDATED = 48  # bytes that a step moves for each weight: 28 of AdamW, 12 of the gradient's norm, 8 to make gradients


@dataclass(frozen=True)
class Work:
    """The work of a job; a `Speed` turns it into hours.

    Args:
        flops: of matrix products.
        traffic: bytes that losses and the optimiser read and write; the speed of FLOPs includes what encoders move.
        seconds: other time, on a CPU core.
        relation_traffic: the part of the traffic that relations cause; a device may move it at another speed.
    """

    flops: float = 0.0
    traffic: float = 0.0
    seconds: float = 0.0
    relation_traffic: float = 0.0

    def __add__(self, other: Work) -> Work:
        """Return the sum of two jobs' work."""
        return Work(
            self.flops + other.flops,
            self.traffic + other.traffic,
            self.seconds + other.seconds,
            self.relation_traffic + other.relation_traffic,
        )

    def times(self, number: float) -> Work:
        """Return this work times a number."""
        return Work(self.flops * number, self.traffic * number, self.seconds * number, self.relation_traffic * number)


NONE = Work()


def examples(schedule: Schedule, rows: int) -> float:
    """Return how many rows a training run reads: its steps times the mean number of rows in a step."""
    return schedule.steps_on(rows) * rows / steps_per_epoch(rows, schedule.batch_size)


def task_head(architecture: Architecture, task: TaskSettings, length: float) -> float:
    """Return the FLOPs of one row through the head of the task type."""
    if _reads_all_positions(task):
        return span(architecture, length)
    return classifier(architecture, len(task.labels) or 1)


def outputs_on(task: TaskSettings, length: float) -> float:
    """Return the number of logits of a row of a task: two a token, or one for each label."""
    return 2 * length if _reads_all_positions(task) else len(task.labels) or 1


def _reads_all_positions(task: TaskSettings) -> bool:
    """Return whether the head of a task reads every position (span extraction), not only the first one."""
    return bool(catalogue.task_types()[task.task_type].facts["has_windows"])


def _head_positions(task: TaskSettings) -> int | None:
    """Return how many positions the head of a task reads; None for all."""
    return None if _reads_all_positions(task) else 1


def updates(architecture: Architecture, vocabulary: int, schedule: Schedule, rows: int) -> Work:
    """Return the work of the optimiser, which updates all weights that are trained at each step."""
    trained = parameters(architecture, vocabulary, schedule.freeze)
    return Work(traffic=UPDATED * trained * schedule.steps_on(rows))


def stage(
    stage: StageSettings,
    rows: Rows,
    student: Architecture,
    teacher: Architecture,
    heads: tuple[float, float],
    outputs: float,
    kept: int | None = None,
) -> tuple[Work, Work]:
    """Return the work of one stage: of the student with its loss, and of the teacher, which has no backward pass.

    Both models run only up to the last layer that a term reads, and to the head only if a term reads the logits. If
    only a head reads the last layer, that layer is computed at the positions of the head.

    Args:
        stage: the stage's terms and schedule.
        rows: the rows or blocks that it is trained on; their length includes padding.
        student: the student's architecture.
        teacher: the teacher's architecture.
        heads: FLOPs of one row through the student's and the teacher's head.
        outputs: logits of a row.
        kept: positions that the head reads; None for all.
    """
    passes = []
    for side, (model, head) in enumerate(zip((student, teacher), heads, strict=True)):
        layers, logits = losses.last_layer(stage.terms, side, model.layers)
        whole = not logits or losses.reads_all_positions(stage.terms, side, model.layers)
        through = forward(model, rows.length, layers, None if whole else kept)
        passes.append(through + (head if logits else 0) if layers or logits else 0.0)
    loss = losses.cost_of(stage.terms, student, teacher, rows.length, outputs)
    seen = examples(stage.schedule, rows.count)
    own = Work(TRAINED * passes[0] + loss.flops, loss.traffic, relation_traffic=loss.relation_traffic)
    return own.times(seen), Work(passes[1]).times(seen)


def _row_flops(architecture: Architecture, task: TaskSettings, length: float) -> float:
    """Return the FLOPs of one row through an encoder and the head of a task."""
    return forward(architecture, length, kept=_head_positions(task)) + task_head(architecture, task, length)


def _at_points(
    architecture: Architecture,
    vocabulary: int,
    task: str,
    settings: TaskSettings,
    schedules: list[Schedule],
    scored: str,
    volume: Volume,
    model: str,
) -> list[Work]:
    """Return the work of a fine-tuning with each of several schedules, each scored once on a split."""
    rows = volume.split(task, settings, scored, model)
    scoring = rows.count * _row_flops(architecture, settings, rows.length)
    works = []
    for schedule in schedules:
        train = volume.batches(task, settings, model, schedule)
        training = examples(schedule, train.count) * TRAINED * _row_flops(architecture, settings, train.length)
        works.append(Work(training + scoring) + updates(architecture, vocabulary, schedule, train.count))
    return works


def teacher(settings: TeacherSettings, task: str, volume: Volume, model: str) -> Work:
    """Return the work of fine-tuning and scoring a teacher on a task."""
    data, size = settings.task, settings.model.architecture
    split = data.evaluation_split
    return _at_points(size, settings.model.vocabulary, task, data, [settings.schedule], split, volume, model)[0]


def head(settings: TeacherHeadSettings, corpus: str, volume: Volume, vocabulary: str) -> Work:
    """Return the work of fitting a masked-LM head on top of a frozen teacher."""
    model, blocks = settings.model, volume.blocks(corpus, settings.schedule, vocabulary)
    positions = settings.corpus.masking.probability * blocks.length
    fitted = masked_lm(model.architecture, model.vocabulary, positions)
    once = forward(model.architecture, blocks.length) + TRAINED * fitted
    return Work(examples(settings.schedule, blocks.count) * once)


def activations(settings: ActivationSettings, task: str, volume: Volume, model: str) -> Work:
    """Return the work of storing a teacher's activations: one forward pass over the task's training rows."""
    data = settings.teacher.task
    rows = volume.split(task, data, data.train_split, model)
    return Work(rows.count * _row_flops(settings.teacher.model.architecture, data, rows.length))


def task_distillation(
    settings: TaskDistillationSettings, task: str, volume: Volume, model: str, teacher_runs: bool
) -> Work:
    """Return the work of distilling a student on a task and scoring it; for the arguments see `task_training`."""
    data, student = settings.task, settings.architecture
    scored = volume.split(task, data, data.evaluation_split, model)
    trained = task_training(settings, task, volume, model, teacher_runs)
    return trained + Work(scored.count * _row_flops(student, data, scored.length))


def task_training(
    settings: TaskDistillationSettings, task: str, volume: Volume, model: str, teacher_runs: bool
) -> Work:
    """Return the work of all stages of a student on a task.

    Args:
        settings: the settings of the distillation.
        task: the name of the task.
        volume: the rows of the study.
        model: the model whose tokenizer encodes the task.
        teacher_runs: whether the teacher runs on every batch; if not, its stored activations are read.
    """
    data, student, teacher_size = settings.task, settings.architecture, settings.teacher.model.architecture
    total = Work()
    for each in settings.stages:
        train = volume.batches(task, data, model, each.schedule)
        heads = (task_head(student, data, train.length), task_head(teacher_size, data, train.length))
        own, taught = stage(
            each, train, student, teacher_size, heads, outputs_on(data, train.length), _head_positions(data)
        )
        updated = updates(student, settings.teacher.model.vocabulary, each.schedule, train.count)
        total += own + updated + (taught if teacher_runs else Work())
    return total


def corpus_distillation(settings: CorpusDistillationSettings, volume: Volume, model: str) -> tuple[Work, Work]:
    """Return the work of distilling a task-agnostic student: its own, and that of its teacher on every batch."""
    student, teacher_model = settings.architecture, settings.teacher.model
    sizes, vocabulary = (student, teacher_model.architecture), teacher_model.vocabulary
    totals = [Work(), Work()]
    for each in settings.stages:
        blocks = volume.blocks(each.data, each.schedule, model)
        masked = settings.corpora[each.data].masking.probability * blocks.length
        first, second = (masked_lm(size, vocabulary, masked) for size in sizes)
        own, taught = stage(each, blocks, *sizes, (first, second), masked * vocabulary)
        totals[0] += own + updates(student, vocabulary, each.schedule, blocks.count)
        totals[1] += taught
    return totals[0], totals[1]


def grid(settings: GridSettings, part: int, parts: int, task: str, volume: Volume, model: str) -> Work:
    """Return the work of one part (from 1) of a grid: each of its points, scored on the validation split."""
    schedules = [point.applied_to(settings.schedule) for point in settings.points[part - 1 :: parts]]
    return sum(_grid_points(settings, schedules, settings.task.validation_split, task, volume, model), Work())


def finetuning(settings: FinetuneSettings, task: str, volume: Volume, model: str) -> Work:
    """Return the work of one seed of a fine-tuned student: the mean over the grid, as the best point is not known."""
    schedules = [point.applied_to(settings.schedule) for point in settings.points]
    works = _grid_points(settings, schedules, settings.task.evaluation_split, task, volume, model)
    return sum(works, Work()).times(1 / len(works))


def _grid_points(
    settings: GridSettings, schedules: list[Schedule], scored: str, task: str, volume: Volume, model: str
) -> list[Work]:
    size, vocabulary = settings.student.architecture, settings.student.teacher.model.vocabulary
    return _at_points(size, vocabulary, task, settings.task, schedules, scored, volume, model)


def prediction(architecture: Architecture, settings: TaskSettings, rows: Rows) -> Work:
    """Return the work of running a model once over rows of a task."""
    return Work(rows.count * _row_flops(architecture, settings, rows.length))


def profile(settings: ProfileSettings) -> Work:
    """Return the work of a profile: the timed passes of each measurement, and one more run to warm up."""
    measured = [(settings.batch, settings.length), *((one.batch, one.length) for one in settings.further or ())]
    passes = (settings.runs + 1) * settings.passes
    return Work(passes * sum(batch * forward(settings.architecture, length) for batch, length in measured))
