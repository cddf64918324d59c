"""Checks of words against numbers: the metric that a heading names, the size of a data set, a paper's text."""

from __future__ import annotations

from retort.audit.base import Finding, Looked, Printed, by_column, checks, span
from retort.specs.statement import Statement
from retort.tables.judge import decide, published
from retort.tables.layout import label_of


@checks.register("metrics")
def metrics(given: Printed) -> Looked:
    """Check that the numbers of a column are of the metric that its heading names."""
    found = []
    columns = by_column(given.entries)
    for (paper, table, column), listed in columns.items():
        spec = listed[0].cell.spec
        if spec.because:
            says = f"{spec.printed}: {span(listed)}"
            found.append(Finding(paper, f"{label_of(table)}, {column}", says, str(spec.metric), spec.because))
    return Looked(len(columns), found)


@checks.register("sizes")
def sizes(given: Printed) -> Looked:
    """Check that the printed size of a data set is its true size, rounded or truncated."""
    count, found = 0, []
    for (paper, name), table in given.tables.items():
        counted = table.counted()
        for cell in table.printed_cells():
            task, split = counted.get((cell.row, cell.column), ("", ""))
            size = given.facts[task].sizes.get(split) if task else None  # type: ignore[call-overload]
            if not cell.number or size is None:
                continue
            count += 1
            if not cell.number.is_size(size):
                where = f"{label_of(name)}, {cell.row}, {cell.column}"
                found.append(Finding(paper, where, cell.number.text, f"{size:,}", given.facts[task].source))
    return Looked(count, found)


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
