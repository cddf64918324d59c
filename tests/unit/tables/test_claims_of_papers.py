"""Tests of the claims of all papers: which of them the printed numbers decide, and how."""

from __future__ import annotations

import pytest
from retort.audit import checks, condition_of
from retort.formatters import condition
from retort.results.tidy import Line
from retort.specs import catalogue
from retort.specs.config import Config, read_config
from retort.study.load import open_study
from retort.tables.claims import FAILS, HOLDS, OPEN, counts, judge_all

from tests.conftest import ROOT


def test_the_recorded_study_is_judged_as_it_was():
    study = open_study(Config())
    tables: dict[str, list[Line]] = {name: [] for name in ("table1", "table2", "table3")}
    judged = {item.name: item.published.verdict == "holds" for item in judge_all(study, "pocket", tables)}
    assert [name for name, holds in judged.items() if not holds] == [
        "attention-above-labels-alone", "attention-above-labels-alone-tweets", "attention-above-hidden",
        "low-layers-for-kd", "low-layers-for-kd-tweets",
    ]  # fmt: skip


@pytest.mark.parametrize("paper", ["minilmv2", "wang2023", "udagawa2023", "mlkd2024"])
def test_every_paper_claims_something_that_its_numbers_decide(paper: str):
    study = open_study(read_config({"papers": [paper]}))
    tables: dict[str, list[Line]] = {
        name: [] for claimed in study.claims[paper].values() for name in claimed.tables
    }  # nothing was run
    judged = judge_all(study, paper, tables)
    assert len(judged) >= 20
    assert {item.ours.verdict for item in judged} == {"cannot be decided"}
    exhibits = {name: study.exhibits[paper, name] for name in tables}
    printed = {(name, cell.row, cell.column) for name, one in exhibits.items() for cell in one.published_cells()}
    unprinted = {
        name for name, one in study.claims[paper].items()
        if printed.isdisjoint(key for cells in (*one.cells, *one.than) for key in cells.keys)
    }  # fmt: skip
    assert all(
        table.startswith(("figure", "table-text", "table-cost"))
        for name in unprinted
        for table in study.claims[paper][name].tables
    )
    assert {item.name for item in judged if item.published.verdict == "cannot be decided"} == unprinted


@pytest.mark.parametrize("paper", ["minilmv2", "wang2023", "udagawa2023", "mlkd2024"])
def test_the_guide_counts_the_claims_on_print(paper: str):
    study = open_study(read_config({"papers": [paper]}))
    tables: dict[str, list[Line]] = {name: [] for one in study.claims[paper].values() for name in one.tables}
    verdicts = [item.published.verdict for item in judge_all(study, paper, tables)]
    counted = [verdicts.count(verdict) for verdict in (HOLDS, FAILS, OPEN)]
    guide = (ROOT / "workflow/retort/judgement/README.md").read_text()
    assert f"| {paper} | {len(verdicts)} | {' | '.join(map(str, counted))} |" in guide


# paper -> claims that do not hold on its numbers, and those whose verdict turns on averages taken anew
PRINTED_VERDICTS = {
    "minilmv2": (set(), set()),
    "mlkd2024": ({"half-the-parameters"}, set()),
    "udagawa2023": ({"several-layers-harmless"}, set()),
    "wang2023": (
        {"attention-best-overall-sequence", "largest-gain"},
        {"attention-best-overall-sequence", "which-attention-matters-less"},
    ),
}


@pytest.mark.parametrize("paper", PRINTED_VERDICTS)
def test_which_claims_fail_on_the_printed_numbers(paper: str):
    study = open_study(read_config({"papers": [paper]}))
    tables: dict[str, list[Line]] = {name: [] for one in study.claims[paper].values() for name in one.tables}
    judged = judge_all(study, paper, tables)
    fails = {item.name for item in judged if item.published.verdict == "does not hold"}
    turned = {item.name for item in judged if "averages" in item.published.remark}
    assert (fails, turned) == PRINTED_VERDICTS[paper]
    assert counts(judged).startswith(f"Claims: {len(judged)}. On the published numbers: holds ")


def test_pages_print_conditions_without_check_that():
    assert condition("Check that the cells never rise.\n\nMore.") == "The cells never rise."
    texts = [condition(entry.summary) for entry in catalogue.comparisons().values()] + [*map(condition_of, checks)]
    assert [text for text in texts if not text[:1].isupper() or text.startswith("Check ") or text[-1] != "."] == []
