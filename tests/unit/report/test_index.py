"""Tests of the index: what is still to come, what it shows first, and where it leads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retort.report.index import begin_index, make_index, show_so_far
from retort.specs.config import read_config
from retort.study.load import open_study

from tests.tiny.results import quiet
from tests.unit.report.pages import Tags


def begun(config: dict[str, Any]) -> None:
    """Begin the index of a run in a folder that has none."""
    Path("reports/index.html").unlink()
    begin_index(open_study(read_config(config)))


def test_a_run_of_one_table_leaves_the_index_as_it_is(config: dict[str, Any]) -> None:
    whole = Path("reports/index.html").read_text()
    show_so_far(config)
    begin_index(open_study(read_config(config)))
    assert Path("reports/index.html").read_text() == whole
    Path("reports/index.html").unlink()
    show_so_far(config)  # no run will finish it
    assert not Path("reports/index.html").exists()


def test_an_unfinished_index_says_what_is_still_to_come(config: dict[str, Any]) -> None:
    for name in ("table2", "table3"):
        Path(f"results/tables/tiny/{name}.csv").unlink()
    whole = Path("reports/index.html").stat().st_mtime
    begun(config)
    show_so_far(config)
    index = Path("reports/index.html").read_text()
    assert "2 tables and figures are still to come: " in index
    assert "Table 2, Table 3" in index
    assert 'id="tiny-table1"' in index
    assert 'href="tiny/index.html"' not in index  # the page of the paper comes last
    assert Path("reports/index.html").stat().st_mtime == 1 < whole
    assert list(Path("reports").glob("*.part")) == []


def test_an_index_before_the_first_table(config: dict[str, Any]) -> None:
    for path in Path("results/tables/tiny").glob("*.csv"):
        path.unlink()
    for name in ("table1.html", "claims.html"):
        Path("reports/tiny", name).unlink()
    begun(config)
    assert "6 tables and figures are still to come" in Path("reports/index.html").read_text()


def test_pages_lead_to_each_other(index: str, page: str) -> None:
    assert {"tiny/index.html", "tiny/index.html#tiny-table2", "audit.html"} <= set(Tags(index).links)
    assert "../index.html" in Tags(page).links


def test_the_index_shows_the_first_table_of_a_study_of_ours(index: str) -> None:
    assert 'id="tiny-table1"' in index
    assert 'id="tiny-table2"' not in index
    assert "<td>3</td><td>3</td><td>17</td>" in index  # tables, figures, cells: 3 x (2 + 1 average) and 2 x 4


def test_an_index_without_an_audit(config: dict[str, Any]) -> None:
    make_index(quiet(), config, [], "reports/index.html")
    assert "audit.html" not in Path("reports/index.html").read_text()
