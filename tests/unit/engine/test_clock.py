"""Tests of the clock of a job."""

from __future__ import annotations

import time

import pytest
from retort.engine.attempts import NEVER, Clock, clock_of


def test_time_is_short_in_the_last_seconds_of_a_job() -> None:
    now = time.time()
    assert [Clock(end, 120.0).is_short() for end in (None, now + 180.0, now + 60.0, now - 60.0)] == [
        False, False, True, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("minutes", "mem_mb", "end", "clock"),
    [
        (60, 8_000, None, Clock(4_600.0, 200.0)),  # counted from the beginning; 80 s for 8 GB
        (60, 8_000, 2_600.0, Clock(2_600.0, 200.0)),  # Slurm knows better
        (10, 200_000, None, Clock(1_600.0, 120.0)),  # at most a fifth of the time
        (0, 8_000, None, NEVER),
    ],
)
def test_the_time_to_write_grows_with_the_memory_of_a_job(
    minutes: int, mem_mb: int, end: float | None, clock: Clock
) -> None:
    assert clock_of(minutes, mem_mb, end, began=1_000.0) == clock
