"""Tests of claims: judged on the reported numbers and on ours, with the numbers and the spread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.judgement.claims import Judgement, judge_means, judge_reported, judge_runs
from retort.judgement.judge import our_numbers, recomputed_averages, reported_numbers
from retort.results.frames import Line
from retort.specs.paper import Statement
from retort.specs.rows import AssumedSpread
from retort.study.reasons import Status
from retort.tables.claims import check_claims
from retort.tables.kinds.scores import ScoresTable

from tests.tiny.reported import table
from tests.tiny.results import frame, line, made, quiet
from tests.tiny.variant import CLAIMS, write_study
from tests.unit.judgement.claims import claim

COLUMN: list[dict[str, Any]] = [{"label": "c", "task": "t", "metric": "accuracy"}]


def reported(cells: dict[str, str], columns: Any = COLUMN, **more: Any) -> ScoresTable:
    """Return a table as a paper reports it, with one column unless others are given."""
    return ScoresTable.model_validate(table(columns, cells, **more))


OPEN = "inconclusive"
ABOVE = claim("above", "AB", "C")
REPORTED = reported({"A": "75.0±1.0", "B": "70.0±1.0", "C": "60.0±1.0"}, runs=3)


def on_ours(statement: Statement, **cells: float | Line) -> Judgement:
    """Judge the statement on our numbers: row -> score or line."""
    lines = [(value if isinstance(value, Line) else line(value))._replace(row=row) for row, value in cells.items()]
    return judge_runs(
        statement, our_numbers({"table1": REPORTED}, {"table1": frame(lines)}), lambda _: AssumedSpread(0.6)
    )


def points_to(found: Judgement) -> bool:
    """Return whether the means of a judgement say that the claim is true."""
    return found.verdict == "supported" or "the means point to yes" in found.remark


@pytest.mark.parametrize(
    ("c", "verdict", "remark"),
    [(60.0, "supported", ""), (71.0, OPEN, "the means point to no; "), (70.0, OPEN, "the means point to no; "),
     (69.0, OPEN, "the means point to yes; "), (85.1, "not supported", "")],
)  # fmt: skip
def test_the_closest_pair_decides_and_means_alone_lean(c: float, verdict: str, remark: str):
    found = on_ours(ABOVE, A=75.0, B=70.0, C=c)
    assert found.verdict == verdict
    assert found.remark.startswith(remark)
    assert bool(found.remark) is bool(remark)
    assert f"c: 70.0 ± 1.0 (B) against {c:.1f} ± 1.0 (C)" in found.numbers
    closest = f"at worst {70 - c:.1f}" if c > 75 else f"difference {70 - c:.1f}"
    assert found.numbers.endswith(closest.replace("-", "−"))


def test_the_spread_of_a_paper_counts_by_its_runs():
    for runs, std, remark in ((3, "1.0", "within the spread"), (0, "1.0", ""), (3, "0.1", "")):
        exhibit = reported({"A": f"75.0±{std}", "B": f"70.0±{std}", "C": f"69.5±{std}"}, runs=runs)
        found = judge_means(ABOVE, reported_numbers({"table1": exhibit}))
        assert (found.verdict, found.remark) == ("supported", remark)


def size(mean: float) -> Line:
    """Return a line with a number of parameters."""
    return Line("p", "table1", "", "c", "s", "", "parameters", "M", mean=mean)


# comparison of A with B, number in the text, what it allows, our cells, whether the claim holds
REACHED: list[tuple[str, str, float | None, Any, Any, bool]] = [
    ("difference", "5.0", None, 65.0, 60.0, True), ("difference", "5.0", None, 69.0, 60.0, True),
    ("difference", "5.0", None, 64.96, 60.0, True), ("difference", "5.0", None, 64.9, 60.0, False),
    ("difference", "5.0", None, 54.0, 60.0, False), ("difference", "-5.0", None, 54.0, 60.0, True),
    ("difference", "-5.0", None, 66.0, 60.0, False), ("difference", "0.0", None, 59.0, 60.0, False),
    ("difference", "5.0", 1.0, 64.0, 60.0, True), ("difference", "5.0", 0.5, 64.0, 60.0, False),
    ("percent", "50%", None, 61.5, 100.0, True), ("percent", "50%", None, size(61.5), size(100.0), False),
]  # fmt: skip


@pytest.mark.parametrize(("compare", "number", "within", "a", "b", "holds"), REACHED)
def test_on_ours_a_number_has_to_be_reached_and_one_of_parameters_met(
    compare: str, number: str, within: float | None, a: Any, b: Any, holds: bool
):
    found = on_ours(claim(compare, "A", "B", number=number, within=within), A=a, B=b)
    assert points_to(found) is holds
    assert found.computed is isinstance(a, Line)  # numbers of parameters need no run
    assert found.numbers.endswith(f"; the text says {number}")
    if compare == "difference":
        assert f"{a - b:.1f}; the text says" in found.numbers


# --- cells without a number

GONE = line(None, status=Status.MISSING, reason="seed 1 of 3")
DIVERGED = line(None, status=Status.DIVERGED, reason="at step 9")
SERVER = [line(None, status=Status.SERVER, dev=value) for value in (70.0, 65.0)]
WITHOUT = "not tested"
# claim, our cells, verdict, remark, and the beginning of its numbers
LACKING: list[tuple[Statement, dict[str, Any], str, str, str]] = [
    (ABOVE, {"A": 75.0, "B": GONE, "C": line(None, status=Status.NOT_RUN)}, WITHOUT, "",
     "no number for B: missing (seed 1 of 3); no number for C: not run at this scale"),
    # one rival above is enough; two rivals below are not, as long as the third may be above
    (claim("above", "A", "BC"), {"A": 75.0, "B": 80.0, "C": GONE}, "not supported", "", ""),
    (claim("above", "A", "BC"), {"A": 75.0, "B": 70.0, "C": DIVERGED}, OPEN, "the means point to yes; on 2 of 3 cells",
     "c: 75.0 ± 1.0 (A) against 70.0 ± 1.0 (B): difference 5.0; no number for C: diverged at step 9"),
    (claim("near", "A", "BC", within=1.0), {"A": 75.0, "B": 70.0, "C": GONE}, "not supported", "", ""),
    (claim("best-above", "A", "BC"), {"A": 75.0, "B": 70.0, "C": GONE}, WITHOUT, "", ""),
    # a training that diverges can be what a claim says
    (claim("diverges", "C"), {"C": DIVERGED}, "supported", "", "c: diverged (C)"),
    (claim("diverges", "C"), {"C": 60.0}, "not supported", "", ""),
    (claim("diverges", "C"), {"C": GONE}, WITHOUT, "", ""),
    (claim("diverges", "BC"), {"B": GONE, "C": DIVERGED}, OPEN, "the means point to yes; on 1 of 2 cells", ""),
    # scores on dev stand in for a test server, unless the claim is about test sets
    (claim("above", "A", "B"), dict(zip("AB", SERVER, strict=True)), "supported", "on dev",
     "c: dev 70.0 (A) against dev 65.0 (B): difference 5.0"),
    (claim("above", "A", "B", test_alone=True), dict(zip("AB", SERVER, strict=True)), WITHOUT, "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "cells", "verdict", "remark", "numbers"), LACKING)
def test_parts_that_have_numbers_decide_where_they_suffice(
    statement: Statement, cells: dict[str, Any], verdict: str, remark: str, numbers: str
):
    found = on_ours(statement, **cells)
    assert (found.verdict, found.remark) == (verdict, remark)
    assert found.numbers.startswith(numbers)


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [((2.0, 2.0, None), (1.0, 1.0, 1.0), "supported"), ((1.0, 0.0, None), (1.0, 1.0, 1.0), "not supported"),
     ((2.0, 0.0, None), (1.0, 1.0, 1.0), "inconclusive, the means point to no"),
     ((2.0, None, None), (1.0, 1.0, 1.0), "inconclusive, the means point to yes")],
)  # fmt: skip
def test_most_columns_decide_before_all_have_numbers(a: tuple[Any, ...], b: tuple[Any, ...], verdict: str):
    lines = [
        line(value, row=row, column=column, status=Status.MISSING if value is None else Status.OK)
        for row, values in (("A", a), ("B", b))
        for column, value in zip("xyz", values, strict=True)
    ]
    found = judge_means(
        claim("mostly-above", "A", "B", "xyz"), our_numbers({"table1": REPORTED}, {"table1": frame(lines)})
    )
    assert ", ".join(filter(None, (found.verdict, found.remark.rpartition(", ")[0]))) == verdict


def test_a_claim_without_cells_says_what_would_decide_it():
    statement = Statement.model_validate({"says": "x", "where": "y", "undecided": "the hours of both"})
    sides = (
        judge_means(statement, reported_numbers({})),
        judge_runs(statement, our_numbers({}, {}), lambda _: AssumedSpread(0.6)),
    )
    for found, word in zip(sides, ("not reported", "not tested"), strict=True):
        assert (found.verdict, found.remark, found.numbers) == (word, "", "the hours of both")


def test_averages_are_taken_anew_and_shown_where_they_turn_a_verdict():
    columns = [{**COLUMN[0], "label": x, "subset": x} for x in "xy"]
    columns += [{"label": "c", "mean_of": ["x", "y"]}]
    exhibits = {"table1": reported({"A": "70.0 | 80.0 | 75.0", "B": "70.0 | 78.0 | 76.0"}, columns)}
    side = reported_numbers(exhibits)
    found = judge_reported(claim("above", "A", "B"), side, recomputed_averages(side, exhibits))
    remark = "on averages of the reported columns, not supported as reported"
    assert (found.verdict, found.remark) == ("supported", remark)
    assert found.numbers.endswith("Averages of the reported columns: c: 75.00 (A) against 74.00 (B): difference 1.0")


@pytest.mark.parametrize(("a", "b", "word"), [("70.1", "70.1", "tied"), ("70.1", "70.2", "not supported")])
def test_what_rounding_alone_contradicts_is_tied(a: str, b: str, word: str):
    exhibits = {"table1": reported({"A": a, "B": b}, [{**COLUMN[0], "label": "c"}])}
    assert judge_means(claim("above", "A", "B"), reported_numbers(exhibits)).verdict == word


def test_the_claims_are_shown_with_their_reasons(here: Path):
    other = {"other_readings": {"far": {"says": "by <far>", "compare": "mostly-above"}}}
    claims = {"one": {**CLAIMS["a-beats-b"], "why": "a <reason>", "reading": "one of <two>", **other}}
    config = write_study(here / "study", claims=claims)
    made(config)
    check_claims(
        quiet(), config, "tiny", ["results/tables/tiny/table1.csv"], "c.json", {"md": "c.md", "html": "c.html"}
    )
    text, page = Path("c.md").read_text(), Path("c.html").read_text()
    assert text.splitlines()[2:6] == ["Claims: 1.", "", "- Recorded run: 1 supported.", "- This run: 1 inconclusive."]
    assert all(each in text for each in (r"A beats B & \<co\>.", r"Why: a \<reason\>.", r"Reading: one of \<two\>."))
    assert r"*read as: by \<far\>:* **supported**" in text
    escaped = ("A beats B &amp; &lt;co&gt;.", "Why: a &lt;reason&gt;.", "Reading: one of &lt;two&gt;.",
               "Read as: by &lt;far&gt;.")  # fmt: skip
    # reported: 70 against 60; ours: 72 against 70
    assert all(each in page for each in (*escaped, "difference 10.0", "difference 2.0"))


def test_a_row_with_a_run_far_from_its_others_is_named_with_the_signs_by_seed():
    rows = {
        "B": line(72.0, ours=14.0, n=4, by_seed={1: 79.0, 2: 80.0, 3: 78.0, 4: 51.0}),
        "C": line(75.0, ours=1.0, n=4, by_seed={1: 74.0, 2: 75.0, 3: 75.0, 4: 76.0}),
    }
    found = on_ours(claim("above", "B", "C"), **rows)
    assert "a run of B is far from the others; signs by seed: + + + -" in found.remark
    assert "far from" not in on_ours(claim("above", "B", "C"), B=line(75.0), C=rows["C"]).remark
