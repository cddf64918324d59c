"""Fixtures that the tests of tables, figures and pages share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.small_study import write_study


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the configuration of the small study, and make its folder's parent the current folder, for results."""
    monkeypatch.chdir(tmp_path)
    return write_study(tmp_path / "study")
