"""The report: tables, figures, claims, settings and provenance of all papers on one page without a network."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from retort.errors import RetortError
from retort.jobs import Job
from retort.report.origin import Origin, Run, collect_runs, origin
from retort.specs import settings as resolve
from retort.specs.book import Book, open_book
from retort.specs.config import read_config
from retort.specs.expand import expand
from retort.specs.table import ProfilesTable, ScoresTable
from retort.tables import render
from retort.tables.layout import agreement, label_of
from retort.tables.tidy import read

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Exhibit:
    """One table or figure on the page: its anchor, what stands above it, and its markup or picture."""

    anchor: str
    label: str
    title: str
    question: str = ""
    caption: str = ""
    body: Markup | None = None
    picture: str = ""
    wide: bool = False
    alternative: str = ""


@dataclass(frozen=True)
class Settings:
    """The settings of one student or teacher, as JSON."""

    name: str
    title: str
    deviations: list[str]
    text: str


@dataclass(frozen=True)
class Section:
    """One paper on the page."""

    slug: str
    title: str
    reference: str
    scale: str
    recorded: dict[str, str]
    exhibits: list[Exhibit]
    claims: Markup | None
    settings: list[Settings]
    agrees: int = 0
    judged: int = 0
    origin: Origin = field(default_factory=Origin)


def article(path: Path) -> Markup:
    """The `<article>` of a rendered table or of claims; its text was escaped when it was written.

    Raises:
        RetortError: the file has none.
    """
    text = path.read_text(encoding="utf-8")
    start, end = text.find("<article"), text.rfind("</article>")
    if start < 0 or end < start:
        raise RetortError(f"{path} holds no table", "delete it, the next run makes it again")
    return Markup(text[start : end + len("</article>")])


def picture(path: Path) -> str:
    """A figure as a `data:` address: its inner names cannot clash with those of other figures."""
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"


def _width(path: Path) -> float:
    """The width of an SVG in points; 0 where it does not tell."""
    found = re.search(r'<svg[^>]* width="([0-9.]+)pt"', path.read_text(encoding="utf-8"))
    return float(found[1]) if found else 0.0


def _in_words(path: Path) -> str:
    """What a figure shows, for those who cannot see it: a sentence a point."""
    lines = [line for line in read(path) if line.mean is not None and line.metric != "difference"]
    said = [f"{line.row}, {line.column}: {line.mean:.3g}" for line in lines[:40]]
    return "; ".join(said) + (f"; and {len(lines) - 40} more" if len(lines) > 40 else "")


def _exhibit(book: Book, paper: str, name: str) -> Exhibit:
    spec = book.exhibits[paper, name]
    top = (f"{paper}-{name}", label_of(name), spec.title)
    if name.startswith("table"):
        return Exhibit(*top, body=article(Path(f"reports/{paper}/{name}.html")))
    drawn = Path(f"reports/{paper}/{name}.svg")
    return Exhibit(
        *top,
        question=spec.question,
        caption=spec.caption,
        picture=picture(drawn),
        wide=_width(drawn) > 400,
        alternative=_in_words(Path(f"results/tables/{paper}/{name}.csv")),
    )


def _agreement(book: Book, paper: str) -> tuple[int, int]:
    """Cells that agree with what was published, and cells with a verdict, over all tables of a paper."""
    counts = [
        agreement(spec, read(f"results/tables/{paper}/{name}.csv"))
        for name in book.shown(paper)
        if isinstance(spec := book.exhibits[paper, name], (ScoresTable, ProfilesTable))
    ]
    return sum(agrees for agrees, _ in counts), sum(judged for _, judged in counts)


def _settings(book: Book, paper: str) -> list[Settings]:
    """The settings of every student and teacher that the paper's tables show, each on the first of its tasks."""
    tasks: dict[str, str] = {}
    for cell in expand(book):
        if cell.paper == paper:
            tasks.setdefault(cell.student, cell.task)
    found = []
    for name in (name for name in (*book.teachers, *book.students) if name in tasks):
        task = tasks[name]
        stamped = resolve.score(book, name, task)
        if name in book.students:
            stamped["teacher"] = book.students[name].teacher  # its settings have an entry of their own
            if "task" in stamped:
                stamped["task"] = task
        spec: Any = book.students.get(name) or book.teachers[name]
        text = json.dumps(stamped, indent=2, ensure_ascii=False)
        found.append(Settings(name, spec.title, getattr(spec, "deviations", []), f"{name} on {task}\n{text}"))
    return found


def _section(book: Book, paper: str, runs: list[Run]) -> Section:
    spec = book.papers[paper]
    agrees, judged = _agreement(book, paper)
    return Section(
        slug=paper,
        title=spec.title,
        reference=spec.reference,
        scale=book.config.scale,
        recorded=spec.recorded,
        exhibits=[_exhibit(book, paper, name) for name in book.shown(paper)],
        claims=article(Path(f"reports/{paper}/claims.html")) if book.claims.get(paper) else None,
        settings=_settings(book, paper),
        agrees=agrees,
        judged=judged,
        origin=origin(run for run in runs if run.paper == paper),
    )


def environment() -> jinja2.Environment:
    """The templates of the pages, with their styles."""
    found = render.environment(TEMPLATES)
    found.globals["styles"] = render.style() + Markup((TEMPLATES / "page.css").read_text(encoding="utf-8"))
    return found


def make_index(job: Job, config: dict[str, Any], to: str) -> None:
    """Nothing; the page stands at `to`, with everything that it needs inside it."""
    book = open_book(read_config(config))
    runs = collect_runs(book)
    sections = [_section(book, paper, runs) for paper in book.papers]
    page = environment().get_template("index.html").render(
        sections=sections, origin=origin(runs), scale=book.config.scale,
        agrees=sum(section.agrees for section in sections), judged=sum(section.judged for section in sections),
    )  # fmt: skip
    Path(to).parent.mkdir(parents=True, exist_ok=True)
    Path(to).write_text(page, encoding="utf-8", newline="\n")
    job.say(f"{to}: {sum(len(section.exhibits) for section in sections)} tables and figures, {len(page) // 1024} KB")
