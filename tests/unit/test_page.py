"""The page: self-contained, escaped, with unique ids, and honest about mixed results."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from retort.errors import RetortError
from retort.figures.make import plot_figure
from retort.report.origin import Origin
from retort.report.page import article, make_index
from retort.tables.claims import check_claims
from retort.tables.make import make_table

from tests.unit.small_study import paths, quiet, write_results, write_study

VOID = {"meta", "img", "br", "link", "input", "hr"}


class Tags(HTMLParser):
    """Ids, inner links and the balance of a page's tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.names.add(tag)
        self.ids += [given["id"]] if given.get("id") else []
        self.links += [given["href"]] if given.get("href") else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def build(folder: Path) -> str:
    """The page of the small study, whose results stand in the current folder."""
    config = write_study(folder / "study")
    write_results(config)
    return index(config)


def index(config: dict[str, Any]) -> str:
    """The page over the results that are there."""
    scores, profiles = paths()
    for name in ("table1", "table2", "table3"):
        csv, html = f"results/tables/mini/{name}.csv", f"reports/mini/{name}.html"
        make_table(quiet(), config, "mini", name, scores, profiles, csv, {"html": html})
    for name in ("figure1", "figure2", "figure3"):
        csv, svg = f"results/tables/mini/{name}.csv", {"svg": f"reports/mini/{name}.svg"}
        plot_figure(quiet(), config, "mini", name, scores, profiles, ["results/tables/mini/table3.csv"], csv, svg)
    check_claims(
        quiet(), config, "mini", ["results/tables/mini/table1.csv"],
        {"md": "reports/mini/claims.md", "html": "reports/mini/claims.html"},
    )  # fmt: skip
    make_index(quiet(), config, "reports/index.html")
    return Path("reports/index.html").read_text()


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page of the small study."""
    monkeypatch.chdir(tmp_path)
    return build(tmp_path)


def test_the_page_is_whole_and_alone(page: str):
    tags = Tags(page)
    assert tags.open == []
    assert len(tags.ids) == len(set(tags.ids))
    assert {link for link in tags.links if link[1:] not in tags.ids} == set()  # every link leads to a place on the page
    assert "script" not in tags.names
    assert re.findall(r'(?:src|href)="(?!data:|#)', page) == []
    assert "url(" not in page
    assert "@import" not in page


def test_everything_shown_stands_in_order(page: str):
    names = ("table1", "table2", "table3", "figure1", "figure2", "figure3", "claims", "settings", "provenance")
    places = [page.index(f'id="mini-{name}"') for name in names]
    assert places == sorted(places)


def test_the_header_counts_and_dates(page: str):
    # table 1: two agree and one differs; table 2: parameters agree
    assert "3 of 4<small> cells agree" in page
    assert "2026-01-02" in page
    assert "abc1234" in page
    assert "Mixed results" not in page


def test_escaped_everywhere(page: str):
    for raw in ("<b>_1", "<i>one", "<co>", "<any>", "<box>"):
        assert raw not in page
    for escaped in ("&lt;b&gt;_1", "&lt;i&gt;one", "&lt;co&gt;", "&lt;any&gt;", "&lt;box&gt;"):
        assert escaped in page


def test_mixed_results_are_said(page: str, tmp_path: Path):
    path = Path("results/scores/mini-a/rated/seed-2.json")
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "device": "cpu: another", "versions": {"python": "3.12"}}))
    again = index({"papers": ["mini"], "study": str(tmp_path / "study"), "precision": "float32"})
    assert "Different devices, versions stand behind the numbers" in again
    assert "cpu: another" in again
    assert "python 3.11, python 3.12" in again


def test_settings_name_the_teacher_instead_of_repeating_it(page: str):
    assert "&#34;teacher&#34;: &#34;mini-teacher&#34;" in page


def test_a_table_without_an_article(tmp_path: Path):
    (tmp_path / "t.html").write_text("<p>half")
    with pytest.raises(RetortError, match=r"t\.html holds no table; delete it"):
        article(tmp_path / "t.html")


@pytest.mark.parametrize(("seconds", "said"), [(45.2, "45 s"), (125.0, "2 min 5 s"), (7260.0, "2 h 1 min")])
def test_time_in_words(seconds: float, said: str):
    assert Origin(seconds=seconds).took == said
