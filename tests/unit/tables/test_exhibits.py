"""Tests of kinds of tables and figures: each is whole, and is read without what draws."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from retort.specs.config import Config
from retort.specs.exhibit import exhibit_type, figure_kinds, table_kinds
from retort.study.load import open_whole
from retort.study.study import Study
from retort.tables import figures

for _noun in ("table", "figure"):
    exhibit_type(_noun)


@pytest.fixture(scope="module")
def papers() -> Study:
    return open_whole(Config(scale="paper"))


def test_the_papers_use_every_kind(papers: Study) -> None:
    in_papers = {exhibit.kind for exhibit in papers.exhibits.values()}
    assert in_papers == {*table_kinds, *figure_kinds}


def test_the_answers_of_an_exhibit_fit_together(papers: Study) -> None:
    for exhibit in papers.exhibits.values():
        cells, rows = exhibit.cells(), exhibit.rows_and_columns()
        assert {cell.student for cell in cells if cell.student} <= set(exhibit.students())
        assert set(exhibit.profiled()) <= set(exhibit.students())
        assert set(exhibit.timed) <= set(exhibit.profiled())
        named = {(row, column) for row, columns in rows.items() for column in columns}
        assert {(cell.row, cell.column) for cell in cells} == named or not cells
        printed = {(cell.row, cell.column) for cell in exhibit.published_cells()}
        assert not cells or printed <= {(cell.row, cell.column) for cell in cells}
        assert {(cell.row, cell.column) for cell in exhibit.settings_cells()} <= printed
        assert set(exhibit.counted()) <= printed


def test_planning_does_not_import_what_draws() -> None:
    """The kinds of figures are read whenever a study is, and planning must stay fast."""
    code = (
        "import sys, retort.plan.plan; from retort.specs.exhibit import exhibit_type as read; "
        "read('figure'); read('table'); sys.exit(any(name in sys.modules for name in ('matplotlib', 'torch', 'scipy')))"
    )
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(Path(figures.__file__).parents[3])})
    assert done.returncode == 0
