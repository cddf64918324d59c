"""Fixtures of the tests of pages."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.tiny.variant import write_study
from tests.unit.report.pages import build


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the variant of the tiny study with its pages once, and return the folder that holds them."""
    folder = tmp_path_factory.mktemp("pages")
    with contextlib.chdir(folder):
        build(folder)
    return folder


@pytest.fixture
def config(built: Path, here: Path) -> dict[str, Any]:
    """Make the current folder a copy of the variant of the tiny study with its pages; return its configuration."""
    shutil.copytree(built, here, dirs_exist_ok=True)
    return write_study(here / "study")


@pytest.fixture
def page(config: dict[str, Any]) -> str:
    """Return the page of the variant of the tiny study."""
    return Path("reports/tiny/index.html").read_text()


@pytest.fixture
def index(config: dict[str, Any]) -> str:
    """Return the index of the variant of the tiny study."""
    return Path("reports/index.html").read_text()
