"""Tests of what a paper says about its numbers: each comparison, true and false, reported and ours; mistakes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from retort.formatters import condition_text
from retort.judgement import judge
from retort.judgement.cells import Parts
from retort.judgement.comparisons import Stated, comparisons
from retort.judgement.judge import Side, allows_missing, claim_frame, facts_of
from retort.specs import catalogue
from retort.specs.config import read_config
from retort.specs.paper import Statement
from retort.specs.reported import Number
from retort.study.check_exhibits import GIVEN_BY
from retort.study.load import read_study

from tests.conftest import ROOT
from tests.tiny.reported import ACC, found, study_config, table

TWO = table([ACC, {**ACC, "label": "QA", "task": "qa"}], {"a": "60.0 | 80.0", "b": "50.0 | 82.0"})


def side(*columns: str, rows: tuple[str, ...] = ("a", "b")) -> list[dict[str, Any]]:
    """Return cells of table 1."""
    return [{"table": "table1", "rows": list(rows), "columns": list(columns)}]


A, B = (side("Coin", rows=(row,)) for row in "ab")
AA, BB = (side("Coin", "QA", rows=(row,)) for row in "ab")
Q, COIN, ALL = side("QA", rows=("a",)), side("Coin"), side("Coin", "QA")
B_TO_A = side("Coin", rows=("b", "a"))
AA_BB = "QA: 80.0 (a) against 82.0 (b)"
DRAWN = np.random.default_rng(3).integers(58, 63, (4, 60)).astype(float)  # [cells, resamples]
# comparison, what holds, what does not (cells, than, number or width), and what the table reports instead
STATEMENTS: list[tuple[str, tuple[Any, ...], tuple[Any, ...], str]] = [
    ("value", (A, None, "60.0"), (A, None, "60.1"), "60.0"),
    ("difference", (A, B, "10.0"), (A, B, "9.8"), "10.0"),
    ("percent", (B, A, "83.3%"), (B, A, "80%"), "83.3"),
    ("percent", (B, A, "80%", 5), (B, A, "80%", 1), "83.3"),
    ("times", (A, B, "1.2×"), (A, B, "1.5×"), "1.2"),
    ("at-least-percent", (B, A, "83%"), (B, A, "84%"), "83.3"),
    ("at-most-percent", (B, A, "83%"), (B, A, "80%"), "83.3"),
    ("mean-percent", (B, A, "83%"), (B, A, "90%"), "83.3"),
    ("above", (A, B), (AA, BB), AA_BB),
    ("above", (A, B), (A, A), "Coin: 60.0 (a) against 60.0 (a)"),
    ("exceeds", (Q, A), (A, Q), "Coin: 60.0 (a) against 80.0 (a)"),
    ("not-below", (A, A), (B, A), "Coin: 50.0 (b) against 60.0 (a)"),
    ("falls-at-each-step", ([*A, *B],), (AA,), "60.0 (a, Coin), then 80.0 (a, QA)"),
    ("rises-at-each-step", (AA,), ([*A, *B],), "60.0 (a, Coin), then 50.0 (b, Coin)"),
    ("rises", ([*B, *A],), ([*A, *B],), "60.0, 50.0"),
    ("columns-fall-at-each-step", (COIN,), (ALL,), "80.0 (a, QA), then 82.0 (b)"),
    ("best-above", (COIN, B), (AA, ALL), f"Coin: 60.0 (a) against 60.0 (a); {AA_BB}"),
    ("best-not-below", (ALL, AA), (AA, ALL), AA_BB),
    ("mostly-above", (A, B), (AA, BB), f"1 of 2 columns; not {AA_BB}"),
    ("mostly-above-each", (A, B), (AA, BB), f"b: 1 of 2 columns; not {AA_BB}"),
    ("mostly-above-counterparts", (A, B), (AA, BB), f"1 of 2 pairs; not {AA_BB}"),
    ("best-mostly-above", (COIN, B), (ALL, BB), "1 of 2 columns; not QA: 82.0 (b) against 82.0 (b)"),
    ("best-mostly-not-below", (ALL, BB), (AA, ALL), f"1 of 2 columns; not {AA_BB}"),
    ("none-dominates", (ALL,), (COIN,), "a: best in 1 of 1 columns"),
    ("near", (AA, BB, 10), (AA, BB, 9), "Coin: 60.0 (a) against 50.0 (b)"),
    ("best-near", (ALL, ALL, 0), (ALL, AA, 1), "QA: 82.0 (b) against 80.0 (a)"),
    ("mean-above", (A, B), (B, A), "means: 50.00 (b) against 60.00 (a)"),
    ("mean-near", (A, B, 10), (B, A, 9), "means: 50.00 (b) against 60.00 (a)"),
    ("varies-less", (A, COIN), (COIN, A), "50.0 to 60.0 (a, b) against 60.0 to 60.0 (a)"),
    ("gains-more", (B_TO_A, COIN), (COIN, B_TO_A), "Coin: −10.0 (a, then b) against 10.0 (b, then a)"),
    ("gains-considerably", (A, B, 5), (A, B, 11), "Coin: 10.0 (b, then a)"),
    ("gains-little", (A, B, 10), (A, B, 5), "Coin: 10.0 (b, then a)"),
    ("largest-gain", (AA, BB, "10.0"), (AA, BB, "8.0"), "10.0"),
    ("first-column-gains-most", (AA, BB), (BB, AA), "QA: 2.0 (a, then b) against −10.0"),
    ("last-column-gains-most", (BB, AA), (AA, BB), "Coin: 10.0; QA: −2.0"),
    ("two-texts", (None, None, "256", "256"), (None, None, "256", "128"), "128"),
]


def said(name: str, compare: str, cells: Any, than: Any = None, *more: Any) -> dict[str, Any]:
    """Return a statement; a text next to the sides is its number or the other text's, a number its width."""
    keys = iter(("number", "other"))
    given = {next(keys) if isinstance(value, str) else "within": value for value in more}
    sides = {key: value for key, value in (("cells", cells), ("than", than)) if value}
    return {"says": name, "where": "section 1", "compare": compare, **given, **sides}


def test_statements_that_hold_and_that_do_not(tmp_path: Path) -> None:
    statements, expected = {}, {}
    for number, (compare, right, wrong, against) in enumerate(STATEMENTS):
        for name, sides in ((f"right-{number}", right), (f"wrong-{number}", wrong)):
            statements[name] = said(name, compare, *sides)
        expected[f"wrong-{number}"] = against
    findings = found(tmp_path, "texts", statements=statements, table1=TWO)
    assert {one.reported.partition(" (")[0]: one.other for one in findings} == expected


def test_every_comparison_has_a_case() -> None:  # on the reported numbers nothing diverges; see the tests of claims
    assert {compare for compare, *_ in STATEMENTS} == set(comparisons) - {"diverges"}


def meant(parts: Parts, resample: int) -> set[str]:
    return {name for name, flags in zip(parts.names, parts.flags, strict=True) if flags[resample]}


@pytest.mark.parametrize("numbers", [4, 3, 2])
@pytest.mark.parametrize("name", sorted(comparisons))
def test_all_resamples_are_judged_at_once_as_each_alone(name: str, numbers: int) -> None:
    """Cells a and b of two columns, some without a number where the comparison takes that, with many ties."""
    at = {(row, column): facts_of(Number("60.0", 60.0), 3, 1.0) for column in ("QA", "Coin") for row in "ab"}
    frame = claim_frame({("table1", *key): facts for key, facts in list(at.items())[:numbers]})
    for compared, *cases, _ in [*STATEMENTS, ("diverges", (AA,), (COIN,), "")]:
        for case in cases if compared == name else ():
            statement = Statement.model_validate(said("x", name, *case))
            cells = Side(frame, Stated).cells_of(statement)
            if not (cells.known.all() or allows_missing(statement)):
                continue
            resamples = np.where(cells.known[:, None], DRAWN[: len(cells)], np.nan)
            every = judge.compare(statement, Stated, replace(cells, values=resamples))
            true, undecided = (np.broadcast_to(flags, len(DRAWN[0])) for flags in (every.true, every.open))
            for resample, values in enumerate(resamples.T):
                alone = judge.compare(statement, Stated, replace(cells, values=values[:, None]))
                assert (true[resample], undecided[resample]) == (alone.true[0], alone.open[0])
                assert meant(every.wrong, resample) == meant(alone.wrong, 0)
                assert meant(every.alone, resample) == meant(alone.alone, 0)


def test_comparisons_are_read_without_importing_them() -> None:
    assert list(catalogue.comparisons()) == list(comparisons)


def test_the_guide_lists_the_comparisons_of_claims() -> None:
    guide = (ROOT / "workflow/papers/comparisons.md").read_text()
    listed = re.findall(r"^\| `([a-z-]+)` \| (.*) \| (.*) \|$", guide.partition("| `compare` |")[2], re.MULTILINE)
    assert [name for name, *_ in listed] == [name for name in comparisons if name != "two-texts"]
    for name, needs, holds in listed:
        entry = catalogue.comparisons()[name]
        assert re.findall(r"`(\w+)`", needs) == [GIVEN_BY[option] for option in entry.options]
        assert f"{holds[0].upper()}{holds[1:]}." == condition_text(entry.summary)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"cells": [{**A[0], "columns": ["Coins"]}]}, "no number in column is called 'Coins'; did you mean 'Coin'?"),
        ({"cells": []}, "held against 'cells' of tables or against the 'other' number"),
        ({"undecided": "a run"}, "held against 'cells' of tables or against the 'other' number"),
        ({"cells": [], "undecided": "a run"}, "names the comparison in 'compare', unless it has 'undecided'"),
        ({"cells": [], "compare": None, "number": "", "undecided": "a run"}, "one: 'undecided' is not for audit.yaml"),
        ({"cells": [], "compare": None, "number": "", "but": "it is not"}, None),
        ({"compare": "gains-little", "within": 1, "than": [*B, *A]}, None),
        (
            {"compare": "gains-little", "within": 1, "cells": [*A, *B], "than": [*B, *A, *A]},
            "takes for each of the 'cells'",
        ),
        ({"compare": "mean-percent", "than": [*B, *A]}, "'mean-percent' takes as many 'cells' as 'than'"),
        ({"cells": AA}, "one: comparison 'value' takes one cell a side"),
        ({"compare": "above", "than": Q}, "one: column 'Coin' stands on one side of the comparison only"),
        ({"compare": "near", "than": B}, "one: comparison 'near' needs 'within'"),
        ({"compare": "below"}, "no comparison is called 'below'; take 'above', and swap 'cells' and 'than'"),
        ({"compare": "mostly-lower"}, "'mostly-lower'; take 'mostly-above', and swap 'cells' and 'than'"),
        ({"other_readings": {"x": {"says": "r"}}}, "one: 'other_readings' is not for audit.yaml"),
        ({"because": "of another teacher"}, "'built: differently' and 'because' belong together"),
        ({"compare": None, "number": "", "built": "differently", "because": "of another teacher"}, None),
    ],
)
def test_a_mistake_in_a_statement(tmp_path: Path, change: dict[str, Any], text: str | None) -> None:
    statement = {"says": "s", "where": "w", "compare": "value", "number": "60.0", "cells": A, **change}
    statement = {key: value for key, value in statement.items() if value is not None}
    problems = read_study(read_config(study_config(tmp_path, statements={"one": statement}, table1=TWO)))[1]
    assert len(problems) == (text is not None)
    assert not text or (text in problems[0] and "audit.yaml" in problems[0])
