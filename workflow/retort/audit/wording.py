"""Checks of texts: the metric that a heading names, the size of a data set, what a text says and claims of numbers."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from retort.audit.base import Finding, Looked, Reported, ReportedNumber, Sort, by_column, register
from retort.judgement.cells import CellValues, Objects, Pairs, Verdict
from retort.judgement.comparisons import by_column as places_by_column
from retort.judgement.comparisons import pairs_of
from retort.judgement.groups import gains_of
from retort.judgement.judge import (
    Side,
    decide_statement,
    recomputed_averages,
    reported_numbers,
    sides_of,
    within_rounding,
)
from retort.specs.paper import Statement
from retort.tables.layout import label_of


@register("metrics", Sort.WRONG)
def metrics(reported: Reported) -> Looked:
    """Check that a column's numbers are of the metric that its heading names."""
    for (paper, table, column), entries in by_column(reported.entries).items():
        spec, where = entries[0].cell.spec, f"{label_of(table)}, {column}"
        finding = Finding(paper, where, f"the heading {spec.reported}", str(spec.metric), spec.because)
        yield 1, finding if spec.because else None


@register("sizes", Sort.WRONG)
def sizes(reported: Reported) -> Looked:
    """Check that a reported size of a data set is its size, rounded or cut."""
    for (paper, name), table in reported.tables.items():
        for cell in table.paper_cells():
            task, split = cell.counted or ("", "")
            size = reported.facts[task].sizes.get(split) if task else None  # type: ignore[call-overload]
            if cell.number and size is not None:
                where = f"{label_of(name)}, {cell.row}, {cell.column}"
                finding = Finding(paper, where, cell.number.text, f"{size:,}", reported.facts[task].source)
                yield 1, None if cell.number.is_size(size) else finding


@register("texts", Sort.CONFLICT)
def texts(reported: Reported) -> Looked:
    """Check that what a paper's text says and claims of its numbers is what its tables report.

    A claim that holds on recomputed averages is left out: the check `averages` reports the misprinted ones.
    """
    for paper, statements in reported.statements.items():
        sides = both_sides(reported, paper)
        for statement in statements:
            verdict = judged(statement, sides)
            if verdict:
                numbers = verdict.result or verdict.numbers
                yield 1, None if verdict.supported else _finding(paper, statement, numbers, statement.why)


def both_sides(reported: Reported, paper: str) -> tuple[Side, Side]:
    """Return the numbers of a paper as reported, and with each average computed from the numbers of its row."""
    tables = {name: table for (slug, name), table in reported.tables.items() if slug == paper}
    side = reported_numbers(tables)
    return side, recomputed_averages(side, tables)


def judged(statement: Statement, sides: tuple[Side, Side]) -> Verdict | None:
    """Return the verdict on reported numbers, or on recomputed averages if it holds on these alone; None without one.

    What rounding alone may have turned holds.
    """
    verdicts = [verdict for side in sides if not isinstance(verdict := decide_statement(statement, side), str)]
    if not verdicts or verdicts[0].supported is None:  # a figure reports no numbers
        return None
    tied = (replace(verdicts[0], true=~verdicts[0].true) for side in sides if within_rounding(statement, side))
    return next((verdict for verdict in chain(verdicts, tied) if verdict.supported), verdicts[0])


def _finding(paper: str, statement: Statement, other: str, why: str, of: Statement | None = None) -> Finding:
    """Return the finding that a statement is not so; `of`: the claim of which it is another reading."""
    tables = ", ".join(map(label_of, statement.tables))
    where = f"{statement.where}, against {tables}" if tables else statement.where
    number = f" ({statement.number})" if statement.number and not of else ""
    return Finding(paper, where, statement.says.removesuffix(".") + number, other, why, of or statement)


@register("prose", Sort.UNSAID)
def prose(reported: Reported) -> Looked:
    """Check that the formulas and citations of a text are right, its metrics and conditions named."""
    for paper, statements in reported.statements.items():
        for one in (statement for statement in statements if statement.but):
            sort = Sort(one.sort) if one.sort else None
            yield 1, Finding(paper, one.where, one.says.removesuffix("."), one.but, one.why, one, sort)


# --- other senses of claims: read in another way than `claims.yaml` judges them, and column by column
#
# A finding here is no mistake of the paper's: it says what a reader must not take the sentence for.

Sides = tuple[Objects, Objects]  # (table, row, column) of cells of one column: the text says that the first are above


def _all(own: CellValues, others: CellValues) -> list[Sides]:
    """Pair each cell with each of the others in the same table and column."""
    pairs = pairs_of(own, others)
    return _one_by_one(pairs[pairs.own.keys[:, 0] == pairs.other.keys[:, 0]])


def _in_order(own: CellValues, others: CellValues) -> list[Sides]:
    """Pair each cell with its counterpart in the same column."""
    return _one_by_one(gains_of(own, others))


def _one_by_one(pairs: Pairs) -> list[Sides]:
    return list(zip(pairs.own.keys[:, None], pairs.other.keys[:, None], strict=True))


def _of_best(own: CellValues, others: CellValues) -> list[Sides]:
    """Pair all cells of a column with all others in it: the best of each side will count."""
    rivals = places_by_column(others)
    both = ((places, rivals[column]) for column, places in places_by_column(own).items() if column in rivals)
    return [(own.keys[places], others.keys[against]) for places, against in both]


# comparison which says that one side is above the other -> how it pairs their cells
PAIRED = {
    "above": _all,
    "not-below": _all,
    "exceeds": _all,
    "mostly-above-counterparts": _in_order,
    "gains-considerably": _in_order,
    "best-above": _of_best,
    "best-not-below": _of_best,
}


@register("readings", Sort.UNSAID)
def readings(reported: Reported) -> Looked:
    """Check that a claim which can be read in several ways is supported in each of its readings."""
    for paper, statements in reported.statements.items():
        sides = both_sides(reported, paper)
        for claim in (one for one in statements if one.other_readings):
            as_claimed = judged(claim, sides)
            for reading in claim.other_readings.values():
                statement = claim.read_as(reading)
                verdict = judged(statement, sides)
                if verdict is None:  # nothing is reported for this reading
                    continue
                word = "supported" if as_claimed and as_claimed.supported else "not supported"
                why = f"{word} as judged among the claims{f'; {statement.reading}' if statement.reading else ''}"
                yield 1, None if verdict.supported else _finding(paper, statement, verdict.numbers, why, claim)


@register("means", Sort.UNUSUAL)
def means(reported: Reported) -> Looked:
    """Check that a claim that is supported on average is supported on more than half of the columns of that average."""
    rows = reported.rows()
    for paper, statements in reported.statements.items():
        side, _ = both_sides(reported, paper)
        for statement, sides in ((one, sides) for one in statements for sides in _on_average(one, side)):
            column = sides[0][0][2]
            own, other = ([rows.get((paper, table, row), {}) for table, row, _ in keys] for keys in sides)
            parts = own[0][column].cell.spec.mean_of if column in own[0] else []
            if not parts or not all(name in row for row in (*own, *other) for name in (column, *parts)):
                continue
            one, another = _best(own, column), _best(other, column)
            if one.number.value <= another.number.value:
                continue
            won = sum(_best(own, part).number.value > _best(other, part).number.value for part in parts)
            where = f"{statement.where}, {label_of(one.table)}, {one.cell.row} above {another.cell.row}"
            says = f"{one.number.text} against {another.number.text} on average"
            finding = Finding(paper, where, says, f"above on {won} of {len(parts)} columns", statement.says, statement)
            yield 1, finding if 2 * won <= len(parts) else None


def _on_average(statement: Statement, side: Side) -> list[Sides]:
    """Return the cells of each column in which a statement says that one side is above the other."""
    pair = PAIRED.get(statement.compare)
    return pair(*sides_of(statement, side.cells_of(statement))) if pair else []


def _best(rows: list[dict[str, ReportedNumber]], column: str) -> ReportedNumber:
    """Return the entry with the largest number in a column."""
    return max((row[column] for row in rows), key=lambda entry: entry.number.value)
