"""Tests of the plots that rank: which tables have one, the order of rows, and where points and intervals lie."""

from __future__ import annotations

import re
from typing import Any

import pytest
from retort.report.ranking import RankedMean, panel_of, ranking
from retort.results.frames import frame_of, read

from tests.tiny.results import opened

TITLES = {"reported": "as reported", "recorded": "recorded", "ours": "this run"}


def test_a_mean_over_columns_has_an_interval_if_all_spreads_are_known() -> None:
    # (1 + 4) / 4 variance over 4 runs: error sqrt(5 / 16); Welch: (5 / 16)^2 / ((1 / 16)^2 / 3 + (4 / 16)^2 / 3) = 4.41
    one = RankedMean.of([(70.0, 1.0, 4), (80.0, 2.0, 4)])
    assert one.value == 75.0
    assert one.interval == pytest.approx((75 - 2.679 * 0.559, 75 + 2.679 * 0.559), abs=0.005)
    assert one.text == "75.0 (73.5 to 76.5)"
    assert RankedMean.of([(70.0, 1.0, 4), (80.0, None, 4)]).interval is None
    assert RankedMean.of([(70.0, 1.0, 1)]).text == "70.0"
    assert RankedMean.of([(72.0, 1.0, 4)], [(70.0, 1.0, 4)]).text == "2.0 (0.3 to 3.7)"


def test_all_points_and_intervals_lie_inside_a_panel() -> None:
    points = {"a": [("ours", "", RankedMean.of([(70.0, 1.0, 4)]))], "b": [("ours", "", RankedMean(72.0))]}
    panel = panel_of("this run", {}, points)
    scores = [score for of_row in points.values() for _, _, score in of_row]
    places = [panel.place(end) for score in scores for end in (score.value, *(score.interval or ()))]
    assert 0 < min(places) < max(places) < 100
    assert [label for _, label in panel.ticks] == ["69", "70", "71", "72"]
    assert panel_of("", {}, points, zero=True).ticks[0][1] == "0"


def test_rows_are_ranked_by_print_and_each_side_has_its_panel(config: dict[str, Any]) -> None:
    table = opened(config).exhibits["tiny", "table1"]
    lines = read("results/tables/tiny/table1.csv")
    plot = ranking(table, lines, TITLES)
    assert plot
    assert plot.rows == list(lines.groupby("row")["mean"].mean().sort_values(ascending=False).index)
    assert [list(panel.legend) for panel in plot.panels] == [["ours"]]  # too few rows have a reported number


def test_a_mean_over_more_columns_never_stands_next_to_one_over_fewer(config: dict[str, Any]) -> None:
    table = opened({"papers": []}).exhibits["wang2023", "table1"]
    tasks = ("QNLI", "SST-2", "MNLI", "MRPC", "QQP", "RTE", "CoLA")
    frame = frame_of(
        {"row": row, "column": column, "unit": "x100", "reported": 60.0 + place + 10 * (column in tasks[:2]),
         "recorded": 50.0 + place if column in (*tasks[:2], "Avg") else None}
        for place, row in enumerate(["Vanilla KD", "Att-KL", "Hid-Seq"]) for column in (*tasks, "Avg")
    )  # fmt: skip
    plot = ranking(table, frame, TITLES)
    assert plot
    (panel,) = plot.panels
    assert panel.title == "score × 100, mean of QNLI, SST-2"
    assert panel.legend == {"reported": "as reported", "recorded": "recorded"}
    assert [score.value for _, _, score in panel.points["Vanilla KD"]] == [70.0, 50.0]

    lab = {"Att-KL": {"QNLI": (59.0, None, 1), "SST-2": (63.0, None, 1)}, "Hid-Seq": {"QNLI": (58.0, None, 1)}}
    plot = ranking(table, frame, TITLES, others={"A lab": lab})
    assert plot
    assert [(panel.title, list(panel.legend)) for panel in plot.panels[1:]] == [
        ("score × 100, mean of QNLI, SST-2", ["reported", "replicated"])
    ]
    marks = plot.panels[1].points
    assert [(look, score.value) for look, _, score in marks["Att-KL"]] == [("reported", 71.0), ("replicated", 61.0)]
    assert len(marks["Hid-Seq"]) == 1  # of one column alone


def test_two_rows_and_rows_that_measure_different_things_are_not_ranked(config: dict[str, Any]) -> None:
    study = opened(config)
    lines = read("results/tables/tiny/table1.csv")
    two = lines[lines["row"].isin(sorted(set(lines["row"]))[:2])]
    assert ranking(study.exhibits["tiny", "table1"], two, TITLES) is None
    assert ranking(study.exhibits["tiny", "table2"], read("results/tables/tiny/table2.csv"), TITLES) is None


def test_the_plot_of_a_table_is_a_column_of_it_and_is_text_too(page: str) -> None:
    table = page[page.index('<article class="exhibit" id="tiny-table1"') :].split("</table>")[0]
    drawn = dict(
        re.findall(r'<th scope="row">([^<]+)</th><td class="plot"><div role="img" aria-label="([^"]+)">', table)
    )
    assert drawn["A &amp; &lt;b&gt;_1"].startswith("66.0 (54.2 to 77.8)")
    assert len(drawn) == table.count('<th scope="row">') == table.count("<circle")
    assert '<th scope="col" class="plot"><span class="key ours">this run, scale pocket' in table
    assert "<!--plot-->" not in page
