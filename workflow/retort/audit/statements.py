"""The check of what a paper's text says about its numbers against what its tables print."""

from __future__ import annotations

from retort.audit.base import Finding, Looked, Printed, checks
from retort.specs.statement import Statement
from retort.tables.judge import decide, published
from retort.tables.layout import label_of


def _finding(paper: str, statement: Statement, found: str) -> Finding:
    tables = ", ".join(map(label_of, statement.tables))
    place = f"{statement.where}, against {tables}" if tables else statement.where
    number = f" ({statement.number})" if statement.number else ""
    return Finding(paper, place, statement.says.removesuffix(".") + number, found, statement.why)


@checks.register("texts")
def texts(given: Printed) -> Looked:
    """Check that what a paper's text says and claims about its numbers agrees with what its tables print."""
    found, count = [], 0
    for paper in given.statements:
        side = published({name: table for (slug, name), table in given.tables.items() if slug == paper})
        for statement in given.statements[paper]:
            verdict = decide(statement, side)
            if isinstance(verdict, str):  # a figure prints no numbers
                continue
            count += 1
            if not verdict.holds:
                found.append(_finding(paper, statement, verdict.result or verdict.numbers))
    return Looked(count, found)
