"""Tests of what a paper says about its numbers: each comparison, true and false, on print and on ours; mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.judgement.comparisons import comparisons
from retort.specs import catalogue
from retort.specs.config import read_config
from retort.study.load import read

from tests.tiny.printed import ACC, found, study_config, table

TWO = table([ACC, {**ACC, "label": "QA", "task": "qa"}], {"a": "60.0 | 80.0", "b": "50.0 | 82.0"}, 4)
A, B = ({"table": "table1", "rows": [row], "columns": ["Coin"]} for row in "ab")
Q = {**A, "columns": ["QA"]}
BOTH = [{"table": "table1", "rows": [row], "columns": ["Coin", "QA"]} for row in "ab"]
EITHER = {"table": "table1", "rows": ["a", "b"], "columns": ["Coin", "QA"]}
COIN = {**EITHER, "columns": ["Coin"]}
STATEMENTS: list[tuple[dict[str, Any], str | None]] = [
    ({"compare": "value", "number": "60.0", "cells": [A]}, None),
    ({"compare": "value", "number": "60.1", "cells": [A]}, "60.0"),
    ({"compare": "difference", "number": "10.0", "cells": [A], "than": [B]}, None),
    ({"compare": "difference", "number": "9.8", "cells": [A], "than": [B]}, "10.0"),
    ({"compare": "percent", "number": "83.3%", "cells": [B], "than": [A]}, None),
    ({"compare": "percent", "number": "80%", "cells": [B], "than": [A]}, "83.3"),
    ({"compare": "percent", "number": "80%", "within": 5, "cells": [B], "than": [A]}, None),
    ({"compare": "times", "number": "1.2×", "cells": [A], "than": [B]}, None),
    ({"compare": "times", "number": "1.5×", "cells": [A], "than": [B]}, "1.2"),
    ({"compare": "at-least-percent", "number": "83%", "cells": [B], "than": [A]}, None),
    ({"compare": "at-least-percent", "number": "84%", "cells": [B], "than": [A]}, "83.3"),
    ({"compare": "above", "cells": [A], "than": [B]}, None),
    ({"compare": "above", "cells": BOTH[:1], "than": BOTH[1:]}, "QA: 80.0 (a) against 82.0 (b)"),
    ({"compare": "above", "cells": [A], "than": [A]}, "Coin: 60.0 (a) against 60.0 (a)"),
    ({"compare": "not-below", "cells": [A], "than": [A]}, None),
    ({"compare": "not-below", "cells": [B], "than": [A]}, "Coin: 50.0 (b) against 60.0 (a)"),
    ({"compare": "not-rising", "cells": [A, B]}, None),
    ({"compare": "not-rising", "cells": BOTH[:1]}, "60.0 (a, Coin), then 80.0 (a, QA)"),
    ({"compare": "not-falling", "cells": BOTH[:1]}, None),
    ({"compare": "not-falling", "cells": [A, B]}, "60.0 (a, Coin), then 50.0 (b, Coin)"),
    ({"compare": "exceeds", "cells": [Q], "than": [A]}, None),
    ({"compare": "exceeds", "cells": [A], "than": [Q]}, "Coin: 60.0 (a) against 80.0 (a)"),
    ({"compare": "above-by", "number": "10", "cells": [A], "than": [B]}, None),
    ({"compare": "above-by", "number": "11", "cells": [A], "than": [B]}, "Coin: 60.0 (a) against 50.0 (b)"),
    ({"compare": "best-above", "cells": [{**A, "rows": ["a", "b"]}], "than": [B]}, None),
    ({"compare": "best-above", "cells": BOTH[:1], "than": [EITHER]},
     "Coin: 60.0 (a) against 60.0 (a); QA: 80.0 (a) against 82.0 (b)"),
    ({"compare": "best-not-below", "cells": [EITHER], "than": BOTH[:1]}, None),
    ({"compare": "best-not-below", "cells": BOTH[:1], "than": [EITHER]}, "QA: 80.0 (a) against 82.0 (b)"),
    ({"compare": "mostly-above", "cells": [A], "than": [B]}, None),
    ({"compare": "mostly-above", "cells": BOTH[:1], "than": BOTH[1:]},
     "1 of 2 columns; not QA: 80.0 (a) against 82.0 (b)"),
    ({"compare": "best-mostly-above", "cells": [{**A, "rows": ["a", "b"]}], "than": [B]}, None),
    ({"compare": "best-mostly-above", "cells": [EITHER], "than": BOTH[1:]},
     "1 of 2 columns; not QA: 82.0 (b) against 82.0 (b)"),
    ({"compare": "near", "within": 10, "cells": BOTH[:1], "than": BOTH[1:]}, None),
    ({"compare": "near", "within": 9, "cells": BOTH[:1], "than": BOTH[1:]}, "Coin: 60.0 (a) against 50.0 (b)"),
    ({"compare": "best-near", "within": 0, "cells": [EITHER], "than": [EITHER]}, None),
    ({"compare": "best-near", "within": 1, "cells": [EITHER], "than": BOTH[:1]}, "QA: 82.0 (b) against 80.0 (a)"),
    ({"compare": "gains-more", "cells": [{**A, "rows": ["b", "a"]}], "than": [{**A, "rows": ["a", "b"]}]}, None),
    ({"compare": "gains-more", "cells": [{**A, "rows": ["a", "b"]}], "than": [{**A, "rows": ["b", "a"]}]},
     "Coin: −10.0 (a, then b) against 10.0 (b, then a)"),
    ({"compare": "at-most-percent", "number": "83%", "cells": [B], "than": [A]}, None),
    ({"compare": "at-most-percent", "number": "80%", "cells": [B], "than": [A]}, "83.3"),
    ({"compare": "mostly-not-below", "cells": [A], "than": [A]}, None),
    ({"compare": "mostly-not-below", "cells": BOTH[:1], "than": BOTH[1:]},
     "1 of 2 columns; not QA: 80.0 (a) against 82.0 (b)"),
    ({"compare": "best-mostly-not-below", "cells": [EITHER], "than": BOTH[1:]}, None),
    ({"compare": "best-mostly-not-below", "cells": BOTH[:1], "than": [EITHER]},
     "1 of 2 columns; not QA: 80.0 (a) against 82.0 (b)"),
    ({"compare": "rises", "cells": [B, A]}, None),
    ({"compare": "rises", "cells": [A, B]}, "60.0, 50.0"),
    ({"compare": "mean-above", "cells": [A], "than": [B]}, None),
    ({"compare": "mean-above", "cells": [B], "than": [A]}, "means: 50.00 (b) against 60.00 (a)"),
    ({"compare": "mean-near", "within": 10, "cells": [A], "than": [B]}, None),
    ({"compare": "mean-near", "within": 9, "cells": [B], "than": [A]}, "means: 50.00 (b) against 60.00 (a)"),
    ({"compare": "varies-less", "cells": [A], "than": [COIN]}, None),
    ({"compare": "varies-less", "cells": [COIN], "than": [A]}, "50.0 to 60.0 (a, b) against 60.0 to 60.0 (a)"),
    ({"compare": "mostly-above-each", "cells": [A], "than": [B]}, None),
    ({"compare": "mostly-above-each", "cells": BOTH[:1], "than": BOTH[1:]},
     "b: 1 of 2 columns; not QA: 80.0 (a) against 82.0 (b)"),
    ({"compare": "none-dominates", "cells": [EITHER]}, None),
    ({"compare": "none-dominates", "cells": [COIN]}, "a: best in 1 of 1 columns"),
    ({"compare": "columns-not-rising", "cells": [COIN]}, None),
    ({"compare": "columns-not-rising", "cells": [EITHER]}, "80.0 (a, QA), then 82.0 (b)"),
    ({"compare": "largest-gain", "number": "10.0", "cells": BOTH[:1], "than": BOTH[1:]}, None),
    ({"compare": "largest-gain", "number": "8.0", "cells": BOTH[:1], "than": BOTH[1:]}, "10.0"),
    ({"compare": "first-column-gains-most", "cells": BOTH[:1], "than": BOTH[1:]}, None),
    ({"compare": "first-column-gains-most", "cells": BOTH[1:], "than": BOTH[:1]},
     "QA: 2.0 (a, then b) against −10.0"),
    ({"compare": "last-column-gains-most", "cells": BOTH[1:], "than": BOTH[:1]}, None),
    ({"compare": "last-column-gains-most", "cells": BOTH[:1], "than": BOTH[1:]}, "Coin: 10.0; QA: −2.0"),
    ({"compare": "gains-considerably", "within": 5, "cells": [A], "than": [B]}, None),
    ({"compare": "gains-considerably", "within": 10, "cells": [A], "than": [B]}, "Coin: 10.0 (b, then a)"),
    ({"compare": "gains-little", "within": 10, "cells": [A], "than": [B]}, None),
    ({"compare": "gains-little", "within": 5, "cells": [A], "than": [B]}, "Coin: 10.0 (b, then a)"),
    ({"compare": "mostly-above-counterparts", "cells": [A], "than": [B]}, None),
    ({"compare": "mostly-above-counterparts", "cells": BOTH[:1], "than": BOTH[1:]},
     "1 of 2 pairs; not QA: 80.0 (a) against 82.0 (b)"),
    ({"compare": "mean-percent", "number": "83%", "cells": [B], "than": [A]}, None),
    ({"compare": "mean-percent", "number": "90%", "cells": [B], "than": [A]}, "83.3"),
    ({"compare": "two-texts", "number": "256", "other": "256"}, None),
    ({"compare": "two-texts", "number": "256", "other": "128"}, "128"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "against"), STATEMENTS)
def test_a_statement_holds_or_not(tmp_path: Path, statement: dict[str, Any], against: str | None) -> None:
    said = {"says": "something", "where": "section 1", **statement}
    findings = found(tmp_path, "texts", statements={"one": said}, table1=TWO)
    assert [one.other for one in findings] == ([] if against is None else [against])


def test_every_comparison_has_both_cases() -> None:
    for name in set(comparisons) - {"diverges"}:  # on print nothing diverges; see the tests of claims
        assert {against is None for statement, against in STATEMENTS if statement["compare"] == name} == {True, False}


def test_comparisons_are_read_without_importing_them() -> None:
    assert list(catalogue.comparisons()) == list(comparisons)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"compare": "valu"}, "no comparison is called 'valu'; did you mean 'value'?"),
        ({"cells": [{**A, "table": "table2"}]}, "no table is called 'table2'; there are: table1"),
        ({"cells": [{**A, "rows": ["c"]}]}, "no row is called 'c'"),
        ({"cells": [{**A, "columns": ["Coins"]}]}, "no number in column is called 'Coins'; did you mean 'Coin'?"),
        ({"number": "sixty"}, "'sixty' is not a number as papers print it"),
        ({"number": ""}, "one: comparison 'value' needs 'number'"),
        ({"cells": []}, "held against 'cells' of tables or against the 'other' number"),
        ({"undecided": "a run"}, "held against 'cells' of tables or against the 'other' number"),
        ({"cells": [], "undecided": "a run"}, "names the comparison in 'compare', unless it has 'undecided'"),
        ({"cells": [], "compare": None, "number": "", "undecided": "a run"}, "one: 'undecided' is for claims"),
        ({"cells": [], "compare": None, "number": "", "but": "it is not"}, None),
        ({"compare": "gains-little", "within": 1, "than": [B, A]}, None),
        (
            {"compare": "gains-little", "within": 1, "cells": [A, B], "than": [B, A, A]},
            "'gains-little' takes for each of the 'cells' one of 'than' in its column",
        ),
        ({"compare": "mean-percent", "than": [B, A]}, "'mean-percent' takes as many 'cells' as 'than'"),
        ({"compare": "difference"}, "one: comparison 'difference' needs 'than'"),
        ({"cells": BOTH[:1]}, "one: comparison 'value' takes one cell a side"),
        ({"compare": "above", "than": [Q]}, "one: column 'Coin' stands on one side of the comparison only"),
        ({"compare": "near", "than": [B]}, "one: comparison 'near' needs 'within'"),
    ],
)
def test_a_mistake_in_a_statement(tmp_path: Path, change: dict[str, Any], said: str | None) -> None:
    statement = {"says": "s", "where": "w", "compare": "value", "number": "60.0", "cells": [A], **change}
    statement = {key: value for key, value in statement.items() if value is not None}
    problems = read(read_config(study_config(tmp_path, statements={"one": statement}, table1=TWO)))[1]
    if said is None:
        assert problems == []
        return
    assert len(problems) == 1
    assert said in problems[0]
    assert "audit.yaml" in problems[0]
