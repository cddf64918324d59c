"""Fixtures of the tests of pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.report.pages import build


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Build the variant of the tiny study with its pages in the current folder, and return its configuration."""
    monkeypatch.chdir(tmp_path)
    return build(tmp_path)


@pytest.fixture
def page(config: dict[str, Any]) -> str:
    """Return the page of the variant of the tiny study."""
    return Path("reports/tiny/index.html").read_text()


@pytest.fixture
def index(config: dict[str, Any]) -> str:
    """Return the index of the variant of the tiny study."""
    return Path("reports/index.html").read_text()
