"""Checks of how numbers came about: mixed averages, test sets, noise, sources of copied rows, early rounding."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter

from retort.audit.base import Finding, Looked, Reported, Sort, by_column, by_table, group_by, register, reported_span
from retort.tables.layout import label_of

UNNAMED = "not named"  # part of `quoted` in the files of tables, if the paper names no source
SERVED = {"cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst2", "stsb", "wnli"}  # tasks with a test server
GRID = 0.1  # scores are rounded to multiples of it
SMALL = 0.2  # largest deviation that tells rounded scores: above, they can have nearly every deviation


@register("mixed-averages", Sort.UNUSUAL)
def mixed_averages(reported: Reported) -> Looked:
    """Check that an average is over columns of one metric."""
    rows = reported.rows()
    for (paper, table, column), entries in by_column(reported.entries).items():
        row = rows[paper, table, entries[0].cell.row]
        metrics = Counter(row[part].cell.metric for part in entries[0].cell.spec.mean_of if part in row)
        yield min(1, len(metrics)), None
        if len(metrics) > 1:
            other = ", ".join(f"{number} of {metric}" for metric, number in metrics.most_common())
            why = "a point of one metric is not a point of another"
            yield 0, Finding(paper, f"{label_of(table)}, {column}", reported_span(entries), other, why)


@register("test-servers", Sort.UNUSUAL)
def test_servers(reported: Reported) -> Looked:
    """Check that variants of one student are compared on dev sets, not on test sets of a server; a finding a paper."""
    tables = by_table(entry for entry in reported.entries if entry.is_score)
    yield len(tables), None
    compared: dict[str, dict[str, int]] = {}  # paper -> table -> scores on test sets
    for (paper, table), entries in tables.items():
        models = {entry.cell.identity for entry in entries}
        if any(entry.cell.quoted for entry in entries) or not models <= set(reported.models):
            continue
        architectures = [reported.models[name].architecture for name in models]
        on_server = sum(entry.cell.split == "test" and entry.cell.task in SERVED for entry in entries)
        if len(models) > 1 and len({(one.layers, one.hidden) for one in architectures}) == 1 and on_server:
            compared.setdefault(paper, {})[label_of(table)] = on_server
    for paper, scores in compared.items():
        says = f"{sum(scores.values())} test scores of variants of one student"
        why = "each choice is made on what is meant for the last measurement"
        yield 0, Finding(paper, "; ".join(scores), says, "a comparison on dev sets", why)


@register("noise", Sort.UNUSUAL)
def noise(reported: Reported) -> Looked:
    """Check that a change of a time is larger than the deviations of both times together."""
    for (paper, table, row), changes in group_by(reported.changed(), lambda found: found[0].key[:3]).items():
        small = []
        for entry, base, own in changes:
            if base.std is None or own.std is None:
                continue
            yield 1, None
            if abs(own.value - base.value) <= math.hypot(base.std, own.std):
                small.append((entry, f"{base.text} ± {base.std_text} and {own.text} ± {own.std_text}"))
        if small:
            where = ", ".join([label_of(table), row, *(entry.cell.column for entry, _ in small)])
            texts = "; ".join(text for _, text in small)
            why = "one deviation of the difference or less; the paper does not say over how many batches"
            yield 0, Finding(paper, where, ", ".join(entry.number.text for entry, _ in small), texts, why)


@register("sources", Sort.UNSAID)
def sources(reported: Reported) -> Looked:
    """Check that a row of other work names where its numbers are from; all rows of a paper are one finding."""
    quoted = [entry for entry in reported.entries if entry.cell.quoted]
    rows = {(entry.paper, label_of(entry.table), entry.cell.row): entry.cell.quoted for entry in quoted}
    yield len(rows), None
    unnamed = [key for key, source in rows.items() if UNNAMED in source]
    for paper, keys in group_by(unnamed, lambda key: key[0]).items():
        tables = group_by(keys, lambda key: key[1]).items()
        where = "; ".join(f"{table}, {', '.join(row for *_, row in same)}" for table, same in tables)
        yield 0, Finding(paper, where, f"{len(keys)} rows of other work", "no source", "")


@register("rounded-first", Sort.UNUSUAL)
def rounded_first(reported: Reported) -> Looked:
    """Check that deviations have values that only scores rounded to a tenth beforehand cannot have.

    It looks at deviations of two digits over three runs or more, up to 0.20.
    """
    held = [entry for entry in reported.entries if entry.is_score and entry.runs > 2]
    exact = [entry for entry in held if len(entry.number.std_text.partition(".")[2]) == 2]
    for (paper, table), entries in by_table(exact).items():
        small = [entry.number.std_text for entry in entries if float(entry.number.std_text) <= SMALL]
        possible = {text for text in _spreads(entries[0].runs) if float(text) <= SMALL}
        chance = (len(possible) / 21) ** len(small)  # if each of 0.00, 0.01, ... 0.20 is equally likely
        yield len(small), None
        if small and chance < 1e-3 and set(small) <= possible:
            says = f"{len(small)} deviations up to 0.20 have {len(set(small))} values"
            why = f"{len(possible)} of 21 values can come from {entries[0].runs} scores rounded to a tenth, and all do"
            yield 0, Finding(paper, label_of(table), says, "deviations of unrounded scores", why)


def _spreads(runs: int) -> set[str]:
    """Return the standard deviations, to two digits, that `runs` scores rounded to a tenth can have."""
    # the lowest score is 0, the highest 1.5 points
    steps = itertools.combinations_with_replacement(range(16), runs - 1)
    return {f"{GRID * statistics.stdev((0, *others)):.2f}" for others in steps}
