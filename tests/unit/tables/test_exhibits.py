"""Tests of kinds of tables and figures: each is whole, and is read without what draws."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from retort.specs import exhibit as exhibits
from retort.specs.exhibit import Answers, exhibit_type, figure_kinds, table_kinds
from retort.study.study import Study
from retort.tables import figures

for _noun in ("table", "figure"):
    exhibit_type(_noun)


def test_the_papers_use_every_kind(whole_paper: Study) -> None:
    in_papers = {exhibit.kind for exhibit in whole_paper.exhibits.values()}
    assert in_papers == {*table_kinds, *figure_kinds}


def test_the_answers_of_an_exhibit_fit_together(whole_paper: Study) -> None:
    for exhibit in whole_paper.exhibits.values():
        cells, rows = exhibit.cells(), exhibit.rows_and_columns()
        assert {cell.student for cell in cells if cell.student} <= set(exhibits.shown_students(exhibit))
        assert set(exhibits.profiled_models(exhibit)) <= set(exhibits.shown_students(exhibit))
        assert set(exhibits.timed_models(exhibit)) <= set(exhibits.profiled_models(exhibit))
        named = {(row, column) for row, columns in rows.items() for column in columns}
        assert {(cell.row, cell.column) for cell in cells} == named or not cells
        reported = {(cell.row, cell.column) for cell in exhibit.reported_cells()}
        assert not cells or reported <= {(cell.row, cell.column) for cell in cells}
        assert {(cell.row, cell.column) for cell in exhibit.settings_cells()} <= reported


def test_every_answer_is_that_of_some_kind() -> None:
    kinds = [*map(table_kinds.__getitem__, table_kinds), *map(figure_kinds.__getitem__, figure_kinds)]
    answers = [name for name in vars(Answers) if not name.startswith("_")]
    alone = [name for name in answers if all(getattr(kind, name) is getattr(Answers, name) for kind in kinds)]
    assert not alone, "what no kind overrides is a function next to it"


def test_planning_does_not_import_what_draws() -> None:
    """The kinds of figures are read whenever a study is, and planning must stay fast."""
    code = (
        "import sys, retort.plan.plan; from retort.specs.exhibit import exhibit_type as read; "
        "read('figure'); read('table'); sys.exit(any(name in sys.modules for name in ('matplotlib', 'torch', 'scipy')))"
    )
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(Path(figures.__file__).parents[3])})
    assert done.returncode == 0
