"""Tests of the frames of a study: a table is a join of them, and they hold what papers print and what is recorded."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pandas import read_csv
from retort.specs.config import Config, read_config
from retort.study.load import open_study
from retort.tables import numbers

from tests.conftest import ROOT
from tests.tiny.results import made


def test_the_guide_makes_a_table_from_the_scores(config: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made(config)
    tiny = open_study(read_config(config))
    monkeypatch.setattr("retort.study.load.open_study", lambda _: tiny)
    (block,) = [one for one in re.findall(r"```python\n(.*?)```", (ROOT / "results/README.md").read_text(), re.DOTALL)
                if "numbers.cells" in one]  # fmt: skip
    *before, last = block.strip().split("\n")
    names: dict[str, Any] = {}
    exec("\n".join(before), names)
    table = eval(last, names).stack(future_stack=True).dropna(how="all")
    kept = read_csv("results/tables/tiny/table1.csv").set_index(["row", "column"])
    single = kept[~kept.index.get_level_values("column").str.contains("mean|Avg")].loc[table.index]
    assert len(single) > 3
    for name in ("mean", "std"):
        assert list(table[name]) == pytest.approx(list(single[name]), nan_ok=True)


def test_a_score_has_its_origin_and_a_diverged_one_no_value(config: dict[str, Any]) -> None:
    made(config, **{"tiny-kd": {"mood": [0.7, None, 0.74], "rating": [0.5, 0.6, 0.7]}})
    scores = numbers.measured(open_study(read_config(config)))
    of_kd = scores[(scores["student"] == "tiny-kd") & (scores["task"] == "mood")].set_index("seed")
    assert list(of_kd["status"]) == ["ok", "diverged", "ok"]
    assert of_kd.loc[3, ["metric", "split", "value", "commit"]].to_list() == ["accuracy", "test", 74.0, "abc1234"]
    assert of_kd["value"].isna().to_list() == [False, True, False]
    assert all(Path(path).is_file() for path in scores["path"])


def test_what_is_reported_and_what_is_recorded_have_the_key_of_cells() -> None:
    study = open_study(Config(papers=["wang2023", "pocket"]))
    cells, printed, runs = numbers.cells(study), numbers.reported(study), numbers.recorded(study)
    one = printed.set_index(numbers.CELL).loc[("wang2023", "table1", "Vanilla KD", "QNLI")]
    assert (one["printed"], one["value"], one["std"]) == ("66.5", 66.5, 1.49)
    both = cells.merge(printed, on=numbers.CELL).merge(runs[runs["paper"] == "wang2023"], on=numbers.CELL)
    assert set(both["scale"]) == {"reduced", "reduced-360"}
    pocket = runs[(runs["paper"] == "pocket") & (runs["table"] == "table1") & (runs["row"] == "kd")]
    assert sorted(set(pocket["seed"])) == [11, 12, 13, 14, 15]
