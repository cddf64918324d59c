"""Tests that the benchmark of objectives runs each in every mapping of its level, and prints what it measured on."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from retort.bench.objective_costs import MAPPINGS, lines
from retort.bench.steps import Shape
from retort.cli import main
from retort.objectives import objectives
from retort.specs.model import Architecture

SMALL = Architecture(layers=2, heads=12, hidden=48, intermediate=32)
TEACHER = Architecture(layers=3, heads=12, hidden=96, intermediate=48)
TINY = Shape("", SMALL, TEACHER, 30522, 4, 12, "float32")
EQUAL = TINY._replace(student=SMALL.model_copy(update={"hidden": 96}))  # a student as wide as its teacher


@pytest.fixture(autouse=True)
def frozen() -> Iterator[None]:
    """Keep what other tests left in memory out of garbage collection, which a measurement runs twice."""
    gc.freeze()
    yield
    gc.unfreeze()


def cells(shape: Shape, names: list[str]) -> Iterator[list[str]]:
    """Yield the cells of each row of the table: objective, mapping, time and memory."""
    yield from (line.strip("| ").split(" | ") for line in list(lines(shape, "cpu", names))[2:])


@pytest.mark.slow
def test_every_objective_has_a_cost() -> None:
    rows = list(cells(TINY, list(objectives)))
    misfits = sorted({name for name, _, time, _ in rows if time == "-"})
    rows = [row for row in rows if row[2] != "-"] + list(cells(EQUAL, misfits))
    expected = [
        (name, mapping or "")
        for name in objectives
        for mapping in MAPPINGS[getattr(objectives[name], "level", "layer")]
    ]
    assert sorted((name, mapping) for name, mapping, _, _ in rows) == sorted(expected)
    assert all(float(time) > 0 for _, _, time, _ in rows)
    assert all(float(memory) > 0.5 for *_, memory in rows)


def test_an_objective_that_does_not_fit_the_models_says_why() -> None:
    shape = TINY._replace(student=SMALL.model_copy(update={"heads": 6}))
    said = list(lines(shape, "cpu", ["attention-kl", "relations"]))
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
