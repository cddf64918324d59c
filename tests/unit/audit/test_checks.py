"""Tests of each check of the audit, on wrong and on right numbers: of tables, and of entries written by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from retort.audit import audit, checks
from retort.audit.base import Build, Reported, ReportedNumber, look
from retort.audit.numbers import parameters
from retort.specs.config import read_config
from retort.specs.model import Architecture
from retort.specs.paper import Statement
from retort.specs.reported import read_number
from retort.specs.rows import CellSpec, Column
from retort.study.load import read_study

from tests.tiny.edit import write
from tests.tiny.reported import ACC, COMMON, MEAN, found, study_config, table, with_block
from tests.tiny.results import opened

Pairs = list[tuple[str, str]]  # what is reported, and what it would have to be, of each finding
CHANGED = [ACC, {**ACC, "label": "B", "task": "qa"}, {"label": "change", "change_from": "Coin"}]
F1_EM = [{"label": "F1", "task": "qa", "metric": "f1"}, {"label": "EM", "task": "qa", "metric": "exact"}]
F1 = [{**ACC, "metric": "f1"}]
MCC = [{**ACC, "reported": "Mcc", "because": "b"}]
QUOTED = with_block(
    {**COMMON, "kind": "scores", "columns": [ACC], "rows": [{"label": "a", "quoted": "No", "cells": "61.5"}]}
)
MANY = [{**ACC, "label": f"C{i}", "subset": f"p{i}"} for i in range(5)]
FIVE = "1.0 | 2.0 | 3.0 | 4.0 | 5.0"
FIRST = table([ACC], {"a": "61.0"})
# check, tables, findings
TABLES: list[tuple[str, list[Any], Pairs]] = [
    ("averages", [table(MEAN, {"a": "70.0 | 80.1 | 75.1"})], []),
    ("averages", [table(MEAN, {"a": "70.0 | 80.0 | 75.1"})], []),  # 70.04 and 80.04 are possible
    ("averages", [table(MEAN, {"a": "70.0 | 80.0 | 75.2"})], [("75.2", "75.00")]),
    ("averages", [table(MEAN, {"a": "70.0 | - | 75.2"})], []),
    ("changes", [table(CHANGED, {"a": "80.0 | 70.0 | -12.50%"})], []),
    ("changes", [table(CHANGED, {"a": "80.0 | 70.0 | -12.9%"})], [("-12.9%", "-12.50%")]),
    ("changes", [table(CHANGED, {"a": "10.0 | 0.0 | -100%"})], []),
    ("changes", [table(CHANGED, {"a": "10.0 | 0.0 | -90%"})], [("-90%", "-100.00%")]),
    ("changes", [table(CHANGED, {"a": "0.0 | 12.0 | +3.0%", "b": "- | 12.0 | +3.0%", "c": "12.0 | - | +3.0%"})], []),
    ("floors", [table([ACC], {"a": "60.0"})], []),
    ("floors", [table([ACC], {"a": "59.0", "b": "55.5", "c": "60.0"})], [("55.5 to 59.0", "60")]),
    ("floors", [table([ACC], {"a": "59.0"}, split="test")], []),
    ("metrics", [table([ACC], {"a": "59.0"})], []),
    ("metrics", [table(MCC, {"a": "9.0"})], [("the heading Mcc", "accuracy")]),
    ("exact-match", [table(F1_EM, {"a": "70.0 | 70.0"})], []),
    ("exact-match", [table(F1_EM, {"a": "70.0 | 70.1"})], [("70.1", "at most 70.0")]),
    ("reachable", [FIRST], []),
    ("reachable", [table([ACC], {"a": "61.5"})], [("61.5", "62.00")]),
    ("reachable", [table([ACC], {"a": "61.5"}, runs=2)], []),
    ("reachable", [table([ACC], {"a": "61.5"}, runs=0)], []),
    ("reachable", [QUOTED], []),
    ("repeats", [FIRST, table([ACC], {"a": "61"})], []),
    ("repeats", [FIRST, table([ACC], {"a": "62.0"})], [("61.0", "62.0")]),
    ("repeats", [FIRST, table([ACC], {"b": "62.0"})], []),
    ("repeats", [FIRST, table([ACC], {"a": "62.0"}, split="test")], []),
    ("names", [FIRST, table(F1, {"a": "61.0"})], [("61.0 as accuracy", "61.0 as f1")]),
    ("names", [FIRST, table(F1, {"a": "62.0"})], []),
    ("copies", [table(MANY, {"a": FIVE, "b": FIVE})], [("1.0 2.0 3.0 4.0 5.0", "numbers of b")]),
    ("copies", [table(MANY, {"a": FIVE, "b": FIVE.replace("5.0", "5.1")})], []),
]


@pytest.mark.parametrize(("check", "tables", "expected"), TABLES)
def test_a_check_of_tables(tmp_path: Path, check: str, tables: list[Any], expected: Pairs) -> None:
    given = {f"table{number}": content for number, content in enumerate(tables, 1)}
    assert [(one.reported, one.other) for one in found(tmp_path, check, **given)] == expected


def counts(task: str, cells: str, split: str = "dev") -> Any:
    """Return a table with the reported number of rows of a task's split."""
    columns, rows = [{"label": "Size", "split": split}], [{"label": "Coin", "task": task, "cells": cells}]
    return with_block({"kind": "counts", "title": "T", "question": "Q?", "columns": columns, "rows": rows})


@pytest.mark.parametrize(
    ("reported", "split", "expected"),
    [("1k", "train", []), ("2k", "train", ["1,000"]), ("100", "dev", []), ("0.1k", "dev", []), ("99", "dev", ["100"])],
)
def test_sizes_may_be_rounded_or_cut(tmp_path: Path, reported: str, split: str, expected: list[str]) -> None:
    table1 = counts("coin", reported, split)
    assert [one.other for one in found(tmp_path, "sizes", table1=table1)] == expected


def test_a_task_without_facts(tmp_path: Path) -> None:
    (problem,) = read_study(read_config(study_config(tmp_path, table1=counts("coins", "1"))))[1]
    assert "table1.yaml: rows: no data set of facts.yaml is called 'coins'; did you mean 'coin'?" in problem


@pytest.mark.parametrize(("cells", "checks"), [("70.0 | 80.0 | 74.0", {"averages"}), ("69.0 | 80.0 | 74.5", {"texts"})])
def test_a_claim_that_fails_by_a_wrong_average_is_no_finding_of_its_own(
    tmp_path: Path, cells: str, checks: set[str]
) -> None:
    given = {"statements": {"one": above("a", "b")}, "table1": table(MEAN, {"a": cells, "b": "69.5 | 80.0 | 74.8"})}
    assert {check for check in ("averages", "texts") if found(tmp_path / check, check, **given)} == checks


# --- entries written by hand

BASE = Architecture(layers=12, heads=12, hidden=768, intermediate=3072)
BERT = Build("bert", BASE, 30_522, 512, released=True)
STUDENT = Build("bert", BASE.model_copy(update={"layers": 6}), 30_522, 512, ("relations",))
MODELS = {"a-bert": BERT, "b-bert": BERT, "a-student": STUDENT, "b-student": STUDENT, "a-other": STUDENT}
AVERAGE = {"column": "Avg", "metric": "average", "mean_of": ("x", "y"), "task": ""}


def above(row: str, other: str, compare: str = "above") -> dict[str, Any]:
    """Return the claim that the average of a row of table 1 is above that of another one."""
    one, two = ([{"table": "table1", "rows": [name], "columns": ["Avg"]}] for name in (row, other))
    return {"says": "s", "where": "w", "compare": compare, "cells": one, "than": two}


def entry(text: str, paper: str = "a", table: str = "table1", row: str = "r", column: str = "c", runs: int = 0,
          mean_of: tuple[str, ...] = (), heading: str = "", change_from: str = "",
          **cell: Any) -> ReportedNumber:  # fmt: skip
    """Return one reported number; by default an accuracy on dev."""
    spec = Column(label=column, heading=heading, mean_of=list(mean_of), change_from=change_from)
    number = read_number(text)
    assert number is not None
    given = {"task": "rte", "metric": "accuracy", "student": cell.get("identity", ""), **cell}
    return ReportedNumber(paper, table, CellSpec(row=row, column=spec.name, spec=spec, **given), number, runs)


def of_model(text: str, metric: str, name: str = "a-bert", **more: Any) -> ReportedNumber:
    """Return a reported number of a model: its size, its speed, ..."""
    return entry(text, metric=metric, task="", identity=name, row=name, **more)


def findings(check: str, entries: list[ReportedNumber], *statements: dict[str, Any]) -> Pairs:
    """Return what a check finds."""
    said = {"a": [Statement.model_validate(statement) for statement in statements]}
    return [(one.reported, one.other) for one in look(check, Reported({}, entries, said, {}, MODELS)).findings]


def means(*texts: str) -> list[ReportedNumber]:
    """Return a row of averages of three models."""
    given = {"heading": "H", "metric": "average", "task": "", "tasks": {"rte": "accuracy"}, "row": texts[0]}
    named = zip("xyz", texts[1:], strict=True)
    return [entry(text, column=name, identity=f"{texts[0]}-{name}", **given) for name, text in named]


def change(std: str) -> list[ReportedNumber]:
    """Return two latencies with a deviation, and the change from one to the other."""
    times = [of_model(f"{text} ± {std}", "latency", "r", column=name) for name, text in (("x", "4.00"), ("y", "3.80"))]
    return [*times, of_model("-5.00%", "change", "r", column="change", change_from="x", before="y")]


ONE = entry("70.0", identity="a-bert")
X, Y, F1_Y = entry("70.0", column="x"), entry("60.0", column="y"), entry("60.0", column="y", metric="f1")
SPEEDS = [of_model("2.0×", "speed-up", "a-student"), of_model("40.0", "latency", "b-bert", paper="b")]
SERVER = [entry("70.0", row=name, identity=name, split="test") for name in ("a-student", "a-other")]
ON_DEV = [replace(one, cell=replace(one.cell, split="dev")) for one in SERVER]
NAMED, NOT_NAMED = (entry("70.0", row=source, quoted=source) for source in ("Lee (2020)", "a paper that is not named"))
STDS = ["0.00", "0.05", "0.10", "0.06", "0.08", "0.13", "0.14", "0.15", "0.17", "0.19"] * 3
ROUNDED = [entry(f"70.0 ± {std}", row=f"r{at}", runs=4) for at, std in enumerate(STDS)]
APART = [*means("r1", "60.0", "65.0", "70.0"), *means("r2", "60.0", "65.0", "70.0")]
CLOSE = [*means("r1", "60.0", "60.1", "60.2"), *means("r2", "60.0", "60.1", "60.2")]
ACL = [entry(text, table="table1-acl", column=name) for name, text in (("x", "70.0"), ("y", "61.5"))]
SIZE = "108.9M, with the pooler 109.5M"
ENTRIES: list[tuple[str, list[ReportedNumber], Pairs]] = [
    *(("parameters", [of_model(text, "parameters")], []) for text in ("109M", "108.9M")),
    *(("parameters", [of_model(text, "parameters")], [(text, SIZE)]) for text in ("110M", "66M")),
    ("same-model", [ONE, entry("70.9", paper="b", identity="b-bert")], []),
    ("same-model", [ONE, entry("71.1", paper="b", identity="b-bert")], [("70.0", "71.1")]),
    ("same-model", [ONE, entry("80.0", paper="b", identity="b-bert", split="test")], []),
    ("same-model", [ONE, entry("80.0", paper="b", identity="b-student")], []),
    ("same-model", [ONE, entry("80.0", table="table2", identity="a-bert")], []),  # one paper: 'repeats'
    ("speed-ups", [*SPEEDS, of_model("20.5", "latency", "b-student", paper="b")], []),
    ("speed-ups", [*SPEEDS, of_model("27.0", "latency", "b-student", paper="b")], [("2.0×", "1.5")]),
    ("mixed-averages", [X, F1_Y, entry("65.0", **AVERAGE)], [("65.0", "1 of accuracy, 1 of f1")]),
    ("mixed-averages", [X, Y, entry("65.0", **AVERAGE)], []),
    ("test-servers", SERVER, [("2 test scores of variants of one student", "a comparison on dev sets")]),
    ("test-servers", ON_DEV, []),
    ("test-servers", [*SERVER, entry("70.0", row="a-bert", identity="a-bert", split="test")], []),  # of another size
    ("noise", change("0.20"), [("-5.00%", "4.00 ± 0.20 and 3.80 ± 0.20")]),
    ("noise", change("0.10"), []),
    ("noise", change("0.20")[1:], []),
    ("sources", [NAMED], []),
    ("sources", [NAMED, NOT_NAMED], [("1 rows of other work", "no source")]),
    ("rounded-first", ROUNDED, [("30 deviations up to 0.20 have 10 values", "deviations of unrounded scores")]),
    ("rounded-first", [*ROUNDED, entry("70.0 ± 0.03", row="x", runs=4)], []),  # no grid gives 0.03
    ("rounded-first", ROUNDED[:5], []),  # too few to tell
    ("coincidences", [*APART, *means("r3", "61.0", "61.0", "61.0")], [("61.0, 3 times", "different numbers")]),
    ("coincidences", [*CLOSE, *means("r3", "60.1", "60.1", "60.1")], []),
    ("versions", [X, Y, *ACL], [("1 of 2 numbers", "others in Table 1")]),
    ("versions", [X, Y, ACL[0]], []),
]


@pytest.mark.parametrize(("check", "entries", "expected"), ENTRIES)
def test_a_check_of_entries(check: str, entries: list[ReportedNumber], expected: Pairs) -> None:
    assert findings(check, entries) == expected


@pytest.mark.parametrize("compare", ["above", "mostly-above-counterparts", "gains-considerably", "best-above"])
def test_only_the_mean_holds(compare: str) -> None:
    cells = [("A", "x", "90.0"), ("B", "x", "60.0"), ("A", "y", "50.0"), ("B", "y", "51.0")]
    entries = [entry(text, row=row, column=column) for row, column, text in cells]
    averages = [entry(text, row=row, **AVERAGE) for row, text in (("A", "70.0"), ("B", "55.5"))]
    only = [("70.0 against 55.5 on average", "above on 1 of 2 columns")]
    assert findings("means", [*entries, *averages], above("A", "B", compare)) == only
    assert findings("means", [*entries, *averages], above("B", "A", compare)) == []  # the mean does not hold either
    assert findings("means", [*entries[:2], *averages], above("A", "B", compare)) == []  # a column without a number


def test_the_only_cell_has_several_counterparts() -> None:
    entries = [entry(text, row=row, **AVERAGE) for row, text in (("A", "70.0"), ("B", "55.5"), ("C", "50.0"))]
    columns = [entry("50.0", row=row, column=column) for row in "ABC" for column in "xy"]
    claim = above("A", "B", "mostly-above-counterparts")
    claim["than"][0]["rows"].append("C")
    assert [reported for reported, _ in findings("means", [*entries, *columns], claim)] == [
        "70.0 against 55.5 on average", "70.0 against 50.0 on average",
    ]  # fmt: skip


def test_slips_of_the_text_are_findings() -> None:
    slip = {"says": "a sum over i.", "where": "equation 1", "but": "it is over j"}
    assert findings("prose", [], slip) == [("a sum over i", "it is over j")]
    assert findings("texts", [], slip) == []


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        ({"compare": "above"}, []),  # rounding may hide it
        (
            {"compare": "gains-considerably", "within": 1.0},
            [("A beats B; read as: strictly", "Avg: 0.0 (b, then a)")],
        ),
        ({"compare": "best-mostly-not-below"}, []),
        ({"cells": above("b", "a")["cells"], "than": above("b", "a")["than"]}, []),
    ],
)
def test_a_claim_in_another_reading(tmp_path: Path, reading: dict[str, Any], expected: Pairs) -> None:
    claim = {
        **above("a", "b", "not-below"),
        "says": "A beats B.",
        "reading": "charitably",
        "quote": {"section": "x", "text": "A beats B"},
    }
    claim["other_readings"] = {"one": {"says": "strictly", **reading}}
    config = study_config(tmp_path, table1=table(MEAN, {"a": "70.0 | 80.0 | 75.0", "b": "69.0 | 81.0 | 75.0"}))
    write(tmp_path / "study", "papers/some/claims.yaml", {"one": claim})
    found = audit(opened(config))["readings"]
    assert found.count == 1
    assert [(one.reported, one.other) for one in found.findings] == expected
    assert all(one.why == "supported as judged among the claims; charitably" for one in found.findings)


def test_models_that_are_built_differently_are_not_compared() -> None:
    cells = [{"table": "table1", "rows": ["r"], "columns": ["c"]}]
    said = {"says": "s", "where": "w", "built": "differently", "because": "its teacher is another one", "cells": cells}
    other = entry("71.1", paper="b", identity="b-bert")
    assert findings("same-model", [ONE, other], said) == []
    assert findings("same-model", [ONE, other], {**said, "cells": [{**cells[0], "columns": ["d"]}]}) != []


def test_every_check_has_a_case() -> None:
    wrong = {check for check, _, expected in [*TABLES, *ENTRIES] if expected}
    assert wrong | {"sizes", "texts", "means", "prose", "readings"} == set(checks)


def test_parameters_of_models_that_are_counted() -> None:
    # counted in the released files, with the pooler: BERT base, BERT large, RoBERTa base
    assert parameters(BERT)[1] == 109_482_240
    large = Architecture(layers=24, heads=16, hidden=1024, intermediate=4096)
    assert parameters(replace(BERT, architecture=large))[1] == 335_141_888
    narrow = Architecture(layers=12, heads=12, hidden=384, intermediate=1536, embedding=128)
    assert parameters(replace(BERT, architecture=narrow))[0] == pytest.approx(25.3e6, rel=0.01)
