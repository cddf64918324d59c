"""Tests of each check of the audit, on a wrong and on a right table, and of its findings in the papers."""

from __future__ import annotations

import collections
import csv
import io
import os
from pathlib import Path
from typing import Any

import pytest
from retort.audit import audit, checks
from retort.audit.base import Finding
from retort.cli import main
from retort.engine.job import Job
from retort.report.index import make_audit
from retort.specs.config import ROOT, Config, read_config
from retort.study.load import open_study, open_whole, read
from retort.study.study import Study

from tests.tiny.blocks import with_block
from tests.tiny.edit import set_value
from tests.tiny.printed import ACC, found, study_config, table
from tests.unit.report.test_page import Tags

DATA = Path(os.environ.get("RETORT_DATA", ROOT.parent / "shared" / "data"))
MEAN = [ACC, {**ACC, "label": "Other", "task": "qa"}, {"label": "Avg", "mean_of": ["Coin", "Other"]}]
CHANGED = [ACC, {**ACC, "label": "B", "task": "qa"}, {"label": "change", "change_from": "Coin"}]
F1_EM = [{"label": "F1", "task": "qa", "metric": "f1"}, {"label": "EM", "task": "qa", "metric": "exact"}]
QUOTED = {"label": "a", "quoted": "Nobody", "cells": "61.5"}
MANY = [{**ACC, "label": f"C{i}", "subset": f"p{i}"} for i in range(5)]
# check, tables, expected findings as (printed, other) pairs
CASES: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    ("averages", {"table1": table(MEAN, {"a": "70.0 | 80.1 | 75.1"}, 3)}, []),
    ("averages", {"table1": table(MEAN, {"a": "70.0 | 80.0 | 75.1"}, 3)}, []),  # 70.04 and 80.04 are possible
    ("averages", {"table1": table(MEAN, {"a": "70.0 | 80.0 | 75.2"}, 3)}, [("75.2", "75.00")]),
    ("averages", {"table1": table(MEAN, {"a": "70.0 | - | 75.2"}, 2)}, []),
    ("changes", {"table1": table(CHANGED, {"a": "80.0 | 70.0 | -12.50%"}, 3)}, []),
    ("changes", {"table1": table(CHANGED, {"a": "80.0 | 70.0 | -12.9%"}, 3)}, [("-12.9%", "-12.50%")]),
    ("floors", {"table1": table([ACC], {"a": "60.0"}, 1)}, []),
    ("floors", {"table1": table([ACC], {"a": "59.0", "b": "55.5", "c": "60.0"}, 3)}, [("55.5 to 59.0", "60")]),
    ("floors", {"table1": table([ACC], {"a": "59.0"}, 1, split="test")}, []),
    ("metrics", {"table1": table([ACC], {"a": "59.0"}, 1)}, []),
    ("metrics", {"table1": table([{**ACC, "printed": "Mcc", "because": "b"}], {"a": "9.0"}, 1)},
     [("the heading Mcc", "accuracy")]),
    ("exact-match", {"table1": table(F1_EM, {"a": "70.0 | 70.0"}, 2)}, []),
    ("exact-match", {"table1": table(F1_EM, {"a": "70.0 | 70.1"}, 2)}, [("70.1", "at most 70.0")]),
    ("reachable", {"table1": table([ACC], {"a": "61.0"}, 1)}, []),
    ("reachable", {"table1": table([ACC], {"a": "61.5"}, 1)}, [("61.5", "62.00")]),
    ("reachable", {"table1": table([ACC], {"a": "61.5"}, 1, runs=2)}, []),
    ("reachable", {"table1": table([ACC], {"a": "61.5"}, 1, runs=0)}, []),
    ("reachable", {"table1": with_block({**table([ACC], {}, 1), "rows": [QUOTED]})}, []),
    ("repeats", {"table1": table([ACC], {"a": "61.0"}, 1), "table2": table([ACC], {"a": "61"}, 1)}, []),
    ("repeats", {"table1": table([ACC], {"a": "61.0"}, 1), "table2": table([ACC], {"a": "62.0"}, 1)},
     [("61.0", "62.0")]),
    ("repeats", {"table1": table([ACC], {"a": "61.0"}, 1), "table2": table([ACC], {"b": "62.0"}, 1)}, []),
    ("repeats", {"table1": table([ACC], {"a": "61.0"}, 1), "table2": table([ACC], {"a": "62.0"}, 1, split="test")}, []),
    ("names", {"table1": table([ACC], {"a": "61.0"}, 1),
               "table2": table([{**ACC, "metric": "f1"}], {"a": "61.0"}, 1)}, [("61.0 as accuracy", "61.0 as f1")]),
    ("names", {"table1": table([ACC], {"a": "61.0"}, 1),
               "table2": table([{**ACC, "metric": "f1"}], {"a": "62.0"}, 1)}, []),
    ("copies", {"table1": table(MANY, {"a": "1.0 | 2.0 | 3.0 | 4.0 | 5.0", "b": "1.0 | 2.0 | 3.0 | 4.0 | 5.0"}, 10)},
     [("1.0 2.0 3.0 4.0 5.0", "numbers of b")]),
    ("copies", {"table1": table(MANY, {"a": "1.0 | 2.0 | 3.0 | 4.0 | 5.0", "b": "1.0 | 2.0 | 3.0 | 4.0 | 5.1"}, 10)},
     []),
]  # fmt: skip


@pytest.mark.parametrize(("check", "tables", "expected"), CASES)
def test_a_check_finds_what_cannot_be_right(
    tmp_path: Path, check: str, tables: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert [(one.printed, one.other) for one in found(tmp_path, check, **tables)] == expected


SIZES = [("1k", True), ("100", True), ("0.1k", True), ("99", False), ("2k", False)]


@pytest.mark.parametrize(("printed", "right"), SIZES)
def test_sizes_may_be_rounded_or_cut(tmp_path: Path, printed: str, right: bool) -> None:
    size, split = (1000, "train") if printed in ("1k", "2k") else (100, "dev")
    counts = {"kind": "counts", "title": "T", "question": "Q?", "numbers": 1,
              "columns": [{"label": "Size", "split": split}],
              "rows": [{"label": "Coin", "task": "coin", "cells": printed}]}  # fmt: skip
    assert [one.other for one in found(tmp_path, "sizes", table1=with_block(counts))] == (
        [] if right else [f"{size:,}"]
    )


def test_every_check_has_a_case() -> None:
    cases = {check for check, _, _ in CASES}
    source = (Path(__file__).parent / "test_models_and_conditions.py").read_text(encoding="utf-8")
    by_hand = {name for name in checks if f'findings("{name}", ' in source}
    assert cases | by_hand | {"sizes", "texts"} == set(checks)
    assert all(any(case[0] == name and case[2] for case in CASES) for name in cases)


def test_a_task_without_facts(tmp_path: Path) -> None:
    counts = {"kind": "counts", "title": "T", "question": "Q?", "numbers": 1, "columns": [{"label": "#Dev"}],
              "rows": [{"label": "Coins", "task": "coins", "cells": "1"}]}  # fmt: skip
    problems = read(read_config(study_config(tmp_path, table1=with_block(counts))))[1]
    assert len(problems) == 1
    assert "table1.yaml: rows: no data set of facts.yaml is called 'coins'; did you mean 'coin'?" in problems[0]


# --- the four papers


@pytest.fixture(scope="module")
def papers() -> dict[str, list[Finding]]:
    """Return the audit's findings in the four papers."""
    return {name: looked.findings for name, looked in audit(open_whole(Config())).items()}


def test_averages_that_are_not_the_mean_of_their_columns(papers: dict[str, list[Finding]]) -> None:
    assert {(one.paper, one.where, one.printed, one.other) for one in papers["averages"]} == {
        ("minilmv2", "Table 5, XLM-100, Avg; Table 5 (acl), XLM-100, Avg", "70.7", "71.26"),
        ("udagawa2023", "Table 6, 6L / OD Transfer / Uniform-Cons., Avg.", "71.1", "70.86"),
        ("udagawa2023", "Table 6, 6L / OD Transfer / Uniform-Cons., Avg. (-CoLA)", "78.7", "78.57"),
        ("udagawa2023", "Table 7, 6L / OD Transfer / Uniform+Last, Avg.", "61.0", "60.02"),
        ("wang2023", "Table 1, Hid-CLS, Avg; Table 3, Hid-CLS / 4,8,12, Avg", "73.2", "73.71"),
        ("wang2023", "Table 1, Att-MSE: +Hid-Seq, Avg", "77.0", "76.69"),
        ("wang2023", "Table 3, Hid-Seq / 1,8,12, Avg", "77.6", "76.93"),
    }


@pytest.mark.parametrize(
    ("check", "paper", "place", "printed", "other"),
    [
        ("metrics", "wang2023", "Table 1, CoLA; Table 3, CoLA", "the heading Mcc", "accuracy"),
        ("floors", "wang2023", "Table 1, RTE, Hid-Seq; Table 3, RTE, Hid-Seq / 4,8,12", "51.8", "52.7"),
        ("metrics", "wang2023", "Table 1, MRPC; Table 3, MRPC", "the heading F1", "accuracy"),
        ("names", "minilmv2", "Table 1, TinyBERT / BERTBASE, MRPC", "88.4 as accuracy", "88.4 as f1"),
        ("repeats", "minilmv2", "Table 1, 6×384 Ours / BERTBASE, MNLI-m", "82.8", "82.4"),
        ("sizes", "minilmv2", "Table 11, STS-B, #Train", "7k", "5,749"),
        ("sizes", "minilmv2", "Table 11, RTE, #Dev", "276", "277"),
        ("texts", "wang2023", "abstract, against Table 3",
         "The largest gain from lower teacher layers, of vanilla KD and hidden states over all tasks, in points (17.8)",
         "19.7"),
        ("texts", "mlkd2024", "section 4.3, against Table 1",
         "The share of the teacher's parameters that six layers have (50%)", "61.5"),
    ],
)  # fmt: skip
def test_a_finding(
    papers: dict[str, list[Finding]], check: str, paper: str, place: str, printed: str, other: str
) -> None:
    assert (paper, place, printed, other) in {(one.paper, one.where, one.printed, one.other) for one in papers[check]}


def test_two_rows_of_one_paper_are_copies(papers: dict[str, list[Finding]]) -> None:
    (one,) = papers["copies"]
    assert (one.where, one.other) == (
        "Table 7, 6L / OD Transfer / Uniform+Last", "numbers of 4L / OD Transfer / Uniform+Last"
    )  # fmt: skip


def test_nothing_is_found_where_numbers_fit(papers: dict[str, list[Finding]]) -> None:
    assert papers["changes"] == papers["exact-match"] == []


def column(path: str, index: int, header: bool) -> collections.Counter[str]:
    """Return how often each value occurs in a column of a tab-separated file."""
    lines = (DATA / path).read_text(encoding="utf-8-sig").splitlines()[header:]
    return collections.Counter(row[index] for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.skipif(not DATA.is_dir(), reason="no benchmark data: set RETORT_DATA")
@pytest.mark.parametrize(
    ("task", "path", "index", "header"),
    [("cola", "CoLA/dev.tsv", 1, False), ("sst2", "SST-2/dev.tsv", 1, True), ("mrpc", "MRPC/dev.tsv", 0, True),
     ("rte", "RTE/dev.tsv", -1, True), ("wnli", "WNLI/dev.tsv", -1, True), ("qnli", "QNLI/dev.tsv", -1, True)],
)  # fmt: skip
def test_facts_are_those_of_the_data(task: str, path: str, index: int, header: bool) -> None:
    facts, labels = open_study(Config()).facts[task], column(path, index, header)
    most, rows = max(labels.values()), labels.total()
    assert facts.sizes["dev"] == rows
    assert facts.floors["accuracy"] == round(100 * most / rows, 1)
    if "f1" in facts.floors:
        assert facts.floors["f1"] == round(200 * most / (rows + most), 1)


# --- the page and the command


def test_the_page_holds_every_finding(tmp_path: Path) -> None:
    config = study_config(tmp_path, table1=table(MEAN, {"a": "70.0 | 80.0 | 75.2"}, 3))
    make_audit(Job(name="test", log=io.StringIO()), config, str(tmp_path / "audit.html"))
    text = (tmp_path / "audit.html").read_text()
    page = Tags(text)
    assert page.open == []
    assert len(set(page.ids)) == len(page.ids)
    assert {link[1:] for link in page.links if link != "index.html"} <= set(page.ids)
    assert "index.html" in page.links
    assert {f"audit-{name}" for name in checks} <= set(page.ids)
    assert "<td>75.2</td><td>75.00</td>" in text
    assert "A &lt;b&gt; &amp; c" in text
    assert "A <b>" not in text


def test_the_command_prints_findings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit"]) == 0
    said = capsys.readouterr().out
    assert "wang2023, Table 1, Hid-CLS, Avg; Table 3, Hid-CLS / 4,8,12, Avg: 73.2; but 73.71" in said
    assert said.rstrip().endswith("findings")


def test_a_study_of_ours_is_not_audited(tmp_path: Path) -> None:
    config = study_config(tmp_path, table1=table([ACC], {"a": "59.0"}, 1))
    set_value(tmp_path / "study", "papers/some/paper.yaml", "ours", to=True)
    study: Study = open_study(read_config(config))
    assert all(looked.count == 0 for looked in audit(study).values())


@pytest.mark.parametrize(("cells", "checks"), [("70.0 | 80.0 | 74.0", {"averages"}), ("69.0 | 80.0 | 74.5", {"texts"})])
def test_a_claim_that_fails_by_a_wrong_average_is_no_finding_of_its_own(
    tmp_path: Path, cells: str, checks: set[str]
) -> None:
    printed = table(MEAN, {"a": cells, "b": "69.5 | 80.0 | 74.8"}, 6)
    rows = {row: [{"table": "table1", "rows": [row], "columns": ["Avg"]}] for row in "ab"}
    claim = {"says": "s", "where": "w", "compare": "above", "cells": rows["a"], "than": rows["b"]}
    findings = {
        check: found(tmp_path / check, check, statements={"one": claim}, table1=printed)
        for check in ("averages", "texts")
    }
    assert {check for check, each in findings.items() if each} == checks
