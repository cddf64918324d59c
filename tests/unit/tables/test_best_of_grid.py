"""Tests of reported numbers that are the best of a grid: verdicts compare them with the best of ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from retort.errors import RetortError
from retort.judgement.judge import our_numbers
from retort.plan import exhibits, resolve
from retort.plan.plan import Plan
from retort.results.frames import Line, for_claims
from retort.settings.trials import Trial
from retort.specs.config import read_config

from tests.tiny.edit import set_value, write
from tests.tiny.reported import as_reported
from tests.tiny.results import frame, made, opened
from tests.tiny.variant import NARROW, PAPER_OF_OTHERS, STUDENTS, write_one_table

GRID = {"learning_rate": [1e-3, 2e-3], "batch_size": [4, 8], "seed": 1}
COLUMNS = [
    {"task": "mood", "metric": "accuracy", "label": "Acc"},
    {"task": "rating", "metric": "pearson", "label": "Pearson"},
    {"label": "Avg", "mean_of": ["Acc", "Pearson"]},
]
ROWS = [
    {"label": "Narrow", "student": "tiny-narrow", "cells": "78.0 | 65.0 | 71.5"},
    {"label": "Plain", "student": "tiny-kd", "cells": "71.0 | 60.0 | 65.5"},
    {"label": "Elsewhere", "student": "tiny-narrow", "quoted": "Nobody (2020)", "cells": "77.0 | 64.0 | 70.5"},
]
DEV = {"mood": [0.70, 0.78, None, 0.76], "rating": [0.61, 0.60, 0.66, 0.62]}  # of the points; one diverged
AGAIN = {"tiny-narrow": {"mood": [0.74], "rating": [0.58]}, "tiny-kd": {"mood": [0.72], "rating": [0.6]}}
MOOD = Path("results/trials/tiny-narrow/mood")


@pytest.fixture
def grids(here: Path) -> dict[str, Any]:
    """Write a published paper whose numbers are the best of a grid, with trials; return the study's configuration."""
    table = as_reported(ROWS, COLUMNS, runs=1, split="dev", best_of="grid")
    students = {**STUDENTS, "narrow": {**NARROW, "protocol": "gridded"}}
    config = write_one_table(here / "study", table, paper=PAPER_OF_OTHERS, students=students)
    protocol = {"title": "Short", "schedule": {"steps": 6, "batch_size": 8, "learning_rate": 1e-3}, "seeds": [1]}
    write(here / "study", "protocols/short.yaml", protocol)
    write(here / "study", "protocols/gridded.yaml", {**protocol, "grid": GRID})
    for task in DEV:
        set_value(here / "study", f"tasks/{task}.yaml", "evaluation_split", to="dev")
    config = {**config, "scale": "paper"}
    study = opened(config)
    for task, values in DEV.items():
        points = list(enumerate(zip(resolve.grid(study, "tiny-narrow", task).points, values, strict=True), start=1))
        folder = Path("results/trials/tiny-narrow", task)
        folder.mkdir(parents=True)
        for part in (1, 2):
            trials = [
                Trial(number, point, dev) if dev is not None else Trial(number, point, step=3)
                for number, (point, dev) in points[part - 1 :: 2]
            ]
            text = "".join(f"{json.dumps(trial.as_json())}\n" for trial in trials)
            (folder / f"{part}-of-2.jsonl").write_text(text)
    return config


def lines_of(config: dict[str, Any]) -> tuple[dict[tuple[str, str], Line], dict[str, str]]:
    """Make the table; return its lines by row and column, and its text in each format."""
    lines, texts = made(config, **AGAIN)
    return {(line.row, line.column): line for line in lines}, texts


def test_the_best_of_our_grid_is_judged_and_its_point_trained_again_stands_next_to(grids: dict[str, Any]) -> None:
    lines, texts = lines_of(grids)
    best = lines["Narrow", "Acc"]
    assert (best.mean, best.std, best.n) == (pytest.approx(78.0), None, 1)
    assert (best.rerun, best.rerun_n, best.verdict) == (pytest.approx(74.0), 1, "inconclusive")
    assert best.low is not None
    assert best.low < 0 < (best.high or 0)
    both = "the best of a grid compared with the best of a grid"
    luck = "one distillation a side, whose deviation is taken to be 0.26"
    assert best.assumes == f"{both}; both deviations taken to be 0.6; {luck}"
    assert best.best_point == (
        "point 2 of 4 (learning_rate 0.001, batch_size 8, seed 1), results/trials/tiny-narrow/mood/2-of-2.jsonl"
    )
    average = lines["Narrow", "Avg"]
    assert (average.mean, average.rerun) == (pytest.approx((78 + 66) / 2), pytest.approx((74 + 58) / 2))
    assert (average.best_of, average.n) == (both, 1)
    assert "| Narrow | **78.0**<sup>a</sup><br>again 74.0<br>*78.0*<br>" in texts["md"]
    assert "again 74.0" in texts["tex"]
    assert "'again': our best point, trained once more" in texts["md"]
    assert all(text in texts["html"] for text in (">again 74.0<", "point 2 of 4 (learning_rate 0.001", "2-of-2.jsonl"))


def test_a_row_without_a_grid_and_a_quoted_one_show_what_was_trained_again(grids: dict[str, Any]) -> None:
    lines, texts = lines_of(grids)
    plain, quoted = lines["Plain", "Acc"], lines["Elsewhere", "Acc"]
    assert (plain.mean, plain.rerun, quoted.mean, quoted.rerun) == (pytest.approx(72), None, pytest.approx(74), None)
    why = "reported: the best of a grid; ours is no best of one: it has no grid"
    assert (plain.best_of, lines["Plain", "Avg"].best_of, quoted.best_of) == (why, why, "")
    assert plain.assumes.startswith(why)
    assert why in texts["md"]


@pytest.mark.parametrize(
    ("change", "why"),
    [(("tasks/mood.yaml", "metrics", ["f1", "accuracy"]), "its grid is scored by f1"),
     (("tasks/mood.yaml", "evaluation_split", "test"), "its grid is scored on another split"),
     (("", "", ""), "its trials are missing")],
)  # fmt: skip
def test_a_grid_that_does_not_measure_the_reported_number(
    grids: dict[str, Any], tmp_path: Path, change: tuple[str, str, Any], why: str
) -> None:
    path, key, value = change
    if path:
        set_value(tmp_path / "study", path, key, to=value)
        set_value(tmp_path / "study", "papers/tiny/table1.yaml", "split", to="")
    else:
        (MOOD / "1-of-2.jsonl").unlink()
    lines, _ = lines_of(grids)
    assert (lines["Narrow", "Acc"].mean, lines["Narrow", "Acc"].rerun) == (pytest.approx(74.0), None)
    assert lines["Narrow", "Acc"].best_of.endswith(why)
    assert lines["Narrow", "Pearson"].rerun is not None
    assert lines["Narrow", "Avg"].mean == pytest.approx((74 + 58) / 2)  # a mean mixes no maxima with others
    assert lines["Narrow", "Avg"].best_of.endswith("not all cells of its row are")


def test_trials_of_other_points_are_refused_and_the_table_waits_for_its_own(grids: dict[str, Any]) -> None:
    lines_of(grids)
    waits = exhibits.trials(Plan(read_config(grids)), "tiny", "table1")
    assert waits == [f"results/trials/tiny-narrow/{task}/{part}-of-2.jsonl" for task in DEV for part in (1, 2)]
    path = MOOD / "1-of-2.jsonl"
    path.write_text(path.read_text().replace('"learning_rate": 0.001', '"learning_rate": 0.5'))
    with pytest.raises(RetortError, match="trial 1 is of another point than the study's"):
        lines_of(grids)


def test_claims_are_judged_on_what_was_trained_again(grids: dict[str, Any]) -> None:
    lines, _ = lines_of(grids)
    study = opened(grids)
    judged = for_claims(study, {"table1": frame(lines.values())})
    cells = our_numbers({"table1": study.exhibits["tiny", "table1"]}, judged).numbers
    values = {row: cells["table1", row, "Acc"]["value"] for row in ("Narrow", "Plain", "Elsewhere")}
    assert values == {"Narrow": pytest.approx(74), "Plain": pytest.approx(72), "Elsewhere": pytest.approx(74)}
