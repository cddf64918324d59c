"""Tests of the claims of all papers: which of them the reported numbers decide, and how."""

from __future__ import annotations

import re

import pytest
from retort.audit import checks, condition_of
from retort.formatters import condition_text
from retort.judgement.judge import Kind, recorded_numbers
from retort.judgement.verdicts import MARGIN
from retort.results.frames import frame_of
from retort.specs import catalogue
from retort.tables.claims import claim_sides, counts, judge_all, judge_on_reported

from tests.conftest import ROOT
from tests.tiny.results import opened

# paper -> claims that do not hold on its numbers, those that rounding decides, and those that averages taken anew turn
REPORTED_VERDICTS = {
    "minilmv2": (set(), {"more-relations-bert-above-all-wide"}, set()),
    "mlkd2024": ({"half-the-parameters"}, set(), {"order-of-losses"}),
    "udagawa2023": ({"several-layers-harmless"}, set(), set()),
    "wang2023": ({"largest-gain"}, set(), {"attention-best-overall-sequence", "which-attention-matters-less"}),
}
PAPERS = ROOT.parent / "shared" / "papers"
LEFT_OUT = ".{0,3000}?"  # words, a formula, or a table at the end of a page


def letters(text: str) -> str:
    """Return a text without spaces and hyphens, which lines and pages add."""
    return re.sub(r"[\s‐–-]+", "", text.replace("’", "'"))


@pytest.mark.parametrize("paper", REPORTED_VERDICTS)
@pytest.mark.skipif(not PAPERS.is_dir(), reason="the texts of the papers are not part of the repository")
def test_each_quote_stands_in_the_text_of_its_paper(paper: str):
    texts = [letters(path.read_text()) for path in sorted(PAPERS.glob(f"{paper}*.txt"))]
    for name, claim in opened({"papers": [paper]}).claims[paper].items():
        assert claim.quote
        pattern = LEFT_OUT.join(re.escape(letters(part)) for part in claim.quote.text.split("…"))
        assert any(re.search(pattern, text) for text in texts), name


@pytest.mark.parametrize("paper", REPORTED_VERDICTS)
def test_a_claim_that_is_not_supported_has_no_other_reading_that_the_reported_numbers_support(paper: str):
    study = opened({"papers": [paper]})
    on_reported = judge_on_reported(study, paper)
    for name in REPORTED_VERDICTS[paper][0]:
        claim = study.claims[paper][name]
        verdicts = {on_reported(claim.read_as(reading)).verdict for reading in claim.other_readings.values()}
        assert verdicts <= {Kind.NOT_SUPPORTED}, name


@pytest.mark.parametrize("paper", REPORTED_VERDICTS)
def test_the_reported_numbers_decide_every_claim_whose_cells_are_reported(paper: str):
    study = opened({"papers": [paper]})
    study.recordings.clear()  # their claims take thousands of draws
    claims = study.claims[paper]
    of_abstract = ["abstract" in claim.where for claim in claims.values()]
    assert of_abstract[0]
    assert of_abstract == sorted(of_abstract, reverse=True)
    for claim in claims.values():
        for one in (claim, *map(claim.read_as, claim.other_readings.values())):  # else the text gives the distance
            assert one.number or not one.within or one.within == MARGIN, one.says

    tables = {name: frame_of(()) for one in claims.values() for name in one.tables}  # nothing was run
    judged = judge_all(study, paper, tables)
    assert {item.ours.verdict for item in judged} == {Kind.NOT_TESTED}
    verdicts = {item.name: item.reported.verdict for item in judged}
    fails, tied = (
        {name for name, verdict in verdicts.items() if verdict == kind} for kind in (Kind.NOT_SUPPORTED, Kind.TIED)
    )
    turned = {item.name for item in judged if "averages" in item.reported.remark}
    assert (fails, tied, turned) == REPORTED_VERDICTS[paper]

    cells = {name: study.exhibits[paper, name].reported_cells() for name in tables}
    reported = {(name, cell.row, cell.column) for name, found in cells.items() for cell in found}
    unreported = {name for name, one in claims.items() if reported.isdisjoint(one.keys)}
    assert {name for name, verdict in verdicts.items() if verdict == Kind.NOT_REPORTED} == unreported
    of_ours = ("figure", "table-text", "table-cost")
    assert all(table.startswith(of_ours) for name in unreported for table in claims[name].tables)

    counted = [
        list(verdicts.values()).count(verdict)
        for verdict in (Kind.SUPPORTED, Kind.TIED, Kind.NOT_SUPPORTED, Kind.NOT_REPORTED)
    ]
    assert counts(judged, claim_sides(study, paper, judged)).startswith(
        f"Claims: {len(judged)}. Reported: {counted[0]} supported"
    )
    guide = (ROOT / "workflow/retort/judgement/statistics.md").read_text()
    assert f"| {paper} | {len(judged)} | {' | '.join(map(str, counted))} |" in guide


@pytest.mark.parametrize("paper", ["luck", "soft-labels"])
def test_a_recorded_run_of_ours_is_judged_alike_whatever_the_precision_of_this_run(paper: str):
    found = []
    for precision in ("float32", "bfloat16"):
        study = opened({"papers": [paper], "scale": "studies", "precision": precision})
        assert [paper for paper, _ in study.records].count(paper) == 1
        on_reported = judge_on_reported(study, paper)
        found.append({name: on_reported(claim) for name, claim in study.claims[paper].items()})
    assert found[0] == found[1]
    assert any("pairing by seed" in one.remark for one in found[0].values())


@pytest.mark.parametrize(("about", "verdict"), [("method", Kind.INCONCLUSIVE), ("students", Kind.SUPPORTED)])
def test_a_claim_on_a_recorded_run_counts_the_luck_of_one_distillation(about: str, verdict: Kind):
    study = opened({"papers": ["pocket"], "scale": "pocket", "precision": "float32"})
    claim = study.claims["pocket"]["hidden-above-relations"]
    ((name, row, column),), (other,) = (
        [key for group in side for key in group.keys] for side in (claim.cells, claim.than)
    )
    table = study.exhibits["pocket", name]
    means = {cell.row: cell.number.value for cell in table.reported_cells() if cell.column == column and cell.number}
    (student,) = {cell.student for cell in table.cells() if cell.row == row}
    lower = means[row] - means[other[1]] - 0.6  # points
    table.means[student][column] = [table.means[student][column][0] - lower, *table.means[student][column][1:]]
    for seed in table.by_seed[student][column]:
        table.by_seed[student][column][seed] -= lower
    on_reported = judge_on_reported(study, "pocket")
    assert on_reported(claim.model_copy(update={"about": about})).verdict == verdict


def test_recorded_numbers_have_the_units_of_their_metrics():
    table = opened({"papers": ["pocket"], "scale": "pocket"}).exhibits["pocket", "table1"]
    units = {("table1", cell.row, cell.column): f"of {cell.metric}" for cell in table.cells()}
    found = recorded_numbers({"table1": table}, units).numbers
    assert {facts["unit"] for facts in found.values()} == {*units.values()}


def test_pages_print_conditions_without_check_that():
    assert condition_text("Check that the cells never rise.\n\nMore.") == "The cells never rise."
    texts = [condition_text(entry.summary) for entry in catalogue.comparisons().values()] + [*map(condition_of, checks)]
    assert [text for text in texts if not text[:1].isupper() or text.startswith("Check ") or text[-1] != "."] == []
