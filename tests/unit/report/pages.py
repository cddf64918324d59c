"""Make the pages of a tiny study with results, and read what stands on a page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from retort.checksums import take
from retort.cost.jobs import Jobs
from retort.job.context import this_code
from retort.plan.plan import Plan
from retort.results.planned_study import kept_open
from retort.run.rehearsal.in_process import run_job
from retort.specs.config import read_config

from tests.tiny.results import paths, write_results
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


def build(folder: Path) -> None:
    """Write the tiny study's variant, its results and its pages under the current folder."""
    config = write_study(folder / "study")
    write_results(config)
    report(config)


def take_checksums() -> None:
    """Take the checksums of the results that exist, as the jobs that make them do."""
    for path in (Path(name) for names in paths() for name in names):
        take(path, "job", this_code(), (), {})


def report(config: dict[str, Any]) -> tuple[str, str]:
    """Make tables, figures and pages from the results that exist; return the index and the paper's page."""
    take_checksums()
    plan = Plan(read_config(config))
    with kept_open(config, plan.study):
        for job in Jobs(plan).behind(["reports/index.html"]):
            if job.rule.name.startswith(("make_", "plot_", "check_")) and job.rule.name != "make_source":
                assert run_job(job, config)
    return Path("reports/index.html").read_text(), Path("reports/tiny/index.html").read_text()


def lost(name: str) -> list[str]:
    """Return the links of a page that lead nowhere; the page of the audit may be still to come."""
    path, found = Path("reports", name), []
    for link in Tags(path.read_text()).links:
        file, _, place = link.partition("#")
        target = path.parent / file if file else path
        exists = target.is_file() and (not place or place in Tags(target.read_text()).ids)
        if target.name != "audit.html" and not exists:
            found.append(link)
    return found
