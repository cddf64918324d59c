"""Tests of claims: judged on the printed numbers and on ours, with the numbers and the spread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.figures.layers import LayersFigure
from retort.judgement.judge import ours, published, recomputed
from retort.results.tidy import Line, Status
from retort.specs.config import Config
from retort.specs.paper import Statement
from retort.study.load import open_study
from retort.tables.claims import check_claims, judge_all, judge_one, judge_published
from retort.tables.kinds.scores import ScoresTable

from tests.tiny.printed import with_block
from tests.tiny.results import line, made, quiet
from tests.tiny.variant import CLAIMS, write_study

ROWS = ["A", "B", "C"]


def table(cells: dict[str, str], runs: int = 0, **column: Any) -> ScoresTable:
    """Return a printed table with one column."""
    rows = [{"label": label, "planned": f"p-{label}", "cells": text} for label, text in cells.items()]
    content = {"kind": "scores", "title": "T", "question": "Q?", "numbers": len(cells), "runs": runs,
               "columns": [{"label": "c", "task": "t", "metric": "accuracy", **column}], "rows": rows}  # fmt: skip
    return ScoresTable.model_validate(with_block(content))


def claim(compare: str, rows: list[str], than: list[str], **more: Any) -> Statement:
    """Return a claim about some rows of one column."""
    given = {"cells": [{"table": "table1", "rows": rows, "columns": ["c"]}]}
    given |= {"than": [{"table": "table1", "rows": than, "columns": ["c"]}]} if than else {}
    return Statement.model_validate({"says": "x", "where": "y", "compare": compare, **given, **more})


ABOVE = claim("above", ["A", "B"], ["C"])
PRINTED = table({"A": "75.0±1.0", "B": "70.0±1.0", "C": "60.0±1.0"}, runs=3)


def on_ours(statement: Statement, lines: list[Line]) -> Any:
    """Judge the statement on our numbers."""
    exhibits, tables = {"table1": PRINTED}, {"table1": lines}
    return judge_one(statement, ours(exhibits, tables))


@pytest.mark.parametrize(
    ("c", "verdict", "remark"),
    [(60.0, "holds", ""), (71.0, "does not hold", "within the spread"), (70.0, "does not hold", "within the spread"),
     (69.0, "holds", "within the spread"), (75.1, "does not hold", "")],
)  # fmt: skip
def test_the_closest_pair_decides(c: float, verdict: str, remark: str):
    lines = [line(75.0, row="A"), line(70.0, row="B"), line(c, row="C")]
    found = on_ours(ABOVE, lines)
    assert (found.verdict, found.remark) == (verdict, remark)
    assert f"c: 70.0 ± 1.0 (B) against {c:.1f} ± 1.0 (C)" in found.numbers
    closest = f"at worst {70 - c:.1f}" if c > 75 else f"difference {70 - c:.1f}"
    assert found.numbers.endswith(closest.replace("-", "−"))


def test_the_spread_of_a_paper_counts_by_its_runs():
    for runs, std, remark in ((3, "1.0", "within the spread"), (0, "1.0", ""), (3, "0.1", "")):
        printed = {"A": f"75.0±{std}", "B": f"70.0±{std}", "C": f"69.5±{std}"}
        found = judge_one(ABOVE, published({"table1": table(printed, runs=runs)}))
        assert (found.verdict, found.remark) == ("holds", remark)


def test_our_spread_says_nothing_of_printed_numbers():
    study = open_study(Config())
    made = {"table1": [line(70.0, 70.0, std=50.0, row=label) for label in ROWS], "table2": [], "table3": []}
    with_ours = [item.published for item in judge_all(study, "pocket", made)]
    assert with_ours == [item.published for item in judge_all(study, "pocket", {name: [] for name in made})]


# number in the text, difference of our cells, verdict
REACHED = [("5.0", 5.0, True), ("5.0", 9.0, True), ("5.0", 4.96, True), ("5.0", 4.9, False), ("5.0", -6.0, False),
           ("-5.0", -6.0, True), ("-5.0", 6.0, False), ("0.0", -1.0, False)]  # fmt: skip


@pytest.mark.parametrize(("number", "apart", "holds"), REACHED)
def test_on_ours_a_number_has_to_be_reached(number: str, apart: float, holds: bool):
    lines = [line(60.0 + apart, row="A"), line(60.0, row="B")]
    found = on_ours(claim("difference", ["A"], ["B"], number=number), lines)
    assert (found.verdict == "holds") is holds
    assert found.numbers.endswith(f"{apart:.1f}; the text says {number}")


def test_on_print_a_number_has_to_be_met():
    exhibits = {"table1": PRINTED}
    for number, verdict in (("5.0", "holds"), ("4.0", "does not hold")):
        found = judge_one(claim("difference", ["A"], ["B"], number=number), published(exhibits))
        assert found.verdict == verdict


def test_allowed_distance_counts_on_ours_as_well():
    lines = [line(64.0, row="A"), line(60.0, row="B")]
    assert on_ours(claim("difference", ["A"], ["B"], number="5.0", within=1.0), lines).verdict == "holds"
    assert on_ours(claim("difference", ["A"], ["B"], number="5.0", within=0.5), lines).verdict == "does not hold"


def test_numbers_of_parameters_are_met_and_not_reached():
    lines = [Line("p", "table1", row, "c", "s", "", "parameters", "M", mean=mean) for row, mean in
             (("A", 61.5), ("B", 100.0))]  # fmt: skip
    assert on_ours(claim("percent", ["A"], ["B"], number="50%"), lines).verdict == "does not hold"
    scores = [line(61.5, row="A"), line(100.0, row="B")]
    assert on_ours(claim("percent", ["A"], ["B"], number="50%"), scores).verdict == "holds"


def test_a_claim_without_numbers_is_open_and_says_why():
    lines = [
        line(75.0, row="A"),
        line(None, row="B", status=Status.MISSING, reason="seed 1 of 3"),
        line(None, row="C", status=Status.NOT_RUN),
    ]
    found = on_ours(ABOVE, lines)
    assert (found.verdict, found.remark) == ("cannot be decided", "at this scale")
    assert found.numbers == "no number for B: missing (seed 1 of 3); no number for C: not run at this scale"


MANY = table({"A": "75.0", "B": "70.0", "C": "60.0", "D": "50.0"})


def one_missing(compare: str, than: list[str], *lines: Line, **more: Any) -> tuple[str, str]:
    """Judge row A against others on our numbers, of which some are missing."""
    found = judge_one(claim(compare, ["A"], than, **more), ours({"table1": MANY}, {"table1": list(lines)}))
    return found.verdict, found.remark


A75, B70, B80 = line(75.0, row="A"), line(70.0, row="B"), line(80.0, row="B")
C_GONE = line(None, row="C", status=Status.MISSING, reason="no file")
C_DIVERGED = line(None, row="C", status=Status.DIVERGED, reason="at step 9")


def test_parts_that_have_numbers_decide_where_they_suffice():
    # one rival above is enough; two rivals below are not, as long as the third may be above
    assert one_missing("above", ["B", "C"], A75, B80, C_GONE)[0] == "does not hold"
    assert one_missing("above", ["B", "C"], A75, B70, C_GONE) == ("holds so far", "2 of 3 cells")
    assert one_missing("near", ["B", "C"], A75, B70, C_GONE, within=1.0)[0] == "does not hold"
    assert one_missing("best-above", ["B", "C"], A75, B70, C_GONE) == ("cannot be decided", "at this scale")
    found = on_ours(claim("above", ["A"], ["B", "C"]), [A75, line(70.0, row="B"), C_DIVERGED])
    assert found.numbers.startswith(
        "c: 75.0 ± 1.0 (A) against 70.0 ± 1.0 (B): difference 5.0; no number for C: diverged at step 9"
    )


def test_most_columns_decide_before_all_have_numbers():
    content = {"kind": "scores", "title": "T", "question": "Q?", "numbers": 0,
               "columns": [{"label": x, "task": "t", "metric": "accuracy", "subset": x} for x in "xyz"],
               "rows": [{"label": label, "planned": label, "cells": "- | - | -"} for label in "AB"]}  # fmt: skip
    exhibits = {"table1": ScoresTable.model_validate(with_block(content))}
    cells = {name: [{"table": "table1", "rows": [name], "columns": list("xyz")}] for name in "AB"}
    most = Statement.model_validate({"says": "x", "where": "y", "compare": "mostly-above",
                                     "cells": cells["A"], "than": cells["B"]})  # fmt: skip

    def verdict(*values: tuple[str, float | None, float | None]) -> str:
        lines = [
            line(value, row=row, column=column) if value is not None
            else line(None, row=row, column=column, status=Status.MISSING, reason="r")
            for column, *both in values for row, value in zip("AB", both, strict=True)
        ]  # fmt: skip
        return judge_one(most, ours(exhibits, {"table1": lines})).verdict

    assert verdict(("x", 2.0, 1.0), ("y", 2.0, 1.0), ("z", None, 1.0)) == "holds"
    assert verdict(("x", 1.0, 1.0), ("y", 0.0, 1.0), ("z", None, 1.0)) == "does not hold"
    assert verdict(("x", 2.0, 1.0), ("y", 0.0, 1.0), ("z", None, 1.0)) == "does not hold so far"
    assert verdict(("x", 2.0, 1.0), ("y", None, 1.0), ("z", None, 1.0)) == "holds so far"


def test_a_training_that_diverges_can_be_what_a_claim_says():
    statement = claim("diverges", ["C"], [])
    assert on_ours(statement, [C_DIVERGED]).verdict == "holds"
    assert on_ours(statement, [line(60.0, row="C")]).verdict == "does not hold"
    assert on_ours(statement, [C_GONE]).verdict == "cannot be decided"
    assert judge_one(statement, published({"table1": PRINTED})).verdict == "does not hold"
    found = on_ours(claim("diverges", ["B", "C"], []), [line(None, row="B", status=Status.MISSING), C_DIVERGED])
    assert (found.verdict, found.remark) == ("holds so far", "1 of 2 cells")


def test_scores_on_dev_stand_in_for_a_test_server_unless_the_claim_is_about_test_sets():
    lines = [line(None, row=row, status=Status.SERVER, dev=value) for row, value in (("A", 70.0), ("B", 65.0))]
    found = on_ours(claim("above", ["A"], ["B"]), lines)
    assert (found.verdict, found.remark) == ("holds", "on dev")
    assert found.numbers == "c: dev 70.0 (A) against dev 65.0 (B): difference 5.0"
    assert on_ours(claim("above", ["A"], ["B"], test_alone=True), lines).verdict == "cannot be decided"


def test_a_claim_without_cells_says_what_would_decide_it():
    statement = Statement.model_validate({"says": "x", "where": "y", "undecided": "the hours of both"})
    for side in (published({}), ours({}, {})):
        found = judge_one(statement, side)
        assert (found.verdict, found.remark, found.numbers) == ("cannot be decided", "", "the hours of both")


def test_averages_are_taken_anew_and_shown_where_they_turn_a_verdict():
    columns = [{"label": x, "task": "t", "metric": "accuracy", "subset": x} for x in "xy"]
    content = {"kind": "scores", "title": "T", "question": "Q?", "numbers": 6,
               "columns": [*columns, {"label": "Avg", "mean_of": ["x", "y"]}],
               "rows": [{"label": "A", "planned": "A", "cells": "70.0 | 80.0 | 75.0"},
                        {"label": "B", "planned": "B", "cells": "70.0 | 78.0 | 76.0"}]}  # fmt: skip
    exhibits = {"table1": ScoresTable.model_validate(with_block(content))}
    cells = {name: [{"table": "table1", "rows": [name], "columns": ["Avg"]}] for name in "AB"}
    above = Statement.model_validate({"says": "x", "where": "y", "compare": "above",
                                      "cells": cells["A"], "than": cells["B"]})  # fmt: skip
    side = published(exhibits)
    found = judge_published(above, side, recomputed(side, exhibits))
    assert (found.verdict, found.remark) == ("does not hold", "holds on averages of the printed columns")
    assert found.numbers.endswith("Averages of the printed columns: Avg: 75.00 (A) against 74.00 (B): difference 1.0")


def test_points_of_a_figure_are_cells():
    figure = LayersFigure(
        kind="layers", title="T", question="Q?", task="t", metric="accuracy", planned={1: "a", 2: "b"}
    )
    exhibits = {"figure1": figure}
    parts = {"table": "figure1", "columns": ["accuracy"]}
    statement = Statement.model_validate(
        {"says": "x", "where": "y", "compare": "above", "cells": [{**parts, "rows": ["layer 2"]}],
         "than": [{**parts, "rows": ["layer 1"]}]}
    )  # fmt: skip
    planned = {"figure1": [line(None, row=f"layer {n}", column="accuracy", status=Status.PLANNED) for n in (1, 2)]}
    drawn = {"figure1": [line(60.0, row=f"layer {n}", column="accuracy") for n in (1, 2)]}
    paper = judge_one(statement, published(exhibits))
    assert (paper.verdict, paper.numbers) == ("cannot be decided", "no number for layer 2, layer 1: nothing is printed")
    side = judge_one(statement, ours(exhibits, planned))
    assert side.numbers == "no number for layer 2, layer 1: not run: this row has no student yet"
    assert judge_one(statement, ours(exhibits, drawn)).verdict == "does not hold"


def test_check_claims(config: dict[str, Any]):
    made(config)
    check_claims(
        quiet(), config, "tiny", ["results/tables/tiny/table1.csv"], {"md": "claims.md", "html": "claims.html"}
    )
    first = "Claims: 1. On the published numbers: holds 1. On ours, at this scale: holds 1."
    assert Path("claims.md").read_text().splitlines()[2] == first
    assert "A beats B & \\<co\\>." in Path("claims.md").read_text()
    page = Path("claims.html").read_text()
    assert first in page
    assert "A beats B &amp; &lt;co&gt;." in page
    assert "difference 10.0" in page  # published: 70 against 60
    assert "difference 2.0" in page  # ours: 72 against 70


def test_a_reason_stands_beside_its_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    claims = {"one": {**CLAIMS["a-beats-b"], "why": "a <reason>", "reading": "one of <two>"}}
    config = write_study(tmp_path / "study", claims=claims)
    made(config)
    check_claims(quiet(), config, "tiny", ["results/tables/tiny/table1.csv"], {"md": "c.md", "html": "c.html"})
    assert "Why: a &lt;reason&gt;." in Path("c.html").read_text()
    assert r"Why: a \<reason\>." in Path("c.md").read_text()
    assert "Reading: one of &lt;two&gt;." in Path("c.html").read_text()
    assert r"Reading: one of \<two\>." in Path("c.md").read_text()
