"""Tests of reading scores and profiles, and of cells without a value; edited files stand in `test_damage`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from retort.checksums import REMEDY, sha256
from retort.errors import RetortError
from retort.results.collect import read_profiles, read_scores

from tests.tiny.edit import set_value
from tests.tiny.results import change_record, collected, paths, write_results

SCORE = Path("results/scores/tiny-kd/rating/seed-2.json")
PROFILE = Path("results/profiles/tiny-attention.json")


def test_a_missing_seed_a_task_not_run_and_rows_without_labels(config: dict[str, Any], tmp_path: Path) -> None:
    set_value(tmp_path / "study", "papers/tiny/students.yaml", "attention", "tasks", to=["mood"])
    set_value(tmp_path / "study", "papers/tiny/table1.yaml", "published", to={})
    study = write_results(config)
    unlabelled = Path("results/scores/tiny-teacher/mood/seed-1.json")
    answers = unlabelled.with_suffix(".answers.json")
    answers.write_text('{"test": {"answers": [1, 0], "truth": null}}')
    change_record(unlabelled, metrics={}, unlabelled=["test"], answers_sha256=sha256(answers))
    scores = read_scores(study, [path for path in paths()[0] if "tiny-kd/mood/seed-2" not in path])
    cells = {(one.student, one.column): one for one in collected(study, "table1", scores)[1]}
    for where, state in (
        (("tiny-attention", "Pearson"), "not run at this scale"),
        (("tiny-kd", "Acc. %"), "missing (seed 2 of 3)"),
        (("tiny-teacher", "Acc. %"), "missing (the rows have no labels)"),
    ):
        assert (cells[where].mean, cells[where].state) == (None, state)


def test_results_of_other_settings_or_of_another_address_are_refused(config: dict[str, Any]) -> None:
    study = write_results(config)
    record = json.loads(SCORE.read_text())
    record["settings"]["stages"][0]["schedule"]["steps"] = 99
    change_record(SCORE, settings=record["settings"])
    with pytest.raises(RetortError) as refused:
        read_scores(study, [SCORE])
    assert str(refused.value) == (
        f"{SCORE} was made with other settings: stages.1.schedule.steps is 99 in it and 10 in the study; {REMEDY}"
    )
    SCORE.write_text(Path("results/scores/tiny-attention/rating/seed-2.json").read_text())
    with pytest.raises(
        RetortError, match='seed-2.json is of student "tiny-attention", not "tiny-kd"; run `retort verify --repair`'
    ):
        read_scores(study, [SCORE])
    record = json.loads(PROFILE.read_text())
    del record["settings"]["batch"]
    change_record(PROFILE, settings=record["settings"])
    with pytest.raises(RetortError, match='batch is "absent" in it and 1 in the study'):
        read_profiles(study, [PROFILE])
    for path in ("tiny-kd/rating/best.json", "tiny-kd/songs/seed-1.json", "x/rating/seed-1.json"):
        with pytest.raises(RetortError, match=f"{path} is not the address of a score of this study"):
            read_scores(study, [path])
