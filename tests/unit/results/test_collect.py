"""Tests of reading scores and profiles, and of cells without a value; edited files stand in `test_damage`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from retort.checksums import REMEDY
from retort.errors import RetortError
from retort.results.collect import read_profiles, read_scores
from retort.results.frames import lines_of

from tests.tiny.edit import set_value
from tests.tiny.results import (
    change_answers,
    change_record,
    change_score,
    collected,
    paths,
    record_of,
    write_results,
)

SCORE = Path("results/scores/tiny-kd/rating/1-2-3.json")
PROFILE = Path("results/profiles/tiny-attention.json")


def test_a_missing_seed_a_task_not_run_and_rows_without_labels(config: dict[str, Any], tmp_path: Path) -> None:
    set_value(tmp_path / "study", "papers/tiny/students.yaml", "attention", "tasks", to=["mood"])
    set_value(tmp_path / "study", "papers/tiny/table1.yaml", "means", to={})
    study = write_results({**config, "seeds_divided": {"tiny-kd/mood": ["1", "2", "3"]}})
    unlabelled = Path("results/scores/tiny-teacher/mood/1.json")
    change_score(unlabelled, metrics={}, unlabelled=["test"])
    change_answers(unlabelled, 1, {"test": {"answers": [1, 0], "truth": None}})
    scores = read_scores(study, [path for path in paths()[0] if "tiny-kd/mood/2" not in path])
    cells = {(one.student, one.column): one for one in lines_of(collected(study, "table1", scores)[1])}
    for where, state in (
        (("tiny-attention", "Pearson"), "not run at this scale"),
        (("tiny-kd", "Acc. %"), "missing (seed 2 of 3)"),
        (("tiny-teacher", "Acc. %"), "missing (the rows have no labels)"),
    ):
        assert (cells[where].mean, cells[where].state) == (None, state)


def test_a_metric_that_was_added_later_is_computed_from_the_answers(config: dict[str, Any]) -> None:
    study, metrics = write_results(config), record_of(SCORE, 2)["metrics"]
    change_score(SCORE, 2, metrics={name: value for name, value in metrics.items() if name != "spearman"})
    assert metrics.items() <= read_scores(study, [SCORE])["tiny-kd", "rating", 2]["metrics"].items()


def test_results_of_other_settings_or_of_another_address_are_refused(config: dict[str, Any]) -> None:
    study = write_results(config)
    record = record_of(SCORE, 2)
    record["settings"]["stages"][0]["schedule"]["steps"] = 99
    change_score(SCORE, 2, settings=record["settings"])
    with pytest.raises(RetortError) as refused:
        read_scores(study, [SCORE])
    assert str(refused.value) == (
        f"{SCORE}, seed 2 was made with other settings: stages.1.schedule.steps is 99 in it and 10 in the study; "
        f"{REMEDY}"
    )
    SCORE.write_text(Path("results/scores/tiny-attention/rating/1-2-3.json").read_text())
    said = '1-2-3.json, seed 1 is of student "tiny-attention", not "tiny-kd"; run `retort verify --repair`'
    with pytest.raises(RetortError, match=said):
        read_scores(study, [SCORE])
    record = json.loads(PROFILE.read_text())
    del record["settings"]["batch"]
    change_record(PROFILE, settings=record["settings"])
    with pytest.raises(RetortError, match='batch is "absent" in it and 1 in the study'):
        read_profiles(study, [PROFILE])
    for path in ("tiny-kd/rating/best.json", "tiny-kd/rating/seed-1.json", "tiny-kd/songs/1.json", "x/rating/1.json"):
        with pytest.raises(RetortError, match=f"{path} is not the address of scores of this study"):
            read_scores(study, [path])


def test_a_file_holds_one_score_for_each_seed_of_its_name(config: dict[str, Any]) -> None:
    study = write_results(config)
    assert read_scores(study, [SCORE]).keys() == {("tiny-kd", "rating", seed) for seed in (1, 2, 3)}
    first, second, third = json.loads(SCORE.read_text())
    for scores in ([first, third], [first, third, second], [first, second, third, third]):
        SCORE.write_text(json.dumps(scores))
        with pytest.raises(RetortError, match=f"{SCORE} does not hold one score for each of its seeds; {REMEDY}"):
            read_scores(study, [SCORE])
