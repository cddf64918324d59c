"""Tests of the files that hold scores, and of the seeds that each of them has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.study.addresses import SCORE_FILE, names_of_seeds, score_file_of_seed, score_files

from tests.tiny.results import opened

FOLDER = Path("results/scores/tiny-kd/mood")


def named(config: dict[str, Any], **more: Any) -> list[str]:
    """Return the seeds of each job of a student with three seeds."""
    return names_of_seeds(opened({**config, **more}), "tiny-kd", "mood")


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ([], ["1-2-3"]),
        (["1-2-3"], ["1-2-3"]),
        (["1", "2-3"], ["1", "2-3"]),
        (["3", "1", "2"], ["1", "2", "3"]),
        (["1-2"], ["1-2-3"]),  # a seed is missing
        (["1-2", "2-3"], ["1-2-3"]),  # one is there twice
        (["1-2-3", "4"], ["1-2-3"]),  # the study has no seed 4
        (["1-2-3-4"], ["1-2-3"]),
    ],
)
def test_outside_a_run_the_files_tell_how_seeds_are_divided(
    there: list[str], expected: list[str], config: dict[str, Any]
) -> None:
    FOLDER.mkdir(parents=True)
    for seeds in there:
        for name in (f"{seeds}.json", f"{seeds}.answers.json", f".{seeds}.json.checksums.json"):
            (FOLDER / name).write_text("")
    assert named(config) == expected


def test_a_run_has_decided_how_seeds_are_divided(config: dict[str, Any]) -> None:
    FOLDER.mkdir(parents=True)
    for seeds in ("1", "2-3"):
        (FOLDER / f"{seeds}.json").write_text("")
    assert named(config, seeds_divided={}) == ["1-2-3"]
    assert named(config, seeds_divided={"tiny-kd/rating": ["1", "2", "3"]}) == ["1-2-3"]
    assert named(config, seeds_divided={"tiny-kd/mood": ["1-2", "3"]}) == ["1-2", "3"]


def test_each_seed_has_one_file_and_a_teacher_that_of_its_own_seed(config: dict[str, Any]) -> None:
    study = opened({**config, "seeds_divided": {"tiny-kd/mood": ["1-2", "3"]}})
    files = [str(FOLDER / "1-2.json"), str(FOLDER / "3.json")]
    assert score_files(study, "tiny-kd", "mood") == files
    assert [score_file_of_seed(study, "tiny-kd", "mood", seed) for seed in (1, 2, 3)] == [files[0], *files]
    assert score_files(study, "tiny-teacher", "mood") == ["results/scores/tiny-teacher/mood/1.json"]


@pytest.mark.parametrize("name", ["seed-1.json", "1-2.answers.json", "1-.json", "best.json", "1-2.json.part"])
def test_no_other_file_is_one_of_scores(name: str) -> None:
    assert not SCORE_FILE.fullmatch(name)
