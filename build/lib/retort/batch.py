"""The types that data, models, objectives and training share: a batch, and the sizes of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor


@dataclass
class Batch:
    """One batch of inputs, the same for both models.

    Args:
        input_ids: (batch, length).
        token_type_ids: (batch, length).
        attention_mask: (batch, length), bool, True at real tokens.
        labels: (batch,) class numbers or scores of a task; (batch, 2) positions where an answer starts and ends;
            (positions,) input ids of the masked tokens of masked-LM; None without labels.
        rows: (batch,) the number of each example in its data set, for memory banks, on the CPU; None if not needed.
        positions: (positions,) indices of the masked tokens in the batch flattened to (batch * length,), for
            masked-LM; None for other tasks.
        padded: whether any token is padding, computed on the CPU to save a wait for the GPU; None before `to`.
    """

    input_ids: Tensor
    token_type_ids: Tensor
    attention_mask: Tensor
    labels: Tensor | None = None
    rows: Tensor | None = None
    positions: Tensor | None = None
    padded: bool | None = None

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Batch:
        """Return the batch with every tensor on the device, except the row numbers, which the host reads.

        Args:
            device: the device.
            non_blocking: do not wait for the copy; this works only from pinned memory to a GPU.
        """
        padded = not self.attention_mask.all() if self.padded is None else self.padded
        moved = self._map(lambda tensor: tensor.to(device, non_blocking=non_blocking))
        return replace(moved, rows=self.rows, padded=padded)

    def pin_memory(self) -> Batch:
        """Return the batch in pinned memory; torch's DataLoader calls this."""
        return self._map(lambda tensor: tensor.pin_memory())

    def part(self, first: int, last: int) -> Batch:
        """Return the rows from `first` to `last` - 1, padded to the length of the whole batch."""
        rows = slice(first, last)
        cut = replace(self._map(lambda tensor: tensor[rows]), positions=None, padded=None)
        if self.positions is None:
            return cut
        assert self.labels is not None
        start, end = (row * self.input_ids.shape[1] for row in (first, last))  # in the flat batch
        chosen = (self.positions >= start) & (self.positions < end)  # (positions,)
        return replace(cut, labels=self.labels[chosen], positions=self.positions[chosen] - start)

    def __getstate__(self) -> dict[str, np.ndarray | bool | None]:
        """Return the batch for pickling, with numpy arrays in place of tensors.

        torch would send each tensor of a worker process in a file of shared memory. For tensors of this size, a copy is
        several times faster.
        """
        return {**vars(self), **{name: tensor.numpy() for name, tensor in self.tensors().items()}}

    def __setstate__(self, state: dict[str, np.ndarray | bool | None]) -> None:
        """Restore the tensors of a batch that was pickled."""
        arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        vars(self).update({**state, **{name: torch.from_numpy(array) for name, array in arrays.items()}})

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors that the batch has, by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}

    def _map(self, function: Callable[[Tensor], Tensor]) -> Batch:
        """Return the batch with the function applied to each of its tensors."""
        mapped: dict[str, Any] = {name: function(tensor) for name, tensor in self.tensors().items()}
        return replace(self, **mapped)


@dataclass(frozen=True)
class Shape:
    """The sizes of one model that an objective may depend on.

    Args:
        width: hidden size.
        heads: attention heads in a layer.
        intermediate: size of the feed-forward layer.
        num_labels: the number of outputs of the head: 1 for regression, the vocabulary size for masked-LM.
    """

    width: int
    heads: int
    intermediate: int
    num_labels: int
