"""Tests of the length of rows in their batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from retort.cost.preprocessing import mean_padded, padded_length

from tests.job_settings import schedule

LENGTHS = np.array([2, 10] * 8)


def test_rows_are_as_long_as_the_longest_of_their_batch() -> None:
    assert mean_padded(LENGTHS, schedule(batch_size=16)) == 10
    assert mean_padded(LENGTHS, schedule(batch_size=1)) == 6
    # pools of one batch, because an epoch has four pools at least
    assert 8 < mean_padded(LENGTHS, schedule(batch_size=4, group_by_length=False)) <= 10
    many = np.tile(LENGTHS, 100)  # in pools of eight batches, sorted by length
    assert mean_padded(many, schedule(batch_size=4)) < 7


def test_rows_are_cut_as_the_schedule_says() -> None:
    assert mean_padded(LENGTHS, schedule(batch_size=16, max_length=5)) == 5


def test_a_split_that_cannot_be_read_has_no_length(tmp_path: Path) -> None:
    assert padded_length(tmp_path, "train", schedule()) is None
