"""Write the index of the report: one entry per paper, and the first table of a study of ours."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retort.jobs import Job
from retort.report.html import PageExhibit, exhibit, heading, write_page
from retort.report.tally import Tally, tally
from retort.specs.config import read_config
from retort.study.load import open_study
from retort.study.study import Study
from retort.tables.origin import collect_runs, origin


@dataclass(frozen=True)
class Entry:
    """One paper of the index.

    Args:
        headline: the first table of a study of ours; None for a paper.
    """

    slug: str
    title: str
    reference: str
    tally: Tally
    contents: list[PageExhibit]
    headline: PageExhibit | None
    claims: bool


def _entry(study: Study, paper: str) -> Entry:
    spec, names = study.papers[paper], study.exhibits_of(paper)
    first = next((name for name in names if name.startswith("table")), None) if spec.ours else None
    return Entry(
        slug=paper,
        title=spec.title,
        reference=spec.reference,
        tally=tally(study, paper),
        contents=[heading(study, paper, name) for name in names],
        headline=exhibit(study, paper, first) if first else None,
        claims=bool(study.claims.get(paper)),
    )


def make_index(job: Job, config: dict[str, Any], audit: list[str], to: str) -> None:
    """Write the index to `to`; the papers' pages are in folders beside it.

    Args:
        job: the running job.
        config: the configuration.
        audit: the path of the page of the audit; empty if there is none.
        to: the path of the index.
    """
    study = open_study(read_config(config))
    entries = [_entry(study, paper) for paper in study.papers]
    size = write_page(
        to, "index.html", entries=entries, total=sum((entry.tally for entry in entries), Tally()),
        origin=origin(collect_runs(study)), scale=study.config.scale, audit=[Path(page).name for page in audit],
        missing=list(study.config.run_sources.missing.values()), failures=study.config.run_sources.failures,
    )  # fmt: skip
    job.say(f"{to}: {len(entries)} paper{'s' * (len(entries) != 1)}, {size} KB")
