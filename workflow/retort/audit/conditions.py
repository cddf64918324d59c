"""Checks of how numbers came about: mixed averages, test sets, noise, sources of copied rows, early rounding."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter

from retort.audit.base import CheckResult, Entry, Finding, Printed, by_column, checks, span
from retort.specs.printed import CHANGE, OF_A_MODEL
from retort.tables.layout import label_of

UNNAMED = "not named"  # part of `quoted` in the files of tables, if the paper names no source
SERVED = {"cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst2", "stsb", "wnli"}  # tasks with a test server
GRID = 0.1  # scores are rounded to multiples of it


@checks.register("mixed-averages")
def mixed_averages(printed: Printed) -> CheckResult:
    """Check that an average is over columns of one metric."""
    count, findings = 0, []
    for (paper, table, column), entries in by_column(printed.entries).items():
        parts = entries[0].cell.spec.mean_of
        row = printed.rows()[paper, table, entries[0].cell.row] if parts else {}
        metrics = Counter(row[part].cell.metric for part in parts if part in row)
        if not metrics:
            continue
        count += 1
        if len(metrics) > 1:
            other = ", ".join(f"{number} of {metric}" for metric, number in metrics.most_common())
            why = "a point of one metric is not a point of another"
            findings.append(Finding(paper, f"{label_of(table)}, {column}", span(entries), other, why))
    return CheckResult(count, findings)


@checks.register("test-servers")
def test_servers(printed: Printed) -> CheckResult:
    """Check that variants of one student are compared on dev sets, not on test sets of a server; a finding a paper."""
    tables: dict[tuple[str, str], list[Entry]] = {}
    for entry in printed.entries:
        if entry.cell.task and entry.cell.metric not in OF_A_MODEL:
            tables.setdefault((entry.paper, entry.table), []).append(entry)
    compared: dict[str, dict[str, int]] = {}  # paper -> table -> scores on test sets
    for (paper, table), entries in tables.items():
        models = {entry.cell.identity for entry in entries}
        if len(models) < 2 or any(entry.cell.quoted or entry.cell.identity not in printed.models for entry in entries):
            continue
        shapes = {
            (build.architecture.layers, build.architecture.hidden)
            for build in (printed.models[name] for name in models)
        }
        on_server = [entry for entry in entries if entry.cell.split == "test" and entry.cell.task in SERVED]
        if len(shapes) == 1 and on_server:
            compared.setdefault(paper, {})[label_of(table)] = len(on_server)
    why = "each choice is made on what is meant for the last measurement"
    findings = [
        Finding(
            paper, "; ".join(scores), f"{sum(scores.values())} test scores of variants of one student",
            "a comparison on dev sets", why,
        )
        for paper, scores in compared.items()
    ]  # fmt: skip
    return CheckResult(len(tables), findings)


@checks.register("noise")
def noise(printed: Printed) -> CheckResult:
    """Check that a change of a time is larger than the deviations of both times together."""
    count, findings = 0, []
    for (paper, table, row), entries in printed.rows().items():
        small = []
        for entry in (entry for entry in entries.values() if entry.cell.metric == CHANGE):
            base, own = entries[entry.cell.spec.change_from].number, entries[entry.cell.before].number
            if base.std is None or own.std is None:
                continue
            count += 1
            if abs(own.value - base.value) <= math.hypot(base.std, own.std):
                small.append((entry, f"{base.text} ± {base.std_text} and {own.text} ± {own.std_text}"))
        if small:
            where = f"{label_of(table)}, {row}, {', '.join(entry.cell.column for entry, _ in small)}"
            texts = "; ".join(text for _, text in small)
            why = "one deviation of the difference or less; the paper does not say over how many batches"
            findings.append(Finding(paper, where, ", ".join(entry.number.text for entry, _ in small), texts, why))
    return CheckResult(count, findings)


@checks.register("sources")
def sources(printed: Printed) -> CheckResult:
    """Check that a row of other work names where its numbers are from; all rows of a paper are one finding."""
    quoted = [entry for entry in printed.entries if entry.cell.quoted]
    rows = {(entry.paper, label_of(entry.table), entry.cell.row): entry.cell.quoted for entry in quoted}
    unnamed: dict[str, dict[str, list[str]]] = {}  # paper -> table -> rows
    for (paper, table, row), source in rows.items():
        if UNNAMED in source:
            unnamed.setdefault(paper, {}).setdefault(table, []).append(row)
    findings = []
    for paper, tables in unnamed.items():
        where = "; ".join(f"{table}, {', '.join(names)}" for table, names in tables.items())
        count = sum(map(len, tables.values()))
        findings.append(Finding(paper, where, f"{count} rows of other work", "no source", ""))
    return CheckResult(len(rows), findings)


def _spreads(runs: int) -> set[str]:
    """Return the standard deviations, to two digits, that `runs` scores rounded to a tenth can have."""
    # the lowest score is 0, the highest 1.5 points
    steps = itertools.combinations_with_replacement(range(16), runs - 1)
    return {f"{GRID * statistics.stdev((0, *others)):.2f}" for others in steps}


@checks.register("rounded-first")
def rounded_first(printed: Printed) -> CheckResult:
    """Check that deviations have values that only scores rounded to a tenth beforehand cannot have.

    It looks at deviations up to 0.20: above, rounded scores can give nearly every value.
    """
    findings, count = [], 0
    for (paper, table), entries in _with_deviations(printed).items():
        small = [entry for entry in entries if entry.number.std is not None and entry.number.std <= 0.2]
        possible = {text for text in _spreads(entries[0].runs) if float(text) <= 0.2}
        chance = (len(possible) / 21) ** len(small)  # if each of 0.00, 0.01, ... 0.20 is equally likely
        count += len(small)
        if small and chance < 1e-3 and all(entry.number.std_text in possible for entry in small):
            says = f"{len(small)} deviations up to 0.20 have {len({e.number.std_text for e in small})} values"
            why = f"{len(possible)} of 21 values can come from {entries[0].runs} scores rounded to a tenth, and all do"
            findings.append(Finding(paper, label_of(table), says, "deviations of unrounded scores", why))
    return CheckResult(count, findings)


def _with_deviations(printed: Printed) -> dict[tuple[str, str], list[Entry]]:
    """Return the scores with a deviation of two digits over three runs or more, by table."""
    tables: dict[tuple[str, str], list[Entry]] = {}
    for entry in printed.entries:
        text = entry.number.std_text
        if (
            entry.cell.task
            and entry.cell.metric not in OF_A_MODEL
            and len(text.partition(".")[2]) == 2
            and entry.runs > 2
        ):
            tables.setdefault((entry.paper, entry.table), []).append(entry)
    return tables
