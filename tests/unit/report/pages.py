"""Make the pages of a tiny study with results, and read what stands on a page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from retort.figures.differences import plot_verdicts
from retort.figures.plot import plot_figure
from retort.report.index import make_index
from retort.report.page import make_page
from retort.tables.claims import check_claims
from retort.tables.make import make_table

from tests.tiny.results import paths, quiet, write_results
from tests.tiny.variant import write_study

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
