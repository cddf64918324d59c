"""Fixtures that the tests of tables, figures and pages share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tiny.variant import write_study


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the configuration of the tiny study's variant, whose results go to the current folder."""
    monkeypatch.chdir(tmp_path)
    return write_study(tmp_path / "study")
