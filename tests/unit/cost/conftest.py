"""What the tests of costs share."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.plan.plan import Plan
from retort.specs.config import read_config


@pytest.fixture
def plan(study_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Return the plan of the tiny study, of which nothing has been run."""
    monkeypatch.chdir(study_folder.parent)
    return Plan(read_config({"papers": ["tiny"], "study": str(study_folder), "precision": "float32"}))
