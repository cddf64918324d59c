"""Checks of texts against numbers: the metric that a heading names, the size of a data set, a paper's text."""

from __future__ import annotations

from retort.audit.base import CheckResult, Finding, Printed, by_column, checks, span
from retort.specs.statement import Statement
from retort.tables.judge import decide, published
from retort.tables.layout import label_of

ABOVE = ("above", "not-below", "exceeds")


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


@checks.register("prose")
def prose(printed: Printed) -> CheckResult:
    """Check that the formulas and citations of a text are right, its metrics and conditions named."""
    entries = [(paper, one) for paper, statements in printed.statements.items() for one in statements if one.but]
    findings = [Finding(paper, one.where, one.says.removesuffix("."), one.but, one.why) for paper, one in entries]
    return CheckResult(len(entries), findings)


@checks.register("means")
def means(printed: Printed) -> CheckResult:
    """Check that a claim that holds on average holds on more than half of the columns of that average."""
    rows, findings, count = printed.rows(), [], 0
    for paper, statements in printed.statements.items():
        for statement in statements:
            for row, other in _on_average(statement):
                entries = [rows.get((paper, table, name), {}) for table, name, _ in (row, other)]
                average = entries[0].get(row[2])
                columns = [] if average is None else average.cell.spec.mean_of
                pairs = [(entries[0][c], entries[1][c]) for c in columns if c in entries[0] and c in entries[1]]
                if not pairs or len(pairs) != len(columns) or row[2] not in entries[1] or average is None:
                    continue
                if average.number.value <= entries[1][row[2]].number.value:
                    continue
                count += 1
                won = sum(one.number.value > another.number.value for one, another in pairs)
                if 2 * won <= len(pairs):
                    where = f"{statement.where}, {label_of(row[0])}, {row[1]} above {other[1]}"
                    says = f"{average.number.text} against {entries[1][row[2]].number.text} on average"
                    findings.append(
                        Finding(paper, where, says, f"above on {won} of {len(pairs)} columns", statement.says)
                    )
    return CheckResult(count, findings)


def _on_average(statement: Statement) -> list[tuple[tuple[str, str, str], tuple[str, str, str]]]:
    """Return the pairs of cells in one column, of which a statement says that the first is above the second."""
    if statement.compare not in ABOVE:
        return []
    cells, than = ([key for group in side for key in group.keys] for side in (statement.cells, statement.than))
    return [(one, other) for one in cells for other in than if one[0] == other[0] and one[2] == other[2]]
