"""Tests of verdicts on all tables of the papers at once, with made-up results for every cell that is run."""

from __future__ import annotations

from collections import Counter

import pytest
from pandas import DataFrame
from retort.judgement.judge import Kind
from retort.judgement.verdicts import NO_RUNS, is_comparable
from retort.plan.plan import Plan
from retort.results.frames import concatenated
from retort.specs.config import Config, RunSources
from retort.study.study import Study
from retort.tables.claims import judge_all

from tests.conftest import ROOT
from tests.paper_results import all_lines, lines_of, made_up

pytestmark = pytest.mark.slow

Tables = dict[tuple[str, str], DataFrame]
GUIDE = (ROOT / "workflow/retort/judgement/statistics.md").read_text()


@pytest.fixture(scope="module")
def tables(whole_paper: Study) -> Tables:
    """Return the lines of every table of scores, with true means as reported."""
    return lines_of(whole_paper, made_up(whole_paper))


@pytest.fixture(scope="module")
def shifted(whole_paper: Study) -> Tables:
    """Return the same lines, with our true means ten points above the reported ones."""
    return lines_of(whole_paper, made_up(whole_paper, shift=10.0))


def comparable(tables: Tables, paper: str) -> DataFrame:
    """Return the comparable lines of a paper."""
    lines = concatenated({name: frame for (slug, name), frame in tables.items() if slug == paper})
    return lines[is_comparable(lines)]


def counts_of(tables: Tables, paper: str) -> Counter[str]:
    """Return the number of comparable cells of a paper with each verdict."""
    return Counter(comparable(tables, paper)["verdict"])


def papers_of(tables: Tables) -> list[str]:
    """Return the papers that have tables of scores."""
    return sorted({paper for paper, _ in tables})


def test_the_readme_shows_the_verdicts_of_each_paper(tables: Tables, shifted: Tables) -> None:
    rows = []
    for paper in papers_of(tables):
        lines, same, apart = comparable(tables, paper), counts_of(tables, paper), counts_of(shifted, paper)
        single = ((lines["n"] == 1) & (lines["reported_n"] < 2)).sum()
        hopeless = (lines["runs_needed"] == NO_RUNS).sum()
        shown = [single, same["agrees"], same["inconclusive"], hopeless, same["differs"], apart["differs"]]
        rows.append([paper, *map(str, [len(lines), *shown])])
    total = [str(sum(int(row[at]) for row in rows)) for at in range(1, len(rows[0]))]
    assert "\n".join(f"| {' | '.join(row)} |" for row in [*rows, ["all", *total]]) in GUIDE


def test_no_cell_has_a_wrong_verdict(tables: Tables, shifted: Tables) -> None:
    for paper in papers_of(tables):
        same, apart = counts_of(tables, paper), counts_of(shifted, paper)
        assert same.keys() <= {"agrees", "inconclusive"}  # none differs in truth
        assert apart.keys() <= {"differs", "inconclusive"}  # all do
        assert same.total() == apart.total() > 0


def test_a_claim_is_open_on_filled_tables_only_where_nothing_of_ours_can_decide_it() -> None:
    """With a number in every cell of ours, what stays open is quoted, a test server's, or not measured at all."""
    plan = Plan(Config(scale="paper"), lambda study: RunSources())
    study, lines, left_open = plan.study, all_lines(plan), {Kind.NOT_TESTED}
    study.recordings.clear()  # their claims take thousands of draws
    counts: Counter[str] = Counter()
    for paper, claims in study.claims.items():
        if paper == "udagawa2023":  # whose claims on the best of many rows take a minute
            continue
        judged = judge_all(study, paper, {name: lines[paper, name] for one in claims.values() for name in one.tables})
        counts += Counter(item.ours.verdict for item in judged)
        for item in judged:
            if item.ours.verdict in left_open:
                statement = claims[item.name]
                reasons = ("quoted", "server") if statement.test_alone else ("quoted",)
                assert statement.undecided or any(reason in item.ours.numbers for reason in reasons), item
    assert counts.total() == 135
    assert sum(counts[verdict] for verdict in left_open) == 15
    assert counts[Kind.SUPPORTED] == pytest.approx(40, abs=8)  # as drawn, from one run of each; close claims are open
