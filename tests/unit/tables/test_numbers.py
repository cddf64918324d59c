"""Tests of the frames of a study: the guide makes tables of them; they hold what papers report and what is recorded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import retort
from pandas import read_csv
from retort.specs.config import Config
from retort.study.load import open_study
from retort.tables import numbers
from retort.tables.claims import check_claims, read_judged

from tests.conftest import ROOT
from tests.tiny.results import made, opened, quiet
from tests.tiny.variant import CLAIMS, write_study


def test_the_guide_runs(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its blocks make the table of its scores, and read claims, tables and steps of a run."""
    made(config := write_study(here / "study", claims=CLAIMS))
    csv, folder = "results/tables/tiny/table1.csv", Path("results/logs/distill_on_task")
    check_claims(quiet(), config, "tiny", [csv], "results/tables/tiny/claims.json", {})
    folder.mkdir(parents=True)
    for job, line in (("pocket-kd.tweets.1", {"step": 10, "seed": 1, "loss": 0.5}), ("pocket-kd.movies.1", {})):
        (folder / f"{job}.steps.jsonl").write_text(json.dumps({"terms": {"supervised": 0.5}, **line}) + "\n")
    tiny = opened(config)
    monkeypatch.setattr("retort.study.load.open_study", lambda _: tiny)
    guide, names = (ROOT / "workflow/retort/python.md").read_text(), dict[str, Any]()
    for block in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        exec(block, names)
    means = names["means"].dropna(how="all")
    kept = read_csv(csv).set_index(["row", "column"])
    single = kept[~kept.index.get_level_values("column").str.contains("mean|Avg")].loc[means.index]
    assert len(single) > 3
    for name in ("mean", "std"):
        assert list(means[name]) == pytest.approx(list(single[name]), nan_ok=True)
    judged = read_judged(tiny, "tiny", Path("results/tables/tiny/claims.json"))
    assert names["verdicts"].values.tolist() == [[one.claim.says, one.ours.verdict, one.ours.numbers] for one in judged]
    assert len(judged) > 0
    assert len(retort.judged(tiny)) == len(judged) * 2  # on the reported numbers, too
    assert len(names["different"]) == (kept["verdict"] == "differs").sum()
    assert len(retort.tabulated(tiny)) == len(kept)
    assert names["steps"][["terms.supervised", "path"]].values.tolist() == [
        [0.5, "results/logs/distill_on_task/pocket-kd.tweets.1.steps.jsonl"]
    ]


def test_steps_have_the_columns_of_the_guide_before_there_are_any(here: Path) -> None:
    guide = (ROOT / "workflow/retort/python.md").read_text().partition("| key | what it is |")[2]
    keys = [key for line in re.findall(r"^\| (`.*?) \|", guide, re.MULTILINE) for key in re.findall(r"`(\w+)`", line)]
    columns = [*(key for key in keys if key != "terms"), "path"]
    assert list(numbers.steps("pocket-kd.tweets.*").dropna(subset="loss").columns) == columns
    Path("results/logs").mkdir(parents=True)
    Path("results/logs/a.steps.jsonl").write_text(
        '{"seed": 1, "step": 10, "loss": 0.5, "terms": {"supervised": 0.5}}\n'
    )
    assert list(numbers.steps().columns) == [*columns, "terms.supervised"]


def test_a_score_has_its_origin_and_a_diverged_one_no_value(config: dict[str, Any]) -> None:
    made(config, **{"tiny-kd": {"mood": [0.7, None, 0.74], "rating": [0.5, 0.6, 0.7]}})
    scores = numbers.measured(opened(config))
    of_kd = scores[(scores["student"] == "tiny-kd") & (scores["task"] == "mood")].set_index("seed")
    assert list(of_kd["status"]) == ["ok", "diverged", "ok"]
    assert of_kd.loc[3, ["metric", "split", "value", "commit"]].to_list() == ["accuracy", "test", 74.0, "abc1234"]
    assert of_kd["value"].isna().to_list() == [False, True, False]
    assert all(Path(path).is_file() for path in scores["path"])


def test_what_is_reported_and_what_is_recorded_have_the_key_of_cells() -> None:
    study = open_study(Config(papers=["wang2023", "pocket"]))
    cells, reported, runs = numbers.cells(study), numbers.reported(study), numbers.recorded(study)
    one = reported.set_index(numbers.CELL).loc[("wang2023", "table1", "Vanilla KD", "QNLI")]
    assert (one["reported"], one["value"], one["std"]) == ("66.5", 66.5, 1.49)
    both = cells.merge(reported, on=numbers.CELL).merge(runs[runs["paper"] == "wang2023"], on=numbers.CELL)
    assert set(both["scale"]) == {"reduced", "reduced-360"}
    later = study.recordings["wang2023", "reduced-360"]  # some of its rows are of another run
    added = {(table, row) for one in later.added for table, rows in one.rows.items() for row in rows}
    of_later = both[both["scale"] == "reduced-360"]
    is_added = [key in added for key in zip(of_later["table"], of_later["row"], strict=True)]
    expected = [(later.added[0].run if each else later.run)["precision"] for each in is_added]
    assert list(of_later["precision"]) == expected
    assert len(set(expected)) == 2
    pocket = runs[(runs["paper"] == "pocket") & (runs["table"] == "table1") & (runs["row"] == "kd")]
    assert sorted(set(pocket["seed"])) == [11, 12, 13, 14, 15]
    # the record of a study of ours is of one precision, and does not say at which scale
    assert (set(pocket["scale"]), set(pocket["precision"])) == ({""}, {study.record_of("pocket").run["precision"]})
