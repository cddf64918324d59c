"""Tests of what a paper says about its numbers: each comparison, true and false, on print and on ours; mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.specs import catalogue
from retort.specs.config import read_config
from retort.study.load import read
from retort.tables.comparisons import comparisons

from tests.tiny.printed import ACC, found, study_config, table

TWO = table([ACC, {**ACC, "label": "QA", "task": "qa"}], {"a": "60.0 | 80.0", "b": "50.0 | 82.0"}, 4)
A, B = ({"table": "table1", "rows": [row], "columns": ["Coin"]} for row in "ab")
Q = {**A, "columns": ["QA"]}
BOTH = [{"table": "table1", "rows": [row], "columns": ["Coin", "QA"]} for row in "ab"]
EITHER = {"table": "table1", "rows": ["a", "b"], "columns": ["Coin", "QA"]}
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
    ({"compare": "gains-more", "cells": [{**A, "rows": ["b", "b"]}], "than": [{**A, "rows": ["b", "a"]}]},
     "Coin: 0.0 (b, then b) against 10.0 (b, then a)"),
    ({"compare": "two-texts", "number": "256", "other": "256"}, None),
    ({"compare": "two-texts", "number": "256", "other": "128"}, "128"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "against"), STATEMENTS)
def test_a_statement_holds_or_not(tmp_path: Path, statement: dict[str, Any], against: str | None) -> None:
    said = {"says": "something", "where": "section 1", **statement}
    findings = found(tmp_path, "texts", statements={"one": said}, table1=TWO)
    assert [one.other for one in findings] == ([] if against is None else [against])


def test_every_comparison_has_both_cases() -> None:
    for name in comparisons:
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
        ({"compare": "difference"}, "one: comparison 'difference' needs 'than'"),
        ({"cells": BOTH[:1]}, "one: comparison 'value' takes one cell a side"),
        ({"compare": "above", "than": [Q]}, "one: column 'Coin' stands on one side of the comparison only"),
        ({"compare": "near", "than": [B]}, "one: comparison 'near' needs 'within'"),
    ],
)
def test_a_mistake_in_a_statement(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    statement = {"says": "s", "where": "w", "compare": "value", "number": "60.0", "cells": [A], **change}
    problems = read(read_config(study_config(tmp_path, statements={"one": statement}, table1=TWO)))[1]
    assert len(problems) == 1
    assert said in problems[0]
    assert "audit.yaml" in problems[0]
