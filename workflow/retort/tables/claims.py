"""Whether a paper's claims hold: judged on the published numbers and on ours, always with the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retort.jobs import Job
from retort.specs.book import Book, open_book
from retort.specs.config import read_config
from retort.specs.table import Claim, ScoresTable
from retort.tables.compare import spread, standard_error
from retort.tables.layout import label_of, number, with_std
from retort.tables.make import write_text
from retort.tables.render import html_document, markdown_escape
from retort.tables.tidy import Line, read

HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot be decided"
WITHIN = "within the spread"


@dataclass(frozen=True)
class Value:
    """One number of a claim: whose it is, its mean and standard deviation, over how many seeds."""

    label: str
    mean: float
    std: float | None
    n: int


@dataclass(frozen=True)
class Judgement:
    """A claim on one set of numbers: the verdict, a remark, and the numbers as text."""

    verdict: str
    remark: str = ""
    numbers: str = ""


@dataclass(frozen=True)
class Judged:
    """A claim with its place and its two judgements."""

    name: str
    claim: str
    where: str
    table: str
    column: str
    published: Judgement
    ours: Judgement


def _value(line: Line, published: bool) -> Value | None:
    mean, std = (line.published, line.published_std) if published else (line.mean, line.std)
    return None if mean is None else Value(line.row, mean, std, max(line.n, 1))


def _absent(names: list[str], column: list[Line], published: bool) -> str:
    """Whose number is lacking, by the labels of the table."""
    if published and all(line.published is None for line in column):
        return "nothing is published"
    labels = {line.student: line.row for line in column}
    return f"no value for {'; '.join(labels.get(name, name) for name in dict.fromkeys(names))}"


def judge(claim: Claim, lines: list[Line], decimals: int, published: bool) -> Judgement:
    """The weakest of `better` against the strongest of `worse`, on the published numbers or on ours."""
    column = [line for line in lines if line.column == claim.column]
    cells = {line.student: _value(line, published) for line in column}
    absent = [name for name in (*claim.better, *claim.worse) if cells.get(name) is None]
    if absent:
        return Judgement(OPEN, numbers=_absent(absent, column, published))
    low = min((value for name in claim.better if (value := cells[name])), key=lambda value: value.mean)
    high = max((value for name in claim.worse if (value := cells[name])), key=lambda value: value.mean)
    apart = low.mean - high.mean
    pooled = spread(column)
    within = pooled is not None and abs(apart) < 2 * standard_error(pooled, low.n, high.n)
    text = (
        f"{with_std(low.mean, low.std, decimals)} for {low.label} against "
        f"{with_std(high.mean, high.std, decimals)} for {high.label}: difference {number(apart, decimals)}"
    )
    text += f", asked for {number(claim.margin, decimals)}" if claim.margin else ""
    return Judgement(HOLDS if apart > 0 and apart >= claim.margin else FAILS, WITHIN if within else "", text)


def judge_all(book: Book, paper: str, tables: Mapping[str, list[Line]]) -> list[Judged]:
    """Every claim of a paper, judged on the tidy lines of its tables."""
    found = []
    for name, claim in book.claims[paper].items():
        table = book.exhibits[paper, claim.table]
        assert isinstance(table, ScoresTable)
        lines = tables[claim.table]
        both = [judge(claim, lines, table.decimals, published) for published in (True, False)]
        found.append(Judged(name, claim.claim, claim.where, claim.table, claim.column, *both))
    return found


def markdown(title: str, claims: list[Judged]) -> str:
    """The claims as a Markdown table."""
    lines = [f"## Claims. {markdown_escape(title)}", "", "| claim | published | ours |", "| --- | --- | --- |"]
    for item in claims:
        place = f"{item.where}; {label_of(item.table)}, {item.column}"
        cells = [f"{markdown_escape(item.claim)}<br>*{markdown_escape(place)}*"]
        for side in (item.published, item.ours):
            remark = f", {side.remark}" if side.remark else ""
            cells.append(f"**{side.verdict}**{remark}<br>{markdown_escape(side.numbers)}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", RULE, ""])


RULE = (
    "A claim holds when the weakest row of the side that should be better is above the strongest row of the other. "
    f"'{WITHIN.capitalize()}': the two are less than 2 standard errors apart."
)


def check_claims(
    job: Job, config: dict[str, Any], paper: str, tables: Iterable[str], renders: Mapping[str, str]
) -> None:
    """Nothing; the judged claims are written as Markdown and HTML."""
    book = open_book(read_config(config))
    claims = judge_all(book, paper, {Path(path).stem: read(path) for path in tables})
    title = book.papers[paper].title
    write_text(renders["md"], markdown(title, claims))
    write_text(renders["html"], html_document("claims.html", paper=paper, title=title, claims=claims, rule=RULE))
    job.say(f"{sum(item.ours.verdict == HOLDS for item in claims)} of {len(claims)} claims hold")
