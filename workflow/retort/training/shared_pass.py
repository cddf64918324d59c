"""One pass of a teacher for several students that see the same batches."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from retort.batch import Batch
from retort.models.recorder import Key

Activations = Callable[[Batch], dict[Key, Tensor]]


class SharedPass:
    """The activations of a teacher, computed once for each batch, and kept as long as the batch exists.

    Every student gets the same tensors, so no loss may change them in place.

    Args:
        activations: batch -> all activations of the teacher that any of the students reads.
    """

    def __init__(self, activations: Activations) -> None:
        self.activations = activations
        self.kept: WeakIdKeyDictionary = WeakIdKeyDictionary()  # Batch -> activations

    def __call__(self, batch: Batch) -> dict[Key, Tensor]:
        """Return the teacher's activations on a batch."""
        if batch not in self.kept:
            self.kept[batch] = self.activations(batch)
        kept: dict[Key, Tensor] = self.kept[batch]
        return kept
