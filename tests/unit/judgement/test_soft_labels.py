"""The study of soft labels: its guide says what its record says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from retort.judgement.difference import paired_test
from retort.specs.yaml_reader import read_yaml

from tests.conftest import ROOT

FOLDER = ROOT / "workflow/papers/soft-labels"
ROWS, SLOPE = ("100", "300", "1,000", "2,900"), np.array([-3, -1, 1, 3]) * 6 / 20  # the fitted change over all rows
METHODS = {"all-texts": "soft labels of all texts first", "kd": "soft labels of the same rows"}


def told(values: Any) -> str:
    """Return a mean with its 95 % interval, as the guide has it."""
    found = paired_test({("", ""): values.tolist()})
    assert found.difference
    low, high = found.difference.interval()
    return f"{found.mean:.1f} ({low:.1f} to {high:.1f})"


@pytest.mark.parametrize("task", ["Tweets", "Movies"])
def test_the_guide_has_the_gains_of_the_record(task: str) -> None:
    by_seed, guide = read_yaml(FOLDER / "recorded/bfloat16.yaml")["by_seed"], (FOLDER / "README.md").read_text()

    def scores(row: str, column: str, table: str = "table1") -> Any:
        return np.array([score for _, score in sorted(by_seed[table][row][column].items())])

    for method, name in METHODS.items():
        gains = np.array([scores(method, f"{task}: {rows}") - scores("labels", f"{task}: {rows}") for rows in ROWS])
        assert f"| {task.lower()}, {name} | {' | '.join(map(told, gains))} |" in guide
        fall = told(-SLOPE @ gains).partition(" (")
        assert f"{fall[0]} points" in guide or f"by {fall[0]}" in guide
        assert f"({fall[2]}" in guide or f"{fall[2].removesuffix(')')}; inconclusive)" in guide
    without = scores("soft-labels", task, "table2") - scores("labels-1000", task, "table2")
    assert f"{without.mean():.1f} on {task.lower()}" in guide
