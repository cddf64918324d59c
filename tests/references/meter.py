"""A meter of memory: the peak of a training step, from tensors that have shapes and no values.

Every operation of the step runs on fake tensors, and what PyTorch would keep alive on a GPU is summed as it comes and
goes. It is slow and exact, where `retort.cost.memory` is fast and approximate.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import torch
import torch.nn.functional as F
from retort.batch import Batch
from retort.models import build
from retort.models.recorder import Recorder
from retort.objectives import loss_of
from retort.objectives.base import TrainingRows
from retort.objectives.relation_forms import choice
from retort.objectives.relation_forms.in_pytorch import plain
from retort.settings.trainings import TermSettings
from retort.specs.model import Architecture
from retort.specs.protocol import Schedule
from retort.training import optim
from retort.training.distillation import TeacherOfCompanions
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten
from transformers import BertConfig, ElectraConfig
from transformers import masking_utils as masks

BLOCK = 512  # CUDA's allocator rounds each storage up to a multiple of this
MASKED = 0.15
DATA = TrainingRows(4096, np.arange(4096) % 2)  # of two classes


class Meter(TorchDispatchMode):
    """Sum the bytes of all storages that are alive while operations run, and keep the peak."""

    def __init__(self, kind: type = FakeTensor) -> None:
        super().__init__()
        self.kind = kind  # of the tensors that are counted
        self.alive: dict[int, int] = {}
        self.now = self.peak = 0

    def _track(self, tensor: Any) -> None:
        if not isinstance(tensor, self.kind):
            return
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.alive:
            return
        self.alive[key] = -(-storage.nbytes() // BLOCK) * BLOCK
        self.now += self.alive[key]
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._free, key)

    def _free(self, key: int) -> None:
        self.now -= self.alive.pop(key, 0)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, and track the storages of its results."""
        if func is torch.ops.prim.device.default:  # two of three calls, and no tensor comes of it
            return args[0].fake_device
        result = func(*args, **(kwargs or {}))
        for tensor in tree_flatten(result)[0]:
            self._track(tensor)
        return result


def _attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, **kw: Any) -> Any:
    """Compute attention as a GPU does with a mask: the bias is expanded over heads, not written for each."""
    scale, training = kw.get("scale"), torch.is_grad_enabled()
    bias = torch.zeros(attn_mask.shape, dtype=query.dtype).masked_fill_(~attn_mask, float("-inf"))
    bias = bias.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    efficient = torch.ops.aten._scaled_dot_product_efficient_attention
    return efficient(query, key, value, bias, training, dropout_p, False, scale=scale)[0]


def _dropout(x: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Drop out as a GPU does, which keeps a mask of one byte."""
    return torch.ops.aten.native_dropout(x, p, True)[0] if training and p > 0 else x


LAYER_NORM = F.layer_norm


def _layer_norm(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Normalise as a GPU does under autocast: in float32."""
    with torch.autocast("cpu", enabled=False):
        return LAYER_NORM(x.float(), *args, **kwargs)


@contextlib.contextmanager
def as_on_a_gpu() -> Iterator[Meter]:
    """Yield a meter under which operations keep what they would keep on a GPU."""
    changes = [
        mock.patch.object(F, "scaled_dot_product_attention", _attention),
        mock.patch.object(F, "dropout", _dropout),
        mock.patch.object(F, "layer_norm", _layer_norm),
        mock.patch.object(masks, "_ignore_bidirectional_mask_sdpa", return_value=False),  # batches have padding
        mock.patch.object(choice, "form_on", return_value=plain),
        mock.patch.object(torch.nn.Linear, "reset_parameters"),  # there are no values to draw
    ]
    with contextlib.ExitStack() as stack:
        for change in changes:
            stack.enter_context(change)
        stack.enter_context(FakeTensorMode())
        yield stack.enter_context(Meter())


def _model(architecture: Architecture, vocabulary: int, head: str, outputs: int) -> Any:
    narrow = architecture.embedding
    make = ElectraConfig if narrow else BertConfig
    config = make(
        num_hidden_layers=architecture.layers,
        num_attention_heads=architecture.heads,
        hidden_size=architecture.hidden,
        intermediate_size=architecture.intermediate,
        vocab_size=vocabulary,
        num_labels=outputs,
        **({"embedding_size": narrow} if narrow else {}),
    )
    return build.HEADS[head].from_config(config, dtype=torch.float32)


def _batch(rows: int, length: int, positions: int | None) -> Batch:
    ids = torch.zeros(rows, length, dtype=torch.long)
    return Batch(
        input_ids=ids,
        token_type_ids=torch.zeros_like(ids),
        attention_mask=torch.ones(rows, length, dtype=torch.bool),
        labels=torch.zeros(rows if positions is None else positions, dtype=torch.long),
        rows=torch.zeros(rows, dtype=torch.long),
        positions=None if positions is None else torch.zeros(positions, dtype=torch.long),
        padded=True,
    )


def peak(
    terms: list[TermSettings], schedule: Schedule, sizes: tuple[Architecture, Architecture],
    vocabulary: int, rows: int, length: int, head: str, outputs: int,
) -> int:  # fmt: skip
    """Return the peak bytes of a step of distillation that finds the moments of AdamW made.

    Args:
        terms: the terms of the loss.
        schedule: the schedule.
        sizes: the architectures of student and teacher.
        vocabulary: tokens of their vocabulary.
        rows: the rows that go through the device at once.
        length: tokens of a row.
        head: of both models, a key of `build.HEADS`.
        outputs: number of outputs of the head.
    """
    with as_on_a_gpu() as meter:
        student, teacher = (_model(size, vocabulary, head, outputs) for size in sizes)
        build.prepare(student, schedule.freeze, schedule.dropout)
        loss = loss_of(terms, *(build.shape_of(model, outputs) for model in (student, teacher)), DATA)
        read, taught = Recorder(student, loss.reads("student")), Recorder(teacher.eval(), loss.reads("teacher"))
        weights = list(torch.nn.ModuleList([student, loss]).parameters())
        optimiser = optim.adamw(weights, schedule)
        student.train()
        positions = int(rows * length * MASKED) if head == "masked-lm" else None
        batch = _batch(rows, length, positions)
        for weight in weights:  # the moments come with the first gradients
            weight.grad = torch.zeros_like(weight) if weight.requires_grad else None
        _update(weights, optimiser)
        _differentiate(read, taught if loss.reads("teacher") else lambda _: {}, loss, batch)
        _update(weights, optimiser)
    return meter.peak


def kept_of_teacher(
    terms: list[TermSettings], teacher: Architecture, vocabulary: int, rows: int, length: int, parts: int
) -> int:
    """Return the bytes of the tensors that are kept of a masked-LM teacher's pass over a batch.

    Args:
        terms: the terms of all students.
        teacher: the teacher's architecture; the students have the same.
        vocabulary: tokens of their vocabulary.
        rows: the rows of the batch.
        length: tokens of a row.
        parts: the parts in which the batch goes through the device.
    """
    with as_on_a_gpu(), torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        model = _model(teacher, vocabulary, "masked-lm", vocabulary)
        shape = build.shape_of(model, vocabulary)
        shared = TeacherOfCompanions(Recorder(model.eval(), loss_of(terms, shape, shape, DATA).reads("teacher")))
        batches = [_batch(rows // parts, length, int(rows // parts * length * MASKED)) for _ in range(parts)]
        tensors = [tensor for batch in batches for tensor in shared(batch).values()]
        storages = {storage._cdata: storage.nbytes() for storage in (tensor.untyped_storage() for tensor in tensors)}
    return sum(storages.values())


def _update(weights: list[torch.nn.Parameter], optimiser: torch.optim.Optimizer) -> None:
    torch.nn.utils.clip_grad_norm_(weights, 1.0)
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)


def _differentiate(read: Any, taught: Any, loss: Any, batch: Batch) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        with torch.no_grad():
            theirs = taught(batch)
        value, _ = loss(read(batch), theirs, batch)
    value.backward()
