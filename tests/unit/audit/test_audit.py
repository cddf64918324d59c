"""Tests of what the audit finds in the four papers, of their facts, and of its page and command."""

from __future__ import annotations

import collections
import csv
from pathlib import Path
from typing import Any

import pytest
from retort.audit import Finding, audit, checks
from retort.audit.base import Build, Sort, sorts
from retort.audit.numbers import parameters
from retort.cli import main
from retort.report.index import make_audit
from retort.specs.model import Architecture
from retort.study.study import Study

from tests.conftest import DATA, needs_data
from tests.tiny.edit import set_value
from tests.tiny.reported import ACC, MEAN, study_config, table
from tests.tiny.results import opened, quiet
from tests.unit.report.pages import Tags


@pytest.fixture(scope="module")
def papers(whole: Study) -> dict[str, list[Finding]]:
    """Return the audit's findings in the four papers."""
    return {name: looked.findings for name, looked in audit(whole).items()}


AVERAGES = {  # where -> what is reported, and the mean of the columns
    "Table 5, XLM-100, Avg; Table 5 (acl), XLM-100, Avg": ("70.7", "71.26"),
    "Table 6, 6L / OD Transfer / Uniform-Cons., Avg.": ("71.1", "70.86"),
    "Table 6, 6L / OD Transfer / Uniform-Cons., Avg. (-CoLA)": ("78.7", "78.57"),
    "Table 7, 6L / OD Transfer / Uniform+Last, Avg.": ("61.0", "60.02"),
    "Table 1, Hid-CLS, Avg; Table 3, Hid-CLS / 4,8,12, Avg": ("73.2", "73.71"),
    "Table 1, Att-MSE: +Hid-Seq, Avg": ("77.0", "76.69"),
    "Table 3, Hid-Seq / 1,8,12, Avg": ("77.6", "76.93"),
}
LARGEST_GAIN = "The largest gain from lower teacher layers, of vanilla KD and hidden states over all tasks, in points"
READ = "Attention transfer is the best objective overall; better than vanilla KD; read as: each from the initialisation"
# check, where, what is reported, what contradicts it
FINDINGS = [
    ("metrics", "Table 1, CoLA; Table 3, CoLA", "the heading Mcc", "accuracy"),
    ("floors", "Table 1, RTE, Hid-Seq; Table 3, RTE, Hid-Seq / 4,8,12", "51.8", "52.7"),
    ("metrics", "Table 1, MRPC; Table 3, MRPC", "the heading F1", "accuracy"),
    ("names", "Table 1, TinyBERT / BERTBASE, MRPC", "88.4 as accuracy", "88.4 as f1"),
    ("repeats", "Table 1, 6×384 Ours / BERTBASE, MNLI-m", "82.8", "82.4"),
    ("sizes", "Table 11, STS-B, #Train", "7k", "5,749"),
    ("sizes", "Table 11, RTE, #Dev", "276", "277"),
    ("texts", "abstract, against Table 3", f"{LARGEST_GAIN} (17.8)", "19.7"),
    (
        "texts",
        "section 4.3, against Table 1",
        "The share of the teacher's parameters that six layers have (50%)",
        "61.5",
    ),
    ("copies", "Table 7, 6L / OD Transfer / Uniform+Last", "", "numbers of 4L / OD Transfer / Uniform+Last"),
    ("coincidences", "", "59.9, 3 times", ""),
    ("texts", "", "MiniLM has a larger batch", "Batch Size: 1024 (MiniLM) against 1024 (Ours)"),
    ("readings", "abstract, against Table 3", READ, "Avg: 77.7 (Att-KL / 1,2,3) against 79.4 (Vanilla KD / 1,2,3)"),
]


def test_what_is_found(papers: dict[str, list[Finding]]) -> None:
    assert {one.where: (one.reported, one.other) for one in papers["averages"]} == AVERAGES
    for check, *said in FINDINGS:
        found = [(one.where, one.reported, one.other) for one in papers[check]]
        assert any(all(map(str.startswith, texts, said)) for texts in found), (check, said)
    assert papers["changes"] == papers["exact-match"] == []
    assert len(papers["copies"]) == len(papers["coincidences"]) == 1
    assert [one.reported for one in papers["versions"]] == ["14 of 16 numbers"] * 2 + ["16 of 16 numbers"] * 2


def test_the_same_contradiction_in_two_tables_is_one_finding(papers: dict[str, list[Finding]]) -> None:
    for found in papers.values():
        keys = [(one.paper, *sorted((one.reported, one.other)), one.why) for one in found]
        assert len(keys) == len(set(keys))


def test_sizes_of_the_multilingual_students_are_those_of_250_thousand_tokens(whole: Study) -> None:
    """The finding on the vocabulary gives both series of sizes; here they are computed."""
    reported = [(12, 768, 3072, 277), (6, 768, 3072, 234), (6, 384, 1536, 106), (4, 576, 768, 153), (3, 384, 1024, 100)]
    larger = []
    for layers, hidden, intermediate, size in reported:
        sizes = Architecture(layers=layers, heads=12, hidden=hidden, intermediate=intermediate)
        assert size <= parameters(Build("x", sizes, 250_002, 514))[0] / 1e6 < size + 1
        larger.append(round(parameters(Build("x", sizes, 252_000, 514))[0] / 1e6))
    assert larger == [279, 236, 108, 154, 101]
    assert "279M, 236M, 108M, 154M and 101M" in whole.statements["udagawa2023"]["vocabulary"].but


def test_all_scores_of_a_copied_row_are_those_of_its_source(whole: Study) -> None:
    rows = []
    for key, row in ((("mlkd2024", "table1"), "MINILMv2"), (("minilmv2", "table2"), "6×768 Ours / BERTBASE")):
        cells = {(cell.row, cell.column): cell.number for cell in whole.exhibits[key].paper_cells()}
        scores = [cell for cell in whole.exhibits[key].cells() if (cell.row, cell.split) == (row, "test")]
        tasks = [cell for cell in scores if cell.task not in ("", "squad2")]
        rows.append({(cell.task, cell.subset): cells[row, cell.column] for cell in tasks})
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


def test_rows_that_are_those_of_tinybert_name_its_paper(whole: Study) -> None:
    table: Any = whole.exhibits["mlkd2024", "table1"]
    for row, source in OF_TINYBERT.items():
        _, _, *scores, _ = (cell.text for cell in table.paper_cells() if cell.row == row)  # size, speed-up; average
        assert all(other in (score, "-") for score, other in zip(scores, source.split(), strict=True)), row
    assert {row.label for row in table.rows if row.quoted.startswith("Jiao et al. (2020)")} == set(OF_TINYBERT)


def column(path: str, index: int, header: bool) -> collections.Counter[str]:
    """Return how often each value occurs in a column of a tab-separated file."""
    lines = (DATA / path).read_text(encoding="utf-8-sig").splitlines()[header:]
    return collections.Counter(row[index] for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


@needs_data("CoLA")
@pytest.mark.parametrize(
    ("task", "path", "index", "header"),
    [("cola", "CoLA/dev.tsv", 1, False), ("sst2", "SST-2/dev.tsv", 1, True), ("mrpc", "MRPC/dev.tsv", 0, True),
     ("rte", "RTE/dev.tsv", -1, True), ("wnli", "WNLI/dev.tsv", -1, True), ("qnli", "QNLI/dev.tsv", -1, True)],
)  # fmt: skip
def test_facts_are_those_of_the_data(whole: Study, task: str, path: str, index: int, header: bool) -> None:
    facts, labels = whole.facts[task], column(path, index, header)
    most, rows = max(labels.values()), labels.total()
    assert facts.sizes["dev"] == rows
    assert facts.floors["accuracy"] == round(100 * most / rows, 1)
    if "f1" in facts.floors:
        assert facts.floors["f1"] == round(200 * most / (rows + most), 1)


# --- the page and the command


def test_the_page_holds_every_finding(tmp_path: Path) -> None:
    config = study_config(tmp_path, table1=table(MEAN, {"a": "70.0 | 80.0 | 75.2"}))
    make_audit(quiet(), config, str(tmp_path / "audit.html"))
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
    assert "<div><dt>Cannot both be right</dt><dd>1<small>" in text
    assert "write to the authors that CITATION.cff names" in text


def test_each_check_says_of_which_sort_its_findings_are() -> None:
    assert set(sorts) == set(checks)
    assert set(sorts.values()) == {*Sort}


def test_the_command_prints_findings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reported", "audit"]) == 0
    said = capsys.readouterr().out
    assert "wang2023, Table 1, Hid-CLS, Avg; Table 3, Hid-CLS / 4,8,12, Avg: 73.2; but 73.71" in said
    assert said.rstrip().endswith("findings: 24 wrong, 38 cannot both be right, 53 unusual, 50 not said")


def test_a_study_of_ours_is_not_audited(tmp_path: Path) -> None:
    config = study_config(tmp_path, table1=table([ACC], {"a": "59.0"}))
    set_value(tmp_path / "study", "papers/some/paper.yaml", "ours", to=True)
    assert all(looked.count == 0 for looked in audit(opened(config)).values())
