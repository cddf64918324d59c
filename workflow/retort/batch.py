"""A batch and the sizes of a model: what data, models, objectives and training have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

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
        rows: (batch,) the number of each example in its data set, for memory banks; None where it has none.
        positions: (positions,) of masked-LM: indices of the labels' tokens in the batch flattened to
            (batch * length,); None for other tasks.
    """

    input_ids: Tensor
    token_type_ids: Tensor
    attention_mask: Tensor
    labels: Tensor | None = None
    rows: Tensor | None = None
    positions: Tensor | None = None

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Batch:
        """Return the batch with every tensor on the device.

        Args:
            device: the device.
            non_blocking: do not wait for the copy; it runs beside the program only from pinned memory to a GPU.
        """
        return self._mapped(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Batch:
        """Return the batch in pinned memory; torch's DataLoader calls this."""
        return self._mapped(lambda tensor: tensor.pin_memory())

    def part(self, first: int, last: int) -> Batch:
        """Return the rows from `first` to `last` - 1, padded as the whole batch."""
        rows = slice(first, last)
        cut = replace(self._mapped(lambda tensor: tensor[rows]), positions=None)
        if self.positions is None:
            return cut
        assert self.labels is not None
        start, end = (row * self.input_ids.shape[1] for row in (first, last))  # in the flat batch
        chosen = (self.positions >= start) & (self.positions < end)  # (positions,)
        return replace(cut, labels=self.labels[chosen], positions=self.positions[chosen] - start)

    def __getstate__(self) -> dict[str, np.ndarray | None]:
        """Return the batch as numpy arrays to be pickled.

        torch would give each tensor a file of shared memory on its way from a worker process; for tensors of this size
        a copy is several times faster.
        """
        tensors = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: None if tensor is None else tensor.numpy() for name, tensor in tensors.items()}

    def __setstate__(self, state: dict[str, np.ndarray | None]) -> None:
        """Restore the tensors of a batch that was pickled."""
        vars(self).update({name: None if array is None else torch.from_numpy(array) for name, array in state.items()})

    def _mapped(self, function: Callable[[Tensor], Tensor]) -> Batch:
        """Return the batch with the function applied to each of its tensors."""
        tensors = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: function(tensor) for name, tensor in tensors.items() if tensor is not None})


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
