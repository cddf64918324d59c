"""Tests that the workflow makes the audit's page from the repository's own papers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT, snakemake

pytestmark = pytest.mark.workflow


def test_the_page_is_made_once(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text((ROOT / "config.yaml").read_text())
    said = snakemake(tmp_path, "reports/audit.html").stderr
    assert re.search(r"findings in \d{4} numbers of \d\d tables", said)
    assert "What the papers print" in (tmp_path / "reports/audit.html").read_text()
    assert "Nothing to be done" in snakemake(tmp_path, "reports/audit.html", "-n").stdout


def test_it_belongs_to_the_default_study(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text((ROOT / "config.yaml").read_text())
    assert "make_audit" in snakemake(tmp_path, "-n", "--quiet", "rules").stdout
