"""Tests that a recorded run and its scale are among the files of all that shows it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from retort.plan.exhibits import Exhibits, Pages
from retort.plan.plan import Plan
from retort.specs.config import read_config

from tests.tiny.edit import write
from tests.tiny.variant import write_study


def test_claims_page_and_index_are_made_again_after_a_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = write_study(tmp_path / "study")
    numbers = {"table1": {"B": {"Pearson": [60.0, 1.0]}}}
    write(tmp_path / "study", "papers/tiny/recorded/reduced.yaml",
          {"run": {"machine": "a laptop"}, "replacements": {}, "runs": 3, "tables": numbers})  # fmt: skip
    write(tmp_path / "study", "scales/reduced.yaml", {"title": "Between"})
    plan, tiny = Plan(read_config(config)), SimpleNamespace(paper="tiny")
    pages, exhibits = Pages(plan), Exhibits(plan)
    for files in (exhibits.claims_files(tiny), pages.files(tiny), pages.papers):
        assert {"study/papers/tiny/recorded/reduced.yaml", "study/scales/reduced.yaml"} <= {*files}
