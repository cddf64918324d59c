"""Tests of what others measured of a paper's models: how it is checked, judged and shown, and that it never counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.judgement.judge import Kind
from retort.plan import exhibits
from retort.plan.plan import Plan
from retort.report.across import questions
from retort.report.index import make_index
from retort.report.page import make_page
from retort.results.frames import frame_of
from retort.specs.config import ROOT, read_config
from retort.study.load import read_study
from retort.tables.claims import judge_all
from retort.tables.make import make_table
from retort.tables.replications import in_a_word, replicated_frame
from retort.tables.reported import cells_csv

from tests.conftest import whole_study
from tests.tiny.edit import change, write
from tests.tiny.reported import MEAN, study_config, table
from tests.tiny.results import quiet

FILE = "papers/some/replications/lab.yaml"
LAB = {
    "who": "A <lab>",
    "url": "https://example.org/lab",
    "read": "2026-11-28",
    "commit": "0123456789" * 4,
    "same": {"corpus": "the paper's"},
    "differs": {"steps": "half as many", "grid": "none"},
    "tables": {"table1": {"a": {"where": "README, table 2", "numbers": {"Coin": "68.50", "Other": "79.9 ± 0.2"}}}},
}
CELLS = {"a": "70.0 | 80.0 | 75.0", "b": "- | 80.0 | 75.5"}


@pytest.fixture
def given(here: Path) -> dict[str, Any]:
    """Return the configuration of a paper that reports a table, with a replication of one of its rows."""
    config = study_config(here, table1=table(MEAN, CELLS))
    write(here / "study", FILE, LAB)
    return config


MISTAKES = [
    (
        "https://example",
        "http://example",
        "url: 'http://example.org/lab' does not match the pattern ^https://\\S+$; write",
    ),
    ("'2026-11-28'", "yesterday", "read: 'yesterday' does not match the pattern"),
    ("0123456789", "z123456789", "commit: 'z123456789"),
    ("steps: half", "stepz: half", "differs.stepz: Input should be 'method', 'teacher'"),
    ("steps: half", "corpus: half", "'corpus' is in 'same' and in 'differs'"),
    ("  table1:", "  table2:", "tables: no table is called 'table2'; there are: table1"),
    ("    a:", "    aa:", "tables.table1: no row is called 'aa'; did you mean 'a'?"),
    ("    a:", "    b:", "tables.table1: no number in column is called 'Coin'"),
    ("Coin:", "Coyn:", "tables.table1: no number in column is called 'Coyn'; did you mean 'Coin'?"),
    ("'68.50'", "about 68", "tables.table1.a.numbers.Coin: 'about 68' is not a number as papers report it"),
    ("'68.50'", "68.5", "tables.table1.a.numbers.Coin: Input should be a valid string, not 68.5; put it in quotes"),
    ("'68.50'", "'168.50'", "tables.table1.a.Coin: accuracy is from 0 to 100, not 168.5"),
    ("where: README, table 2", "wher: README", "tables.table1.a.wher: no key is called 'wher'; did you mean 'where'?"),
]


@pytest.mark.parametrize(("old", "new", "line"), MISTAKES, ids=[new for _, new, _ in MISTAKES])
def test_a_mistake_has_one_line(given: dict[str, Any], here: Path, old: str, new: str, line: str) -> None:
    assert read_study(read_config(given))[1] == []
    change(here / "study", FILE, old, new)
    (found,) = read_study(read_config(given))[1]
    assert found.startswith(f"study/{FILE}: {line}")


def test_numbers_of_others_are_judged_against_print(given: dict[str, Any], here: Path) -> None:
    study = read_study(read_config(given))[0]
    frame = replicated_frame(study, "some", "table1").set_index("column")
    assert frame["text"].to_list() == ["68.50", "79.9 ± 0.2"]
    assert frame.loc["Coin", ["student", "mean", "reported", "n", "reported_n"]].to_list() == [
        "lab",
        68.5,
        70.0,
        1,
        1,
    ]
    assert frame["verdict"].to_list() == ["inconclusive", "inconclusive"]  # one run a side, with assumed deviations
    change(here / "study", FILE, "'68.50'", "'18.50'")
    apart = replicated_frame(read_study(read_config(given))[0], "some", "table1").set_index("column")
    assert apart.loc["Coin", "verdict"] == "differs"


def test_they_stand_below_their_table_and_count_nowhere(given: dict[str, Any]) -> None:
    renders = {kind: f"reports/some/table1.{kind}" for kind in ("html", "md", "tex")}
    make_table(quiet(), given, "some", "table1", [], [], "results/tables/some/table1.csv", renders)
    assert "68.5" not in Path("results/tables/some/table1.csv").read_text()
    for text in (Path(path).read_text() for path in renders.values()):
        assert "68.50" in text
        assert "differs: steps (half as many), grid (none)" in text
        assert "0.1 to 1.5 points below the reported numbers, by more than rounding in 2 of 2 cells" in text
        assert "README, table 2, read 2026-11-28 at 0123456" in text
    html = Path(renders["html"]).read_text()
    assert '<a href="https://example.org/lab">A &lt;lab&gt;</a>' in html
    assert html.index("<summary>Copy this table") < html.index('<td><span class="ours">68.50')  # below, not folded
    make_page(quiet(), given, "some", "reports/some/index.html")
    make_index(quiet(), given, [], "reports/index.html")
    for page in ("reports/some/index.html", "reports/index.html"):
        assert (
            "Others report 2 numbers for cells of its tables (1 source). Verdicts on 2 cells: inconclusive 2."
            in Path(page).read_text()
        )


def test_they_are_a_side_of_claims_effects_and_frames(given: dict[str, Any], here: Path) -> None:
    rows = {**LAB["tables"]["table1"], "b": {"where": "README", "numbers": {"Other": "58.0"}}}
    write(here / "study", FILE, {**LAB, "tables": {"table1": rows}})
    groups = [{"table": "table1", "rows": [row], "columns": ["Other"]} for row in ("a", "b")]
    claim = {"says": "A is above B.", "where": "here", "compare": "above", "quote": {"section": "1", "text": "it is"}}
    write(here / "study", "papers/some/claims.yaml", {"better": {**claim, "cells": groups[:1], "than": groups[1:]}})
    one = {"paper": "some", "table": "table1", "about": "x", "over": ["Other"], "baseline": "b", "rows": {"one": "a"}}
    write(here / "study", "papers/across.yaml", {"q": {"title": "Q", "compared": [one]}})
    study = read_study(read_config(given))[0]
    ((table,),) = [question.tables for question in questions(study, ["some"])]
    assert {side: column.text("one") for side, column in table.columns.items()} == {
        "reported": "0.0",
        "replicated by A <lab>": "+21.9",
    }
    (judged,) = judge_all(study, "some", {"table1": frame_of(())})
    by_lab = judged.replicated["A <lab>"]
    assert (by_lab.verdict, by_lab.numbers[:18]) == (Kind.SUPPORTED, "Other: 79.9 ± 0.2 ")
    assert judged.ours.verdict is Kind.NOT_TESTED
    assert "some,table1,b,Other,80.0,,58.0 (A <lab>)" in cells_csv(study)
    plan = Plan(read_config(given))
    read = (  # by what prints them
        exhibits.files_of_claims(plan, "some"),
        exhibits.records_next_to(plan, "some", "table1"),
        exhibits.files_of_page(plan, "some"),
        exhibits.files_of_index(plan),
    )
    assert all(any(name.endswith(FILE) for name in names) for names in read)


def test_students_of_the_paper_itself_have_a_sentence() -> None:
    study = whole_study()
    (told,) = in_a_word(study, "minilmv2")
    assert told.endswith(
        "An independent run (bloomberg/minilmv2.bb) is 0.0 to 11.4 points below the reported numbers, by more than "
        "rounding in 9 of 10 cells; it differs in grid and runs."
    )
    assert in_a_word(study, "pocket") == []


def test_each_folder_of_replications_says_what_was_looked_for() -> None:
    papers = [path.parent for path in (ROOT / "workflow/papers").glob("*/audit.yaml")]
    assert all((paper / "replications/README.md").is_file() for paper in papers)
