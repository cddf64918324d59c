"""Tests of the first ten minutes on a GPU: on a CPU, all of it runs in small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from retort.cost.bench import gpu
from retort.cost.bench.plain_steps import PlainSteps
from retort.cost.bench.steps import Models, Steps
from retort.errors import RetortError


@pytest.mark.slow
@pytest.mark.usefixtures("small", "forked_processes")
def test_everything_is_measured_next_to_its_prediction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "PLAIN", gpu.shapes_on("cpu")[0])
    said = list(gpu.lines("cpu", tmp_path / "gpu.json"))
    found = json.loads((tmp_path / "gpu.json").read_text())
    assert [each["agrees"] for each in found["kernels"]] == [True] * 2 * len(gpu.HEAD_SIZES)
    assert [each["companions"] for each in found["steps"]] == [1] * len(gpu.SHAPES) + list(gpu.COMPANIONS)
    assert all(min(each["seconds"], each["predicted_seconds"], each["flops"]) > 0 for each in found["steps"])
    assert found["resumed"] == 0
    assert found["two processes"] <= 1e-6
    assert found["loaded"] > 0
    assert min(found[f"a plain step in {precision}"] for precision in ("float32", "bfloat16")) > 0
    assert found["left_out"] == []
    same = "a resumed training goes on in the same numbers; two processes give the gradients of one"
    assert f"kernels agree; {same}" in found["verdict"]
    assert said[-1].startswith(found["verdict"])


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_plain_step_has_our_loss(precision: str) -> None:
    shape = gpu.shapes_on("cpu")[0]._replace(precision=precision)
    terms = gpu.terms_of(shape)
    plain, models = PlainSteps(shape, shape.teacher.heads, "cpu"), Models(shape, "cpu")
    assert terms[0].options["heads"] == plain.heads
    plain.student.eval()
    models.students[0].eval()
    own = Steps(models, terms)
    ours, theirs = own.gradients(), torch.autograd.grad(plain.loss(), plain.student.parameters(), allow_unused=True)
    flat = torch.cat([gradient.flatten() for gradient in theirs if gradient is not None])
    assert (ours[: len(flat)] - flat).norm() < (1e-4 if precision == "float32" else 2e-2) * flat.norm()


def test_parts_that_do_not_fit_the_limit_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 10_000, 10))  # each look at the clock is ten seconds later
    monkeypatch.setattr(gpu.time, "monotonic", lambda: float(next(now)))
    monkeypatch.setattr(gpu, "kernel", lambda *_: {"head_sizes": [1, 1], "type": "x", "error": 0, "error_of_plain": 0,
                                                   "time": 1, "agrees": True})  # fmt: skip
    said = list(gpu.lines("cpu", tmp_path / "gpu.json", limit=60))
    found = json.loads((tmp_path / "gpu.json").read_text())
    assert len(found["kernels"]) == 3  # parts begin at 10, 30 and 50 s
    assert "two processes" in found["left_out"]
    assert said[-2].startswith("Not measured, for want of time: heads of")
    assert found["verdict"].endswith("kernels agree.")


def test_steps_on_a_gpu_are_those_of_the_papers_in_each_precision() -> None:
    shapes = gpu.shapes_on("cuda")
    assert {each.precision for each in shapes} == {"bfloat16", *gpu.PRECISIONS}
    for each in shapes:
        taken, size, flops = gpu.predicted(each, gpu.GUESSED[True])
        assert 0 < taken < 60, each
        assert 5e8 < size < 80e9, each
        assert flops > 1e11, each


def test_without_a_gpu_nothing_is_measured_in_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RetortError, match="sees no GPU; run it on a node"):
        next(gpu.lines("cuda"))
