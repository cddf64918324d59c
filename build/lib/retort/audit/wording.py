"""Checks of texts against numbers: the metric that a heading names, the size of a data set, a paper's text."""

from __future__ import annotations

from retort.audit.base import Finding, Looked, Printed, by_column, checks
from retort.judgement.comparisons import Verdict
from retort.judgement.judge import Side, decide, published, recomputed
from retort.specs.paper import Statement
from retort.tables.layout import label_of


@checks.register("metrics")
def metrics(printed: Printed) -> Looked:
    """Check that a column's numbers are of the metric that its heading names."""
    for (paper, table, column), entries in by_column(printed.entries).items():
        spec, where = entries[0].cell.spec, f"{label_of(table)}, {column}"
        finding = Finding(paper, where, f"the heading {spec.printed}", str(spec.metric), spec.because)
        yield 1, finding if spec.because else None


@checks.register("sizes")
def sizes(printed: Printed) -> Looked:
    """Check that a printed size of a data set is its size, rounded or cut."""
    for (paper, name), table in printed.tables.items():
        counted = table.counted()
        for cell in table.printed_cells():
            task, split = counted.get((cell.row, cell.column), ("", ""))
            size = printed.facts[task].sizes.get(split) if task else None  # type: ignore[call-overload]
            if cell.number and size is not None:
                where = f"{label_of(name)}, {cell.row}, {cell.column}"
                finding = Finding(paper, where, cell.number.text, f"{size:,}", printed.facts[task].source)
                yield 1, None if cell.number.is_size(size) else finding


@checks.register("texts")
def texts(printed: Printed) -> Looked:
    """Check that what a paper's text says and claims of its numbers is what its tables print.

    A claim that holds on recomputed averages is left out: the check `averages` reports the misprinted ones.
    """
    for paper, statements in printed.statements.items():
        sides = sides_of(printed, paper)
        for statement in statements:
            verdict = judged(statement, sides)
            if verdict:
                yield 1, None if verdict.holds else _finding(paper, statement, verdict.result or verdict.numbers)


def sides_of(printed: Printed, paper: str) -> tuple[Side, Side]:
    """Return the numbers of a paper as printed, and with each average computed from the numbers of its row."""
    tables = {name: table for (slug, name), table in printed.tables.items() if slug == paper}
    side = published(tables)
    return side, recomputed(side, tables)


def judged(statement: Statement, sides: tuple[Side, Side]) -> Verdict | None:
    """Return the verdict on printed numbers, or on recomputed averages if it holds on these alone; None without one."""
    verdicts = [verdict for side in sides if not isinstance(verdict := decide(statement, side), str)]
    if not verdicts or verdicts[0].holds is None:  # a figure prints no numbers
        return None
    return next((verdict for verdict in verdicts if verdict.holds), verdicts[0])


def _finding(paper: str, statement: Statement, other: str) -> Finding:
    tables = ", ".join(map(label_of, statement.tables))
    where = f"{statement.where}, against {tables}" if tables else statement.where
    number = f" ({statement.number})" if statement.number else ""
    return Finding(paper, where, statement.says.removesuffix(".") + number, other, statement.why)


@checks.register("prose")
def prose(printed: Printed) -> Looked:
    """Check that the formulas and citations of a text are right, its metrics and conditions named."""
    for paper, statements in printed.statements.items():
        for one in (statement for statement in statements if statement.but):
            yield 1, Finding(paper, one.where, one.says.removesuffix("."), one.but, one.why)
