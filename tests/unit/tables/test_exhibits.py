"""Tests of kinds of tables and figures: each is whole, and is read without what draws."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from retort import figures
from retort.figures.base import Figure
from retort.specs.config import Config
from retort.specs.exhibit import Exhibit, exhibit_type, figure_kinds, table_kinds
from retort.study.load import open_whole
from retort.study.study import Study
from retort.tables.base import Table

for _noun in ("table", "figure"):
    exhibit_type(_noun)


@pytest.fixture(scope="module")
def papers() -> Study:
    return open_whole(Config(scale="paper"))


@pytest.mark.parametrize("cls", [kinds[name] for kinds in (table_kinds, figure_kinds) for name in kinds])
def test_a_kind_is_whole(cls: type[Exhibit]) -> None:
    base = Table if issubclass(cls, Table) else Figure
    assert issubclass(cls, base)
    assert not inspect.isabstract(cls)
    assert (cls.__doc__ or "").endswith(".")
    assert cls.cells is not Exhibit.cells or cls.collect is not getattr(Figure, "collect", None)  # type: ignore[attr-defined]


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
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(Path(figures.__file__).parents[2])})
    assert done.returncode == 0
