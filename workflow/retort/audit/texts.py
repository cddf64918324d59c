"""Checks of texts against numbers: the metric that a heading names, the size of a data set, a paper's text."""

from __future__ import annotations

from retort.audit.base import CheckResult, Finding, Printed, by_column, checks, span
from retort.specs.statement import Statement
from retort.tables.judge import decide, published
from retort.tables.layout import label_of


@checks.register("metrics")
def metrics(printed: Printed) -> CheckResult:
    """Check that a column's numbers are of the metric that its heading names."""
    findings = []
    columns = by_column(printed.entries)
    for (paper, table, column), entries in columns.items():
        spec = entries[0].cell.spec
        if spec.because:
            says = f"{spec.printed}: {span(entries)}"
            findings.append(Finding(paper, f"{label_of(table)}, {column}", says, str(spec.metric), spec.because))
    return CheckResult(len(columns), findings)


@checks.register("sizes")
def sizes(printed: Printed) -> CheckResult:
    """Check that a printed size of a data set is its size, rounded or cut."""
    count, findings = 0, []
    for (paper, name), table in printed.tables.items():
        counted = table.counted()
        for cell in table.printed_cells():
            task, split = counted.get((cell.row, cell.column), ("", ""))
            size = printed.facts[task].sizes.get(split) if task else None  # type: ignore[call-overload]
            if not cell.number or size is None:
                continue
            count += 1
            if not cell.number.is_size(size):
                where = f"{label_of(name)}, {cell.row}, {cell.column}"
                findings.append(Finding(paper, where, cell.number.text, f"{size:,}", printed.facts[task].source))
    return CheckResult(count, findings)


def _finding(paper: str, statement: Statement, other: str) -> Finding:
    tables = ", ".join(map(label_of, statement.tables))
    where = f"{statement.where}, against {tables}" if tables else statement.where
    number = f" ({statement.number})" if statement.number else ""
    return Finding(paper, where, statement.says.removesuffix(".") + number, other, statement.why)


@checks.register("texts")
def texts(printed: Printed) -> CheckResult:
    """Check that what a paper's text says and claims of its numbers is what its tables print."""
    findings, count = [], 0
    for paper in printed.statements:
        side = published({name: table for (slug, name), table in printed.tables.items() if slug == paper})
        for statement in printed.statements[paper]:
            verdict = decide(statement, side)
            if isinstance(verdict, str) or verdict.holds is None:  # a figure prints no numbers
                continue
            count += 1
            if not verdict.holds:
                findings.append(_finding(paper, statement, verdict.result or verdict.numbers))
    return CheckResult(count, findings)
