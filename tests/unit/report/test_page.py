"""Tests of the pages: self-contained, escaped, with unique ids, linked to each other, showing mixed results as such."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from retort.errors import RetortError
from retort.figures.differences import plot_verdicts
from retort.figures.make import plot_figure
from retort.report.html import article
from retort.report.index import make_index, show_so_far
from retort.report.page import make_page
from retort.tables.claims import check_claims
from retort.tables.make import make_table
from retort.tables.origin import Origin

from tests.tiny.blocks import with_block
from tests.tiny.edit import write
from tests.tiny.printed import ACC, study_config, table
from tests.tiny.results import change_record, paths, quiet, write_results
from tests.tiny.variant import PAPER, PROFILES, STUDENT, TABLE, write_one_table, write_study

MEAN = [ACC, {**ACC, "label": "Other", "task": "qa"}, {"label": "Avg", "mean_of": ["Coin", "Other"]}]
VOID = {"meta", "img", "br", "link", "input", "hr"}


class Tags(HTMLParser):
    """A parser that collects a page's ids, sources and links, and checks that its tags are balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.sources: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.sources += [given["src"]] if given.get("src") and not given["src"].startswith("data:") else []
        self.ids += [given["id"]] if given.get("id") else []
        self.links += [given["href"]] if given.get("href") else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def without_copies(page: str) -> str:
    """Return a page without the texts of its tables that are meant to be copied."""
    return re.sub(r"<textarea.*?</textarea>", "", page, flags=re.DOTALL)


def build(folder: Path) -> dict[str, Any]:
    """Write the tiny study's variant, its results and its pages under the current folder; return its configuration."""
    config = write_study(folder / "study")
    write_results(config)
    report(config)
    return config


def report(config: dict[str, Any]) -> tuple[str, str]:
    """Make the pages from the results that exist, and return the index and the paper's page."""
    scores, profiles = paths()
    for name in ("table1", "table2", "table3"):
        csv, html = f"results/tables/tiny/{name}.csv", f"reports/tiny/{name}.html"
        make_table(quiet(), config, "tiny", name, scores, profiles, csv, {"html": html})
    plot_verdicts(quiet(), "results/tables/tiny/table1.csv", {"svg": "reports/tiny/table1.svg"})
    for name in ("figure1", "figure2", "figure3"):
        csv, svg = f"results/tables/tiny/{name}.csv", {"svg": f"reports/tiny/{name}.svg"}
        plot_figure(quiet(), config, "tiny", name, scores, profiles, ["results/tables/tiny/table3.csv"], csv, svg)
    check_claims(
        quiet(), config, "tiny", ["results/tables/tiny/table1.csv"],
        {"md": "reports/tiny/claims.md", "html": "reports/tiny/claims.html"},
    )  # fmt: skip
    make_page(quiet(), config, "tiny", "reports/tiny/index.html")
    make_index(quiet(), config, ["reports/audit.html"], "reports/index.html")
    return Path("reports/index.html").read_text(), Path("reports/tiny/index.html").read_text()


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Build the variant of the tiny study with its pages in the current folder, and return its configuration."""
    monkeypatch.chdir(tmp_path)
    return build(tmp_path)


@pytest.fixture
def page(config: dict[str, Any]) -> str:
    """Return the page of the variant of the tiny study."""
    return Path("reports/tiny/index.html").read_text()


@pytest.fixture
def index(config: dict[str, Any]) -> str:
    """Return the index of the variant of the tiny study."""
    return Path("reports/index.html").read_text()


@pytest.mark.parametrize("name", ["index.html", "tiny/index.html"])
def test_a_page_is_whole_and_alone(config: dict[str, Any], name: str) -> None:
    text = Path("reports", name).read_text()
    tags = Tags(text)
    assert tags.open == []
    assert len(tags.ids) == len(set(tags.ids))
    assert tags.sources == []  # of scripts, pictures and frames, beside those that the page holds itself
    assert "fetch(" not in text
    assert re.findall(r'src="(?!data:)', text) == []
    assert "url(" not in text
    assert "@import" not in text


def lost(name: str, made_later: set[str]) -> list[str]:
    """Return the links of a page that lead nowhere."""
    folder, found = Path("reports", name).parent, []
    for link in Tags(Path("reports", name).read_text()).links:
        file, _, place = link.partition("#")
        target = folder / file if file else Path("reports", name)
        if target.name in made_later:
            continue
        if not target.is_file() or (place and place not in Tags(target.read_text()).ids):
            found.append(link)
    return found


@pytest.mark.parametrize("name", ["index.html", "tiny/index.html"])
def test_every_link_leads_to_a_place_of_the_report(config: dict[str, Any], name: str) -> None:
    assert lost(name, made_later={"audit.html"}) == []


def test_a_cell_opens_its_runs(page: str) -> None:
    cell = re.search(r'popovertarget="([^"]+)" class="ours( best)?">72.0 ± 2.0<', page)
    assert cell
    box = page[page.index(f'<div popover id="{cell[1]}"') :].split("</div>")[0]
    for seed, value in ((1, "70.00"), (2, "72.00"), (3, "74.00")):
        assert f"mood accuracy, seed {seed}</th><td>{value}</td><td>2 s</td><td>2026-01-02 03:04</td>" in box
    assert "cpu: &lt;any&gt;" in box
    assert 'href="index.html#tiny-settings-tiny-kd"' in box


def test_an_average_opens_the_runs_of_the_cells_that_it_counts(page: str) -> None:
    boxes = re.findall(r'<div popover id="tiny-table1-[^>]*aria-label="[^"]*, Average: .*?</div>', page, re.DOTALL)
    assert len(boxes) == 3
    assert all("mood accuracy" in box and "rating pearson" in box for box in boxes)


def test_settings_have_the_ends_of_logs(config: dict[str, Any]) -> None:
    log = Path("results/logs/distill_on_task/tiny-kd.mood.1.log")
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"step {step} <loss>\n" for step in range(1, 21)))
    page = report(config)[1]
    assert "...\nstep 9 &lt;loss&gt;" in page
    assert "step 8 &lt;loss&gt;" not in page
    assert str(log) in page


def test_a_table_is_there_to_be_copied_in_three_formats(page: str) -> None:
    texts = dict(re.findall(r'data-format="(\w+)">\n(.*?)</textarea>', page, re.DOTALL)[:3])
    assert texts["LaTeX"].startswith("% needs booktabs")
    assert texts["Markdown"].startswith("## Table 1")
    assert texts["CSV"].splitlines()[0].startswith(",")


def test_an_unfinished_index_says_what_is_still_to_come(config: dict[str, Any]) -> None:
    for name in ("table2", "table3"):
        Path(f"results/tables/tiny/{name}.csv").unlink()
    whole = Path("reports/index.html").stat().st_mtime
    show_so_far(config)
    index = Path("reports/index.html").read_text()
    assert "2 tables and figures are still to come: " in index
    assert "Table 2, Table 3" in index
    assert 'id="tiny-table1"' in index
    assert 'href="tiny/index.html"' not in index  # the page of the paper comes last
    assert Path("reports/index.html").stat().st_mtime == 1 < whole
    assert list(Path("reports").glob("*.part")) == []


def test_an_index_before_the_first_table(config: dict[str, Any]) -> None:
    for path in Path("results/tables/tiny").glob("*.csv"):
        path.unlink()
    for name in ("table1.html", "claims.html"):
        Path("reports/tiny", name).unlink()
    show_so_far(config)
    assert "6 tables and figures are still to come" in Path("reports/index.html").read_text()


def test_pages_lead_to_each_other(index: str, page: str) -> None:
    assert {"tiny/index.html", "tiny/index.html#tiny-table2", "audit.html"} <= set(Tags(index).links)
    assert "../index.html" in Tags(page).links


def test_everything_shown_stands_in_order(page: str):
    names = ("table1", "table2", "table3", "figure1", "figure2", "figure3", "claims", "settings", "cost", "provenance")
    places = [page.index(f'id="tiny-{name}"') for name in names]
    assert places == sorted(places)


def test_the_index_shows_the_first_table_of_a_study_of_ours(index: str) -> None:
    assert 'id="tiny-table1"' in index
    assert 'id="tiny-table2"' not in index
    assert "<td>3</td><td>3</td><td>17</td>" in index  # tables, figures, cells: 3 x (2 + 1 average) and 2 x 4


def test_the_header_counts_and_dates(index: str, page: str):
    # table 1: one cell differs, two cells and an average are inconclusive; table 2: parameters agree
    for text in (index, page):
        assert "1 of 5<small> cells agree with the published values; differs 1, inconclusive 3</small>" in text
        assert "17 of 17" in text
        assert "<dt>Claims that hold</dt><dd>1 of 1<small>on the published numbers 1</small></dd>" in text
        assert "2026-01-02" in text
        assert "abc1234" in text
        assert "Mixed results" not in text


def test_a_table_with_verdicts_has_their_plot_below_it(page: str) -> None:
    assert page.count('<figure class="verdicts">') == 1  # nothing is published of the scores of another table
    assert page.index('id="tiny-table1"') < page.index('<figure class="verdicts">') < page.index('id="tiny-table2"')


def test_the_cost_of_a_result_counts_once(page: str) -> None:
    rows = re.findall(r'#tiny-\w+">([^<]+)</a></th>((?:<td>[^<]*</td>)+)', page)
    took = {label: re.findall(r"<td>([^<]*)</td>", cells) for label, cells in rows}
    assert took["Table 1"] == ["14", "14", "–", "28 s"]  # (1 teacher + 2 students x 3 seeds) x 2 tasks, 2 s each
    assert took["Table 2"] == ["2", "2", "–", "4 s"]
    assert took["Figure 1"] == ["0", "0", "7", "–"]


def test_escaped_everywhere(index: str, page: str):
    for raw in ("<b>_1", "<i>one", "<co>", "<any>", "<box>"):
        assert raw not in page
        assert raw not in index
    for escaped in ("&lt;b&gt;_1", "&lt;i&gt;one", "&lt;co&gt;", "&lt;any&gt;", "&lt;box&gt;"):
        assert escaped in page


def test_mixed_results_are_said(config: dict[str, Any]):
    path = Path("results/scores/tiny-kd/rating/seed-2.json")
    change_record(path, device="cpu: another", versions={"python": "3.12"})
    for again in report(config):
        assert "Different devices, versions stand behind the numbers" in again
        assert "cpu: another" in again
        assert "python 3.11, python 3.12" in again
    for name in ("table1.html", "claims.html", "claims.md"):
        assert "Mixed results: different devices, versions stand behind" in Path(f"reports/tiny/{name}").read_text()
    change_record(path, device="cpu: <any>", versions={"python": "3.11"}, resumed_from=[{"commit": "x", "code": "y"}])
    assert "Different commits, states of the code stand behind" in report(config)[0]


def test_settings_name_the_teacher_instead_of_repeating_it(page: str):
    assert "&#34;teacher&#34;: &#34;tiny-teacher&#34;" in page


ALL = {"of": ["initialisation"], "text": "all <of> them"}


def test_deviations_stand_once_for_all_who_share_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"s{i}" for i in range(7)]
    given = {name: {**STUDENT, "deviations": [ALL]} for name in (*names, "kd", "attention")}
    for name in names[:5]:
        given[name]["deviations"] = [ALL, {"of": ["stages"], "text": "five of them"}]
    given["kd"]["deviations"] = [ALL, {"of": ["stages"], "text": "one of them"}]
    config = write_study(tmp_path / "study", students=given)
    write_results(config)
    _, page = report(config)
    assert page.count("all &lt;of&gt; them") == page.count("five of them") == page.count("one of them") == 1
    assert '<span class="where">all 9 students</span>' in page
    assert "<summary>5 of 9 students</summary>" in page
    assert '<span class="where">tiny-kd</span>' in page


# --- a paper of which nothing was run


def printed_paper(folder: Path) -> tuple[str, str]:
    """Return the index and the page of a paper whose rows have no student yet, and one of whose averages is wrong."""
    config = study_config(folder, table1=table(MEAN, {"a": "70.0 | 80.0 | 75.2", "b": "71.0 | 80.0 | 75.5"}, 6))
    make_table(
        quiet(), config, "some", "table1", [], [], "results/tables/some/table1.csv",
        {kind: f"reports/some/table1.{kind}" for kind in ("html", "md", "tex")},
    )  # fmt: skip
    make_page(quiet(), config, "some", "reports/some/index.html")
    make_index(quiet(), config, ["reports/audit.html"], "reports/index.html")
    return Path("reports/index.html").read_text(), Path("reports/some/index.html").read_text()


def test_a_table_that_was_not_run_says_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    index, page = printed_paper(tmp_path)
    page = without_copies(page)
    assert page.count("Not run, for no student stands for these rows yet") == 1
    assert '<td><span class="ours">75.2</span></td>' in page
    assert "–</span>" not in page
    assert "0 of 6<small>6 not run at this scale</small>" in page
    assert "There is no result yet" in page
    assert "<td>1</td><td>–</td><td>0</td><td>6</td><td>–</td>" in index
    for kind in ("md", "tex"):
        text = Path(f"reports/some/table1.{kind}").read_text()
        assert text.count("Not run, for no student") == 1
        assert "75.2" in text


def test_a_table_of_a_printed_paper_at_our_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table1 = {**TABLE, "numbers": 2, "published": {}, "columns": [{**TABLE["columns"][0], "average": False}],
              "rows": [{"student": "tiny-kd", "label": "A", "cells": "61.0"},
                       {"label": "Q", "quoted": "Nobody", "cells": "62.0"}]}  # fmt: skip
    paper = {**PAPER, "ours": False, "show": ["table1", "table2"]}
    table2 = {**PROFILES, "published": {}}
    config = write_one_table(tmp_path / "study", with_block(table1), table2=table2, paper=paper, claims={})
    made = [make_table(
        quiet(), config, "tiny", name, [], [], f"results/tables/tiny/{name}.csv", {"html": f"reports/tiny/{name}.html"}
    ) for name in ("table1", "table2")]  # fmt: skip
    assert len(made) == 2
    make_page(quiet(), config, "tiny", "reports/tiny/index.html")
    page = without_copies(Path("reports/tiny/index.html").read_text())
    assert page.count("Not run at this scale: the numbers are the published ones.") >= 1
    assert '<td><span class="ours">61.0</span></td>' in page
    assert '<td><span class="ours">62.0<sup>a</sup></span></td>' in page
    assert page.count("quoted (Nobody), never run") == 1
    assert "Nothing of this paper was run at scale pocket" in page


def test_a_page_holds_what_its_own_numbers_contradict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, page = printed_paper(tmp_path)
    assert '<th scope="row">Table 1, a, Avg</th><td>75.2</td><td>75.00</td>' in page
    assert "1 finding. " in page
    assert lost("some/index.html", made_later={"audit.html"}) == []


def test_an_index_without_an_audit(config: dict[str, Any]) -> None:
    make_index(quiet(), config, [], "reports/index.html")
    assert "audit.html" not in Path("reports/index.html").read_text()


def test_a_table_without_an_article(tmp_path: Path):
    (tmp_path / "t.html").write_text("<p>half")
    with pytest.raises(RetortError, match=r"t\.html holds no table; delete it"):
        article(tmp_path / "t.html")


@pytest.mark.parametrize(("seconds", "said"), [(45.2, "45 s"), (125.0, "2 min 5 s"), (7260.0, "2 h 1 min")])
def test_time_in_words(seconds: float, said: str):
    assert Origin(seconds=seconds).took == said


def test_a_page_opens_with_what_came_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = build(tmp_path)
    _, page = report(config)
    top = page.partition("<nav")[0]
    assert "What came out at scale pocket" in top
    assert "Of 1 claims, 0 hold, 0 do not, 1 are undecided" in " ".join(top.split())
    assert '<a href="#tiny-claim-a-beats-b">A beats B &amp; &lt;co&gt;.</a>' in top
    assert "runs of each student would decide it" in top


def test_a_page_of_a_paper_that_is_not_run_opens_with_the_recorded_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = build(tmp_path)
    recording = {
        "run": {"machine": "a laptop", "date": "2026-01-02"}, "replacements": {}, "runs": 3,
        "tables": {"table1": {"B": {"Acc. %": [70.0, 1.0]}}}, "claims": {"hold": ["a-beats-b"]},
    }  # fmt: skip
    write(tmp_path / "study", "papers/tiny/recorded/reduced.yaml", recording)
    write(tmp_path / "study", "scales/reduced.yaml", {"title": "Between"})
    top = " ".join(report(config)[1].partition("<nav")[0].split())
    assert "What came out at scale reduced, in the recorded run" in top
    assert "Of 1 claims, 1 hold, 0 do not, 0 are undecided" in top
    assert "a laptop, 2026-01-02; 3 runs of each student" in top
