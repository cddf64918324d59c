"""Tests of verdicts on cells, computed by hand: intervals, what is assumed, sizes, margins."""

from __future__ import annotations

import itertools
import statistics
from typing import Any

import pytest
import scipy.stats
from retort.judgement import verdicts
from retort.judgement.difference import holm_corrected
from retort.judgement.verdicts import HOPELESS, NO_RUNS, TINY, judge_lines, size_verdicts, verdict_rules
from retort.results.frames import Line, lines_of
from retort.specs.config import Config
from retort.specs.reported import read_number
from retort.specs.rows import ASSUMED_FREEDOM, ASSUMED_STD, AssumedSpread
from retort.study.load import open_study

from tests.tiny.results import frame, line


def one(cell: Line) -> Line:
    """Return the line with the verdict that it has in a table of its own."""
    return judged([cell], 0.6)[0]


def judged(cells: list[Line], assumed: float) -> list[Line]:
    """Return the lines of a table with their verdicts, where this deviation is assumed."""
    return list(lines_of(judge_lines(frame(cells), lambda _: AssumedSpread(assumed))))


def test_a_moderated_variance_by_hand():
    cells = [line(72.0, 70.0, ours=2.0, std=1.0, n=3, reported_n=5)]
    cells += [line(70.0, 70.0, row=f"R{n}", std=1.0, n=3, reported_n=5) for n in range(2)]
    first = judged(cells, 0.6)[0]
    # the column: 0.6 with 4 degrees of freedom, ours with 2 each (2.0, 1.0, 1.0), the reported ones with 4 each (1.0)
    column = (4 * 0.6 + 2 * (2.0 + 1.0 + 1.0) + 4 * (1.0 + 1.0 + 1.0)) / (4 + 6 + 12)
    # each side borrows 2 degrees of freedom, as there are two other cells: ours has 4 then, the reported one 6
    ours, reported = (2 * column**2 + 2 * 2.0**2) / 4, (2 * column**2 + 4 * 1.0**2) / 6
    # the 97.5 % quantile of Student's t with 4 degrees of freedom is 2.776
    assert (first.high or 0) - 2.0 == pytest.approx(2.7764 * (ours / 3 + reported / 5) ** 0.5, rel=1e-4)
    assert 2.0 - (first.low or 0) == pytest.approx((first.high or 0) - 2.0)


def test_a_cell_alone_in_its_column_borrows_nothing():
    cell = one(line(72.0, 70.0, ours=2.0, std=1.0, n=3, reported_n=5))
    # variances 4 / 3 and 1 / 5, with the 2 degrees of freedom of the side with fewer runs: 97.5 % quantile 4.303
    assert (cell.high or 0) - 2.0 == pytest.approx(4.3027 * (4 / 3 + 1 / 5) ** 0.5, rel=1e-4)


def test_two_runs_borrow_two_degrees_of_freedom():
    cells = [line(72.0, 70.0, row=f"R{n}", std=1.0, n=2) for n in range(9)]
    column = (4 * 0.6 + 18 * 1.0) / 22
    variance = (2 * column**2 + 1.0) / 3
    first = judged(cells, 0.6)[0]  # 97.5 % quantile with 3 degrees of freedom: 3.182
    assert (first.high or 0) - 2.0 == pytest.approx(3.1824 * variance**0.5, rel=1e-4)


def test_the_rounding_of_the_print_counts():
    # four runs without a spread to speak of: the error is that of the rounding, 0.5^2 / 3
    cell = one(line(70.4, 70.0, std=1e-9, n=4, reported_half=0.5))
    # the degrees of freedom are those of the runs, 3: so few may be alike by luck. 97.5 % quantile: 3.182
    assert (cell.high or 0) - 0.4 == pytest.approx(3.1824 * (0.25 / 3) ** 0.5, rel=1e-4)


def test_a_table_is_a_family_of_tests():
    # p of one cell alone is below 5 %; next to forty others Holm's correction takes it above
    alone = line(71.8, 70.0, std=0.7, n=4)
    assert one(alone).verdict == "differs"
    many = judged([alone, *(line(70.0, 70.0, row=f"R{n}", std=0.7, n=4) for n in range(40))], 0.6)
    assert many[0].verdict == "inconclusive"
    assert [cell.p_holm for cell in many] == pytest.approx(holm_corrected([cell.p for cell in many]))


ASSUMED = [
    (line(71.0, 70.0, std=0.4, n=4), ""),
    (line(71.0, 70.0, n=4, ours=0.4, reported_std=None), "reported deviation taken to be 0.51"),
    (line(71.0, 70.0, n=1, std=0.4, reported_n=4), "our deviation taken to be 0.51"),
    (line(71.0, 70.0, n=1, std=0.4), f"both deviations taken to be 0.6; {HOPELESS}"),
    (line(71.0, 70.0, n=4, std=0.0), f"both deviations taken to be 0.6; {HOPELESS}"),
    (line(71.0, 70.0, n=4, std=0.1, reported_n=0), "reported over 2 runs, not stated"),
    (line(71.0, 70.0, n=4, std=0.4, reported_n=0), f"reported over 2 runs, not stated; {HOPELESS}"),
    (line(71.0, 70.0, n=4, ours=0.3, reported_std=None, reported_n=0),
     f"reported deviation taken to be 0.47; reported over 1 run, not stated; {HOPELESS}"),
]  # fmt: skip


@pytest.mark.parametrize(("cell", "assumes"), ASSUMED)
def test_what_is_assumed_is_said(cell: Line, assumes: str):
    assert one(cell).assumes == assumes


def test_what_single_runs_can_show_and_what_not():
    def many(apart: float, assumed: float, cells: int = 1) -> Line:
        zeros = [line(70.0, 70.0, row=f"R{n}", n=1, reported_half=0.05) for n in range(1, cells)]
        first = line(70.0 + apart, 70.0, n=1, reported_half=0.05)
        return judged([first, *zeros], assumed)[0]

    same = many(0.0, 0.6)
    assert (same.verdict, same.runs_needed) == ("inconclusive", "none")  # not even equal numbers agree
    assert same.assumes.endswith(HOPELESS)
    for n, reported_n in ((1000, 1), (1000, 4)):  # the reported mean alone is too uncertain if it is of one run
        near = one(line(70.1, 70.0, n=n, ours=0.6, reported_n=reported_n, reported_std=None))
        assert near.verdict == {1: "inconclusive", 4: "agrees"}[reported_n]
    assert [many(apart, 0.6).verdict for apart in (2.3, 2.4)] == ["inconclusive", "differs"]
    assert [many(apart, 0.6, 63).verdict for apart in (7.7, 7.8)] == ["inconclusive", "differs"]
    # where columns assume less, single runs can agree, or more runs can be asked for
    assert many(0.3, 0.2).verdict == "agrees"
    open_ = many(0.5, 0.2)
    assert (open_.verdict, open_.assumes) == ("inconclusive", "both deviations taken to be 0.2")
    assert 1 < int(open_.runs_needed) < 10


def needed(std: float | None) -> str:
    """Return the runs of ours that would decide a cell; each of the nine in its column has these deviations."""
    n, reported_n = (1, 1) if std is None else (3, 4)
    cells = [line(70.8, 70.0, row=f"R{row}", n=n, reported_n=reported_n, ours=std, reported_std=std)
             for row in range(9)]  # fmt: skip
    return judged(cells, ASSUMED_STD.points)[0].runs_needed


def test_runs_that_would_decide():
    assert one(line(70.5, 70.0, std=0.4, n=3, reported_n=4)).runs_needed == "8"  # in a column of its own
    assert one(line(70.6, 70.0, std=0.3, n=4, reported_n=4)).runs_needed == "5"  # four may have been bad luck
    # the error of four reported runs with a deviation of 2 is 1: too wide for a margin of 1
    assert one(line(70.5, 70.0, std=2.0, n=4)).runs_needed == "none"
    assert one(line(70.0, 70.0, std=0.2, n=4)).runs_needed == ""


def test_without_both_numbers_there_is_no_verdict():
    for cell in (line(70.0), line(None, 70.0)):
        assert (one(cell).verdict, one(cell).p) == ("", None)
    assert verdict_rules(frame([one(line(70.0))])) == []


@pytest.mark.parametrize(
    ("reported", "ours", "verdict"),
    [("67.0M", 67.4, "differs"), ("67.0M", 67.04, "agrees"), ("69.1M", 69.1275, "agrees"),
     ("69.1275M", 69.1, "differs"),
     ("109M", 109.48, "agrees"), ("109M", 109.6, "differs"), ("67M", 67.4, "agrees")],
)  # fmt: skip
def test_a_size_is_compared_at_the_digits_of_the_reported_number(reported: str, ours: float, verdict: str):
    number = read_number(reported)
    assert number
    cell = Line(unit="M", reported=number.value, mean=ours, reported_half=number.half)
    assert list(size_verdicts(frame([cell]))) == [verdict]


def test_the_defaults_are_those_of_the_reported_deviations(monkeypatch: pytest.MonkeyPatch):
    study = open_study(Config(papers=["wang2023", "udagawa2023", "mlkd2024", "minilmv2"], scale="paper"))
    tables = [table for table in study.exhibits.values() if table.compared_rows()]
    cells = {(id(table), cell.row, cell.column): cell for table in tables for cell in table.cells()}
    deviations = sorted(
        (cell.number.std, cell.runs)
        for table in tables
        for cell in table.reported_cells()
        if cell.number and cell.number.std is not None and not cells[id(table), cell.row, cell.column].is_timed
    )
    assert len(deviations) == 280
    assert deviations[140][0] == 0.4
    assert (sum(std**2 for std, _ in deviations) / 280) ** 0.5 == pytest.approx(0.6, abs=0.005)
    # If true variances are 0.36 f / chi^2_f, reported ones over n runs are 0.36 F(n - 1, f): f = 4 is the most likely
    # whole number. A deviation of zero counts as half a unit of its last digit.
    squares = [max(std, 0.005) ** 2 / ASSUMED_STD.points**2 for std, _ in deviations]
    freedom = [runs - 1 for _, runs in deviations]
    likelihood = {f: scipy.stats.f.logpdf(squares, freedom, f).sum() for f in range(1, 30)}
    assert max(likelihood, key=lambda f: likelihood[f]) == ASSUMED_FREEDOM
    # four runs a side with this median show agreement within the margin with a power of 80 %, but not within 0.9
    assert needed(0.4) == "4"
    monkeypatch.setattr(verdicts, "MARGIN", 0.9)
    assert int(needed(0.4)) > 4
    # a mean of one run with the assumed deviation can show none within 2.1 points
    for margin, shows in ((2.1, False), (2.3, True)):
        monkeypatch.setattr(verdicts, "MARGIN", margin)
        assert (needed(None) != NO_RUNS) is shows


def test_reported_deviations_are_sample_deviations():
    """Deviations of four scores that are rounded to a tenth take few values: those reported fit n - 1, and not n."""
    study = open_study(Config(papers=["wang2023"], scale="paper"))
    cells = [cell for name in ("table1", "table3") for cell in study.exhibits["wang2023", name].reported_cells()]
    stds = [cell.number.std for cell in cells if cell.number and cell.number.std is not None]
    small = [std for std in stds if std <= 0.3]
    assert len(small) == 101
    scores = [(0, *rest) for rest in itertools.combinations_with_replacement(range(13), 3)]
    for over, impossible in ((3, []), (4, [0.06] * 4)):
        roots = [0.1 * (3 * statistics.variance(one) / over) ** 0.5 for one in scores]
        possible = {round(root + error, 2) for root in roots for error in (-TINY, TINY)}
        assert [std for std in small if std not in possible] == impossible


def test_what_is_assumed_of_single_runs_is_what_the_paper_prints_elsewhere():
    study = open_study(Config(papers=["wang2023"], scale="paper"))
    tables: dict[str, Any] = {name: table for (paper, name), table in study.exhibits.items() if paper == "wang2023"}
    deviations: dict[tuple[str, str], list[float]] = {}
    for name in ("table1", "table3"):
        tasks = {cell.column: (cell.task, cell.metric) for cell in tables[name].cells()}
        for cell in tables[name].reported_cells():
            if cell.number and cell.number.std is not None:
                deviations.setdefault(tasks[cell.column], []).append(cell.number.std)
    for name in ("table2", "table4"):
        columns = tables[name].columns
        same = [column for column in columns if (column.task, column.metric) in deviations]
        assert len(same) == 5
        for column in same:
            reported = deviations[column.task, column.metric]
            root_mean_square = (sum(std**2 for std in reported) / len(reported)) ** 0.5
            assert column.assumed_std.points == round(root_mean_square, 1)
        *tasks_of, average = [column.assumed_std.points for column in columns]
        assert average == round(sum(std**2 for std in tasks_of) ** 0.5 / len(tasks_of), 1)
