"""Tests of what a page opens with, and of the pages of papers that are shown as reported, also with recorded runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from retort.cost.jobs import PRINTING, Jobs
from retort.cost.overview import lines
from retort.formatters import DASH
from retort.plan.plan import Plan
from retort.report.index import make_audit, make_index
from retort.report.page import NOT_RUN, make_page, picture
from retort.report.prediction import predicted
from retort.results.planned_study import kept_open
from retort.run.rehearsal.in_process import run_job
from retort.run.workflow import everything
from retort.specs.config import read_config
from retort.tables.claims import check_claims
from retort.tables.make import make_table
from retort.tables.recordings import OTHER_SETTINGS, record_scale

from tests.tiny.edit import CLAIMS, set_value, write
from tests.tiny.reported import MEAN, as_reported, study_config, table
from tests.tiny.results import keep, made, opened, quiet
from tests.tiny.variant import CLAIMS as CLAIM
from tests.tiny.variant import PAPER, PROFILES, TABLE, UNREPORTED, write_one_table
from tests.unit.report.pages import lost, report, without_copies
from tests.unit.study.test_scale import study_config as scaled_config

ROWS = {"A & <b>_1": {"Acc. %": [80.0, 1.0]}, "B": {"Acc. %": [70.0, 1.0]}}
CSV = "results/tables/tiny/table1.csv"


def page_of(config: dict[str, Any], *tables: str, paper: str = "tiny") -> str:
    """Make the tables that a published paper has no results of, and its page; return the page on one line."""
    for name in tables:
        renders = {kind: f"reports/{paper}/{name}.{kind}" for kind in ("html", "md", "tex")}
        make_table(quiet(), config, paper, name, [], [], f"results/tables/{paper}/{name}.csv", renders)
    make_page(quiet(), config, paper, f"reports/{paper}/index.html")
    return " ".join(without_copies(Path(f"reports/{paper}/index.html").read_text()).split())


def test_a_table_that_was_not_run_says_so_once(here: Path) -> None:
    config = study_config(here, table1=table(MEAN, {"a": "70.0 | 80.0 | 75.2", "b": "71.0 | 80.0 | 75.5"}))
    page = page_of(config, "table1", paper="some")
    once = "Not run since there is no student yet"
    assert page.count(once) == 1
    assert '<td><span class="ours">75.2</span></td>' in page
    assert "–</span>" not in page
    assert "There is no result yet" in page
    assert '<dl class="tiles">' not in page  # of dashes
    for text in (Path(f"reports/some/table1.{kind}").read_text() for kind in ("md", "tex")):
        assert text.count(once) == 1
        assert "75.2" in text
    # what its own numbers contradict
    assert '<a href="#some-finding-1">Table 1, a, Avg</a></th><td>75.2</td><td>75.00</td>' in page
    assert "<summary>1 finding</summary>" in page
    assert lost("some/index.html") == ["../index.html"]  # which is made later


def test_a_table_of_a_paper_of_others_at_our_scale(here: Path) -> None:
    rows = [{"student": "tiny-kd", "label": "A", "cells": "61.0"}, {"label": "Q", "quoted": "Nobody", "cells": "62.0"}]
    table1 = as_reported(rows, TABLE["columns"][:1])
    paper = {**PAPER, "ours": False, "show": ["table1", "table2"]}
    others = {"table2": {**PROFILES, "means": {}}, "paper": paper, "claims": {}}
    page = page_of(write_one_table(here / "study", table1, **others), "table1", "table2")
    assert '<td><span class="ours">61.0</span></td>' in page
    assert '<td><span class="ours">62.0<sup>a</sup></span></td>' in page
    assert page.count("quoted (Nobody), never run") == 1
    assert "Nothing of it was run: its tables show what is reported." in page
    assert NOT_RUN.strip() not in page  # said once for all tables
    assert NOT_RUN.strip() in Path("reports/tiny/table1.html").read_text()


def test_a_scale_that_is_not_judged_says_so_in_place_of_the_count_of_verdicts(here: Path) -> None:
    config = scaled_config(here / "study", "reduced", seeds=3)
    for judged, told in ((True, "agree with the reported values"), (False, "> not judged at this scale<")):
        set_value(here / "study", "scales/reduced.yaml", "judged", to=judged)
        made(config)
        make_index(quiet(), config, [], "reports/index.html")
        for page in (page_of(config), Path("reports/index.html").read_text()):
            assert told in page
            assert "no measured cell has a reported value" not in page


# --- what a page opens with


def top_of(page: str) -> str:
    """Return what stands in the head of a page, on one line."""
    return " ".join(page.partition("<header")[2].partition("</header>")[0].split())


def record(study: Path, **more: Any) -> None:
    """Write a recorded run of table 1 at a scale `reduced`."""
    run = {"machine": "a laptop", "date": "2026-01-02"}
    recording = {"run": run, "replacements": {}, "runs": 3, "tables": {"table1": ROWS}, **more}
    write(study, "papers/tiny/recorded/reduced.yaml", recording)
    write(study, "scales/reduced.yaml", {"title": "Between"})
    write(study, "scales/pocket.yaml", {"title": "Here", "papers": "ours"})


def record_ours(study: Path) -> None:
    """Write a recorded run of the study as one of ours, with one cell of table 1."""
    write(study, "papers/tiny/table1.yaml", UNREPORTED)
    run = {"machine": "cpu: a <box>", "date": "2026-01-02", "precision": "float32"}
    means, by_seed = {"Acc. %": [72.0, 2.0]}, {"Acc. %": {1: 70.0, 2: 72.0, 3: 74.0}}
    content = {"run": run, "runs": 3, "tables": {"table1": {"kd": means}}, "by_seed": {"table1": {"kd": by_seed}}}
    write(study, "papers/tiny/recorded/float32.yaml", content)


def page_again(config: dict[str, Any]) -> str:
    """Make the claims and the page again, and return the page."""
    check_claims(
        quiet(), config, "tiny", [CSV], "results/tables/tiny/claims.json", {"html": "reports/tiny/claims.html"}
    )
    return page_of(config)


def test_a_page_opens_with_what_came_out(index: str, page: str) -> None:
    top = top_of(page)
    assert 'Claims: <a href="#tiny-claims-ours-inconclusive">1 inconclusive</a>.</p>' in top
    by_itself = (
        "at most 2.5 % of resamples reverse it. Each claim is decided by itself, so of many decided claims some may"
    )
    assert by_itself in top
    assert by_itself in index


def test_a_page_opens_with_the_recorded_run(config: dict[str, Any], tmp_path: Path) -> None:
    record(tmp_path / "study")
    page = page_again(config)
    anchor = "tiny-claims-at-reduced-supported"
    assert f'<a class="count" id="{anchor}" href="#{anchor}">1 supported</a>' in page
    assert f'<td data-count="{anchor}"><span class="verdict supported">supported</span></td>' in page


def test_a_page_of_a_paper_opens_with_counts_that_lead_to_their_claims_and_says_what_was_run(study: Path) -> None:
    write(study, "papers/tiny/claims.yaml", CLAIM)
    page = reported_page(study)
    top = top_of(page)
    found, _, rest = top.partition("<h2>")
    assert '<a href="#tiny-claims-at-reduced-inconclusive">1 inconclusive</a>' in found
    assert '<a href="#tiny-claims-reported-not-supported">1 not supported</a>' in found
    heads = '<th scope="col">Claim</th><th scope="col">Where</th><th scope="col">Reported</th>'
    assert f'{heads}<th scope="col">Smaller models</th></tr>' in page  # this run has no column: it has no number
    assert '<th scope="col">As reported</th><th scope="col">Recorded, scale reduced</th>' in rest
    assert re.search("Distillation: length</th><td>[^<]+steps</td><td>[^<]+steps</td>", rest)
    assert "<td>cpu: &lt;any&gt;, 2026-01-02, commit abc1234</td>" in rest
    assert lost("tiny/index.html") == ["../index.html"]  # which is made later
    assert lost("tiny/claims.html") == ["../index.html"]


def test_a_page_says_what_was_learnt(config: dict[str, Any], tmp_path: Path) -> None:
    set_value(tmp_path / "study", CLAIMS, "a-beats-b", "contrary", to="B beats A.")
    assert "What was learnt" not in top_of(page_again(config))  # undecided
    record(tmp_path / "study")
    assert "What was learnt (1)</summary> <ul> <li>A beats B &amp; &lt;co&gt;.</li>" in top_of(page_again(config))
    record(tmp_path / "study", tables={"table1": dict(zip(ROWS, reversed(ROWS.values()), strict=True))})
    assert "<li>B beats A.</li>" in top_of(page_again(config))


def test_a_reply_of_an_author_and_the_way_to_object_stand_on_pages(config: dict[str, Any], tmp_path: Path) -> None:
    reply = {"by": "A. <Author>", "date": "2026-12-01", "text": "We meant the mean."}
    set_value(tmp_path / "study", CLAIMS, "a-beats-b", "reply", to=reply)
    said = '<p class="reply">Reply of A. &lt;Author&gt;, 2026-12-01: We meant the mean.</p>'
    page = page_again({**config, "contact": "mailto:a@example.org"})
    assert said in page
    assert page.count('<a href="mailto:a@example.org">Object to this</a>') == page.count("Wrong?") == 1
    said_of_text = {"says": "A number", "where": "here", "but": "no number", "sort": "wrong", "reply": reply}
    write(tmp_path / "study", "papers/tiny/audit.yaml", {"text": said_of_text})
    set_value(tmp_path / "study", "papers/tiny/paper.yaml", "ours", to=False)
    make_audit(quiet(), config, "reports/audit.html")
    assert f'<td class="why">{said}</td><td>wrong</td>' in Path("reports/audit.html").read_text()


def test_a_claim_says_how_much_of_the_variance_its_pairs_remove(config: dict[str, Any], tmp_path: Path) -> None:
    # the differences under the seeds are 1, 2 and 3: their variance is 1, those of the rows 4 and 1
    assert "pairing by seed removes 80 % of the variance of the difference" in page_again(config)
    by_seed = {"A & <b>_1": {"Acc. %": {1: 79.0, 2: 80.0, 3: 81.0}}, "B": {"Acc. %": {1: 71.0, 2: 70.0, 3: 69.0}}}
    record(tmp_path / "study", by_seed={"table1": by_seed})
    assert "pairing by seed adds 100 % of the variance of the difference" in page_again(config)


def test_the_page_of_a_study_of_ours_begins_with_the_record_that_it_meets(
    config: dict[str, Any], tmp_path: Path
) -> None:
    assert "No run of this study is recorded." in top_of(page_again(config))
    record_ours(tmp_path / "study")
    page = report(config)[1]
    top = top_of(page)
    assert "Reproduces the record of 2026-01-02 on another CPU exactly: all 1 means have the recorded digits." in top
    assert "(1, of them 1 exactly), or agree with the reported values" in top
    assert "<dd>cpu: a &lt;box&gt;</dd>" in page


# --- papers that the scale does not run: recorded numbers stand next to the reported ones


@pytest.fixture
def study(here: Path) -> Path:
    """Record a run of a published paper at a smaller scale, and return the folder of its study."""
    config = scaled_config(here / "study", "reduced", seeds=3)
    made(config)
    keep(record_scale(opened(config), "tiny"))
    return Path(config["study"])


def make_files(config: dict[str, Any], targets: list[str]) -> None:
    """Run all jobs behind some files, which print alone."""
    plan = Plan(read_config(config))
    jobs = list(Jobs(plan).behind(targets))
    assert {job.rule.name for job in jobs} <= PRINTING
    with kept_open(config, plan.study):
        assert all(run_job(job, config) for job in jobs)


def reported_page(study: Path) -> str:
    """Return the page of the paper at the scale that runs our own studies alone."""
    make_files({"study": str(study), "scale": "pocket"}, ["reports/tiny/index.html"])
    return " ".join(without_copies(Path("reports/tiny/index.html").read_text()).split())


def test_a_recorded_number_has_a_column_of_its_own_and_is_not_judged(study: Path) -> None:
    page = reported_page(study)
    heads = '<th scope="col">Acc. %</th><th scope="col">Acc. %, recorded</th>'
    assert heads in page
    cells = '<td><span class="ours">1</span> </td> <td class="recorded"><span class="ours">72.0 ± 2.0</span> </td>'
    assert cells in page.replace("</span></td>", "</span> </td>")
    origin = "cpu: &lt;any&gt;, 2026-01-02, commit abc1234; 3 runs of each student; teacher: half; tasks: mood"
    assert f"Recorded: a run of ours at scale reduced ({origin}, over which means are), not judged." in page
    table = page[page.index('<article class="exhibit" id="tiny-table1"') :].split("</article>")[0]
    assert "verdict" not in table


def test_without_a_run_all_pages_are_of_reported_and_recorded_numbers(config: dict[str, Any], tmp_path: Path) -> None:
    record_ours(tmp_path / "study")
    write(tmp_path / "study", "papers/tiny/recorded/float32-figure2.svg", "<svg>the record's</svg>")
    config["papers"] = []
    make_files(config, everything(opened(config)))
    index, page = (Path(f"reports/{name}").read_text() for name in ("index.html", "tiny/index.html"))
    assert "Nothing was run here." in index
    assert "Recorded 2026-01-02, not run here." in index
    assert '<span class="ours">72.0' in page
    assert "There is no result yet: all numbers are reported or recorded." in page
    assert picture(tmp_path / "study/papers/tiny/recorded/float32-figure2.svg") in page
    assert lost("index.html") == lost("tiny/index.html") == []


def test_a_recorded_run_of_other_settings_is_not_shown_in_tables_and_named_so_elsewhere(study: Path) -> None:
    write(study, "papers/tiny/claims.yaml", CLAIM)
    others = ", with other settings than the scale has now"
    page = reported_page(study)
    assert "Smaller models, at " in top_of(page)
    assert others not in page
    set_value(study, "scales/reduced.yaml", "replacements", "training", "steps", to=9)
    page = reported_page(study)
    assert OTHER_SETTINGS in page
    assert ", recorded</th>" not in page
    assert re.search(f"Smaller models, at [^<]+{others}", top_of(page))
    assert f"{others}</span></dd>" in page


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["minilmv2", "mlkd2024", "udagawa2023", "wang2023"])
def test_hours_on_a_page_are_those_of_the_cost_report(paper: str) -> None:
    decided = {"companions": {}, "seeds_divided": {}, "run_sources": {"precision": "float32"}}
    found = predicted({"papers": [], "scale": "pocket", **decided}, paper)
    report = list(lines(read_config({"papers": [paper], "scale": "paper"}), [paper], None))
    cells = {line.split()[0]: line.split()[1:] for line in report if line}
    assert [cells["total"][0], cells["total"][2]] == [f"{found.jobs:,}", found.hours]
    for one in found.planned:
        jobs, _, *hours = cells[f"{paper}/{one.name}"][:4]
        assert [f"{one.jobs:,}", one.hours, one.shared] == [jobs, *(text.replace("-", DASH) for text in hours)]


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["minilmv2", "udagawa2023"])  # of most tables and of most students
def test_a_page_as_shipped_is_light(here: Path, paper: str) -> None:
    path = Path(f"reports/{paper}/index.html")
    make_files({"papers": []}, [str(path)])
    assert path.stat().st_size <= 700_000
