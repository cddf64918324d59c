"""Checks of words against numbers: the metric that a heading names, and the printed size of a data set."""

from __future__ import annotations

from retort.audit.base import Finding, Looked, Printed, by_column, checks, span
from retort.specs.printed import read_number
from retort.specs.text_tables import CountsTable
from retort.tables.layout import label_of


@checks.register("metrics")
def metrics(given: Printed) -> Looked:
    """Check that the numbers of a column are of the metric that its heading names."""
    found = []
    columns = by_column(given.entries)
    for (paper, table, column), listed in columns.items():
        spec = listed[0].place.spec
        if spec.because:
            says = f"{spec.printed}: {span(listed)}"
            found.append(Finding(paper, f"{label_of(table)}, {column}", says, str(spec.metric), spec.because))
    return Looked(len(columns), found)


@checks.register("sizes")
def sizes(given: Printed) -> Looked:
    """Check that the printed size of a data set is its true size, rounded or truncated."""
    splits = {"#Train": "train", "#Dev": "dev", "#Test": "test"}
    count, found = 0, []
    for (paper, name), table in given.tables.items():
        if not isinstance(table, CountsTable):
            continue
        for row, texts in zip(table.rows, table.texts, strict=True):
            facts = given.facts[row.task]
            for column, text in zip(table.columns, texts, strict=True):
                number, size = read_number(text), facts.sizes.get(splits.get(column.label, ""))  # type: ignore[call-overload]
                if not number or size is None:
                    continue
                count += 1
                if not number.is_size(size):
                    place = f"{label_of(name)}, {row.label}, {column.label}"
                    found.append(Finding(paper, place, number.text, f"{size:,}", facts.source))
    return Looked(count, found)
