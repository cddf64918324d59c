"""Tests of the state of a training: written seldom enough, in little memory, never half; how its steps were taken."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.errors import Diverged
from retort.job.context import RunningJob
from retort.objectives.relation_forms import choice
from retort.objectives.relation_forms.in_pytorch import plain
from retort.provenance import device_name
from retort.specs.model import Architecture
from retort.training import checkpoint as module
from retort.training import setup
from retort.training.checkpoint import Checkpoint, RandomState, are_due, pack_state, write_interval
from retort.training.evaluate import ScoreToWrite, write_score

from tests.job_settings import distillation_settings
from tests.references.examples import NARROW, WIDE, compose

STATE = {"weight.a": torch.ones(3)}


def test_the_next_write_waits_sixty_times_as_long_as_those_of_a_job_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = module.digest_of_file
    monkeypatch.setattr(module, "digest_of_file", lambda path: time.sleep(0.1) or digest(path))
    checkpoint, nearby = Checkpoint(tmp_path, {}, 2.0), Checkpoint(tmp_path / "nearby", {}, 2.0)
    for each in (checkpoint, nearby):
        each.write(1, 1, STATE)
    assert 6.0 <= write_interval([checkpoint]) < 20.0
    assert not are_due([checkpoint])
    assert write_interval([checkpoint, nearby]) == write_interval([checkpoint]) + write_interval([nearby])
    assert write_interval([Checkpoint(tmp_path, {}, 1e6)] * 8) == 1e6
    assert are_due([Checkpoint(tmp_path, {}, 0.0)])


def test_a_process_that_does_not_write_leaves_no_file(tmp_path: Path) -> None:
    reader = Checkpoint(tmp_path, {}, 0.0, writes=False)
    reader.write(1, 1, STATE)
    reader.note("done")
    assert not are_due([reader])
    assert not list(tmp_path.iterdir())


def test_a_state_is_written_in_groups_and_a_lost_one_makes_it_useless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GROUP", 100)
    tensors = {"a": torch.arange(20.0), "b": torch.arange(5), "c": torch.rand(2, 2), "d": torch.rand(90)}
    assert list(module.groups(tensors)) == [["a"], ["b", "c"], ["d"]]
    Checkpoint(tmp_path, {}, 0.0).write(1, 4, tensors)
    state = Checkpoint(tmp_path, {}, 0.0).state
    assert state is not None
    assert [file.name for file in state.files] == [f"run-1-step-4.{number}.safetensors" for number in (1, 2, 3)]
    state.files[1].unlink()
    assert Checkpoint(tmp_path, {}, 0.0).state is None


def test_a_training_on_the_cpu_leaves_the_gpu_of_the_machine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert RandomState().cuda is None
    module = torch.nn.Linear(1, 1)
    assert "random.cuda" not in pack_state(dict(module.named_parameters()), {}, torch.optim.AdamW(module.parameters()))


# how the steps were taken: device, parts, and the form of the relations

FASTER, NO_TRITON = "fused: it is faster", "plain: triton is not installed"
CPU = {"device": device_name("cpu")}


def begun(folder: Path, objective: str = "relations", **parts: int) -> str:
    """Begin a training, or go on with one, and write its state after a step; return the log."""
    log, checkpoint = io.StringIO(), Checkpoint(folder, {}, 0.0)
    term = {"objective": objective, "mapping": "last", "options": {"heads": 4} if objective == "relations" else {}}
    loss = compose([term], NARROW, WIDE, 2, 6)
    setup.begin_training(RunningJob("job", log, **parts), checkpoint, loss, torch.device("meta"))  # type: ignore[arg-type]
    checkpoint.write(1, 1, {"weight": torch.ones(1)})
    return log.getvalue()


def ways(folder: Path) -> list[dict[str, Any]]:
    """Return how the steps of a training were taken."""
    return Checkpoint(folder, {}, 0.0).conditions


@pytest.fixture
def forms(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the forms that the devices of the next processes choose when they are not told what ran before."""
    chosen = [FASTER, NO_TRITON]

    def choose(device: torch.device, before: str = "") -> choice.ChosenForm:
        name, _, reason = (before or chosen[0]).partition(": ")
        return choice.ChosenForm(plain, name, reason)

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
    monkeypatch.setattr(setup, "gather_values", lambda own: [own, NO_TRITON])
    assert begun(tmp_path) == f"relations computed by {NO_TRITON}\n"
    assert str(choice.CHOICES[torch.device("meta")]) == NO_TRITON
    monkeypatch.setattr(setup, "gather_values", lambda own: [FASTER])
    monkeypatch.setattr(setup, "agree_on_form", lambda device, form, forms: FASTER)
    assert begun(tmp_path) == f"relations computed by {FASTER}; before, by {NO_TRITON}\n"
    assert setup.forms_used(ways(tmp_path)) == [NO_TRITON, FASTER]


def test_nothing_is_chosen_without_relations_and_each_way_stands_once(tmp_path: Path, forms: list[str]) -> None:
    for gpus in (3, 2, 3):
        assert begun(tmp_path, "hidden-cls", gpus=gpus, processes=gpus) == ""
    assert choice.CHOICES == {}
    assert ways(tmp_path) == [{**CPU, "gpus": gpus} for gpus in (2, 3)]


def test_a_score_says_which_forms_have_run(tmp_path: Path) -> None:
    score = ScoreToWrite("kd", "mood", 1, str(tmp_path / "score.json"), str(tmp_path / "answers.json"))
    settings: Any = distillation_settings(Architecture(layers=2, heads=2, hidden=12, intermediate=20))
    taken = [{"relations": form} for form in (FASTER, NO_TRITON)]
    for each, shown in ((taken, f"{FASTER}; then {NO_TRITON}"), ([CPU], None)):
        write_score(RunningJob("job", io.StringIO()), score, settings, Diverged(3), conditions=each)
        assert json.loads(Path(score.file).read_text()).get("relations") == shown
