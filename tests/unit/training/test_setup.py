"""Tests of what a state keeps of how its steps were taken: device, parts, and the form of the relations."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from retort.engine.job import Job
from retort.errors import Diverged
from retort.objectives.relation_forms import choice
from retort.objectives.relation_forms.in_pytorch import plain
from retort.provenance import device_name
from retort.specs.model import Architecture
from retort.training import setup
from retort.training.checkpoint import Checkpoint
from retort.training.evaluate import ScoreToWrite, write_score

from tests.job_settings import distillation_settings

FASTER, NO_TRITON = "fused: it is faster", "plain: triton is not installed"
CPU = {"device": device_name("cpu")}


def begun(folder: Path, relations: bool = True, **parts: int) -> str:
    """Begin a training, or go on with one, and write its state after a step; return the log."""
    log, checkpoint = io.StringIO(), Checkpoint(folder, {}, 0.0)
    loss: Any = SimpleNamespace(holds_relations=relations)
    setup.begin(Job("job", log, **parts), checkpoint, loss, torch.device("meta"))  # type: ignore[arg-type]
    checkpoint.write(1, 1, {"weight": torch.ones(1)})
    return log.getvalue()


def ways(folder: Path) -> list[dict[str, Any]]:
    """Return how the steps of a training were taken."""
    return Checkpoint(folder, {}, 0.0).conditions


@pytest.fixture
def forms(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the forms that the devices of the next processes choose when they are not told what ran before."""
    chosen = [FASTER, NO_TRITON]

    def choose(device: torch.device, before: str = "") -> choice.Choice:
        name, _, reason = (before or chosen[0]).partition(": ")
        return choice.Choice(plain, name, reason)

    monkeypatch.setattr(choice, "choose", choose)
    monkeypatch.setattr(choice, "CHOICES", {})
    return chosen


def test_a_form_is_told_when_it_is_chosen_and_a_resumed_training_keeps_it(tmp_path: Path, forms: list[str]) -> None:
    assert begun(tmp_path) == f"relations computed by {FASTER}\n"
    choice.CHOICES.clear()  # of another process
    forms.pop(0)
    assert begun(tmp_path) == f"relations computed by {FASTER}\n"
    assert ways(tmp_path) == [{**CPU, "relations": FASTER}]


def test_processes_take_one_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forms: list[str]) -> None:
    monkeypatch.setattr(setup, "gather", lambda own: [own, NO_TRITON])
    assert begun(tmp_path) == f"relations computed by {NO_TRITON}\n"
    assert str(choice.CHOICES[torch.device("meta")]) == NO_TRITON
    monkeypatch.setattr(setup, "gather", lambda own: [FASTER])
    monkeypatch.setattr(setup, "agree", lambda device, form, forms: FASTER)
    assert begun(tmp_path) == f"relations computed by {FASTER}; before, by {NO_TRITON}\n"
    assert setup.forms(ways(tmp_path)) == [NO_TRITON, FASTER]


def test_nothing_is_chosen_without_relations_and_each_way_stands_once(tmp_path: Path, forms: list[str]) -> None:
    for rows in (8, 4, 8):
        assert begun(tmp_path, relations=False, micro_batch=rows, gpus=2, processes=2) == ""
    assert choice.CHOICES == {}
    assert ways(tmp_path) == [{**CPU, "micro_batch": rows, "gpus": 2} for rows in (4, 8)]


def test_a_score_says_which_forms_have_run(tmp_path: Path) -> None:
    score = ScoreToWrite("kd", "mood", 1, str(tmp_path / "score.json"), str(tmp_path / "answers.json"))
    settings: Any = distillation_settings(Architecture(layers=2, heads=2, hidden=12, intermediate=20))
    taken = [{"relations": form} for form in (FASTER, NO_TRITON)]
    for each, shown in ((taken, f"{FASTER}; then {NO_TRITON}"), ([CPU], None)):
        write_score(Job("job", io.StringIO()), score, settings, Diverged(3), conditions=each)
        assert json.loads(Path(score.file).read_text()).get("relations") == shown
