"""Tests of kinds of tables and figures: each is whole, one file adds one, and mistakes get one clear line."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from retort import figures
from retort.errors import RetortError
from retort.figures.base import Figure
from retort.figures.plot import plot_figure
from retort.plan import exhibits
from retort.plan.plan import Plan
from retort.results.tidy import read as read_lines
from retort.specs.config import Config, read_config
from retort.specs.exhibit import Exhibit, exhibit_type, figure_kinds, table_kinds
from retort.study.cells import expand
from retort.study.load import open_study, open_whole, read
from retort.study.study import Study
from retort.tables.base import Table

from tests.tiny.results import quiet, write_results
from tests.tiny.variant import LAYERS, PAPER, TABLE, write_study

for _noun in ("table", "figure"):
    exhibit_type(_noun)

# A kind of figure that shows one bar per student, as somebody would write it in `retort/figures/bars.py`.
BARS = '''"""Figures of scores as bars."""

from typing import Literal

from retort.figures.base import Figure, Point, point_cell
from retort.figures.style import figure, write_notes, save
from retort.specs.exhibit import figure_kind
from retort.specs.rows import Column


@figure_kind
class BarsFigure(Figure):
    """A figure with a bar per student."""

    kind: Literal["bars"]
    task: str
    metric: str
    bars: list[Point]

    def cells(self):
        """Return a cell per bar."""
        column = Column(label=self.metric, task=self.task, metric=self.metric)
        return [point_cell(bar.label, bar.student, column) for bar in self.bars]

    def draw(self, inputs, lines, renders):
        """Draw and save the bars."""
        with figure(4.0, 3.0) as drawn:
            axes = drawn.subplots()
            axes.bar([line.row for line in lines], [line.mean or 0.0 for line in lines])
            write_notes(drawn, lines, inputs.remark)
            save(drawn, renders)
'''


@pytest.fixture(scope="module")
def papers() -> Study:
    return open_whole(Config(scale="paper"))


@pytest.fixture
def bars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Write a kind of figure in one file, in a folder that is searched as that of the package is."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more/bars.py").write_text(BARS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(figures, "__path__", [*figures.__path__, str(tmp_path / "more")])
    yield
    sys.modules.pop("retort.figures.bars", None)
    figure_kinds.pop("bars", None)


# --- every kind


@pytest.mark.parametrize("cls", [kinds[name] for kinds in (table_kinds, figure_kinds) for name in kinds])
def test_a_kind_is_whole(cls: type[Exhibit]) -> None:
    base = Table if issubclass(cls, Table) else Figure
    assert issubclass(cls, base)
    assert not inspect.isabstract(cls)
    assert (cls.__doc__ or "").endswith(".")
    assert cls.cells is not Exhibit.cells or cls.collect is not getattr(Figure, "collect", None)  # type: ignore[attr-defined]


def test_the_papers_use_every_kind(papers: Study) -> None:
    assert {exhibit.kind for exhibit in papers.exhibits.values()} == {*table_kinds, *figure_kinds}


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


# --- a new kind


def test_one_file_adds_a_kind_of_figure(tmp_path: Path, bars: None) -> None:
    figure = {
        "kind": "bars", "title": "Bars", "question": "Who?", "task": "mood", "metric": "accuracy",
        "bars": [{"student": "tiny-kd", "label": "A"}, {"student": "tiny-attention", "label": "B"}],
    }  # fmt: skip
    paper = {**PAPER, "show": [*PAPER["show"], "figure4"]}
    config = write_study(tmp_path / "study", figure4=figure, paper=paper)
    study = write_results(config)
    assert [cell.seed for cell in expand(study) if cell.table == "figure4" and cell.row == "A"] == [1, 2, 3]
    scores = exhibits.scores(Plan(read_config(config)), "tiny", "figure4")
    assert scores == [
        f"results/scores/tiny-{name}/mood/seed-{seed}.json" for name in ("attention", "kd") for seed in (1, 2, 3)
    ]
    plot_figure(quiet(), config, "tiny", "figure4", scores, [], [], "out.csv", {"svg": "out.svg"})
    assert [(line.row, round(line.mean or 0)) for line in read_lines("out.csv")] == [("A", 72), ("B", 70)]
    assert "<svg" in Path("out.svg").read_text()


def test_a_mistake_in_a_figure_of_a_new_kind_gets_one_line(tmp_path: Path, bars: None) -> None:
    figure = {"kind": "bars", "title": "Bars", "question": "Who?", "task": "mood", "metric": "accuracy",
              "bars": [{"student": "tiny-kdd", "label": "C"}]}  # fmt: skip
    _, problems = read(read_config(write_study(tmp_path / "study", figure4=figure)))
    assert problems == [
        "study/papers/tiny/figure4.yaml: student: no student is called 'tiny-kdd'; did you mean 'tiny-kd'?"
    ]


def test_a_file_that_forgets_a_part_is_told_when_a_study_is_read(tmp_path: Path, bars: None) -> None:
    (tmp_path / "more/bars.py").write_text(BARS[: BARS.index("    def draw")])
    with pytest.raises(RetortError, match="kind of figure 'bars' lacks draw; give them to BarsFigure"):
        open_study(read_config(write_study(tmp_path / "study")))


# --- mistakes


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("table3", {"kind": "paired-test", "of": ["table1"]},  # not told again where figure 3 draws the table
         "table3.yaml: kind: no kind is called 'paired-test'; did you mean 'paired-tests'"),
        ("table1", {**TABLE, "kind": "scoers"}, "table1.yaml: kind: no kind is called 'scoers'; did you mean 'scores'"),
        ("figure1", {**LAYERS, "kind": "layer"}, "figure1.yaml: kind: no kind is called 'layer'; did you mean"),
        ("figure1", {**LAYERS, "kind": "scores"}, "figure1.yaml: kind: no kind is called 'scores'"),
        ("table3", {"kind": "paired-tests", "title": "T", "question": "Q?", "of": ["table2"]},
         "table3.yaml: of: 'table2' is not a table of kind 'scores'"),
        ("figure3", {"kind": "tests", "title": "T", "question": "Q?", "of": "table1"},
         "figure3.yaml: of: 'table1' is not a table of kind 'paired-tests'"),
        ("figure3", {"kind": "tests", "title": "T", "question": "Q?", "of": "table9"},
         "figure3.yaml: of: no table is called 'table9'"),
        ("table1", {**TABLE, "columns": [{"label": "C", "task": "mood", "metric": "accuracy", "timing": "cpu"}]},
         "'timing' is of a latency or a speed-up, not of 'accuracy'; a task has a 'subset'"),
        ("table1", {**TABLE, "columns": [{"label": "C", "metric": "latency", "subset": "cpu"}]},
         "'subset' is of a score, not of 'latency'; say how it is measured in 'timing'"),
    ],
)  # fmt: skip
def test_a_mistake_gets_one_line(tmp_path: Path, name: str, content: dict[str, Any], line: str) -> None:
    _, problems = read(read_config(write_study(tmp_path / "study", **{name: content})))
    assert sum(line in problem for problem in problems) == 1, problems
    assert not [problem for problem in problems if "table3" in line and "figure3" in problem]


def test_planning_does_not_import_what_draws() -> None:
    """The kinds of figures are read whenever a study is, and planning must stay fast."""
    code = (
        "import sys, retort.plan.plan; from retort.specs.exhibit import exhibit_type as read; "
        "read('figure'); read('table'); sys.exit(any(name in sys.modules for name in ('matplotlib', 'torch', 'scipy')))"
    )
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(Path(figures.__file__).parents[2])})
    assert done.returncode == 0
