"""Write the index of the report: one entry per paper, and the first table of a study of ours."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from retort.atomic import replacing
from retort.audit import audit, condition_of
from retort.engine.job import Job
from retort.report.html import PageExhibit, exhibit, heading, write_page
from retort.report.outcome import RUN, ClaimCounts, Files, Opening, openings
from retort.report.tally import Tally, tally
from retort.results.environments import collect_runs, origin
from retort.specs.config import read_config
from retort.study.load import open_study, open_whole
from retort.study.study import Study
from retort.tables.published import printed_tables

PRINTED = Path("results/tables/printed.json")  # entries of papers that are shown but not run
INDEX = Path("reports/index.html")
LONG_AGO = (1, 1)  # access and modification time of an unfinished index: older than all that it is made from


@dataclass(frozen=True)
class Recorded:
    """A recorded run of a paper: how many cells it has, and how many claims have each outcome on them.

    Args:
        outdated: whether it had other settings than the scale has now.
    """

    scale: str
    cells: int
    claims: ClaimCounts
    outdated: bool


@dataclass(frozen=True)
class Entry:
    """One paper of the index.

    Args:
        headline: the first table of a study of ours; None for a printed paper.
        claims: whether it has claims.
        pending: the anchors of tables and figures that are still to come.
        page: whether its page exists.
        recorded: its recorded runs.
    """

    slug: str
    title: str
    reference: str
    tally: Tally
    contents: list[PageExhibit]
    headline: PageExhibit | None = None
    claims: bool = False
    pending: list[str] = field(default_factory=list)
    page: bool = True
    recorded: list[Recorded] = field(default_factory=list)

    @property
    def still(self) -> list[PageExhibit]:
        """The tables and figures that are still to come."""
        return [exhibit for exhibit in self.contents if exhibit.anchor in self.pending]


def entry_of(study: Study, paper: str, found: list[Opening], files: Files = RUN, finished: bool = True) -> Entry:
    """Return the entry of a paper.

    Args:
        study: the study.
        paper: the paper.
        found: the outcomes of its claims.
        files: where its tables and figures lie.
        finished: whether all of them and the page of the paper exist.
    """
    spec, names = study.papers[paper], study.exhibits_of(paper)
    pending = [] if finished else [name for name in names if not files.tidy(paper, name).is_file()]
    first = next((name for name in names if name.startswith("table")), "") if spec.ours else ""
    has_first = first and files.printed(paper, first).is_file()
    return Entry(
        slug=paper,
        title=spec.title,
        reference=spec.reference,
        tally=tally(study, paper, found, files),
        contents=[heading(study, paper, name) for name in names],
        headline=_link_from_index(exhibit(study, paper, first, files), paper) if has_first else None,
        claims=bool(study.claims.get(paper)),
        pending=[heading(study, paper, name).anchor for name in pending],
        page=finished,
        recorded=[Recorded(one.scale, one.cells, one.counts, one.outdated) for one in found if one.run is not None],
    )


def _link_from_index(shown: PageExhibit, paper: str) -> PageExhibit:
    """Make links of a table to its paper's page relative to the index, one folder above that page."""
    moved = str(shown.body).replace('href="index.html', f'href="{paper}/index.html')
    return replace(shown, body=Markup(moved))


def _read_printed(path: Path) -> list[Entry]:
    """Read the entries of papers that are shown but not run; empty if the file does not exist yet.

    A file of older code, with other keys, counts as missing: the run makes it anew.
    """
    kept = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    with contextlib.suppress(KeyError, TypeError):
        return [_entry_from_json(entry) for entry in kept.values()]
    return []


def _entry_from_json(entry: dict[str, Any]) -> Entry:
    """Return the entry that `dataclasses.asdict` turned into this JSON object."""
    claims = {side: ClaimCounts(**entry["tally"][side]) for side in ("published", "ours")}
    recorded = [Recorded(**{**one, "claims": ClaimCounts(**one["claims"])}) for one in entry["recorded"]]
    contents = [PageExhibit(**one) for one in entry["contents"]]
    return Entry(**{**entry, "tally": Tally(**entry["tally"] | claims), "contents": contents, "recorded": recorded})


def _write(study: Study, entries: list[Entry], audit: Iterable[str], to: str) -> int:
    run = [entry.tally for entry in entries if entry.slug in study.papers]
    return write_page(
        to, "index.html", entries=entries, total=sum(run, Tally()),
        origin=origin(collect_runs(study)), scale=study.config.scale, audit=[Path(page).name for page in audit],
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
    entries = [entry_of(study, paper, openings(study, paper)) for paper in study.papers]
    entries += [entry for path in printed for entry in _read_printed(Path(path))]
    size = _write(study, entries, audit, to)
    job.say(f"{to}: {len(entries)} paper{'s' * (len(entries) != 1)}, {size} KB")


def begin_index(study: Study, to: Path = INDEX) -> None:
    """Write an index that lists what is still to come, if there is no index yet."""
    if not to.exists():
        _write_so_far(study, to)


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


# Write the page of the audit: every finding with both numbers and where they are printed.


def make_audit(job: Job, config: dict[str, Any], to: str) -> None:
    """Run the audit and write its page to `to`, as one self-contained file."""
    study = open_whole(read_config(config))
    results = audit(study)
    tables = printed_tables(study)
    cells = [cell for table in tables.values() for cell in table.printed_cells() if cell.number]
    count = sum(len(result.findings) for result in results.values())
    write_page(
        to, "audit.html", results=results, condition_of=condition_of,
        papers=[paper for paper in study.papers.values() if not paper.ours],
        titles={slug: paper.title for slug, paper in study.papers.items()},
        tables=len(tables), numbers=len(cells), findings=count,
    )  # fmt: skip
    job.say(f"{to}: {count} findings in {len(cells)} numbers of {len(tables)} tables")
