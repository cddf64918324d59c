"""Tests of the pages: self-contained, escaped, with unique ids, linked to each other, showing mixed results as such."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from retort.atomic import write_json
from retort.results.verification import VERIFIED, damage, note

from tests.tiny.results import change_score, write_results
from tests.tiny.variant import STUDENT, write_study
from tests.unit.report.pages import Tags, lost, report


@pytest.mark.parametrize("name", ["index.html", "tiny/index.html"])
def test_a_page_is_whole_and_alone_and_its_links_lead_somewhere(config: dict[str, Any], name: str) -> None:
    text = Path("reports", name).read_text()
    tags = Tags(text)
    assert tags.open == tags.sources == []  # of scripts, pictures and frames, next to those that the page holds itself
    assert len(tags.ids) == len(set(tags.ids))
    assert not re.search(r'fetch\(|src="(?!data:)|url\(|@import', text)
    assert lost(name) == []
    anchors = re.findall(r'<a class="anchor" href="#([^"]+)" aria-label="Link to ([^"]+)">#</a>', text)
    assert len(anchors) == text.count('class="anchor"') == len({label for _, label in anchors}) > 0
    assert dict(anchors)["tiny-table1"] == "Table 1"
    assert 'tabindex="-1"' not in text  # a keyboard reaches the link of each heading


def origin_of(page: str, value: str) -> str:
    """Return the box that a cell with this value opens."""
    cell = re.search(rf'popovertarget="([^"]+)" class="ours( best)?">{value}<', page)
    assert cell
    return page[page.index(f'<div popover id="{cell[1]}"') :].split("</div>")[0]


def test_a_cell_opens_its_runs(page: str) -> None:
    assert "results/profiles/tiny-attention.json" in origin_of(page, "2.50\u00a0±\u00a00.71")
    box = origin_of(page, "72.0\u00a0±\u00a02.0")
    for seed, value in ((1, "70.00"), (2, "72.00"), (3, "74.00")):
        assert f"mood accuracy, seed {seed}</th><td>{value}</td><td>2 s</td><td>2026-01-02 03:04</td>" in box
    assert "cpu: &lt;any&gt;" in box
    assert 'href="index.html#tiny-settings-tiny-kd"' in box
    boxes = re.findall(r'<div popover id="([^"]+)" class="origin".*?</div>', page, re.DOTALL)
    assert boxes == re.findall(r'<button popovertarget="([^"]+)" popovertargetaction="hide">Close</button>', page)


def test_everything_shown_stands_in_order(page: str) -> None:
    names = ("table1", "table2", "table3", "figure1", "figure2", "figure3", "claims", "settings", "cost", "provenance")
    places = [page.index(f'id="tiny-{name}"') for name in names]
    assert places == sorted(places)
    assert "teacher: &#34;tiny-teacher&#34;" in page  # named, not repeated


def test_a_tooltip_says_of_a_word_what_the_box_of_words_says(index: str, page: str) -> None:
    for text in (index, page):
        box = text[text.index('<details class="words">') :].split("</details>")[0]
        said = dict(re.findall("<dt>([^<]+)</dt><dd>([^<]+)</dd>", box))
        tips = {word.capitalize(): title for title, word in re.findall('<abbr title="([^"]+)">([^<]+)</abbr>', text)}
        assert {"Reported", "Recorded run", "Supported", "Tied"} < said.keys()
        assert tips == {word: said[word] for word in ("Scale", "Differs", "Inconclusive")}


def test_the_header_counts_and_dates(index: str, page: str) -> None:
    # table 1: one cell differs, two cells are inconclusive; table 2: parameters agree
    for text in (re.sub("</?abbr[^>]*>", "", one) for one in (index, page)):
        assert "1 of 4<small> cells agree with the reported values; differs 1, inconclusive 2</small>" in text
        assert all(said in text for said in ("14 of 14", "2026-01-02", "abc1234"))
        assert "Mixed results" not in text


def test_the_cost_of_a_result_counts_once(page: str) -> None:
    rows = re.findall(r'#tiny-\w+">([^<]+)</a></th>((?:<td>[^<]*</td>)+)', page)
    took = {label: re.findall(r"<td>([^<]*)</td>", cells) for label, cells in rows}
    assert took["Table 1"] == ["14", "14", "–", "28 s"]  # (1 teacher + 2 students x 3 seeds) x 2 tasks, 2 s each
    assert took["Table 2"] == ["2", "2", "–", "4 s"]
    assert took["Figure 1"] == ["0", "0", "6", "–"]


def test_escaped_everywhere(index: str, page: str) -> None:
    for raw in ("<b>_1", "<i>one", "<co>", "<any>"):
        assert raw not in page + index
        assert raw.replace("<", "&lt;").replace(">", "&gt;") in page


def test_mixed_results_are_said(config: dict[str, Any]) -> None:
    path = Path("results/scores/tiny-kd/rating/1-2-3.json")
    change_score(path, 2, device="cpu: another", versions={"python": "3.12"})
    for again in report(config):
        assert "Different devices, versions stand behind the numbers" in again
        assert "cpu: another" in again
        assert "python 3.11, python 3.12" in again
    for name in ("table1.html", "claims.html", "claims.md"):
        assert "Mixed results: different devices, versions stand behind" in Path(f"reports/tiny/{name}").read_text()
    resumed = [{"commit": "x", "code": "y"}]
    change_score(path, 2, device="cpu: <any>", versions={"python": "3.11"}, resumed_from=resumed)
    assert "Different states of the code stand behind" in report(config)[0]


def test_deviations_stand_once_for_all_who_share_them(here: Path) -> None:
    everyone = {"of": ["initialisation"], "text": "all <of> them"}
    five, one = ({"of": ["stages"], "text": f"{count} of them"} for count in ("five", "one"))
    given = {name: [everyone, five] for name in ("s0", "s1", "s2", "s3", "s4")}
    given |= {"s5": [everyone], "kd": [everyone, one], "attention": [everyone]}
    students = {name: {**STUDENT, "deviations": deviations} for name, deviations in given.items()}
    config = write_study(here / "study", students=students)
    write_results(config)
    _, page = report(config)
    assert page.count("all &lt;of&gt; them") == page.count("five of them") == page.count("one of them") == 1
    assert '<span class="where">all 8 students</span>' in page
    assert "<summary>5 of 8 students</summary>" in page
    assert '<span class="where">tiny-kd</span>' in page


def test_the_foot_says_when_the_results_of_the_page_were_verified(config: dict[str, Any]) -> None:
    score = Path("results/scores/tiny-kd/mood/1-2-3.json")
    other = Path("results/scores/another/mood/1.json")
    note("every file", [damage("not as it was made", path) for path in (score, other)])
    assert "(every file): 1 difference in " in report(config)[1]
    write_json(VERIFIED, {"when": "2025-01-01 00:00", "how": "every file", "differing": []})
    for page in report(config):
        assert "not verified since the newest was made; `retort verify` does so." in page
