"""Checks of single numbers: averages, relative changes, and the values that a metric can have."""

from __future__ import annotations

import statistics

from retort.audit.base import TINY, Finding, Looked, Printed, by_column, checks, span
from retort.specs.printed import CHANGE
from retort.tables.layout import label_of


@checks.register("averages")
def averages(printed: Printed) -> Looked:
    """Check that a printed average is the mean of its columns, as far as their rounding lets it."""
    for entry, row in printed.in_rows():
        names = entry.cell.spec.mean_of
        if not names or not all(name in row for name in names):
            continue
        numbers = [row[name].number for name in names]
        mean = statistics.mean(number.value for number in numbers)
        slack = entry.number.half + statistics.mean(number.half for number in numbers) + TINY
        why = f"the mean of the row's {len(numbers)} numbers; rounding explains at most {slack:.2f}"
        yield 1, entry.finding(f"{mean:.2f}", why) if abs(mean - entry.number.value) > slack else None


@checks.register("changes")
def changes(printed: Printed) -> Looked:
    """Check that a printed relative change follows from the two numbers, as far as their rounding lets it."""
    for entry, row in printed.in_rows():
        if entry.cell.metric == CHANGE:
            base, own = row[entry.cell.spec.change_from].number, row[entry.cell.before].number
            ratio = own.value / base.value
            change = 100 * (ratio - 1)
            slack = 100 * ratio * (own.half / own.value + base.half / base.value) + entry.number.half + TINY
            why = f"{own.text} against {base.text}; rounding explains at most {slack:.2f}"
            yield 1, entry.finding(f"{change:.2f}%", why) if abs(change - entry.number.value) > slack else None


@checks.register("floors")
def floors(printed: Printed) -> Looked:
    """Check that a score on dev is not below that of a model that always gives the commonest answer."""
    floor = {(task, metric): value for task, facts in printed.facts.items() for metric, value in facts.floors.items()}
    held = [one for one in printed.entries if one.cell.split == "dev" and (one.cell.task, one.cell.metric) in floor]
    for (paper, table, column), entries in by_column(held).items():
        cell = entries[0].cell
        least = floor[cell.task, cell.metric]
        below = [entry for entry in entries if entry.number.value + entry.number.half <= least]
        yield len(entries), None
        if below:
            rows = below[0].cell.row if len(below) == 1 else f"{len(below)} of {len(entries)} rows"
            why = f"{cell.metric} of always the commonest answer; {printed.facts[cell.task].source}"
            yield 0, Finding(paper, f"{label_of(table)}, {column}, {rows}", span(below), f"{least:g}", why)


@checks.register("exact-match")
def exact_match(printed: Printed) -> Looked:
    """Check that an exact match is never above the F1 of the same answers."""
    why = "an answer that matches exactly has an F1 of 1"
    for em, row in printed.in_rows():
        same = ("exact", "f1", em.cell.task, em.cell.subset)
        for f1 in row.values():
            if (em.cell.metric, f1.cell.metric, f1.cell.task, f1.cell.subset) == same:
                above = em.number.value > f1.number.value
                yield 1, em.finding(f"at most {f1.number.text}", why) if above else None


@checks.register("reachable")
def reachable(printed: Printed) -> Looked:
    """Check that an accuracy over a whole dev set is a count of right answers divided by the number of questions."""
    for entry in printed.entries:
        cell, runs = entry.cell, entry.runs
        # the number of runs behind a quoted number is unknown
        if (cell.metric, cell.split, cell.subset, cell.quoted) != ("accuracy", "dev", "", "") or not runs:
            continue
        if cell.task not in printed.facts:
            continue
        questions = printed.facts[cell.task].sizes["dev"] * runs
        nearest = round(entry.number.value * questions / 100)
        value = 100 * nearest / questions
        over = f"{questions} answers" if runs == 1 else f"{questions} answers of {runs} runs"
        why = f"{nearest} of {over} are {value:.3f} %, the next count is further; perhaps rounded twice, or a mean"
        is_far = abs(value - entry.number.value) > entry.number.half + TINY
        yield 1, entry.finding(f"{value:.2f}", why) if is_far else None
