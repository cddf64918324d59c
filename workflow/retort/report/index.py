"""Write the index of the report, with answers, an entry a paper, and first tables of ours; and the audit's page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from retort.audit import MEANING, audit, condition_of, counts_of_sorts
from retort.job.context import RunningJob
from retort.report.across import questions
from retort.report.answers import answers
from retort.report.outcome import RUN, Files, Shown, Tally
from retort.report.page import article, heading, write_page
from retort.results.environments import collect_runs, environments_of
from retort.results.frames import read
from retort.results.planned_study import planned_study
from retort.study.load import whole_of
from retort.study.study import Study
from retort.tables.base import table_of
from retort.tables.layout import label_of, verdict_remark
from retort.tables.numbers import reported_tables
from retort.tables.recordings import has_scores
from retort.tables.render import aligned

if TYPE_CHECKING:
    from pandas import DataFrame


def headline_of(shown: Shown) -> Markup | None:
    """Return the first table of a study of ours that was run; else None."""
    first = next((name for name in shown.study.exhibits_of(shown.paper) if name.startswith("table")), "")
    table = shown.files.rendered(shown.paper, first)
    if not (first and shown.spec.ours and shown.tally.measured and table.is_file()):
        return None
    # its links lead to the page of its paper, one folder below the index
    return Markup(str(article(table)).replace('href="index.html', f'href="{shown.paper}/index.html'))


def make_index(job: RunningJob, config: dict[str, Any], audit: list[str], to: str) -> None:
    """Write the index to `to`; the papers' pages are in folders next to it.

    Args:
        job: the running job.
        config: the configuration.
        audit: the path of the page of the audit; empty if there is none.
        to: the path of the index.
    """
    study, root = planned_study(config), Path(to).parents[1]
    runs = collect_runs(study, root=root)
    devices = {paper: environments_of(run for run in runs if run.paper == paper).devices for paper in study.papers}
    every = [Shown(study, paper, Files(root), of_paper) for paper, of_paper in devices.items()]
    every.sort(key=lambda one: (not one.tally.measured, one.spec.ours, one.unrun))
    papers = {shown.paper: shown for shown in every}
    headings = {paper: [heading(study, paper, name) for name in study.exhibits_of(paper)] for paper in papers}
    headlines, whole = {paper: headline_of(shown) for paper, shown in papers.items()}, whole_of(study)
    across = questions(whole, list(study.papers), Files(root))
    run = [papers[paper].tally for paper in study.running_papers or papers]
    size = write_page(
        to, "index.html", study.config.contact, runs, papers=papers, headings=headings, headlines=headlines,
        across=across, answers=answers(whole.answers, papers, across), total=sum(run, Tally()),
        scale=study.config.scale if study.running_papers else "",
        judged=all(study.judges(paper) for paper, shown in papers.items() if shown.tally.measured),
        audit=[Path(page).name for page in audit],
        missing=list(study.config.run_sources.missing.values()), failures=study.config.run_sources.failures,
    )  # fmt: skip
    job.say(f"{to}: {len(papers)} paper{'s' * (len(papers) != 1)}, {size} KB")


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
            frame = read(RUN.csv(paper, table)) if RUN.csv(paper, table).is_file() else None
            if frame is not None and has_scores(frame):
                kind = table_of(study, paper, table)
                sheet = kind.lay_out(frame)
                yield f"{study.papers[paper].title}, {label_of(table).lower()}. {sheet.title}"
                yield from (line for grid in sheet.grids for line in aligned(grid))
                yield from (_runs_in_words(frame), *verdict_remark(kind.verdicts(frame)), "")
    yield from (f"report: {target}" for target in reports[:1])


def _runs_in_words(frame: DataFrame) -> str:
    """Return how many cells of a table are means of how many runs: 'Cells by runs: 12 of 5 runs, 1 of 1 run.'."""
    scored = frame.loc[frame["mean"].notna() & (frame["n"] > 0), "n"].astype(int)
    counts = [f"{count} of {n} run{'s' * (n != 1)}" for n, count in sorted(Counter(scored).items(), reverse=True)]
    return f"Cells by runs: {', '.join(counts)}."


def make_audit(job: RunningJob, config: dict[str, Any], to: str) -> None:
    """Run the audit and write its page to `to`: every finding with both numbers and where they are reported."""
    study = whole_of(planned_study(config))
    results = audit(study)
    tables = reported_tables(study)
    cells = [cell for table in tables.values() for cell in table.paper_cells() if cell.number]
    count = sum(len(result.findings) for result in results.values())
    write_page(
        to, "audit.html", study.config.contact, condition_of=condition_of, results=results,
        sorts=[(sort, count, MEANING[sort]) for sort, count in counts_of_sorts(results).items()],
        papers=[paper for paper in study.papers.values() if not paper.ours],
        titles={slug: paper.title for slug, paper in study.papers.items()},
        tables=len(tables), numbers=len(cells), findings=count,
    )  # fmt: skip
    job.say(f"{to}: {count} findings in {len(cells)} numbers of {len(tables)} tables")
