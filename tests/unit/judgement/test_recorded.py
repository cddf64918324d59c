"""Tests of recorded runs of smaller models: claims at two lengths, tasks at a constant answer, the order of rows."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from retort.judgement.recorded import at_floor, order_of
from retort.report.outcome import Files, Shown
from retort.report.page import plot_of
from retort.results import frames
from retort.specs.across import Facts
from retort.specs.paper import Recording
from retort.study.load import open_study
from retort.study.study import Study
from retort.tables.claims import Judged, claim_sides, counts, judge_all
from retort.tables.recordings import as_recorded, replacements_of

from tests.tiny.edit import write
from tests.tiny.reported import as_reported
from tests.tiny.results import opened
from tests.tiny.variant import CLAIMS, ROWS
from tests.unit.study.test_scale import SMALLER, study_config

Scores = dict[str, list[float]]  # row -> the accuracy under each seed
A, B = "A & <b>_1", "B"
ABOVE: Scores = {"Teacher": [91.0, 90.0, 92.0], A: [80.0, 81.0, 79.5], B: [70.0, 70.5, 69.5]}
BELOW: Scores = {"Teacher": [92.0, 91.0, 93.0], A: [75.0, 74.6, 75.2], B: [85.0, 85.5, 85.5]}
CAUSE = "a's start needs more steps"
LONG = {"seeds": 3, "training": {**SMALLER["training"], "steps": 12}}  # type: ignore[dict-item]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Return the study of a paper that reports the teacher above A above B, with a scale of three times the steps."""
    folder = Path(study_config(tmp_path, "paper")["study"])
    rows = [{**row, "cells": cells} for row, cells in zip(ROWS, ("90 | 80", "70 | 60", "60 | 50"), strict=True)]
    write(folder, "papers/tiny/table1.yaml", as_reported(rows))
    write(folder, "papers/tiny/claims.yaml", CLAIMS)
    longer = {"title": "Longer", "longer_than": "reduced", "replacements": {**SMALLER, **LONG}}
    write(folder, "scales/reduced-360.yaml", longer)
    return opened({"papers": ["tiny"], "study": str(folder), "scale": "paper"})


def recorded(study: Study, **runs: Scores) -> Study:
    """Add recorded runs at the scales `reduced` and `reduced_360`, with the settings of these scales."""
    for name, rows in runs.items():
        scale = name.replace("_", "-")
        at = open_study(study.config.model_copy(update={"scale": scale})).scale
        means = {row: [statistics.mean(scores), statistics.stdev(scores)] for row, scores in rows.items()}
        seeds = {row: {"Acc. %": dict(enumerate(scores, start=1))} for row, scores in rows.items()}
        study.recordings["tiny", scale] = Recording.model_validate({
            "run": {"date": "2026-01-02"}, "replacements": replacements_of(at, "tiny"), "runs": 3,
            "tables": {"table1": {row: {"Acc. %": values} for row, values in means.items()}},
            "by_seed": {"table1": seeds}, "causes": {"a-beats-b": CAUSE},
        })  # fmt: skip
    return study


def files_of(study: Study) -> Files:
    """Return the files of a paper of which nothing was run."""
    files = Files(study.config.study_folders[0] / "made")
    frames.write(files.csv("tiny", "table1"), frames.frame_of(()))
    return files


def judged(study: Study) -> Judged:
    """Return the judged claim of the paper, of which nothing was run."""
    (found,) = judge_all(study, "tiny", {"table1": frames.frame_of(())})
    return found


@pytest.mark.parametrize(
    ("short", "long", "word", "told"),
    [
        (ABOVE, None, "supported", "It was not run at a second length."),
        (ABOVE, ABOVE, "supported", "at 4 steps a stage, on a teacher of 2 layers: supported"),
        (BELOW, ABOVE, "depends on length", "at 12 steps a stage, 3 runs: supported"),
        (ABOVE, BELOW, "depends on length", "at 12 steps a stage, 3 runs: not supported"),
    ],
)
def test_a_claim_that_turns_with_more_steps_says_so_with_both_numbers(
    study: Study, short: Scores, long: Scores | None, word: str, told: str
) -> None:
    recorded(study, reduced=short, **({"reduced_360": long} if long else {}))
    one = judged(study).recorded
    assert list(one) == ["reduced"]  # the longer run stands at the claim, not as a run of its own
    assert one["reduced"].verdict == word
    length, cause = one["reduced"].further
    assert told in length
    if long:
        assert length.startswith("On mood alone, ")
        for row in (A, B):
            assert all(f"{statistics.mean(scores[row]):.1f} ± " in length for scores in (short, long))
    assert cause == f"Known cause: {CAUSE}"


def test_an_undecided_claim_has_no_second_length(study: Study) -> None:
    close = {A: [70.0, 75.0, 65.0], B: [69.0, 75.0, 66.5]}
    one = judged(recorded(study, reduced=close, reduced_360=BELOW)).recorded["reduced"]
    assert (one.verdict, len(one.further)) == ("inconclusive", 1)


def test_a_smaller_run_stands_next_to_the_tally_of_the_paper(study: Study) -> None:
    found = judged(recorded(study, reduced=BELOW, reduced_360=ABOVE))
    assert (found.reported.verdict, found.ours.verdict) == ("supported", "not tested")
    told = counts([found], claim_sides(study, "tiny", [found]))
    assert told.startswith("Claims: 1. Reported: 1 supported. Smaller models, at 4 steps a stage")
    assert told.endswith(": 1 depends on length.")  # nothing of this run
    shown = Shown(study, "tiny", files_of(study))
    shown.judged = [found]
    own, nearby = shown.openings
    assert own.side is None
    assert nearby.side
    assert nearby.side.counts == [("1 depends on length", "tiny-claims-at-reduced-depends-on-length")]
    summary = shown.summary
    texts = (f"{one.before}{', '.join(text for text, _ in one.counts)}{one.after}" for one in summary.found)
    first, *others = texts
    assert first.startswith(
        "Smaller models, at 4 steps a stage, on a teacher of 2 layers: the rows of table 1 come partly"
    )
    assert others == [
        "Of 1 claim, on these models: 1 depends on length.",
        "By its own numbers: 1 supported.",
    ]
    assert summary.details[-1] == "Largest surprise: depends on length: \u201cA beats B & <co>\u201d."


def test_tables_and_orders_are_of_the_shorter_run(study: Study) -> None:
    recorded(study, reduced_360=ABOVE)
    assert as_recorded(study, "tiny", "table1").config.scale == "reduced-360"  # the only one
    recorded(study, reduced=BELOW)
    assert as_recorded(study, "tiny", "table1").config.scale == "reduced"
    _, nearby = Shown(study, "tiny", files_of(study)).openings
    short, _, long = nearby.orders["table1"].partition("; at 12 steps a stage, ")
    assert short.startswith("rows of table 1 come partly in the reported order (rank correlation 0.50 ")
    assert long.startswith("in the reported order (rank correlation 1.00 [1.00, 1.00] over 3 rows; mood: 1 of 2 tasks")


def test_the_order_of_rows_has_an_interval_over_seeds(study: Study) -> None:
    near = {"Teacher": [90.0, 91.0, 92.0], A: [80.0, 81.0, 82.0], B: [79.5, 80.4, 81.6]}  # 0.5 below A under each seed
    run = recorded(study, reduced=near).recordings["tiny", "reduced"]
    without = run.model_copy(update={"by_seed": {}})
    paired, apart = (order_of(study, "tiny", "table1", one) for one in (run, without))
    assert paired
    assert apart
    assert (paired.rho, paired.low, paired.high) == (1.0, 1.0, 1.0)
    assert (apart.rho, apart.low, apart.high) == (1.0, 0.5, 1.0)
    recorded(study, reduced={A: ABOVE[A], B: ABOVE[B]})
    assert order_of(study, "tiny", "table1", study.recordings["tiny", "reduced"]) is None  # of two rows


def test_a_task_on_which_students_stay_at_a_constant_answer_decides_nothing(study: Study) -> None:
    recorded(study, reduced=ABOVE)
    run = study.recordings["tiny", "reduced"]
    study.facts["mood"] = Facts.model_validate({"sizes": {"train": 9}, "floors": {"accuracy": 87.0}, "source": "x"})
    assert at_floor(study, "tiny", "table1", run) == {}  # the teacher is 4 points above
    study.facts["mood"] = Facts.model_validate({"sizes": {"train": 9}, "floors": {"accuracy": 88.5}, "source": "x"})
    reason = "Acc. % decides nothing: all students are within 3 points of a constant answer (accuracy 88.5)"
    assert at_floor(study, "tiny", "table1", run) == {"Acc. %": reason}
    assert order_of(study, "tiny", "table1", run) is None
    assert judged(study).recorded == {}  # its only column has no number that counts
    _, nearby = Shown(study, "tiny", files_of(study)).openings
    assert (nearby.stuck, nearby.orders) == ([reason], {})


def test_a_plot_of_a_run_names_the_recorded_run_of_its_own_scale(study: Study) -> None:
    longer = open_study(study.config.model_copy(update={"scale": "reduced-360"}))
    recorded(longer, reduced=BELOW, reduced_360=ABOVE)
    files = files_of(longer)
    where = {"paper": "tiny", "table": "table1", "column": "Acc. %", "unit": "x100", "scale": "reduced-360"}
    lines = [{**where, "row": row, "recorded": statistics.mean(scores)} for row, scores in ABOVE.items()]
    frames.write(files.csv("tiny", "table1"), frames.frame_of(lines))
    plot = plot_of(Shown(longer, "tiny", files), "table1")
    assert plot
    assert "recorded at scale reduced-360" in plot.panels[0].legend.values()
