"""Tests of the audit's checks of models and of conditions, on entries that are written by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from retort.audit import checks
from retort.audit.base import Build, Entry, Finding, Printed
from retort.audit.models import parameters
from retort.specs.config import Config
from retort.specs.model import Architecture
from retort.specs.paper import Statement
from retort.specs.printed import read_number
from retort.specs.rows import CellSpec, Column
from retort.study.load import open_whole

BASE = Architecture(layers=12, heads=12, hidden=768, intermediate=3072)
SMALL = Architecture(layers=6, heads=12, hidden=768, intermediate=3072)
BERT = Build("bert", BASE, 30_522, 512, published=True)
STUDENT = Build("bert", SMALL, 30_522, 512, ("relations",))
MODELS = {"a-bert": BERT, "b-bert": BERT, "a-student": STUDENT, "b-student": STUDENT, "a-other": STUDENT}


def entry(text: str, paper: str = "a", table: str = "table1", row: str = "r", column: str = "c", runs: int = 0,
          mean_of: tuple[str, ...] = (), heading: str = "", change_from: str = "", **cell: Any) -> Entry:  # fmt: skip
    """Return one printed number; by default an accuracy on dev."""
    given = {"task": "" if mean_of or change_from else "rte", "metric": "accuracy", **cell}
    spec = Column(label=column, heading=heading, mean_of=list(mean_of), change_from=change_from)
    number = read_number(text)
    assert number is not None
    spec_of_cell = CellSpec(row=row, column=spec.name, student=given.get("identity", ""), spec=spec, **given)
    return Entry(paper, table, spec_of_cell, number, runs)


def findings(check: str, *entries: Entry, statements: list[Statement] = []) -> list[tuple[str, str]]:  # noqa: B006
    """Return what a check finds, as (printed, other) pairs."""
    everything = Printed({}, list(entries), {"a": statements}, {}, MODELS)
    return [(one.printed, one.other) for one in checks[check](everything).findings]


def test_parameters_of_models_that_are_counted():
    # counted in the published files, with the pooler: BERT base, BERT large, RoBERTa base
    assert parameters(BERT)[1] == 109_482_240
    large = Architecture(layers=24, heads=16, hidden=1024, intermediate=4096)
    assert parameters(replace(BERT, architecture=large))[1] == 335_141_888
    narrow = Architecture(layers=12, heads=12, hidden=384, intermediate=1536, embedding=128)
    assert parameters(replace(BERT, architecture=narrow))[0] == pytest.approx(25.3e6, rel=0.01)


@pytest.mark.parametrize(("text", "right"), [("109M", True), ("108.9M", True), ("110M", False), ("66M", False)])
def test_a_size_follows_from_the_architecture(text: str, right: bool):
    found = findings("parameters", entry(text, metric="parameters", task="", identity="a-bert"))
    assert found == ([] if right else [(text, "108.9M, with the pooler 109.5M")])


def test_one_model_in_two_papers():
    first = entry("70.0", identity="a-bert")
    assert findings("same-model", first, entry("70.9", paper="b", identity="b-bert")) == []
    assert findings("same-model", first, entry("71.1", paper="b", identity="b-bert")) == [("70.0", "71.1")]
    assert findings("same-model", first, entry("80.0", paper="b", identity="b-bert", split="test")) == []
    assert findings("same-model", first, entry("80.0", paper="b", identity="b-student")) == []
    assert findings("same-model", first, entry("80.0", table="table2", identity="a-bert")) == []  # one paper: 'repeats'


def test_one_architecture_at_two_speeds():
    stated = entry("2.0×", metric="speed-up", task="", identity="a-student")
    times = [entry(text, paper="b", row=name, metric="latency", task="", identity=name)
             for name, text in (("b-bert", "40.0"), ("b-student", "20.5"))]  # fmt: skip
    assert findings("speed-ups", stated, *times) == []
    slow = replace(times[1], number=read_number("27.0"))
    assert findings("speed-ups", stated, times[0], slow) == [("2.0×", "1.5")]


def test_an_average_of_several_metrics():
    both = [entry("70.0", column="x"), entry("60.0", column="y", metric="f1")]
    average = entry("65.0", column="Avg", metric="average", mean_of=("x", "y"))
    assert findings("mixed-averages", *both, average) == [("65.0", "1 of accuracy, 1 of f1")]
    alike = [both[0], entry("60.0", column="y")]
    assert findings("mixed-averages", *alike, average) == []


def test_variants_on_a_test_server():
    rows = [entry("70.0", row=name, identity=name, split="test") for name in ("a-student", "a-other")]
    assert findings("test-servers", *rows) == [("2 test scores of variants of one student", "a comparison on dev sets")]
    assert findings("test-servers", *(replace(one, cell=replace(one.cell, split="dev")) for one in rows)) == []
    other_size = entry("70.0", row="a-bert", identity="a-bert", split="test")
    assert findings("test-servers", *rows, other_size) == []


@pytest.mark.parametrize(("std", "noisy"), [("0.20", True), ("0.10", False)])
def test_a_change_within_its_noise(std: str, noisy: bool):
    times = [entry(f"{text} ± {std}", column=name, metric="latency", task="")
             for name, text in (("x", "4.00"), ("y", "3.80"))]  # fmt: skip
    change = entry("-5.00%", column="change", metric="change", change_from="x", before="y")
    assert bool(findings("noise", *times, change)) is noisy


def test_copied_rows_without_a_source():
    named = entry("70.0", row="x", quoted="Lee (2020)")
    assert findings("sources", named) == []
    assert findings("sources", named, entry("71.0", row="y", quoted="a paper that is not named")) == [
        ("1 rows of other work", "no source")
    ]


def test_deviations_of_rounded_scores():
    rounded = ["0.00", "0.05", "0.10", "0.06", "0.08", "0.13", "0.14", "0.15", "0.17", "0.19"] * 3
    rows = [entry(f"70.0 ± {std}", row=f"r{at}", runs=4) for at, std in enumerate(rounded)]
    assert len(findings("rounded-first", *rows)) == 1
    assert findings("rounded-first", *rows, entry("70.0 ± 0.03", row="x", runs=4)) == []  # no grid gives 0.03
    assert findings("rounded-first", *rows[:5]) == []  # too few to tell


def test_equal_numbers_of_several_models():
    def row(name: str, *texts: str) -> list[Entry]:
        return [
            entry(text, row=name, column=column, heading="H", identity=f"{name}-{column}", metric="average", task="",
                  tasks={"rte": "accuracy"})
            for column, text in zip("xyz", texts, strict=True)
        ]  # fmt: skip

    apart = [row(name, "60.0", "65.0", "70.0") for name in ("r1", "r2")]
    assert findings("coincidences", *apart[0], *apart[1], *row("r3", "61.0", "61.0", "61.0")) == [
        ("61.0, 3 times", "different numbers")
    ]
    close = [row(name, "60.0", "60.1", "60.2") for name in ("r1", "r2")]
    assert findings("coincidences", *close[0], *close[1], *row("r3", "60.1", "60.1", "60.1")) == []


def test_two_versions_of_a_paper():
    first = [entry("70.0", row="r", column=name) for name in "xy"]
    again = [entry(text, table="table1-acl", column=name) for name, text in (("x", "70.0"), ("y", "71.5"))]
    assert findings("versions", *first, *again) == [("1 of 2 numbers", "others in Table 1")]
    assert findings("versions", *first, again[0]) == []


@pytest.mark.parametrize("compare", ["above", "mostly-above-counterparts", "best-above"])
def test_only_the_mean_holds(compare: str):
    columns = [(name, one, other) for name, one, other in (("x", "90.0", "60.0"), ("y", "50.0", "51.0"))]
    entries = [
        entry(text, row=row, column=name) for name, *texts in columns for row, text in zip("AB", texts, strict=True)
    ]
    averages = [entry(text, row=row, column="Avg", metric="average", mean_of=("x", "y"))
                for row, text in (("A", "70.0"), ("B", "55.5"))]  # fmt: skip
    cells = {row: [{"table": "table1", "rows": [row], "columns": ["Avg"]}] for row in "AB"}
    claim = {"says": "s", "where": "w", "compare": compare}
    above = Statement.model_validate({**claim, "cells": cells["A"], "than": cells["B"]})
    assert findings("means", *entries, *averages, statements=[above]) == [
        ("70.0 against 55.5 on average", "above on 1 of 2 columns")
    ]
    below = Statement.model_validate({**claim, "cells": cells["B"], "than": cells["A"]})
    assert findings("means", *entries, *averages, statements=[below]) == []  # the mean does not hold either
    assert findings("means", *entries[:2], *averages, statements=[above]) == []  # a column without a number


def test_slips_of_the_text_are_findings():
    slip = Statement.model_validate({"says": "a sum over i.", "where": "equation 1", "but": "it is over j"})
    assert findings("prose", statements=[slip]) == [("a sum over i", "it is over j")]
    assert findings("texts", statements=[slip]) == []


# --- the four papers


@pytest.fixture(scope="module")
def papers() -> dict[str, list[Finding]]:
    """Return the audit's findings in the four papers."""
    from retort.audit import audit

    return {name: result.findings for name, result in audit(open_whole(Config())).items()}


def test_the_two_texts_of_minilmv2_differ_in_60_of_64_numbers(papers: dict[str, list[Finding]]):
    assert [one.printed for one in papers["versions"]] == ["14 of 16 numbers"] * 2 + ["16 of 16 numbers"] * 2


def test_equal_means_of_three_students(papers: dict[str, list[Finding]]):
    (one,) = papers["coincidences"]
    assert (one.paper, one.printed) == ("udagawa2023", "59.9, 3 times")


def test_a_batch_that_is_not_larger(papers: dict[str, list[Finding]]):
    assert ("MiniLM has a larger batch", "Batch Size: 1024 (MiniLM) against 1024 (Ours)") in {
        (one.printed, one.other) for one in papers["texts"]
    }


def test_sizes_of_the_multilingual_students_are_those_of_250_thousand_tokens():
    """The finding on the vocabulary gives both series of sizes; here they are computed."""
    printed = {"teacher": (12, 768, 3072, 277), "6l-distilbert": (6, 768, 3072, 234), "6l": (6, 384, 1536, 106),
               "4l": (4, 576, 768, 153), "3l": (3, 384, 1024, 100)}  # fmt: skip
    larger = []
    for layers, hidden, intermediate, size in printed.values():
        shape = Architecture(layers=layers, heads=12, hidden=hidden, intermediate=intermediate)
        assert size <= parameters(Build("x", shape, 250_002, 514))[0] / 1e6 < size + 1
        larger.append(parameters(Build("x", shape, 252_000, 514))[0] / 1e6)
    assert [round(size) for size in larger] == [279, 236, 108, 154, 101]
    statement = open_whole(Config()).statements["udagawa2023"]["vocabulary"]
    assert "279M, 236M, 108M, 154M and 101M" in statement.but


def test_all_scores_of_a_copied_row_are_those_of_its_source():
    tables = open_whole(Config()).exhibits
    rows = []
    for key, row in ((("mlkd2024", "table1"), "MINILMv2"), (("minilmv2", "table2"), "6×768 Ours / BERTBASE")):
        cells = {(cell.row, cell.column): cell.number for cell in tables[key].printed_cells()}
        scores = [cell for cell in tables[key].cells() if cell.row == row and cell.split == "test" and cell.task]
        rows.append({(cell.task, cell.subset): cells[row, cell.column] for cell in scores if cell.task != "squad2"})
    copied, source = rows
    assert len(copied) == 9
    assert copied == source


# Jiao et al. (2020), table 1, in the order of table 1 of mlkd2024
OF_TINYBERT = {
    "BERTTINY": "75.4 74.9 66.5 84.8 87.6 19.5 77.1 83.2 62.6",
    "BERT₄-PKD": "79.9 79.3 70.2 85.1 89.4 24.8 79.8 82.6 62.3",
    "DistilBERT₄": "78.9 78.0 68.5 85.2 91.4 32.8 76.1 82.4 54.1",
    "BERT₆-PKD": "81.5 81.0 70.7 89.0 92.0 - - 85.0 65.5",
    "DistilBERT₆": "82.6 81.3 70.1 88.9 92.5 49.0 81.3 86.9 58.4",
}


def test_rows_that_are_those_of_tinybert_name_its_paper():
    table: Any = open_whole(Config()).exhibits["mlkd2024", "table1"]
    for row, source in OF_TINYBERT.items():
        _, _, *scores, _ = (cell.text for cell in table.printed_cells() if cell.row == row)  # size, speed-up; average
        assert all(other in (score, "-") for score, other in zip(scores, source.split(), strict=True)), row
    named = {row.label for row in table.rows if row.quoted.startswith("Jiao et al. (2020)")}
    assert named == set(OF_TINYBERT)


def test_the_same_contradiction_in_two_tables_is_one_finding(papers: dict[str, list[Finding]]):
    for found in papers.values():
        keys = [(one.paper, *sorted((one.printed, one.other)), one.why) for one in found]
        assert len(keys) == len(set(keys))
    assert "Table 1, Hid-CLS, Avg; Table 3, Hid-CLS / 4,8,12, Avg" in {one.where for one in papers["averages"]}
