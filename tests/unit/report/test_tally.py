"""Tests of the counts of a paper: only what a run measures counts as measured, and as agreeing."""

from __future__ import annotations

import pytest
from retort.report.outcome import _cells
from retort.specs.config import read_config
from retort.study.load import open_study
from retort.tables.base import Inputs, table_of


@pytest.mark.parametrize(("paper", "name"), [("mlkd2024", "table9"), ("wang2023", "table5")])
def test_settings_that_are_as_printed_are_no_cells_that_agree(paper: str, name: str) -> None:
    study = open_study(read_config({"papers": [paper], "scale": "paper"}))
    table = table_of(study, paper, name)
    counted = _cells(table, table.collect(Inputs(study, paper, name, {}, {})))
    assert (counted.cells, counted.judged) == (0, 0)
    assert counted.counted >= counted.as_printed > 0
