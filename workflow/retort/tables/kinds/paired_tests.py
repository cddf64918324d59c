"""Tables of paired tests between the rows of tables of scores."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from retort.formatters import p_value
from retort.judgement.difference import ALL_EQUAL, LEVEL, PAIRS, TESTS, PairedTest, holm_corrected
from retort.judgement.judge import DECIMALS
from retort.judgement.paired_rows import distillation_variance, left_out, paired_differences, row_scores
from retort.judgement.verdicts import AGREES, DIFFERS
from retort.results.frames import NUMBER, frame_of, lines_of
from retort.specs.base import Distinct, Name, Real, Spec, Text, check_known
from retort.specs.exhibit import Exhibit, StudyNames, exhibits_of, metrics_by_student, table_kind
from retort.specs.rows import Row
from retort.study.reasons import Reason, Status, not_run
from retort.study.study import Study
from retort.tables.base import Inputs, Table
from retort.tables.layout import UNRUN, Entry, Grid, GridRow, Sheet, label_of, sheet

if TYPE_CHECKING:
    from pandas import DataFrame


class ReportedTests(Spec):
    """A paper's own tests of one table: the rows it compared, and the pairs without a significant difference.

    Papers that report tests correct no p-value, so only our uncorrected ones are compared with them.
    """

    below: Real = Field(gt=0, lt=1, description="the p-value below which the paper calls a difference significant")
    among: dict[Text, Annotated[Distinct[Text], Field(min_length=2)]] = Field(
        default={}, description="group -> the rows compared in it; else all rows"
    )
    not_significant: list[tuple[Text, Text]] = Field(
        default=[], description="the pairs whose difference it does not call significant"
    )

    def _wrong(self) -> Iterator[str]:
        groups = self.among.values()
        for row, other in self.not_significant:
            if row == other or (groups and not any({row, other} <= {*group} for group in groups)):
                yield f"not_significant: '{row}' and '{other}' are not compared; name two rows of one group"

    def is_significant(self, row: str, other: str) -> bool:
        """Return whether the paper calls the difference between two rows significant."""
        return (row, other) not in self.not_significant and (other, row) not in self.not_significant


@table_kind
class PairedTestsTable(Table):
    """A table of paired tests, with fixed tasks and drawn, between all rows of each listed table or some of them."""

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

    def collect(self, inputs: Inputs) -> DataFrame:
        """Return the lines of each pair of rows: the mean difference, then p and p after Holm of each test.

        The `task` of a line is the name of the table whose rows are compared.
        """
        where = {"paper": inputs.paper, "table": inputs.name, "scale": inputs.study.scale_of(inputs.paper)}
        return frame_of({**where, **cell} for name in self.of for cell in self._cells(inputs, name))

    def _cells(self, inputs: Inputs, name: str) -> Iterator[dict[str, Any]]:
        table = inputs.study.exhibits[inputs.paper, name]
        rows = _tested_rows(table)
        groups = list(self.reported[name].among.values()) if name in self.reported else []
        pairs = [pair for group in groups or [list(rows)] for pair in itertools.combinations(group, 2)]
        scores = {row: row_scores(inputs.study, table, row, inputs.scores) for row in rows}
        differences = [paired_differences(scores[a], scores[b]) for a, b in pairs]
        luck = [distillation_variance(inputs.study, inputs.paper, name, pair) for pair in pairs]
        results = {test: [*map(test.run, differences, luck)] for test in TESTS}
        # Holm's family of tests: all pairs of this table, over all its groups, that have a p-value.
        every_p = {test: [NUMBER if one.p is None else one.p for one in of_pairs] for test, of_pairs in results.items()}
        corrected = {test: holm_corrected(of_pairs) for test, of_pairs in every_p.items()}
        for at, (a, b) in enumerate(pairs):
            where = {"row": a, "column": b, "student": rows[a].student, "task": name}
            note = left_out({a: scores[a], b: scores[b]}) if differences[at] else ""
            differs = "; ".join(dict.fromkeys(filter(None, (rows[a].differs, rows[b].differs))))
            unrun = next((_unrun(inputs.study, table, rows[row]) for row in (a, b) if scores[row].empty), {})

            shared = {**where, "note": note, "differs": differs}
            states: dict[PairedTest, dict[str, Any]] = {
                test: {"n": of[at].n, "status": of[at].status.value, "reason": of[at].reason, **shared, **unrun}
                for test, of in results.items()
            }
            every = results[PAIRS][at]
            apart = {"metric": "difference", "unit": "x100", "mean": every.mean, "std": every.std}
            yield {**states[PAIRS], **apart}
            for test, state in states.items():
                p = results[test][at].p
                verdict = self._verdict(name, (a, b), p) if test is PAIRS and not differs else ""
                yield {**state, "metric": test.metric, "unit": "p", "mean": p, "verdict": verdict}
                yield {**state, "metric": test.metric_holm, "unit": "p", "mean": corrected[test][at]}

    def _verdict(self, table: str, rows: tuple[str, str], p: float | None) -> str:
        """Return whether our test of two rows agrees with the one that the paper reports; empty without either test."""
        tests = self.reported.get(table)
        if not tests or p is None:
            return ""
        return AGREES if (p < tests.below) == tests.is_significant(*rows) else DIFFERS

    def lay_out(self, frame: DataFrame) -> Sheet:
        """Lay out a matrix of p-values per group of rows and test; rows are numbered to keep columns narrow."""
        grids, shown, run = [], self._shown_tests(), not frame["status"].isin(UNRUN).all()
        for title, group in self._groups(frame):
            for test in shown:
                labels, cells = matrix(group, test, corrected=run)
                size = range(len(labels))
                rows = [
                    GridRow(f"{i + 1}\u2002{labels[i]}", [self._entry(cells.get((i, j))) for j in size]) for i in size
                ]
                grids.append(Grid([str(j + 1) for j in size], rows, f"{title}, {test.title}"))
        remarks = [f"Above the diagonal uncorrected, below it after Holm; bold below {LEVEL:g}."]
        remarks += [test.explanation for test in shown]
        if self.reported:
            remarks.append("The paper corrects nothing, so its tests are compared with our uncorrected p-values alone.")
        return sheet(self, frame, grids, [*remarks, *_sizes(frame)])

    def _shown_tests(self) -> list[PairedTest]:
        """Return the tests that are shown: that over pairs only next to reported tests."""
        return [test for test in TESTS if test is not PAIRS or self.reported]

    def _groups(self, frame: DataFrame) -> Iterator[tuple[str, DataFrame]]:
        """Yield (title, lines) for each group of rows compared with one another."""
        for name in frame["task"].unique():
            tests = frame[frame["task"] == name]
            groups = self.reported[name].among if name in self.reported else {}
            for group, rows in (groups or {"": list(tests["row"])}).items():
                title = f"{label_of(name)}: {group}" if group else label_of(name)
                yield title, tests[tests["row"].isin(rows)]

    def _entry(self, line: Any) -> Entry:
        if line is None:
            return Entry("")
        tests, stated = self.reported.get(line.task), ""
        if tests and line.metric == PAIRS.metric:
            significant = tests.is_significant(line.row, line.column)
            stated = f"{'<' if significant else '≥'} {tests.below:g}"
        if line.mean is None:
            reason = ALL_EQUAL if line.reason == ALL_EQUAL else line.state
            return Entry("-", stated, notes=(reason,))
        text, notes = p_value(line.mean, DECIMALS["p"]), tuple(filter(None, [line.note]))
        return Entry(text, stated, line.verdict, line.mean < LEVEL, notes)


def _sizes(frame: DataFrame) -> list[str]:
    """Return a remark for each compared table: how many pairs its tests have."""
    remarks = []
    for name in frame["task"].unique():
        sizes = frame.loc[(frame["metric"] == PAIRS.metric) & (frame["task"] == name), "n"]
        count = f"{sizes.min()} to {sizes.max()}" if sizes.nunique() > 1 else f"{sizes.min()}"
        remarks.append(f"{label_of(name)}: {count} pairs of task and seed a test.")
    return remarks


def _tested_rows(table: Exhibit) -> dict[str, Row]:
    """Return the rows of a table that tests compare, by name."""
    return {name: row for name, row in table.compared_rows().items() if row.tested}


def _unrun(study: Study, table: Exhibit, row: Row) -> dict[str, Any]:
    """Return status and reason of a row that is not run."""
    tasks = (task for task, _ in metrics_by_student(table).get(row.student, []))
    why = not_run(study, row.student, *tasks) or Reason(Status.NOT_RUN)
    return {"status": why.status.value, "reason": why.text}


def matrix(frame: DataFrame, test: PairedTest, corrected: bool = True) -> tuple[list[str], dict[tuple[int, int], Any]]:
    """Return the row labels and the lines of a test's p-values by (row, column) index.

    Above the diagonal the p-values are uncorrected; below it, if wanted, they are corrected by Holm's procedure.
    """
    labels = list(dict.fromkeys(frame[["row", "column"]].to_numpy().ravel()))
    cells = {}
    for line in lines_of(frame[frame["metric"].isin((test.metric, test.metric_holm))]):
        low, high = sorted((labels.index(line.row), labels.index(line.column)))
        if line.metric == test.metric:
            cells[low, high] = line
        elif corrected:
            cells[high, low] = line
    return labels, cells
