"""The mean length of an encoded task's rows in batches, where each is padded to the longest row of its batch."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from retort.data.encoded import Encoded
from retort.data.epochs import epoch_batches
from retort.errors import RetortError
from retort.specs.protocol import Schedule


def padded_length(folder: Path, split: str, schedule: Schedule) -> float | None:
    """Return the mean tokens of a row of an encoded split in the batches of an epoch; None if it cannot be read."""
    try:
        lengths = Encoded.load(folder, split).lengths
    except RetortError:  # the job that reads the split reports it
        return None
    return mean_padded(lengths, schedule) if len(lengths) else None


def mean_padded(lengths: np.ndarray, schedule: Schedule) -> float:
    """Return the mean tokens of rows of these lengths, (rows,), in the batches of an epoch."""
    cut = np.minimum(lengths, schedule.max_length or lengths.max())
    by_length = cut if schedule.group_by_length else None
    batches = epoch_batches(len(cut), schedule.batch_size, seed=1, epoch=0, lengths=by_length)
    return sum(len(batch) * int(cut[batch].max()) for batch in batches) / len(cut)
