"""Tests that the benchmark of objectives runs each in every mapping of its level, and prints what it measured on."""

from __future__ import annotations

import dataclasses
import gc
import math
from collections.abc import Iterator

import pytest
from retort.bench.objective_costs import MAPPINGS, Setting, lines, measure
from retort.cli import main
from retort.objectives import objectives
from retort.specs.model import Architecture

SMALL = Architecture(layers=2, heads=12, hidden=48, intermediate=32)
TEACHER = Architecture(layers=3, heads=12, hidden=96, intermediate=48)
TINY = Setting(TEACHER, SMALL, batch=4, length=12, precision="float32", device="cpu", repeats=1)
EQUAL = dataclasses.replace(TINY, student=SMALL.model_copy(update={"hidden": 96}))  # a student as wide as its teacher


@pytest.fixture(autouse=True)
def frozen() -> Iterator[None]:
    """Keep what other tests left in memory out of garbage collection, which a measurement runs twice."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.slow
def test_every_objective_has_a_cost() -> None:
    costs = list(measure(TINY, list(objectives)))
    misfits = {cost.objective for cost in costs if cost.reason}
    costs = [cost for cost in costs if not cost.reason] + list(measure(EQUAL, sorted(misfits)))
    expected = [
        (name, mapping or "")
        for name in objectives
        for mapping in MAPPINGS[getattr(objectives[name], "level", "layer")]
    ]
    assert sorted((cost.objective, cost.mapping) for cost in costs) == sorted(expected)
    assert all(cost.time is not None and math.isfinite(cost.time) and cost.time > 0 for cost in costs)
    assert all(cost.memory is None or cost.memory > 0.5 for cost in costs)


def test_an_objective_that_does_not_fit_the_models_says_why() -> None:
    setting = dataclasses.replace(TINY, student=SMALL.model_copy(update={"heads": 6}))
    said = list(lines(setting, measure(setting, ["attention-kl", "relations"])))
    reason = "the student has 6 attention heads and its teacher 12; attention is compared head by head"
    assert said[0] == "teacher [3, 12, 96, 48], student [2, 6, 48, 32], 4 x 12 tokens, float32, cpu; zero loss = 1"
    assert said[2].startswith(f"| attention-kl | last | - | {reason}")
    assert said[4].startswith("| relations | last | ")
    assert float(said[4].split(" | ")[2]) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["relation"], "no objective is called 'relation'; did you mean 'relations'?"),
        (["--student", "2,5,24"], "'2,5,24' is no encoder; write layers,heads"),
        (["--teacher", "2,5,24,8"], "'2,5,24,8' is no encoder; write layers,heads"),
    ],
)
def test_what_cannot_be_measured_says_why(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "objectives", *arguments]) == 2
    assert message in capsys.readouterr().err
