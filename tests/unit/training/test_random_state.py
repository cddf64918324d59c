"""Tests of random states."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from retort.training.checkpoint import pack
from retort.training.loader import RandomState


def test_a_training_on_the_cpu_leaves_the_gpu_of_the_machine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def begin_to_use_gpu(*_: Any) -> None:
        pytest.fail("it begins to use the GPU")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "_lazy_init", begin_to_use_gpu)
    assert RandomState().cuda is None
    module = torch.nn.Linear(1, 1)
    assert "random.cuda" not in pack(dict(module.named_parameters()), {}, torch.optim.AdamW(module.parameters()))
