"""Tests of kinds of tables and figures: each is whole, and mistakes get one clear line."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from retort import figures
from retort.figures.base import Figure
from retort.specs.config import Config, read_config
from retort.specs.exhibit import Exhibit, exhibit_type, figure_kinds, table_kinds
from retort.study.load import open_whole, read
from retort.study.study import Study
from retort.tables.base import Table

from tests.tiny.variant import LAYERS, write_study

for _noun in ("table", "figure"):
    exhibit_type(_noun)


@pytest.fixture(scope="module")
def papers() -> Study:
    return open_whole(Config(scale="paper"))


# --- every kind


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


def test_no_module_asks_which_kind_an_exhibit_is() -> None:
    """Only the files of the kinds name their classes, and no file compares `kind`."""
    package = Path(figures.__file__).parents[1]
    names = {kinds[name].__name__ for kinds in (table_kinds, figure_kinds) for name in kinds}
    for path in package.rglob("*.py"):
        text = path.read_text()
        if "_kind\n" not in text:
            assert not [name for name in names if name in text], path
        assert "exhibit.kind ==" not in text, path


# --- mistakes


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("figure1", {**LAYERS, "kind": "layer"}, "figure1.yaml: kind: no kind is called 'layer'; did you mean"),
        ("figure1", {**LAYERS, "kind": "scores"}, "figure1.yaml: kind: no kind is called 'scores'"),
    ],
)  # fmt: skip
def test_a_mistake_gets_one_line(tmp_path: Path, name: str, content: dict[str, Any], line: str) -> None:
    _, problems = read(read_config(write_study(tmp_path / "study", **{name: content})))
    assert sum(line in problem for problem in problems) == 1, problems


def test_planning_does_not_import_what_draws() -> None:
    """The kinds of figures are read whenever a study is, and planning must stay fast."""
    code = (
        "import sys, retort.plan.plan; from retort.specs.exhibit import exhibit_type as read; "
        "read('figure'); read('table'); sys.exit(any(name in sys.modules for name in ('matplotlib', 'torch', 'scipy')))"
    )
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(Path(figures.__file__).parents[2])})
    assert done.returncode == 0
