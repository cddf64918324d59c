"""Write the page of a paper: tables, figures, claims, contradictions in its numbers, settings, cost, provenance."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from retort.atomic import write_text
from retort.audit import Finding, audit
from retort.errors import RetortError
from retort.job.context import RunningJob
from retort.plan.deviations import deviations_of
from retort.report.outcome import Files, Shown
from retort.report.prediction import Prediction, predicted
from retort.report.ranking import Plot, ranking, scores_of_rows
from retort.report.settings_listed import settings_of
from retort.report.what_was_run import what_was_run
from retort.results.environments import ResultFile, collect_runs, costs_of, environments_of
from retort.results.frames import frame_of, lines_of
from retort.results.planned_study import planned_study
from retort.results.verification import when_verified
from retort.study.reasons import AT_SCALE
from retort.study.study import Study
from retort.tables import render
from retort.tables.figures.style import empty_figure_text
from retort.tables.layout import NOT_RUN as NOT_RUN_HERE
from retort.tables.layout import label_of
from retort.tables.recordings import OUTDATED, as_recorded, recording_of

if TYPE_CHECKING:
    from pandas import DataFrame

TEMPLATES = Path(__file__).parent / "templates"
NOT_MADE = Markup('<article class="exhibit" id="{}"><p>This run could not make {}: {}.</p></article>')
PLACE = "<!--plot-->"  # in the markup of a table: where a plot has a cell
RECORDED = "From the recorded run."
NOT_RUN = Markup('<p class="state">{}</p>\n').format(NOT_RUN_HERE.format(where=AT_SCALE))  # what a page says once


@dataclass(frozen=True)
class PageExhibit:
    """One table or figure on a page: its anchor, its heading, and its markup or picture.

    Args:
        body: the markup of a table; None for a figure.
        picture: a figure as a `data:` URL; empty for a table.
        wide: whether a figure is wider than 400 points.
        alternative: what a figure shows, as text.
    """

    anchor: str
    label: str
    title: str
    question: str = ""
    caption: str = ""
    body: str | None = None
    picture: str = ""
    wide: bool = False
    alternative: str = ""


def prepare_ahead() -> None:
    """Compile the templates of tables and pages, for forks of this process."""
    for folder in (render.TEMPLATES, TEMPLATES):
        render.compile_templates(folder)


def article(path: Path) -> Markup:
    """Return the `<article>` of a rendered table or of claims, whose text is escaped already.

    Raises:
        RetortError: the file has no `<article>`.
    """
    text = path.read_text(encoding="utf-8")
    start, end = text.find("<article"), text.rfind("</article>")
    if start < 0 or end < start:
        raise RetortError(f"{path} holds no table", "delete it, the next run makes it again")
    return Markup(text[start : end + len("</article>")])


def picture(path: Path) -> str:
    """Return a figure as a `data:` URL, so that ids inside its SVG cannot clash with those of other figures."""
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"


def _width(path: Path) -> float:
    """Return the width of an SVG in points; 0 if it gives none."""
    match = re.search(r'<svg[^>]* width="([0-9.]+)pt"', path.read_text(encoding="utf-8"))
    return float(match[1]) if match else 0.0


def _alternative_text(frame: DataFrame) -> str:
    """Return the alternative text of a figure: a phrase for each of at most 40 points; without any, why."""
    points = frame[frame["mean"].notna()]
    if points.empty:
        return empty_figure_text(frame)
    phrases = [f"{line.row}, {line.column}: {line.mean:.3g}" for line in lines_of(points[:40])]
    return "; ".join(phrases) + (f"; and {len(points) - 40} more" if len(points) > 40 else "")


def _recorded_figure(study: Study, paper: str, name: str) -> Path | None:
    """Return a figure of the recorded run of a study of ours; None if there is none."""
    record = study.record_of(paper)
    path = study.folders[paper] / f"recorded/{record.run.get('precision')}-{name}.svg" if record else None
    return path if path and path.is_file() else None


def heading(study: Study, paper: str, name: str) -> PageExhibit:
    """Return a table or figure without its content, for a list of contents."""
    return PageExhibit(f"{paper}-{name}", label_of(name), study.exhibits[paper, name].title)


def exhibit(shown: Shown, name: str, plot: Plot | None) -> PageExhibit:
    """Return a table with the plot of its ranking, or a figure, read from the files of the report."""
    study, paper = shown.study, shown.paper
    spec, top, drawn = study.exhibits[paper, name], heading(study, paper, name), shown.files.drawn(paper, name)
    path = shown.files.rendered(paper, name) if name.startswith("table") else drawn
    if not path.is_file() or (path == drawn and name not in shown.frames):
        return replace(top, body=_not_made(study, top.anchor, top.label, path))
    if name.startswith("table"):
        return replace(top, body=with_plot(article(path), plot))
    frame, caption = shown.frames[name], spec.caption
    text, recorded = _alternative_text(frame), _recorded_figure(study, paper, name)
    if recorded and frame["mean"].isna().all():
        drawn, text, caption = recorded, RECORDED, f"{RECORDED} {caption}"
    wide = _width(drawn) > 400
    return replace(top, question=spec.question, caption=caption, picture=picture(drawn), wide=wide, alternative=text)


def with_plot(table: Markup, plot: Plot | None) -> Markup:
    """Return a table with its plot as a column next to the names of its rows, or without a plot."""
    if not plot:
        return Markup(str(table).replace(PLACE, ""))
    texts = str(table).split(PLACE)  # a heading, the rows, the foot, and what stands below
    macros: Any = render.environment(TEMPLATES).get_template("ranking.html").module
    named = [text.removesuffix("</th>").rpartition('<th scope="row">')[2] for text in texts[1:-2]]
    cells = [macros.head(plot), *(macros.cell(plot, html.unescape(row)) for row in named), macros.foot(plot), ""]
    return Markup("".join(f"{text}{cell}" for text, cell in zip(texts, cells, strict=True)))


def _not_made(study: Study, anchor: str, label: str, path: Path) -> Markup:
    """Return what a page shows in place of what a run failed to make."""
    return NOT_MADE.format(anchor, label, study.config.run_sources.failed.get(str(path), "its job did not run"))


def _sides(plot: Plot | None) -> int:
    """Return how many sides a plot shows in its first panel, which has all rows."""
    return len(plot.panels[0].legend) if plot else 0


def plot_of(shown: Shown, name: str) -> Plot | None:
    """Return the plot that ranks the rows of a table; None if there is nothing to rank."""
    study, paper, frame = shown.study, shown.paper, shown.tables.get(name, frame_of(()))
    of_record = paper in study.unrun and frame["recorded"].notna().any()
    recorded = as_recorded(study, paper, name) if of_record else study
    recording, record = recording_of(recorded, paper), study.record_of(paper)
    titles = {
        "reported": f"recorded run of {record.run['date']}" if record else "as reported",
        "recorded": f"recorded at scale {recorded.config.scale}",
        "ours": f"this run, scale {study.config.scale}",
    }
    others = {who: scores_of_rows(side, name) for who, side in shown.replicated.items()}
    return ranking(study.exhibits[paper, name], frame, titles, recording.runs if recording else 0, others)


def write_page(to: str, template: str, contact: str, runs: Collection[ResultFile] = (), **values: object) -> int:
    """Write a page to `to`, as one self-contained file, and return its size in KB (1024 characters).

    Args:
        to: the path of the page.
        template: its template.
        contact: the address of its link for objections; empty if there is none.
        runs: the results behind it; its foot says when they were verified.
        values: what else the template shows.
    """
    origin = environments_of(runs)
    verified = when_verified({run.result[0] for run in runs}, origin.newest)
    style, script = (Markup((TEMPLATES / f"page.{ending}").read_text(encoding="utf-8")) for ending in ("css", "js"))
    shared = {"origin": origin, "verified": verified, "page_style": style, "page_script": script, "outdated": OUTDATED}
    shared |= {"contact": contact}
    page = render.environment(TEMPLATES).get_template(template).render(**shared, not_run=NOT_RUN, **values)
    write_text(to, page)
    return len(page) // 1024


# --- the page of a paper


def findings(study: Study, paper: str) -> list[tuple[str, Finding]]:
    """Return (check, finding) of the audit of this paper alone.

    Contradictions with another paper are only on the page of the audit, so that this page depends on its own paper.
    """
    own = {key: exhibit for key, exhibit in study.exhibits.items() if key[0] == paper}
    alone = replace(
        study,
        papers={paper: study.papers[paper]},
        exhibits=own,
        statements={paper: study.statements.get(paper, {})},
    )
    return [(name, finding) for name, result in audit(alone).items() for finding in result.findings]


def make_page(job: RunningJob, config: dict[str, Any], paper: str, to: str) -> None:
    """Write a paper's page to `to`, as one self-contained file: as it was run, or as it would be."""
    study, root = planned_study(config), Path(to).parents[2]
    spec, scale, folder = study.papers[paper], study.scale_of(paper), study.folders[paper]
    runs = [run for run in collect_runs(study, root=root) if run.paper == paper]
    prediction = Prediction(study) if scale else predicted(config, paper)
    shown = Shown(study, paper, Files(root), environments_of(runs).devices)
    names = study.exhibits_of(paper)
    plots = {name: plot_of(shown, name) for name in shown.tables}
    ranked = [] if spec.ours else [name for name in names if plots.get(name)]
    first = max(ranked, key=lambda name: _sides(plots[name]), default="")  # its plot opens the page
    size = write_page(
        to, "paper.html", study.config.contact, runs, slug=paper, paper=spec, scale=scale,
        record=study.record_of(paper),
        summary=shown.summary, tally=shown.tally, judged=study.judges(paper),
        exhibits=[exhibit(shown, name, None if name == first else plots.get(name)) for name in names],
        first=heading(study, paper, first) if first else None, plot=plots.get(first),
        was_run=[] if spec.ours else what_was_run(shown, config),
        claims=_claims(shown) if study.claims.get(paper) else None,
        findings=[] if spec.ours else findings(study, paper),
        deviations=sorted(deviations_of(study, paper).items(), key=lambda item: -len(item[1])),
        students=sum(study.paper_of(name) == paper for name in study.students.keys() - study.further.keys()),
        settings=settings_of(prediction.study, paper), cost=costs_of(study, paper, runs), prediction=prediction,
        budget=picture(curve) if (curve := folder / "budget.svg").is_file() else "",
    )  # fmt: skip
    job.say(f"{to}: {len(names)} tables and figures, {size} KB")


def _claims(shown: Shown) -> Markup:
    """Return the claims of a paper as markup."""
    path = shown.files.rendered(shown.paper, "claims")
    return article(path) if path.is_file() else _not_made(shown.study, f"{shown.paper}-claims", "the claims", path)
