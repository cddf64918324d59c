"""Tests of further distillations: students of their own, which one cell shows together."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest
import yaml
from retort.plan.plan import Plan
from retort.results.collect import read_scores
from retort.results.frames import lines_of
from retort.specs.config import read_config
from retort.study.distillations import distillations_of, trained_anew
from retort.study.study import Study

from tests.tiny.edit import AGNOSTIC, STUDENTS, problems, set_value, write
from tests.tiny.results import SCORES, collected, opened, paths, write_results

FURTHER, NARROW = "tiny-predicting-distillation-7", "tiny-narrow"


@pytest.fixture
def several(study_folder: Path, here: Path) -> dict[str, Any]:
    """Return the configuration of the tiny study, whose students on a corpus are distilled under seeds 1 and 7."""
    set_value(study_folder, AGNOSTIC, "distillation_seeds", to=[1, 7])
    return {"papers": ["tiny"], "study": str(study_folder)}


def starts_of(study: Study, student: str) -> list[str | None]:
    """Return the student from which each distillation of a student starts."""
    return [study.students[name].initialisation.student for name in trained_anew(study, student)]


def test_a_further_distillation_has_settings_that_differ_in_its_seed_alone(several: dict[str, Any]) -> None:
    plan = Plan(read_config(several))
    own, further = (plan.settings.grids[name]["mood"].as_json() for name in ("tiny-predicting", FURTHER))
    assert (own["student"].pop("seed"), further["student"].pop("seed")) == (1, 7)
    assert (own["student"]["parent"].pop("seed"), further["student"]["parent"].pop("seed")) == (1, 7)
    assert own["student"]["initialisation"].pop("student") == "tiny-narrow"
    assert further["student"]["initialisation"].pop("student") == "tiny-narrow-distillation-7"
    assert own == further
    assert plan.parent(FURTHER) == ["results/students/tiny-narrow-distillation-7/model"]
    assert distillations_of(plan.study, "tiny-predicting") == {1: "tiny-predicting", 7: FURTHER}
    assert (distillations_of(plan.study, "tiny-kd"), trained_anew(plan.study, "tiny-kd")) == ({}, ["tiny-kd"])


def test_a_cell_counts_distillations_and_keeps_every_run(several: dict[str, Any]) -> None:
    runs = {"tiny-predicting": [0.60, 0.62], FURTHER: [0.70, 0.74]}
    study = write_results(several, {**SCORES, **{name: {"mood": list(values)} for name, values in runs.items()}})
    line = next(lines_of(collected(study, "table4", read_scores(study, paths()[0]))[1]))
    assert (line.n, line.distillations, line.by_seed) == (2, 2, "1=61 7=72")
    assert (line.mean, line.std) == (pytest.approx(66.5), pytest.approx(statistics.stdev([61.0, 72.0])))
    assert line.by_run == "1/1=60 1/2=62 7/1=70 7/2=74"


def test_a_budget_says_how_many_distillations_run(several: dict[str, Any]) -> None:
    chosen = {"seeds": 2, "tasks": ["mood"], "distillations": 3}
    study = opened({**several, "budget": {"hours": 1.0, "runs": {"tiny-predicting": chosen}}})
    assert list(distillations_of(study, "tiny-predicting")) == [1, 7, 8]
    assert starts_of(study, "tiny-predicting") == [NARROW, f"{NARROW}-distillation-7", f"{NARROW}-distillation-8"]
    assert list(distillations_of(study, NARROW)) == [1, 7]  # its own tables show no other


def test_no_two_distillations_start_from_one_whatever_the_seeds_of_their_parent(
    several: dict[str, Any], study_folder: Path
) -> None:
    protocol = yaml.safe_load((study_folder / AGNOSTIC).read_text())
    write(study_folder, "protocols/of-the-parent.yaml", {**protocol, "distillation_seeds": [7]})
    set_value(study_folder, STUDENTS, "narrow", "protocol", to="of-the-parent")
    study = opened(several)
    assert list(distillations_of(study, NARROW)) == [7]
    assert starts_of(study, "tiny-predicting") == [NARROW, f"{NARROW}-distillation-1"]


def test_the_name_of_a_further_distillation_is_not_given_to_another_student(
    several: dict[str, Any], study_folder: Path
) -> None:
    narrow = yaml.safe_load((study_folder / STUDENTS).read_text())["narrow"]
    set_value(study_folder, STUDENTS, "narrow-distillation-7", to=narrow)
    said = "'tiny-narrow-distillation-7' is taken: 'tiny-narrow' is distilled under seed 7, too; rename the student"
    assert [line for line in problems(study_folder) if line.endswith(said)]
