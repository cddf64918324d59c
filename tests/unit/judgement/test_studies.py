"""The studies of soft labels and of length: their guides say what their records say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from retort.judgement.difference import paired_test
from retort.specs.yaml_reader import read_yaml
from scipy.stats import f as f_distribution

from tests.conftest import ROOT

SOFT_LABELS, LENGTHS = (ROOT / "workflow/papers" / name for name in ("soft-labels", "lengths"))
ROWS, SLOPE = ("100", "300", "1,000", "2,900"), np.array([-3, -1, 1, 3]) * 6 / 20  # the fitted change over all rows
STEPS = ("40", "120", "360", "1,080")  # a stage
FROM_SOFT_LABELS = {"all-texts": "soft labels of all texts first", "kd": "soft labels of the same rows"}
OBJECTIVES = {
    "att-kl": "attention KL",
    "hid-seq": "hidden states of the sequence",
    "hid-cls": r"hidden states of \[CLS\]",
    "kd": "vanilla KD",
}


def told(values: Any) -> str:
    """Return a mean with its 95 % interval, as guides have it."""
    found = paired_test({("", ""): values.tolist()})
    assert found.difference
    low, high = found.difference.interval()
    return f"{found.mean:.1f} ({low:.1f} to {high:.1f})"


def paired_p(values: Any) -> float:
    """Return the p-value of the paired t-test of differences."""
    p = paired_test({("", ""): values.tolist()}).p
    assert p is not None
    return p


def told_p(p: float) -> str:
    """Return a p-value, as tables of guides have it."""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def scores(record: Path, row: str, *columns: str, table: str = "table1") -> Any:
    """Return recorded scores of a row, columns by seeds."""
    cells = read_yaml(record)["by_seed"][table][row]
    return np.array([[score for _, score in sorted(cells[column].items())] for column in columns])


@pytest.mark.parametrize("task", ["Tweets", "Movies"])
def test_the_guide_has_the_gains_by_soft_labels(task: str) -> None:
    record, guide = SOFT_LABELS / "recorded/bfloat16.yaml", (SOFT_LABELS / "README.md").read_text()
    columns = [f"{task}: {rows}" for rows in ROWS]
    for method, name in FROM_SOFT_LABELS.items():
        gains = scores(record, method, *columns) - scores(record, "labels", *columns)
        assert f"| {task.lower()}, {name} | {' | '.join(map(told, gains))} |" in guide
        fall = told(-SLOPE @ gains).partition(" (")
        assert f"{fall[0]} points" in guide or f"by {fall[0]}" in guide
        assert f"({fall[2]}" in guide or f"{fall[2].removesuffix(')')}; inconclusive)" in guide
    without, labels = (scores(record, row, task, table="table2") for row in ("soft-labels", "labels-1000"))
    assert f"{(without - labels).mean():.1f} on {task.lower()}" in guide


def by_steps(row: str) -> Any:
    """Return the recorded scores of the study of length, steps by seeds."""
    return scores(LENGTHS / "recorded/float32.yaml", row, *(f"{steps} steps: QNLI" for steps in STEPS))


def of_no_line(gains: Any) -> float:
    """Return the p-value of Hotelling's test that gains, steps by seeds, lie on a straight line."""
    apart = np.array([[1, -1, -1, 1], [-1, 3, -3, 1]]) @ gains  # of a straight line: 0
    mean, seeds = apart.mean(axis=1), apart.shape[1]
    t2 = seeds * mean @ np.linalg.solve(np.cov(apart), mean)
    return float(f_distribution.sf((seeds - 2) / (2 * (seeds - 1)) * t2, 2, seeds - 2))


def test_the_guide_has_the_first_test_of_length() -> None:
    guide = " ".join((LENGTHS / "README.md").read_text().split())
    gains = by_steps("att-kl") - by_steps("labels")  # steps by seeds
    change = SLOPE @ gains
    assert f"by {told(change)} points from 40 to 1,080 steps; p = {paired_p(change):.3f}" in guide
    assert f"(residuals: p = {of_no_line(gains):.3f})" in guide
    assert f"is {change.std(ddof=1):.1f} points" in guide


def test_the_guide_has_what_labels_alone_learn_late() -> None:
    guide = " ".join((LENGTHS / "README.md").read_text().split())
    labels, attention = (by_steps(row)[3] for row in ("labels", "att-kl"))
    assert f"({labels.min():.1f} to {labels.max():.1f}, mean {labels.mean():.1f})" in guide
    assert f"attention then has {attention.min():.1f} to {attention.max():.1f}" in guide


@pytest.mark.parametrize("method", OBJECTIVES)
def test_the_guide_has_the_gains_by_length(method: str) -> None:
    guide, gains = (LENGTHS / "README.md").read_text(), by_steps(method) - by_steps("labels")
    assert f"| {OBJECTIVES[method]} | {' | '.join(map(told, gains))} |" in guide
    trend = SLOPE @ gains
    parts = [
        told(trend),
        told_p(paired_p(trend)),
        told_p(of_no_line(gains)),
        told(gains[2] - gains[0]),
        told(gains[3] - gains[2]),
    ]
    assert f"| {OBJECTIVES[method]} | {' | '.join(parts)} |" in guide


@pytest.mark.parametrize("method", ["hid-seq", "hid-cls", "kd"])
def test_the_guide_has_the_lead_of_attention_by_length(method: str) -> None:
    guide, leads = (LENGTHS / "README.md").read_text(), by_steps("att-kl") - by_steps(method)
    trend = SLOPE @ leads
    assert (
        f"| {OBJECTIVES[method]} | {' | '.join([*map(told, leads), told(trend), told_p(paired_p(trend))])} |" in guide
    )


def test_the_guide_names_what_stays_near_guessing() -> None:
    near = {(row, seed + 5) for row in ("labels", *OBJECTIVES) for seed in np.flatnonzero(by_steps(row).min(0) < 51.5)}
    assert near == {("labels", 8), ("labels", 10), ("kd", 8)}
    guide = " ".join((LENGTHS / "README.md").read_text().split())
    assert "labels alone under seeds 8 and 10, and vanilla KD under seed 8, are within a point of guessing" in guide
