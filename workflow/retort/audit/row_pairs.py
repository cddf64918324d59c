"""Checks of rows against each other: repeated numbers, versions of a paper, a number under two metrics, copied rows."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from itertools import combinations

from retort.audit.base import TINY, CheckResult, Entry, Finding, Printed, checks
from retort.specs.printed import CHANGE, OF_A_MODEL
from retort.tables.layout import label_of

RARE = 0.01  # report equal numbers if their probability is below this


def _is_different(first: Entry, other: Entry) -> bool:
    return abs(first.number.value - other.number.value) > max(first.number.half, other.number.half) + TINY


@checks.register("repeats")
def repeats(printed: Printed) -> CheckResult:
    """Check that one model, measured in one way, has the same number in every table."""
    same: dict[tuple[str, ...], list[Entry]] = {}
    for entry in printed.entries:
        if entry.cell.identity and entry.cell.metric != CHANGE:
            same.setdefault((entry.cell.identity, *entry.measure), []).append(entry)
    findings, count = [], 0
    for entries in same.values():
        count += len(entries) - 1
        first, others = entries[0], [entry for entry in entries[1:] if _is_different(entries[0], entry)]
        if others:
            numbers = ", ".join(dict.fromkeys(entry.number.text for entry in others))
            places = [f"{f'{other.paper}, ' * (other.paper != first.paper)}{other.where}" for other in others]
            findings.append(
                Finding(first.paper, first.where, first.number.text, numbers, f"the same model in {'; '.join(places)}")
            )
    return CheckResult(count, findings)


@checks.register("versions")
def versions(printed: Printed) -> CheckResult:
    """Check that two versions of a paper print the same numbers in the same row; a row is one finding."""
    rows, findings, count = printed.rows(), [], 0
    for (paper, table, row), entries in rows.items():
        base, _, version = table.rpartition("-")
        other = rows.get((paper, base, row)) or rows.get((paper, base, f"{_shape(entries)}: {row}"))
        if not version or not other:
            continue
        pairs = [(entry, other[column]) for column, entry in entries.items() if column in other and entry.cell.task]
        pairs += [(entry, other[column]) for column, entry in entries.items() if column in other and entry.cell.tasks]
        differing = [pair for pair in pairs if _is_different(*pair)]
        count += len(pairs)
        if differing:
            gaps = [abs(one.number.value - another.number.value) for one, another in differing]
            where = f"{label_of(table)}, {row}"
            says = f"{len(differing)} of {len(pairs)} numbers"
            why = f"the same row of the other text; up to {max(gaps):.1f} apart"
            findings.append(Finding(paper, where, says, f"others in {label_of(base)}", why))
    return CheckResult(count, findings)


def _shape(entries: dict[str, Entry]) -> str:
    """Return layers × width of a row's model, such as '6×384', as some tables print them before its name."""
    sizes = {entry.cell.metric: entry.number.text for entry in entries.values()}
    return f"{sizes.get('layers')}×{sizes.get('hidden')}"


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


@checks.register("coincidences")
def coincidences(printed: Printed) -> CheckResult:
    """Check that three models or more do not have one number where other rows of the table lie points apart."""
    groups: dict[tuple[object, ...], list[list[Entry]]] = {}
    for (paper, table, _), cells in printed.rows().items():
        measures: dict[tuple[str, ...], list[Entry]] = {}
        for entry in cells.values():
            if entry.cell.scored or entry.cell.tasks:
                measures.setdefault((entry.cell.spec.heading, *entry.measure), []).append(entry)
        for measure, entries in measures.items():
            if len({entry.cell.identity for entry in entries}) >= 3:
                groups.setdefault((paper, table, *measure), []).append(entries)
    findings, count = [], 0
    for rows in groups.values():
        spread = statistics.median(max(values) - min(values) for values in map(_values, rows))
        for entries in rows:
            count += 1
            text, equal = Counter(entry.number.text for entry in entries).most_common(1)[0]
            # probability that k of n numbers, uniform over the spread, are equal: C(n, k) (2 half / spread)^(k - 1)
            chance = math.comb(len(entries), equal) * (2 * entries[0].number.half / max(spread, 0.1)) ** (equal - 1)
            if equal >= 3 and chance < RARE:
                same = [entry for entry in entries if entry.number.text == text]
                where = f"{label_of(same[0].table)}, {same[0].cell.row}, {', '.join(one.cell.column for one in same)}"
                why = f"in other rows of the table these models are {spread:.1f} points apart; 1 in {1 / chance:.0f}"
                findings.append(Finding(same[0].paper, where, f"{text}, {equal} times", "different numbers", why))
    return CheckResult(count, findings)


def _values(entries: list[Entry]) -> list[float]:
    return [entry.number.value for entry in entries]
