"""The memory of a training, on its device and in RAM; and the micro-batch that fits a GPU.

Under autocast to bfloat16, a layer of width h and intermediate width f holds for each token, until the backward pass:
    6 h  the inputs of the projections to queries, keys and values, and 6 h their outputs
    4 h  what attention returns, twice
    8 h  the inputs of the two layer norms, in float32
    2 h  the masks of two dropouts
    4 f  the input and the output of the activation function
and, for each token, the padding bias of its row and a sum for each head. `tests/references/test_memory.py` compares the
model with a meter that runs the step on tensors without values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from retort.cost import losses, work
from retort.settings.trainings import TermSettings
from retort.specs import catalogue
from retort.specs.model import Architecture
from retort.specs.protocol import Schedule

# Bytes for each weight
WEIGHT, GRADIENT, MOMENTS, CAST = 4, 4, 8, 2  # CAST: the copy in bfloat16 that autocast keeps
STATE = WEIGHT + MOMENTS  # what a checkpoint holds
EMBEDDED = 26  # bytes for each token and number of its embedding: sums, norm and dropout
PROJECTIONS = ("queries", "keys", "values", "scores")
CHUNK = 1 << 25  # numbers of relations that are computed at once (LAUNCHED of objectives/relation_forms/in_pytorch.py)
CHUNK_BYTES = 16.0  # for each of them: the relations of both sides, their logarithms, the difference

GPU_RESERVED = 1.2e9  # bytes that CUDA's context, its libraries and the random state take
GPU_FRACTION = 0.9  # of the rest can be used: the allocator leaves gaps
PROCESS = {True: 3.5e9, False: 1.0e9}  # bytes of a process that has loaded torch and transformers, on a GPU or not
WORKER_BYTES = 0.5e9  # of each process that prepares batches
RAM_MARGIN = 1.2  # a job asks for this many times the predicted RAM


@dataclass(frozen=True)
class Step:
    """The memory of a training step on its device.

    Args:
        rows: the rows of a batch.
        state: bytes of weights and moments of the student.
        gradients: bytes of all gradients; the backward pass makes them while it frees what the rows hold.
        row: bytes that each row holds until the backward pass.
        loss: the cost of the loss for a row.
        teacher: bytes of the weights of a teacher that runs next to it.
        kept: bytes for each row of the batch that are kept of the teacher's pass, for students that share it.
        joint: the objectives that need all rows of a batch at once, also those of the other steps of the job.
        micro_batch: the most rows that go through the device at once; 0 for all.
    """

    rows: int
    state: float
    gradients: float
    row: float
    loss: losses.LossCost = field(default_factory=losses.LossCost)
    teacher: float = 0.0
    kept: float = 0.0
    joint: tuple[str, ...] = ()
    micro_batch: int = 0

    @property
    def at_once(self) -> int:
        """The rows that go through the device at once."""
        return min(self.micro_batch or self.rows, self.rows)

    @property
    def peak(self) -> float:
        """The peak of a step in bytes, with as many rows at once as it has."""
        return self.bytes(self.at_once)

    def bytes(self, rows: int) -> float:
        """Return the peak of a step in bytes, with `rows` rows of the batch at once."""
        relation = rows * self.loss.relation
        chunk = max(min(CHUNK, relation), relation / self.loss.relation_heads)
        held = rows * (self.row + self.loss.held + self.loss.scratch) + CHUNK_BYTES * chunk
        return self.teacher + self.kept * self.rows + self.state + max(held, self.gradients)


def fits(step: Step, rows: int, gpu_bytes: float) -> bool:
    """Return whether a GPU of `gpu_bytes` holds a step with `rows` rows at once."""
    return step.bytes(rows) <= GPU_FRACTION * (gpu_bytes - GPU_RESERVED)


def micro_batch(step: Step, gpu_bytes: float) -> int | None:
    """Return how many rows of a batch can go through a GPU at once; None if all can.

    It is the largest of the batch's halves, thirds, ... (rounded up) that fits, and one row if none does.

    Args:
        step: the memory of a step.
        gpu_bytes: the memory of the GPU.
    """
    if fits(step, step.rows, gpu_bytes):
        return None
    sizes = (math.ceil(step.rows / parts) for parts in range(2, step.rows + 1))
    return next((rows for rows in sizes if fits(step, rows, gpu_bytes)), 1)


def largest(steps: list[Step]) -> Step:
    """Return the step that takes most memory, with the joint objectives of all."""
    most = max(steps, key=lambda step: step.peak)
    return replace(most, joint=tuple(sorted({name for step in steps for name in step.joint})))


def together(steps: list[Step], kept: float) -> Step:
    """Return the memory of students that take their steps in turn on the same batches, next to one teacher.

    The states of all students stay in memory, and so does what is kept of the teacher's pass over a batch. Gradients
    and what rows hold are those of one student at a time.

    Args:
        steps: the memory of each student's step.
        kept: bytes that are kept of the teacher's pass over a whole batch.
    """
    most = largest(steps)
    state, teacher = sum(step.state for step in steps), max(step.teacher for step in steps)
    return replace(most, state=state, teacher=teacher, kept=kept / most.rows)


def row_bytes(architecture: Architecture, layers: float, length: float, precision: str) -> float:
    """Return the bytes that the encoder holds for a row if `layers` of its layers run."""
    own = 26 * architecture.hidden + 4 * architecture.intermediate
    wide = 30 * architecture.hidden + 8 * architecture.intermediate  # without autocast: no copies, wider numbers
    layer = (own if precision == "bfloat16" else wide) + 2 * length + 4 * architecture.heads  # for each token
    return length * (layers * layer + EMBEDDED * (architecture.embedding or architecture.hidden))


def trained_bytes(architecture: Architecture, vocabulary: int, schedule: Schedule) -> tuple[float, float]:
    """Return two sizes of a model in training, in bytes: weights with moments and copies, and gradients."""
    every = work.parameters(architecture, vocabulary)
    learned = work.parameters(architecture, vocabulary, schedule.freeze)
    state = WEIGHT * every + MOMENTS * learned + CAST * work.matmul_parameters(architecture)
    return state, GRADIENT * learned


def loaded_bytes(teacher: Architecture, vocabulary: int, terms: list[TermSettings]) -> float:
    """Return the bytes of the weights of a teacher that runs up to the last layer that the terms read."""
    taught, _ = losses.last_layer(terms, 1, teacher.layers)
    return WEIGHT * work.parameters(teacher, vocabulary) + CAST * work.matmul_parameters(teacher, taught)


def layers_run(terms: list[TermSettings], last: int) -> float:
    """Return how many layers a student runs; the last one counts a third if only its projections are read."""
    objectives = catalogue.objectives()
    top = [term for term in terms if any(pair[0] == last for pair in term.pairs)]
    if any(set(objectives[term.objective].activations) - set(PROJECTIONS) for term in top) or not last:
        return last
    return last - 2 / 3


def host(step: Step | None, weights: float, gpu: bool, workers: int, written: float = 0.0) -> float:
    """Return the bytes of RAM that a job takes.

    Args:
        step: the memory of its training step, which is in RAM where there is no GPU; None if it trains nothing.
        weights: the weights of the largest model that it loads.
        gpu: whether it runs on a GPU.
        workers: processes that prepare batches next to it.
        written: bytes of the state that it writes; safetensors holds all of them at once.
    """
    device = 0.0 if gpu or step is None else step.peak
    return PROCESS[gpu] + workers * WORKER_BYTES + device + WEIGHT * weights + written
