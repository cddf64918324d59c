"""Tables of paired tests between the rows of tables of scores."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from retort.formatters import p_value
from retort.judgement.difference import ALL_EQUAL, LEVEL, PAIRS, TESTS, PairedTest, holm_corrected
from retort.judgement.judge import DECIMALS
from retort.judgement.paired_rows import left_out, paired_differences, row_scores
from retort.judgement.verdicts import AGREES, DIFFERS
from retort.results.tidy import Line
from retort.specs.base import Distinct, Name, Real, Spec, Text
from retort.specs.exhibit import Exhibit, StudyNames, check_known, exhibits_of, table_kind
from retort.specs.rows import Row
from retort.study.reasons import Reason, Status, not_run
from retort.study.study import Study
from retort.tables.base import Inputs, Table
from retort.tables.layout import UNRUN, Entry, Grid, PrintedRow, Sheet, label_of, sheet


class ReportedTests(Spec):
    """A paper's own tests of one table: the rows it compared, and the pairs without a significant difference.

    Papers that report tests correct no p-value, so only our uncorrected ones are compared with them.
    """

    below: Real = Field(gt=0, lt=1, description="the p-value below which the paper calls a difference significant")
    among: dict[Text, list[Text]] = Field(default={}, description="group -> the rows compared in it; else all rows")
    not_significant: list[tuple[Text, Text]] = Field(
        default=[], description="the pairs whose difference it does not call significant"
    )

    def is_significant(self, row: str, other: str) -> bool:
        """Return whether the paper calls the difference between two rows significant."""
        return (row, other) not in self.not_significant and (other, row) not in self.not_significant


@table_kind
class PairedTestsTable(Table):
    """A table of paired tests, with tasks fixed and drawn, between all rows of each listed table or some of them."""

    kind: Literal["paired-tests"] = Field(description="which kind of table this is")
    of: Distinct[Name] = Field(min_length=1, description="tables of scores")
    reported: dict[Name, ReportedTests] = Field(
        default={}, description="table -> what the paper reports of its own tests of it"
    )

    def compares(self) -> list[str]:
        """Return the tables whose scores it compares."""
        return self.of

    def problems(self, study: StudyNames, paper: str) -> Iterator[str]:
        """Yield a line for each name that is no table of scores, and for each reported row that is not tested."""
        tables = exhibits_of(study, paper)
        yield from check_known("of", "table", self.of, tables)
        compared = {name: tables[name].compared_rows() for name in self.of if name in tables}
        yield from (f"of: '{name}' is not a table of kind 'scores'" for name, rows in compared.items() if not rows)
        yield from check_known("reported", "table of 'of'", self.reported, self.of)
        for name, tests in self.reported.items():
            named = [row for rows in (*tests.among.values(), *tests.not_significant) for row in rows]
            rows = _tested_rows(tables[name]) if compared.get(name) else dict.fromkeys(named)
            yield from check_known(f"reported.{name}", "row that is tested", named, rows)

    def collect(self, inputs: Inputs) -> list[Line]:
        """Return the lines of each pair of rows: the mean difference, then p and p after Holm of each test.

        The `task` of a line is the name of the table whose rows are compared.
        """
        return [line for name in self.of for line in self._lines(inputs, name)]

    def _lines(self, inputs: Inputs, name: str) -> Iterator[Line]:
        table = inputs.study.exhibits[inputs.paper, name]
        rows = _tested_rows(table)
        groups = list(self.reported[name].among.values()) if name in self.reported else []
        pairs = [pair for group in groups or [list(rows)] for pair in itertools.combinations(group, 2)]
        scores = {row: row_scores(inputs.study, table, row, inputs.scores) for row in rows}
        differences = [paired_differences(scores[a], scores[b]) for a, b in pairs]
        results = {test: [test.run(each) for each in differences] for test in TESTS}
        # Holm's family of tests: all pairs of this table, over all its groups, that have a p-value.
        corrected = {test: holm_corrected([result.p for result in of_pairs]) for test, of_pairs in results.items()}
        for at, (a, b) in enumerate(pairs):
            where = (inputs.paper, inputs.name, a, b, rows[a].student, name)
            note = left_out({a: scores[a], b: scores[b]}) if differences[at] else ""
            differs = "; ".join(dict.fromkeys(filter(None, (rows[a].differs, rows[b].differs))))
            unrun = next((_unrun(inputs.study, table, rows[row]) for row in (a, b) if not scores[row]), {})

            shared = {"scale": inputs.study.scale_of(inputs.paper), "note": note, "differs": differs}
            states: dict[PairedTest, dict[str, Any]] = {
                test: {"n": of[at].n, "status": of[at].status, "reason": of[at].reason, **shared, **unrun}
                for test, of in results.items()
            }
            every = results[PAIRS][at]
            yield Line(*where, "difference", "x100", mean=every.mean, std=every.std, **states[PAIRS])
            for test, state in states.items():
                p = results[test][at].p
                verdict = self._verdict(name, (a, b), p) if test is PAIRS and not differs else ""
                yield Line(*where, test.metric, "p", mean=p, verdict=verdict, **state)
                yield Line(*where, test.metric_holm, "p", mean=corrected[test][at], **state)

    def _verdict(self, table: str, rows: tuple[str, str], p: float | None) -> str:
        """Return whether our test of two rows agrees with the one that the paper reports; empty without either test."""
        tests = self.reported.get(table)
        if not tests or p is None:
            return ""
        return AGREES if (p < tests.below) == tests.is_significant(*rows) else DIFFERS

    def lay_out(self, lines: list[Line]) -> Sheet:
        """Lay out a matrix of p-values per group of rows and test; rows are numbered to keep columns narrow."""
        grids, shown, run = [], self._shown_tests(), any(line.status not in UNRUN for line in lines)
        for title, group in self._groups(lines):
            for test in shown:
                labels, cells = matrix(group, test, corrected=run)
                size = range(len(labels))
                rows = [
                    PrintedRow(f"{i + 1}\u2002{labels[i]}", [self._entry(cells.get((i, j))) for j in size])
                    for i in size
                ]
                grids.append(Grid([str(j + 1) for j in size], rows, f"{title}, {test.title}"))
        remarks = [f"Above the diagonal uncorrected, below it after Holm; bold below {LEVEL:g}."]
        remarks += [test.explanation for test in shown]
        if self.reported:
            remarks.append("The paper corrects nothing, so its tests are compared with our uncorrected p-values alone.")
        return sheet(self, lines, grids, [*remarks, *_sizes(lines)])

    def _shown_tests(self) -> list[PairedTest]:
        """Return the tests that are printed: that over pairs only beside published tests."""
        return [test for test in TESTS if test is not PAIRS or self.reported]

    def _groups(self, lines: list[Line]) -> Iterator[tuple[str, list[Line]]]:
        """Yield (title, lines) for each group of rows compared with one another."""
        for name in dict.fromkeys(line.task for line in lines):
            tests = [line for line in lines if line.task == name]
            groups = self.reported[name].among if name in self.reported else {}
            for group, rows in (groups or {"": [line.row for line in tests]}).items():
                title = f"{label_of(name)}: {group}" if group else label_of(name)
                yield title, [line for line in tests if line.row in rows]

    def _entry(self, line: Line | None) -> Entry:
        if line is None:
            return Entry("")
        tests, published = self.reported.get(line.task), ""
        if tests and line.metric == PAIRS.metric:
            significant = tests.is_significant(line.row, line.column)
            published = f"{'<' if significant else '≥'} {tests.below:g}"
        if line.mean is None:
            reason = ALL_EQUAL if line.reason == ALL_EQUAL else line.state
            return Entry("-", published, notes=(reason,))
        text, notes = p_value(line.mean, DECIMALS["p"]), tuple(filter(None, [line.note]))
        return Entry(text, published, line.verdict, line.mean < LEVEL, notes)


def _sizes(lines: list[Line]) -> list[str]:
    """Return a remark for each compared table: how many pairs its tests have."""
    remarks = []
    for name in dict.fromkeys(line.task for line in lines):
        sizes = sorted({line.n for line in lines if line.task == name and line.metric == PAIRS.metric})
        count = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else f"{sizes[0]}"
        remarks.append(f"{label_of(name)}: {count} pairs of task and seed a test.")
    return remarks


def _tested_rows(table: Exhibit) -> dict[str, Row]:
    """Return the rows of a table that tests compare, by name."""
    return {name: row for name, row in table.compared_rows().items() if row.tested}


def _unrun(study: Study, table: Exhibit, row: Row) -> dict[str, Any]:
    """Return status and reason of a row that is not run."""
    why = not_run(study, row.student, *(task for task, _ in table.metrics_of(row.student))) or Reason(Status.NOT_RUN)
    return {"status": why.status, "reason": why.text}


def matrix(
    lines: list[Line], test: PairedTest, corrected: bool = True
) -> tuple[list[str], dict[tuple[int, int], Line]]:
    """Return the row labels and the lines of a test's p-values by (row, column) index.

    Above the diagonal the p-values are uncorrected; below it, if wanted, they are corrected by Holm's procedure.
    """
    labels = list(dict.fromkeys(label for line in lines for label in (line.row, line.column)))
    cells = {}
    for line in lines:
        upper = sorted((labels.index(line.row), labels.index(line.column)))
        if line.metric == test.metric:
            cells[upper[0], upper[1]] = line
        elif corrected and line.metric == test.metric_holm:
            cells[upper[1], upper[0]] = line
    return labels, cells
