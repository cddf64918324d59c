"""Fixtures of the tests of measurements."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def frozen() -> Iterator[None]:
    """Keep what other tests left in memory out of garbage collection, which a measurement runs twice."""
    gc.freeze()
    yield
    gc.unfreeze()
