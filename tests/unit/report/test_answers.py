"""Tests of the answers of the index: how sure they are by the outcomes of claims, and that these bear them out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from retort.judgement.claims import Judgement
from retort.judgement.judge import Kind, coverage_of
from retort.report.answers import Answered, answers
from retort.report.index import make_index
from retort.report.outcome import Shown
from retort.specs.across import Answer
from retort.study.study import Study
from retort.tables.claims import Judged, judge_on_reported, smaller_runs

from tests.tiny.results import quiet

NONE = Judgement(Kind.NOT_TESTED)
ANSWER = {
    "question": "What <now>?",
    "answer": "A, and not B & <co>.",
    "rests_on": [{"paper": "tiny", "claims": {"a-beats-b": "supported"}, "exhibits": ["table1"]}],
    "picture": "tiny/figure2",
}


def answered(whole: Study, reported: Kind, recorded: Kind | None, ours: Kind | None, expected: str) -> Answered:
    """Return an answer that rests on one claim of a paper and one of a study of ours, with these outcomes."""
    shown = {paper: Shown(whole, paper) for paper in ("wang2023", "pocket")}
    smaller = {"reduced": Judgement(recorded)} if recorded else {}
    names = {"wang2023": "cheap-choice", "pocket": "steps-matter"}
    for paper, one in (("wang2023", Judgement(reported)), ("pocket", Judgement(ours or Kind.NOT_TESTED))):
        claim = whole.claims[paper][names[paper]]
        of_paper = smaller if paper == "wang2023" else {}
        shown[paper].judged = [Judged(one, NONE, of_paper, {}, {}, name=names[paper], claim=claim)]
    rests_on = [{"paper": paper, "claims": {name: expected}} for paper, name in names.items()]
    spec = Answer.model_validate({**ANSWER, "rests_on": rests_on, "picture": "starts"}, context=whole.names("wang2023"))
    (found,) = answers({"one": spec}, shown, [])
    return found


@pytest.mark.parametrize(
    ("reported", "recorded", "ours", "expected", "sure"),
    [
        (Kind.SUPPORTED, None, None, "supported", "One paper reports it; not tested by us."),
        (Kind.SUPPORTED, Kind.INCONCLUSIVE, None, "supported",
         "One paper reports it; inconclusive on smaller models (4 seeds)."),
        (Kind.SUPPORTED, Kind.SUPPORTED, Kind.SUPPORTED, "supported",
         "One paper reports it; supported on smaller models (4 to 5 seeds)."),
        (Kind.NOT_TESTED, Kind.INCONCLUSIVE, Kind.SUPPORTED, "supported",
         "Supported in part on smaller models (1 of 2 claims agree, 4 to 5 seeds); no paper tests it."),
        (Kind.SUPPORTED, Kind.NOT_SUPPORTED, Kind.SUPPORTED, "supported",
         "One paper reports it; supported in part on smaller models (1 of 2 claims agree, 4 to 5 seeds), but "
         "contradicted on smaller models by one claim."),
        (Kind.SUPPORTED, Kind.BY_LENGTH, None, "depends on length",
         "Supported on smaller models (4 seeds); no paper tests it."),
    ],
)  # fmt: skip
def test_how_sure_an_answer_is_follows_from_its_claims(
    whole: Study, reported: Kind, recorded: Kind | None, ours: Kind | None, expected: str, sure: str
) -> None:
    found = answered(whole, reported, recorded, ours, expected)
    assert found.sure == sure
    assert bool(found.contradicted) == ("contradicted" in sure)


def test_only_papers_that_agree_report_an_answer(whole: Study) -> None:
    found = answered(whole, Kind.SUPPORTED, None, None, "supported")
    agrees, opposed = (replace(found.sources[0], claims=[(item, [replace(one, agrees=agree) for one in outcomes])
                       for item, outcomes in found.sources[0].claims]) for agree in (True, False))  # fmt: skip
    assert replace(found, sources=[agrees, opposed]).sure == (
        "One paper reports it in part (1 of 2 claims agree), but contradicted by the reported numbers by one claim; "
        "not tested by us."
    )
    untested = [replace(one, claims=[]) for one in found.sources]
    assert [replace(found, sources=each).sure for each in (untested, untested[:1])] == [
        "Reported by one paper; measured by one study of ours; no claim tests it.",
        "Reported by one paper; no claim tests it.",
    ]


def test_no_claim_contradicts_an_answer_of_the_project(whole: Study) -> None:
    named = {(one.paper, name) for answer in whole.answers.values() for one in answer.rests_on for name in one.claims}
    shown = {paper: Shown(whole, paper) for paper in whole.papers}
    for paper, one in shown.items():
        on_reported, runs, one.judged = judge_on_reported(whole, paper), smaller_runs(whole, paper), []
        for name, claim in whole.claims.get(paper, {}).items():
            if (paper, name) in named:
                smaller = {run.scale: run.judge(name, claim) for run in runs if coverage_of(claim, run.side).known}
                one.judged.append(Judged(on_reported(claim), NONE, smaller, {}, {}, name=name, claim=claim))
    found = answers(whole.answers, shown, [])
    assert [one.name for one in found] == list(whole.answers)
    assert [text for one in found for text in one.contradicted] == []


def given(config: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Write answers into the study; return the configuration."""
    content = {"first": {**ANSWER, **changes}}
    Path(config["study"], "papers/answers.yaml").write_text(yaml.safe_dump(content))
    return config


def test_the_index_opens_with_answers_and_marks_a_contradiction(config: dict[str, Any]) -> None:
    judged = Path("results/tables/tiny/claims.json")
    judged.write_text(judged.read_text().replace('"verdict": "inconclusive"', '"verdict": "not supported"'))
    make_index(quiet(), given(config), [], "reports/index.html")
    page = Path("reports/index.html").read_text()
    assert "<strong>Contradicted:</strong> \u201cA beats B &amp; &lt;co&gt;\u201d is" in page
    assert page.index("What should I use?") < page.index("All papers at a glance")
    assert "What &lt;now&gt;?" in page
    assert 'href="tiny/index.html#tiny-claim-a-beats-b"' in page
    assert 'href="tiny/index.html#tiny-figure2"' in page
