"""Checks of rows against each other: repeated numbers, a number under two metrics, copied rows."""

from __future__ import annotations

from itertools import combinations

from retort.audit.base import TINY, CheckResult, Entry, Finding, Printed, checks
from retort.specs.printed import CHANGE, OF_A_MODEL
from retort.tables.layout import label_of


def _differ(first: Entry, other: Entry) -> bool:
    return abs(first.number.value - other.number.value) > max(first.number.half, other.number.half) + TINY


@checks.register("repeats")
def repeats(printed: Printed) -> CheckResult:
    """Check that one model, measured in one way, has the same number in every table."""
    same: dict[tuple[str, ...], list[Entry]] = {}
    for entry in printed.entries:
        if entry.cell.identity and entry.cell.metric != CHANGE:
            same.setdefault((entry.cell.identity, *entry.measure), []).append(entry)
    pairs = [pair for entries in same.values() for pair in combinations(entries, 2)]
    differing: dict[tuple[str, ...], list[tuple[Entry, Entry]]] = {}
    for first, other in pairs:
        if _differ(first, other):
            differing.setdefault(
                (first.paper, first.table, first.cell.row, other.paper, other.table, other.cell.row), []
            ).append((first, other))
    findings = []
    for (paper, table, row, second, other_table, other_row), entries in differing.items():
        where = f"{label_of(table)}, {row}, {', '.join(dict.fromkeys(first.cell.column for first, _ in entries))}"
        elsewhere = f"{second + ', ' if second != paper else ''}{label_of(other_table)}, {other_row}"
        texts = [", ".join(side[at].number.text for side in entries) for at in (0, 1)]
        findings.append(Finding(paper, where, texts[0], texts[1], f"the same model in {elsewhere}"))
    return CheckResult(len(pairs), findings)


@checks.register("names")
def names(printed: Printed) -> CheckResult:
    """Check that a number of one model on one task is not given for two different metrics."""
    same: dict[tuple[str, ...], list[Entry]] = {}
    for entry in printed.entries:
        cell = entry.cell
        if cell.identity and cell.task and cell.metric not in OF_A_MODEL:
            same.setdefault((cell.identity, cell.task, cell.subset, cell.split, entry.number.text), []).append(entry)
    findings = []
    for entries in same.values():
        first = entries[0]
        for other in (entry for entry in entries[1:] if entry.cell.metric != first.cell.metric):
            elsewhere = f"{other.paper + ', ' if other.paper != first.paper else ''}{other.where}"
            says = (f"{first.number.text} as {first.cell.metric}", f"{other.number.text} as {other.cell.metric}")
            findings.append(
                Finding(first.paper, first.where, *says, f"the same number of the same model in {elsewhere}")
            )
    return CheckResult(sum(len(entries) > 1 for entries in same.values()), findings)


@checks.register("copies")
def copies(printed: Printed) -> CheckResult:
    """Check that two models do not have the same number on every one of many tasks.

    Rows with fewer than five scores are left out.
    """
    tables: dict[tuple[str, str], list[tuple[str, tuple[str, ...], str]]] = {}
    for (paper, table, row), cells in printed.rows().items():
        scores = [cell for cell in cells.values() if cell.cell.task and cell.cell.metric not in OF_A_MODEL]
        if len(scores) >= 5:
            texts = tuple(cell.number.text for cell in scores)
            tables.setdefault((paper, table), []).append((row, texts, scores[0].cell.identity))
    findings, count = [], 0
    for (paper, table), entries in tables.items():
        for (row, texts, identity), (second, others, another) in combinations(entries, 2):
            count += 1
            if texts == others and identity != another:
                why = f"all {len(texts)} numbers of the two rows are equal"
                findings.append(
                    Finding(paper, f"{label_of(table)}, {row}", " ".join(texts), f"numbers of {second}", why)
                )
    return CheckResult(count, findings)
