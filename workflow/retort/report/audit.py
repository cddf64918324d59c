"""Write the page of the audit: every finding with both numbers and where they are printed."""

from __future__ import annotations

from typing import Any

from retort.audit import audit, condition_of
from retort.engine.job import Job
from retort.report.html import write_page
from retort.specs.config import read_config
from retort.study.load import open_whole
from retort.tables.published import printed_tables


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
