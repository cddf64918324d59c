"""A batch and the sizes of a model: what data, models, objectives and training have in common."""

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
        token_type_ids: token type ids, (batch, length).
        attention_mask: attention mask, (batch, length), bool, True at real tokens.
        labels: (batch,) class numbers or scores of a task; (batch, 2) positions where an answer starts and ends;
            (positions,) input ids of the masked tokens of masked-LM; None without labels.
        rows: (batch,) the number of each example in its data set, for memory banks, on the CPU; None where it has none.
        positions: (positions,) of masked-LM: indices of the labels' tokens in the batch flattened to
            (batch * length,); None for other tasks.
        padded: whether any token is padding, known without asking a GPU; None before `to` was called.
    """

    input_ids: Tensor
    token_type_ids: Tensor
    attention_mask: Tensor
    labels: Tensor | None = None
    rows: Tensor | None = None
    positions: Tensor | None = None
    padded: bool | None = None

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Batch:
        """Return the batch with every tensor on the device, but for the row numbers, which the host reads.

        Args:
            device: the device.
            non_blocking: do not wait for the copy; it runs beside the program only from pinned memory to a GPU.
        """
        padded = not self.attention_mask.all() if self.padded is None else self.padded
        moved = self._mapped(lambda tensor: tensor.to(device, non_blocking=non_blocking))
        return replace(moved, rows=self.rows, padded=padded)

    def pin_memory(self) -> Batch:
        """Return the batch in pinned memory; torch's DataLoader calls this."""
        return self._mapped(lambda tensor: tensor.pin_memory())

    def part(self, first: int, last: int) -> Batch:
        """Return the rows from `first` to `last` - 1, padded as the whole batch."""
        rows = slice(first, last)
        cut = replace(self._mapped(lambda tensor: tensor[rows]), positions=None, padded=None)
        if self.positions is None:
            return cut
        assert self.labels is not None
        start, end = (row * self.input_ids.shape[1] for row in (first, last))  # in the flat batch
        chosen = (self.positions >= start) & (self.positions < end)  # (positions,)
        return replace(cut, labels=self.labels[chosen], positions=self.positions[chosen] - start)

    def __getstate__(self) -> dict[str, np.ndarray | bool | None]:
        """Return the batch to be pickled, with numpy arrays for tensors.

        torch would give each tensor a file of shared memory on its way from a worker process; for tensors of this size
        a copy is several times faster.
        """
        return {**vars(self), **{name: tensor.numpy() for name, tensor in self.tensors().items()}}

    def __setstate__(self, state: dict[str, np.ndarray | bool | None]) -> None:
        """Restore the tensors of a batch that was pickled."""
        arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        vars(self).update({**state, **{name: torch.from_numpy(array) for name, array in arrays.items()}})

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors that the batch has, by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}

    def _mapped(self, function: Callable[[Tensor], Tensor]) -> Batch:
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
