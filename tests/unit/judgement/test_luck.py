"""The study of the luck of a distillation: its guide and what is assumed say what its record says."""

from __future__ import annotations

import math
import statistics
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from retort.judgement.components import variance_components
from retort.judgement.difference import holm_corrected
from retort.specs.rows import ASSUMED_DISTILLATION_STD, DISTILLATION_FREEDOM, TASK_CORRELATION
from retort.specs.yaml_reader import read_yaml

from tests.conftest import ROOT
from tests.unit.judgement.luck import correlation_of_students, correlation_of_tasks, pairs_shown

FOLDER = ROOT / "workflow/papers/luck"


@pytest.fixture(scope="module")
def scores() -> dict[str, Any]:
    """Return task -> [methods, distillations, fine-tunings] of the recorded run."""
    rows = read_yaml(FOLDER / "recorded/bfloat16.yaml")["by_run"]["table1"]
    tasks = next(iter(rows.values())).keys()
    return {task: np.array([list(row[task].values()) for row in rows.values()]).reshape(5, 8, 3) for task in tasks}


def test_the_guide_has_the_numbers_of_the_record(scores: dict[str, Any]) -> None:
    found = [variance_components(each) for each in scores.values()]
    pairs = [pairs_shown(each) for each in scores.values()]
    p = holm_corrected([one.p for one in found])
    cells = {
        "deviation between distillations, points": [
            f"{one.distillations:.2f} ({one.low:.2f} to {one.high:.2f})" for one in found
        ],
        "between fine-tunings of one": [f"{one.finetunings:.2f}" for one in found],
        "ratio": ["{:.2f} ({:.2f} to {:.2f})".format(*one.ratio) for one in found],
        "p that distillations do not differ, after Holm": [
            f"{each:.2f}" if each > 0.001 else f"{each:.0e}" for each in p
        ],
        "pairs of ten that one distillation each shows, on the mean": [
            f"{sum(pair.shown for pair in each):.1f}" for each in pairs
        ],
        "pairs of ten that eight show, after Holm": [
            str((holm_corrected([pair.p for pair in each]) < 0.05).sum()) for each in pairs
        ],
    }
    guide = (FOLDER / "README.md").read_text()
    for name, texts in cells.items():
        assert f"| {name} | {' | '.join(texts)} |" in guide
    assert all(pair.reversed == 0 for each in pairs for pair in each)
    told = [f"{correlation_of_students(each):.2f}" for each in scores.values()]
    assert "{}, {} and {}".format(*told) in guide
    by_seed = [variance_components(each.mean(axis=0, keepdims=True)) for each in scores.values()]
    assert "{:.2f}, {:.2f} and {:.2f}".format(*(one.distillations for one in by_seed)) in guide
    assert [one.p < 0.05 for one in by_seed] == [False, False, True]
    kd, others = (variance_components(scores["Tweets"][rows]) for rows in (slice(0, 1), slice(1, 5)))
    assert f"differ by {kd.distillations:.2f} points" in guide
    assert f"inner layers by {others.distillations:.2f}" in guide


def test_what_is_assumed_is_what_was_measured(scores: dict[str, Any]) -> None:
    parts = []
    for each in scores.values():
        one, (first, second) = variance_components(each), variance_components(each).freedom
        between = 3 * each.mean(axis=2).var(axis=1, ddof=1).mean()
        rest = between - 3 * one.distillations**2
        parts.append((one.distillations**2, (between / 3) ** 2 / first + (rest / 3) ** 2 / second))
    variance, unknown = (sum(values) for values in zip(*parts, strict=True))  # of three times the mean
    assert ASSUMED_DISTILLATION_STD.points == round(math.sqrt(variance / 3), 2)
    assert round(variance**2 / unknown) == DISTILLATION_FREEDOM
    tasks = combinations(scores.values(), 2)
    assert round(statistics.mean(correlation_of_tasks(*two) for two in tasks), 2) == TASK_CORRELATION
