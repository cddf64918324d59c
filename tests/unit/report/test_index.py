"""Tests of the index: what it counts and shows first, and where it leads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.report.index import lines_of_run, make_index
from retort.report.outcome import cells_of

from tests.tiny.results import collected, opened, quiet
from tests.unit.report.pages import Tags

INDEX = Path("reports/index.html")


def again(config: dict[str, Any], audit: list[str]) -> str:
    """Make the index again and return it."""
    make_index(quiet(), config, audit, str(INDEX))
    return INDEX.read_text()


def test_the_index_shows_the_first_table_of_a_study_of_ours_and_leads_to_pages(index: str, page: str) -> None:
    assert 'id="tiny-table1"' in index
    assert 'id="tiny-table2"' not in index
    assert "14 of 14" in index  # cells: 3 x 2 and 2 x 4
    assert {"tiny/index.html", "tiny/index.html#tiny-table2"} <= set(Tags(index).links)
    assert "../index.html" in Tags(page).links


def test_an_index_leads_to_the_audit(config: dict[str, Any], index: str) -> None:
    assert "audit.html" not in index
    assert "audit.html" in Tags(again(config, audit=["reports/audit.html"])).links


@pytest.mark.parametrize(("paper", "name"), [("mlkd2024", "table9"), ("wang2023", "table5")])
def test_settings_that_are_as_reported_are_no_cells_that_agree(paper: str, name: str) -> None:
    counted = cells_of(*collected(opened({"papers": [paper], "scale": "paper"}), name, paper=paper))
    assert (counted.cells, counted.judged) == (0, 0)
    assert counted.counted >= counted.as_reported > 0


def test_a_run_ends_with_its_first_table_and_the_report(config: dict[str, Any], index: str) -> None:
    lines = list(lines_of_run(opened(config), ["reports/index.html", "reports/tiny/index.html"]))
    assert lines[0].startswith("A tiny study, table 1. ")
    assert lines[-1] == "report: reports/index.html"
    assert len({len(line) for line in lines if line.startswith("|")}) == 1
    assert lines[-4] == "Cells by runs: 4 of 3 runs, 2 of 1 run."
    assert lines[-3].startswith("Verdicts on 3 cells: ")
    assert max(map(len, lines[1:])) <= 100
    assert list(lines_of_run(opened(config), ["reports/tiny/table1.html"]))[:-1] == lines[:-1]
    assert not list(lines_of_run(opened(config), ["results/scores/tiny-kd/mood/1-2-3.json"]))
