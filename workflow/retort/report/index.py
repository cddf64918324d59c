"""Write the index of the report: one entry per paper, and the first table of a study of ours; and the audit's page."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup
from pydantic import TypeAdapter, ValidationError

from retort.atomic import replacing
from retort.audit import audit, condition_of
from retort.engine.job import Job
from retort.plan.exhibits import unrun_papers
from retort.report.across import Question, questions
from retort.report.html import PageExhibit, article, heading, write_page
from retort.report.outcome import RUN, Files, Opening, Tally, openings, tally
from retort.report.page import place_of
from retort.report.summary import Summary, summary_of
from retort.results.environments import Run, collect_runs, environments_of
from retort.results.tidy import read
from retort.specs.config import read_config
from retort.study.load import open_study, open_whole
from retort.study.study import Study
from retort.tables.base import table_of
from retort.tables.layout import label_of
from retort.tables.published import printed_tables
from retort.tables.recordings import compared_with_record, has_scores
from retort.tables.render import aligned

PRINTED = Path("results/tables/printed.json")  # entries of papers that are shown but not run
INDEX = Path("reports/index.html")
LONG_AGO = (1, 1)  # access and modification time of an unfinished index: older than all that it is made from


@dataclass(frozen=True)
class Entry:
    """One paper of the index.

    Args:
        headline: the markup of the first table of a study of ours that was run; else None.
        summary: what was run, and what came out; None while that is to come.
        of_ours: whether it is a study of ours.
        claims: whether it has claims.
        pending: the tables and figures that are still to come.
        page: whether its page exists.
        recorded: the outcomes of its claims on its recorded runs.
    """

    slug: str
    title: str
    reference: str
    tally: Tally
    contents: list[PageExhibit]
    headline: str | None = None
    summary: Summary | None = None
    of_ours: bool = False
    claims: bool = False
    pending: list[PageExhibit] = field(default_factory=list)
    page: bool = True
    recorded: list[Opening] = field(default_factory=list)


ENTRIES = TypeAdapter(dict[str, Entry])  # paper -> its entry, as JSON


def entry_of(
    study: Study, paper: str, found: list[Opening], files: Files = RUN, finished: bool = True, runs: Sequence[Run] = ()
) -> Entry:
    """Return the entry of a paper.

    Args:
        study: the study.
        paper: the paper.
        found: the outcomes of its claims.
        files: where its tables and figures lie.
        finished: whether all of them and the page of the paper exist.
        runs: the results behind them.
    """
    spec, names = study.papers[paper], study.exhibits_of(paper)
    headings = {name: heading(study, paper, name) for name in names}
    there = names if finished else [name for name in names if files.tidy(paper, name).is_file()]
    first = next((name for name in names if name.startswith("table")), "") if spec.ours else ""
    table, counted = files.printed(paper, first), tally(study, paper, found, files)
    compared = compared_with_record(study, paper, files.of_tables(study, paper), environments_of(runs).devices)
    return Entry(
        slug=paper,
        title=spec.title,
        reference=spec.reference,
        tally=counted,
        of_ours=spec.ours,
        summary=summary_of(study, paper, found, counted, compared) if found else None,
        contents=list(headings.values()),
        headline=_link_from_index(article(table), paper) if first and counted.measured and table.is_file() else None,
        claims=bool(study.claims.get(paper)),
        pending=[shown for name, shown in headings.items() if name not in there],
        page=finished,
        recorded=[one for one in found if one.run is not None and one.conditions],
    )


def _link_from_index(table: Markup, paper: str) -> Markup:
    """Make links of a table to its paper's page relative to the index, one folder above that page."""
    return Markup(str(table).replace('href="index.html', f'href="{paper}/index.html'))


def _read_printed(path: Path) -> list[Entry]:
    """Read the entries of papers that are shown but not run; empty if the file does not exist yet.

    A file of older code, with other keys, counts as missing: the run makes it anew.
    """
    with contextlib.suppress(FileNotFoundError, ValidationError):
        return list(ENTRIES.validate_json(path.read_text(encoding="utf-8")).values())
    return []


def _write(study: Study, entries: list[Entry], audit: Iterable[str], to: str, across: Iterable[Question] = ()) -> int:
    run = [entry.tally for entry in entries if entry.slug in study.papers or not study.papers]
    return write_page(
        to, "index.html", entries=entries, across=list(across), total=sum(run, Tally()),
        ours_alone=all(paper.ours for paper in study.papers.values()),
        origin=environments_of(collect_runs(study)), scale=study.config.scale,
        audit=[Path(page).name for page in audit],
        missing=list(study.config.run_sources.missing.values()), failures=study.config.run_sources.failures,
    )  # fmt: skip


def make_index(job: Job, config: dict[str, Any], audit: list[str], to: str, printed: Iterable[str] = ()) -> None:
    """Write the index to `to`; the papers' pages are in folders beside it.

    Args:
        job: the running job.
        config: the configuration.
        audit: the path of the page of the audit; empty if there is none.
        to: the path of the index.
        printed: the file with the entries of papers that are shown but not run; empty if there is none.
    """
    study = open_study(read_config(config))
    runs = collect_runs(study)
    entries = [
        entry_of(study, paper, openings(study, paper), runs=[run for run in runs if run.paper == paper])
        for paper in study.papers
    ]
    entries += [entry for path in printed for entry in _read_printed(Path(path))]
    shown = [*study.papers, *unrun_papers(study)]
    size = _write(study, entries, audit, to, questions(open_whole(study.config), shown))
    job.say(f"{to}: {len(entries)} paper{'s' * (len(entries) != 1)}, {size} KB")


def begin_index(study: Study, to: Path = INDEX) -> None:
    """Write an index that lists what is still to come, if there is no index yet."""
    if not to.exists():
        _write_so_far(study, to)


def lines_of_run(study: Study, targets: Iterable[str]) -> Iterator[str]:
    """Yield the lines with which a run ends: each table that it was asked for, the first one of a page, and the report.

    Args:
        study: the study.
        targets: the files that the run was asked for.
    """
    reports = [target for target in targets if target.endswith(".html") and Path(target).is_file()]
    for path in map(Path, targets):
        paper, name = path.parent.name, path.name.partition(".")[0]
        tables = [each for each in (study.exhibits_of(paper) if paper in study.papers else []) if each[:5] == "table"]
        shown = tables[:1] if name == "index" else [each for each in tables if each == name]
        for table in shown:
            lines = read(RUN.tidy(paper, table)) if RUN.tidy(paper, table).is_file() else []
            if has_scores(lines):
                sheet = table_of(study, paper, table).lay_out(lines)
                yield f"{study.papers[paper].title}, {label_of(table).lower()}. {sheet.title}"
                yield from (line for grid in sheet.grids for line in aligned(grid))
    yield from (f"report: {target}" for target in reports[:1])


def show_so_far(config: dict[str, Any], to: Path = INDEX) -> None:
    """Write an index of what a run has made so far; leave a finished index of an earlier run as it is."""
    if to.exists() and to.stat().st_mtime == LONG_AGO[1]:
        _write_so_far(open_study(read_config(config)), to)


def _write_so_far(study: Study, to: Path) -> None:
    """Write an unfinished index without outcomes of claims: it is written after each table, so it must be fast.

    Its time of modification is so old that Snakemake will make the whole index once all tables are there.
    """
    entries = [entry_of(study, paper, [], finished=False) for paper in study.papers]
    with replacing(to) as part:
        _write(study, [*entries, *_read_printed(PRINTED)], [], str(part))
        os.utime(part, LONG_AGO)


def make_audit(job: Job, config: dict[str, Any], to: str) -> None:
    """Run the audit and write its page to `to`: every finding with both numbers and where they are printed."""
    study = open_whole(read_config(config))
    results = audit(study)
    tables = printed_tables(study)
    cells = [cell for table in tables.values() for cell in table.printed_cells() if cell.number]
    count = sum(len(result.findings) for result in results.values())
    write_page(
        to, "audit.html", condition_of=condition_of,
        results={
            name: [result.count, [(finding, place_of(study, finding)) for finding in result.findings]]
            for name, result in results.items()
        },
        papers=[paper for paper in study.papers.values() if not paper.ours],
        titles={slug: paper.title for slug, paper in study.papers.items()},
        tables=len(tables), numbers=len(cells), findings=count,
    )  # fmt: skip
    job.say(f"{to}: {count} findings in {len(cells)} numbers of {len(tables)} tables")
