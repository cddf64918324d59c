"""Checks of rows against each other: repeated numbers, a number under two metrics, copied rows."""

from __future__ import annotations

from itertools import combinations

from retort.audit.base import TINY, Entry, Finding, Looked, Printed, checks
from retort.specs.printed import CHANGE, OF_A_MODEL
from retort.tables.layout import label_of


def _differ(one: Entry, other: Entry) -> bool:
    return abs(one.number.value - other.number.value) > max(one.number.half, other.number.half) + TINY


@checks.register("repeats")
def repeats(given: Printed) -> Looked:
    """Check that one model, measured in one way, has the same number in every table."""
    same: dict[tuple[str, ...], list[Entry]] = {}
    for entry in given.entries:
        if entry.cell.identity and entry.cell.metric != CHANGE:
            same.setdefault((entry.cell.identity, *entry.measure), []).append(entry)
    pairs = [pair for listed in same.values() for pair in combinations(listed, 2)]
    apart: dict[tuple[str, ...], list[tuple[Entry, Entry]]] = {}
    for one, other in pairs:
        if _differ(one, other):
            apart.setdefault((one.paper, one.table, one.cell.row, other.paper, other.table, other.cell.row), []).append(
                (one, other)
            )
    found = []
    for (paper, table, row, second, other_table, other_row), listed in apart.items():
        where = f"{label_of(table)}, {row}, {', '.join(dict.fromkeys(one.cell.column for one, _ in listed))}"
        there = f"{second + ', ' if second != paper else ''}{label_of(other_table)}, {other_row}"
        texts = [", ".join(side[at].number.text for side in listed) for at in (0, 1)]
        found.append(Finding(paper, where, texts[0], texts[1], f"the same model in {there}"))
    return Looked(len(pairs), found)


@checks.register("names")
def names(given: Printed) -> Looked:
    """Check that a number of one model on one task is not given for two different metrics."""
    same: dict[tuple[str, ...], list[Entry]] = {}
    for entry in given.entries:
        cell = entry.cell
        if cell.identity and cell.task and cell.metric not in OF_A_MODEL:
            same.setdefault((cell.identity, cell.task, cell.subset, cell.split, entry.number.text), []).append(entry)
    found = []
    for listed in same.values():
        one = listed[0]
        for other in (entry for entry in listed[1:] if entry.cell.metric != one.cell.metric):
            there = f"{other.paper + ', ' if other.paper != one.paper else ''}{other.where}"
            says = (f"{one.number.text} as {one.cell.metric}", f"{other.number.text} as {other.cell.metric}")
            found.append(Finding(one.paper, one.where, *says, f"the same number of the same model in {there}"))
    return Looked(sum(len(listed) > 1 for listed in same.values()), found)


@checks.register("copies")
def copies(given: Printed) -> Looked:
    """Check that two models in a table of five or more scores do not have the same number for every score."""
    tables: dict[tuple[str, str], list[tuple[str, tuple[str, ...], str]]] = {}
    for (paper, table, row), cells in given.rows().items():
        scores = [cell for cell in cells.values() if cell.cell.task and cell.cell.metric not in OF_A_MODEL]
        if len(scores) >= 5:
            texts = tuple(cell.number.text for cell in scores)
            tables.setdefault((paper, table), []).append((row, texts, scores[0].cell.identity))
    found, count = [], 0
    for (paper, table), listed in tables.items():
        for (row, texts, identity), (second, others, another) in combinations(listed, 2):
            count += 1
            if texts == others and identity != another:
                why = f"all {len(texts)} numbers of the two rows are equal"
                found.append(Finding(paper, f"{label_of(table)}, {row}", " ".join(texts), f"numbers of {second}", why))
    return Looked(count, found)
