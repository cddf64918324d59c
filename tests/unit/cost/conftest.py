"""Fixtures of the tests of measurements."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.cost.bench import calibrate
from retort.specs.model import Architecture


@pytest.fixture
def small(here: Path, monkeypatch: pytest.MonkeyPatch) -> Architecture:
    """Measure a small model for an instant, start no process, and keep results in a folder of the test."""
    small = Architecture(layers=1, heads=2, hidden=48, intermediate=48)
    monkeypatch.setattr(calibrate, "SHAPES", {"cpu": (small, 2, 4)})
    monkeypatch.setattr(calibrate, "MOVED", {"cpu": 1 << 16})
    monkeypatch.setattr(calibrate, "RELATION_ROWS", {"cpu": 2})
    monkeypatch.setattr(calibrate, "_start_seconds", lambda device: 4.0)
    return small
