"""Tests of comparing two rows on the command line, and of showing a paper's own tests next to ours."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from retort.errors import RetortError
from retort.judgement.difference import TESTS as ALL
from retort.judgement.paired_rows import compare_rows
from retort.results.frames import lines_of
from retort.specs.config import Config
from retort.study.load import open_study
from retort.tables.layout import reported_alone

from tests.tiny.results import SCORES, collected, made, write_results
from tests.tiny.variant import ROWS, TESTS, UNREPORTED, write_study

A, B = "A & <b>_1", "B"
REPORTED = {**TESTS, "reported": {"table1": {"below": 0.05, "not_significant": [[A, B]]}}}


def test_two_rows_are_compared(config: dict[str, Any]) -> None:
    study = write_results(config)
    lines = compare_rows(study, "tiny/table1", (A, B))
    # differences: 10, 4, 10 (rating) and 1, 2, 3 (mood)
    assert lines[:5] == [
        f"tiny/table1: {A}, less B",
        "mean difference 5.00, standard deviation 4.00, n = 6 pairs (mood, rating)",
        "fixed tasks: t = 4.804, p = 0.02984 (2.3 degrees)",
        "random tasks: t = 1.667, p = 0.344 (1 degrees)",
        "pairs: t = 3.062, p = 0.02804 (5 degrees)",
    ]
    assert lines[5].startswith("Fixed tasks: would other seeds")
    assert lines[-1].startswith("choices: a pair is a task and a seed")
    assert "t = −3.062" in compare_rows(study, "tiny/table1", (B, A))[4]
    tests = ("fixed tasks", "random tasks", "pairs")
    equal = "no p-value: all differences are equal"
    assert compare_rows(study, "tiny/table1", (B, B))[2:5] == [f"{test}: {equal}" for test in tests]


def test_only_what_both_have_is_compared(config: dict[str, Any]) -> None:
    scores = {**SCORES, "tiny-kd": {"mood": [0.70, None, 0.74], "rating": [None, 0.60, None]}}
    lines = compare_rows(write_results(config, scores), "tiny/table1", (A, B))
    assert "n = 3 pairs (mood, rating)" in lines[1]
    assert lines[-2] == (
        f"3 pairs left out: {A} on mood, seed 2: diverged at step 42; {A} on rating, seed 1: diverged at step 41; "
        f"{A} on rating, seed 3: diverged at step 43"
    )
    lone = {**SCORES, "tiny-attention": {"mood": [None, 0.70, 0.71], "rating": [None, 0.56, 0.60]}}
    study = write_results(config, lone)
    with pytest.raises(RetortError, match="'Teacher' and 'B' have no task and seed in common"):
        compare_rows(study, "tiny/table1", ("Teacher", "B"))


def test_a_mistake_gets_one_line(here: Path) -> None:
    rows = [*ROWS, {"label": "Q", "quoted": "Nobody (2020)"}]
    study = write_results(write_study(here / "study", table1={**UNREPORTED, "rows": rows}))
    for given, said in (
        (("tiny/table2", (A, B)), "no table of scores is called 'tiny/table2'; there are: tiny/table1"),
        (("tiny/table1", ("Teachr", B)), "no row of tiny/table1 is called 'Teachr'; did you mean 'Teacher'?"),
        (("tiny/table1", (A, "Q")), "row 'Q' of tiny/table1 has no scores here; name a row that is run, and run it"),
    ):
        with pytest.raises(RetortError) as caught:
            compare_rows(study, *given)
        assert said in str(caught.value)


# --- a paper's own tests


def test_what_a_paper_says_stands_next_to_our_tests(here: Path) -> None:
    lines, out = made(write_study(here / "alike", table3=REPORTED), "table3")
    assert "**0.028**<br>*≥ 0.05*<br>differs" in out["md"]
    assert out["md"].count("≥ 0.05") == 1  # not next to corrected ones
    assert {line.metric for line in lines if line.metric.endswith("-holm")} == {f"{test.metric}-holm" for test in ALL}
    apart = {**TESTS, "reported": {"table1": {"below": 0.05}}}
    _, out = made(write_study(here / "apart", table3=apart), "table3")
    assert "**0.028**<br>*\\< 0.05*<br>agrees" in out["md"]
    assert "&lt; 0.05" in out["html"]


def test_a_diverged_run_is_named_below_the_tests(config: dict[str, Any]) -> None:
    lines, out = made(config, "table3", **{"tiny-kd": {"mood": [0.70, None, 0.74], "rating": [0.5, 0.6, 0.7]}})
    assert {line.note for line in lines} == {f"1 pair left out: {A} on mood, seed 2: diverged at step 42"}
    assert "1 pair left out" in out["md"]
    assert "<sup>a</sup>" in out["md"].split("1 pair left out")[0]


def test_the_tests_of_wang2023() -> None:
    study = open_study(Config(papers=["wang2023"]))
    spec: Any
    spec, lines = collected(study, "table-significance", paper="wang2023")
    sheet = spec.lay_out(lines)
    assert [len(grid.rows) for grid in sheet.grids] == [rows for rows in (9, 3, 3, 3, 3, 3, 3) for _ in range(3)]
    # none of their rows is run at this scale: only what the paper says of its own tests is left
    assert {line.state for line in lines_of(lines)} == {"not run at this scale"}
    alone = reported_alone(sheet, lines)
    assert alone.state == "Not run at this scale: the numbers are reported or recorded ones."
    assert [grid.title.rpartition(", ")[2] for grid in alone.grids] == ["pairs"] * 7
    texts = Counter(entry.text for grid in alone.grids for entry in grid.entries if entry.text)
    assert texts == {"< 0.05": 32 + 16, "≥ 0.05": 4 + 2}
    assert (alone.letters, alone.remarks) == ({}, [])
    assert "one- or two-sided" in spec.caption
