"""Checks of single numbers: averages, relative changes, and the values that a metric can have."""

from __future__ import annotations

import statistics

from retort.audit.base import TINY, CheckResult, Finding, Printed, by_column, checks, span
from retort.specs.printed import CHANGE
from retort.tables.layout import label_of


@checks.register("averages")
def averages(printed: Printed) -> CheckResult:
    """Check that a printed average is the mean of its columns, as far as their rounding lets it."""
    count, findings = 0, []
    for row in printed.rows().values():
        for entry in row.values():
            numbers = [row[name].number for name in entry.cell.spec.mean_of if name in row]
            if not numbers or len(numbers) != len(entry.cell.spec.mean_of):
                continue
            count += 1
            mean = statistics.mean(number.value for number in numbers)
            slack = entry.number.half + statistics.mean(number.half for number in numbers) + TINY
            if abs(mean - entry.number.value) > slack:
                why = f"the mean of the row's {len(numbers)} numbers; rounding explains at most {slack:.2f}"
                findings.append(Finding(entry.paper, entry.where, entry.number.text, f"{mean:.2f}", why))
    return CheckResult(count, findings)


@checks.register("changes")
def changes(printed: Printed) -> CheckResult:
    """Check that a printed relative change follows from the two numbers, as far as their rounding lets it."""
    count, findings = 0, []
    for row in printed.rows().values():
        for entry in row.values():
            if entry.cell.metric != CHANGE:
                continue
            count += 1
            base, own = row[entry.cell.spec.change_from].number, row[entry.cell.before].number
            ratio = own.value / base.value
            slack = 100 * ratio * (own.half / own.value + base.half / base.value) + entry.number.half + TINY
            if abs(100 * (ratio - 1) - entry.number.value) > slack:
                why = f"{own.text} against {base.text}; rounding explains at most {slack:.2f}"
                findings.append(Finding(entry.paper, entry.where, entry.number.text, f"{100 * (ratio - 1):.2f}%", why))
    return CheckResult(count, findings)


@checks.register("floors")
def floors(printed: Printed) -> CheckResult:
    """Check that a score on dev is not below that of a model that always gives the commonest answer."""
    floor = {(task, metric): value for task, facts in printed.facts.items() for metric, value in facts.floors.items()}
    held = [
        entry
        for entry in printed.entries
        if entry.cell.split == "dev" and (entry.cell.task, entry.cell.metric) in floor
    ]
    findings = []
    for (paper, table, column), entries in by_column(held).items():
        least = floor[entries[0].cell.task, entries[0].cell.metric]
        below = [entry for entry in entries if entry.number.value + entry.number.half <= least]
        if below:
            rows = below[0].cell.row if len(below) == 1 else f"{len(below)} of {len(entries)} rows"
            why = (
                f"{entries[0].cell.metric} of always the commonest answer; {printed.facts[entries[0].cell.task].source}"
            )
            findings.append(Finding(paper, f"{label_of(table)}, {column}, {rows}", span(below), f"{least:g}", why))
    return CheckResult(len(held), findings)


@checks.register("exact-match")
def exact_match(printed: Printed) -> CheckResult:
    """Check that an exact match is never above the F1 of the same answers."""
    count, findings = 0, []
    for row in printed.rows().values():
        for em in (entry for entry in row.values() if entry.cell.metric == "exact"):
            same = ("f1", em.cell.task, em.cell.subset)
            for f1 in row.values():
                if (f1.cell.metric, f1.cell.task, f1.cell.subset) != same:
                    continue
                count += 1
                if em.number.value > f1.number.value:
                    why = "an answer that matches exactly has an F1 of 1"
                    findings.append(Finding(em.paper, em.where, em.number.text, f"at most {f1.number.text}", why))
    return CheckResult(count, findings)


@checks.register("reachable")
def reachable(printed: Printed) -> CheckResult:
    """Check that an accuracy over a whole dev set is a count of right answers divided by the number of questions."""
    held = [
        entry
        for entry in printed.entries
        if entry.cell.metric == "accuracy" and entry.cell.split == "dev" and entry.runs
        and entry.cell.task in printed.facts and not entry.cell.subset
        and not entry.cell.quoted  # the number of runs behind a quoted number is unknown
    ]  # fmt: skip
    findings = []
    for entry in held:
        questions = printed.facts[entry.cell.task].sizes["dev"] * entry.runs
        nearest = round(entry.number.value * questions / 100)
        value = 100 * nearest / questions
        if abs(value - entry.number.value) > entry.number.half + TINY:
            over = f"{questions} answers" if entry.runs == 1 else f"{questions} answers of {entry.runs} runs"
            why = f"{nearest} of {over} are {value:.3f} %, the next count is further; perhaps rounded twice, or a mean"
            findings.append(Finding(entry.paper, entry.where, entry.number.text, f"{value:.2f}", why))
    return CheckResult(len(held), findings)
