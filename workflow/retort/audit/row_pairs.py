"""Checks of rows against each other: repeated numbers, versions of a paper, a number under two metrics, copied rows."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from itertools import combinations

from retort.audit.base import TINY, Finding, Looked, Reported, ReportedNumber, Sort, by_table, group_by, register
from retort.specs.reported import CHANGE
from retort.tables.layout import label_of

RARE = 0.01  # report equal numbers if their probability is below this


def _is_different(first: ReportedNumber, other: ReportedNumber) -> bool:
    return abs(first.number.value - other.number.value) > max(first.number.half, other.number.half) + TINY


@register("repeats", Sort.CONFLICT)
def repeats(reported: Reported) -> Looked:
    """Check that one model, measured in one way, has the same number in every table."""
    held = [entry for entry in reported.entries if entry.cell.identity and entry.cell.metric != CHANGE]
    for first, *others in group_by(held, lambda entry: (entry.cell.identity, *entry.measure)).values():
        differing = [entry for entry in others if _is_different(first, entry)]
        numbers = ", ".join(dict.fromkeys(entry.number.text for entry in differing))
        why = f"the same model in {'; '.join(entry.place_next_to(first) for entry in differing)}"
        yield len(others), first.finding(numbers, why) if differing else None


@register("versions", Sort.UNUSUAL)
def versions(reported: Reported) -> Looked:
    """Check that two versions of a paper report the same numbers in the same row; a row is one finding."""
    rows = reported.rows()
    for (paper, table, row), entries in rows.items():
        base, _, version = table.rpartition("-")
        other = rows.get((paper, base, row)) or rows.get((paper, base, f"{_shape(entries)}: {row}"))
        if not version or not other:
            continue
        scores = {column: entry for column, entry in entries.items() if entry.cell.task or entry.cell.tasks}
        pairs = [(entry, other[column]) for column, entry in scores.items() if column in other]
        gaps = [abs(one.number.value - two.number.value) for one, two in pairs if _is_different(one, two)]
        yield len(pairs), None
        if gaps:
            says = f"{len(gaps)} of {len(pairs)} numbers"
            why = f"the same row of the other text; up to {max(gaps):.1f} apart"
            yield 0, Finding(paper, f"{label_of(table)}, {row}", says, f"others in {label_of(base)}", why)


def _shape(entries: dict[str, ReportedNumber]) -> str:
    """Return layers × width of a row's model, such as '6×384', as some tables report them before its name."""
    sizes = {entry.cell.metric: entry.number.text for entry in entries.values()}
    return f"{sizes.get('layers')}×{sizes.get('hidden')}"


@register("names", Sort.CONFLICT)
def names(reported: Reported) -> Looked:
    """Check that a number of one model on one task is not given for two different metrics."""
    held = [entry for entry in reported.entries if entry.cell.identity and entry.is_score]
    alike = group_by(
        held, lambda one: (one.cell.identity, one.cell.task, one.cell.subset, one.cell.split, one.number.text)
    )
    for first, *others in alike.values():
        yield min(1, len(others)), None
        for other in (entry for entry in others if entry.cell.metric != first.cell.metric):
            one, two = (f"{entry.number.text} as {entry.cell.metric}" for entry in (first, other))
            why = f"the same number of the same model in {other.place_next_to(first)}"
            yield 0, Finding(first.paper, first.where, one, two, why)


@register("copies", Sort.UNUSUAL)
def copies(reported: Reported) -> Looked:
    """Check that two models do not have the same number on every one of many tasks.

    Rows with fewer than five scores are left out.
    """
    rows = [[entry for entry in row.values() if entry.is_score] for row in reported.rows().values()]
    long = [row for row in rows if len(row) >= 5]
    for (paper, table), same in group_by(long, lambda row: (row[0].paper, row[0].table)).items():
        for one, two in combinations(same, 2):
            texts, others = ([entry.number.text for entry in row] for row in (one, two))
            first, second = one[0].cell, two[0].cell
            yield 1, None
            if texts == others and first.identity != second.identity:
                why = f"all {len(texts)} numbers of the two rows are equal"
                where = f"{label_of(table)}, {first.row}"
                yield 0, Finding(paper, where, " ".join(texts), f"numbers of {second.row}", why)


@register("coincidences", Sort.UNUSUAL)
def coincidences(reported: Reported) -> Looked:
    """Check that three models or more do not have one number where other rows of the table lie points apart."""
    measured = [entry for entry in reported.entries if entry.cell.scored or entry.cell.tasks]
    for table in by_table(measured).values():
        alike = group_by(table, lambda one: (one.cell.row, one.cell.spec.heading, *one.measure)).items()
        several = [item for item in alike if len({entry.cell.identity for entry in item[1]}) >= 3]
        for rows in group_by(several, lambda item: item[0][1:]).values():
            yield from _equal_numbers([entries for _, entries in rows])


def _equal_numbers(rows: list[list[ReportedNumber]]) -> Looked:
    """Find equal numbers of models in the rows of a table, each with the numbers of one measure."""
    values = [[entry.number.value for entry in entries] for entries in rows]
    spread = statistics.median(max(each) - min(each) for each in values)
    for entries in rows:
        text, equal = Counter(entry.number.text for entry in entries).most_common(1)[0]
        # probability that k of n numbers, uniform over the spread, are equal: C(n, k) (2 half / spread)^(k - 1)
        chance = math.comb(len(entries), equal) * (2 * entries[0].number.half / max(spread, 0.1)) ** (equal - 1)
        yield 1, None
        if equal >= 3 and chance < RARE:
            same = [entry for entry in entries if entry.number.text == text]
            where = ", ".join([label_of(same[0].table), same[0].cell.row, *(one.cell.column for one in same)])
            why = f"in other rows of the table these models are {spread:.1f} points apart; 1 in {1 / chance:.0f}"
            yield 0, Finding(same[0].paper, where, f"{text}, {equal} times", "different numbers", why)
