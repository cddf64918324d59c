"""Tests of the pages of papers that are shown as printed, and of what a page opens with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from retort.report.index import make_index
from retort.report.page import make_page
from retort.results.tidy import read
from retort.results.tidy import write as write_tidy
from retort.tables.claims import check_claims
from retort.tables.make import make_table

from tests.tiny.blocks import with_block
from tests.tiny.edit import CLAIMS, set_value, write
from tests.tiny.printed import ACC, study_config, table
from tests.tiny.results import quiet
from tests.tiny.variant import PAPER, PROFILES, TABLE, write_one_table
from tests.unit.report.pages import build, lost, report, without_copies

MEAN = [ACC, {**ACC, "label": "Other", "task": "qa"}, {"label": "Avg", "mean_of": ["Coin", "Other"]}]


def printed_paper(folder: Path) -> tuple[str, str]:
    """Return the index and the page of a paper whose rows have no student yet, and one of whose averages is wrong."""
    config = study_config(folder, table1=table(MEAN, {"a": "70.0 | 80.0 | 75.2", "b": "71.0 | 80.0 | 75.5"}, 6))
    make_table(
        quiet(), config, "some", "table1", [], [], "results/tables/some/table1.csv",
        {kind: f"reports/some/table1.{kind}" for kind in ("html", "md", "tex")},
    )  # fmt: skip
    make_page(quiet(), config, "some", "reports/some/index.html")
    make_index(quiet(), config, ["reports/audit.html"], "reports/index.html")
    return Path("reports/index.html").read_text(), Path("reports/some/index.html").read_text()


def test_a_table_that_was_not_run_says_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    index, page = printed_paper(tmp_path)
    page = without_copies(page)
    assert page.count("Not run, since these rows have no student yet") == 1
    assert '<td><span class="ours">75.2</span></td>' in page
    assert "–</span>" not in page
    assert "0 of 6<small>6 not run at this scale</small>" in page
    assert "There is no result yet" in page
    assert "<td>1</td><td>–</td><td>0</td><td>6</td><td>–</td>" in index
    for kind in ("md", "tex"):
        text = Path(f"reports/some/table1.{kind}").read_text()
        assert text.count("Not run, since these rows have no student yet") == 1
        assert "75.2" in text


def test_a_table_of_a_printed_paper_at_our_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table1 = {**TABLE, "numbers": 2, "published": {}, "columns": [{**TABLE["columns"][0], "average": False}],
              "rows": [{"student": "tiny-kd", "label": "A", "cells": "61.0"},
                       {"label": "Q", "quoted": "Nobody", "cells": "62.0"}]}  # fmt: skip
    paper = {**PAPER, "ours": False, "show": ["table1", "table2"]}
    table2 = {**PROFILES, "published": {}}
    config = write_one_table(tmp_path / "study", with_block(table1), table2=table2, paper=paper, claims={})
    made = [make_table(
        quiet(), config, "tiny", name, [], [], f"results/tables/tiny/{name}.csv", {"html": f"reports/tiny/{name}.html"}
    ) for name in ("table1", "table2")]  # fmt: skip
    assert len(made) == 2
    make_page(quiet(), config, "tiny", "reports/tiny/index.html")
    page = without_copies(Path("reports/tiny/index.html").read_text())
    assert page.count("Not run at this scale: the numbers are the published ones.") >= 1
    assert '<td><span class="ours">61.0</span></td>' in page
    assert '<td><span class="ours">62.0<sup>a</sup></span></td>' in page
    assert page.count("quoted (Nobody), never run") == 1
    assert "Nothing of this paper was run at scale pocket" in page


def test_a_page_holds_what_its_own_numbers_contradict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, page = printed_paper(tmp_path)
    assert '<th scope="row">Table 1, a, Avg</th><td>75.2</td><td>75.00</td>' in page
    assert "1 finding. " in page
    assert lost("some/index.html", made_later={"audit.html"}) == []


def record(study: Path, rows: dict[str, Any], **more: Any) -> None:
    """Write a recorded run of table 1 at a scale `reduced`."""
    run = {"machine": "a laptop", "date": "2026-01-02"}
    recording = {"run": run, "replacements": {}, "runs": 3, "tables": {"table1": rows}, **more}
    write(study, "papers/tiny/recorded/reduced.yaml", recording)
    write(study, "scales/reduced.yaml", {"title": "Between"})


def page_again(config: dict[str, Any]) -> str:
    """Make the claims and the page again, and return the page."""
    check_claims(quiet(), config, "tiny", ["results/tables/tiny/table1.csv"], {"html": "reports/tiny/claims.html"})
    make_page(quiet(), config, "tiny", "reports/tiny/index.html")
    return Path("reports/tiny/index.html").read_text()


def test_a_page_opens_with_what_came_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = build(tmp_path)
    index, page = report(config)
    top = page.partition("<nav")[0]
    assert "What came out at scale pocket" in top
    assert "Claims: 1. Hold: 0; do not hold: 0; undecided, as other runs may turn them: 1" in " ".join(top.split())
    assert '<a href="#tiny-claim-a-beats-b">A beats B &amp; &lt;co&gt;.</a>' in top
    assert "runs of each student would decide it" in top
    by_itself = "by itself, if chance turns it in at most 2.5 % of draws; so of many decided claims some may"
    assert by_itself in top
    assert by_itself in index


def test_a_claim_with_a_number_is_listed_with_it(config: dict[str, Any], tmp_path: Path) -> None:
    for number, remark in (("1.5", "the text says 1.5; 128 runs of"), ("90.0", "the text says 90.0</span>")):
        for key, value in {"compare": "difference", "number": number}.items():
            set_value(tmp_path / "study", CLAIMS, "a-beats-b", key, to=value)
        top = page_again(config).partition("<nav")[0]
        assert f'A beats B &amp; &lt;co&gt;.</a> <span class="where">{remark}' in top


def test_a_claim_on_a_time_of_one_run_is_undecided_and_says_why(config: dict[str, Any], tmp_path: Path) -> None:
    for name, row in (("cells", "Teacher"), ("than", "B")):
        columns = {"table1": "Acc. %", "table2": "Latency (ms)"}
        cells = [{"table": table, "rows": [row], "columns": [column]} for table, column in columns.items()]
        set_value(tmp_path / "study", CLAIMS, "a-beats-b", name, to=cells)
    csv = Path("results/tables/tiny/table2.csv")
    write_tidy(csv, [replace(line, std=None, n=1) if line.unit == "ms" else line for line in read(csv)])
    make_page(quiet(), config, "tiny", "reports/tiny/index.html")
    top = " ".join(Path("reports/tiny/index.html").read_text().partition("<nav")[0].split())
    assert "undecided, as other runs may turn them: 1." in top
    assert '<span class="where">the deviation of one of its numbers is not known</span>' in top


def test_a_page_of_a_paper_that_is_not_run_opens_with_the_recorded_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = build(tmp_path)
    record(tmp_path / "study", {"A & <b>_1": {"Acc. %": [80.0, 1.0]}, "B": {"Acc. %": [70.0, 1.0]}})
    top = " ".join(report(config)[1].partition("<nav")[0].split())
    assert "What came out at scale reduced, in the recorded run" in top
    assert "Claims: 1. Hold: 1; do not hold: 0; undecided, as other runs may turn them: 0" in top
    assert "a laptop, 2026-01-02; 3 runs of each student" in top
    assert "tasks: mood; how many rows of them were read is not recorded. An average is over this one alone." in top


def test_a_claim_on_cells_of_which_some_are_recorded_holds_so_far(config: dict[str, Any], tmp_path: Path) -> None:
    both = {"table": "table1", "columns": ["Acc. %", "Pearson"]}
    for name, cells in (("cells", "A & <b>_1"), ("than", "B")):
        set_value(tmp_path / "study", CLAIMS, "a-beats-b", name, to=[{**both, "rows": [cells]}])
    record(tmp_path / "study", {"A & <b>_1": {"Acc. %": [80.0, 1.0]}, "B": {"Acc. %": [70.0, 1.0]}})
    page = page_again(config)
    top = " ".join(page.partition("<nav")[0].split())
    assert "turn them: 0; by the means of some of their cells, hold so far: 1; do not hold so far: 0." in top
    assert "<summary>Hold so far (1)</summary>" in top
    assert '<span class="where">on 2 of 4 cells</span>' in top
    claims = page[page.index('id="tiny-claims"') :]
    assert "On the recorded ones, scale reduced: holds so far 1." in claims
    assert '<span class="verdict holds-so-far">holds so far</span><span class="remark">, 2 of 4 cells</span>' in claims


def test_a_recorded_run_names_the_tasks_of_its_cells_and_what_was_read_of_them(
    config: dict[str, Any], tmp_path: Path
) -> None:
    rows = {"A & <b>_1": {"Acc. %": [80.0, 1.0]}, "B": {"Acc. %": [70.0, 1.0]}}
    more = {"replacements": {"tasks": ["rating", "mood"]}, "samples": {"mood": {"train": [8000, 104743]}}}
    record(tmp_path / "study", rows, **more)
    top = page_again(config).partition("<nav")[0]
    assert "; tasks: mood (a sample: 8,000 of 104,743 rows of train). An average" in top
