"""Tests that every form of the divergence between relations agrees with the references, and with one another."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
import torch
from retort.objectives import objectives
from retort.objectives.relation_forms import choice
from retort.objectives.relation_forms.in_pytorch import cached, plain
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.references.examples import LENGTHS, PADDED, Case, batch_of, both
from tests.references.meter import Meter
from tests.references.objectives import CASES
from tests.references.test_objectives import assert_agrees_with_its_reference, assert_as_precise_as_plain_pytorch

CPU = torch.device("cpu")
needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="triton is not installed: builds of torch for CUDA bring it"
)
needs_interpreter = pytest.mark.skipif(torch.cuda.is_available(), reason="the kernels run on the GPU here")


def fused_form() -> choice.Form:
    from retort.objectives.relation_forms.fused import fused_divergence

    return fused_divergence


FORMS: dict[str, Callable[[], choice.Form]] = {"plain": lambda: plain, "fused": fused_form}
kernels = pytest.param("fused", marks=[needs_triton, needs_interpreter])
RELATIONAL = [case for case in CASES if getattr(objectives[case.name], "holds_relations", False)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_objective_declares_that_it_compares_relations(case: Case) -> None:
    with mock.patch.object(choice, "form_on", return_value=cached) as form_on:
        case.build()(*both(case), batch_of(case, PADDED))
    assert form_on.called == (case in RELATIONAL)


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=list(LENGTHS))
@pytest.mark.parametrize("case", RELATIONAL, ids=str)
@pytest.mark.slow
def test_the_plain_form_agrees_with_the_reference(case: Case, lengths: tuple[int, ...]) -> None:
    with mock.patch.object(choice, "form_on", return_value=plain):
        assert_agrees_with_its_reference(case, lengths)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("case", RELATIONAL, ids=str)
@pytest.mark.parametrize("form", [pytest.param("plain", marks=pytest.mark.slow), kernels])
def test_every_form_is_as_precise_as_plain_pytorch(form: str, case: Case, dtype: torch.dtype) -> None:
    with mock.patch.object(choice, "form_on", return_value=FORMS[form]()):
        assert_as_precise_as_plain_pytorch(case, dtype)


SIZES = [(3, 70, 10, 40, 2), (2, 33, 9, 21, 3), (4, 64, 16, 32, 1), (2, 5, 64, 48, 1), (2, 130, 33, 51, 1)]


@pytest.mark.parametrize("floor", [0.0, 0.01])
@pytest.mark.parametrize("same", [True, False], ids=["rows are columns", "rows and columns"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_plain_form_is_the_cached_form(sizes: tuple[int, int, int, int, int], same: bool, floor: float) -> None:
    problem = choice.Problem.draw(sizes, torch.float64, same, CPU).wide()
    for value, expected in zip(problem.solve(plain, floor), problem.solve(cached, floor), strict=True):
        torch.testing.assert_close(value, expected, rtol=1e-12, atol=1e-16)


@needs_triton
@needs_interpreter
@pytest.mark.parametrize("same", [True, False], ids=["rows are columns", "rows and columns"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_kernels_agree_with_the_cached_form(
    sizes: tuple[int, int, int, int, int], dtype: torch.dtype, same: bool
) -> None:
    problem = choice.Problem.draw(sizes, dtype, same, CPU)
    solved = (problem.wide().solve(cached), problem.solve(plain), problem.solve(fused_form()))
    for exact, by_plain, by_kernels in zip(*solved, strict=True):
        rounding = torch.finfo(dtype if exact.dim() else torch.float32).eps * exact.norm()  # the loss is in float32
        if not exact.dim():  # a difference of logarithms near 1, whose rounding stays however small the difference is
            rounding = rounding.clamp(min=torch.finfo(torch.float32).eps)
        assert (by_kernels - exact).norm() <= 2 * (by_plain - exact).norm() + 4 * rounding


@needs_triton
@needs_interpreter
@pytest.mark.parametrize(("sizes", "floor"), [((2, 5, 130, 20, 1), 0.0), ((2, 5, 20, 130, 1), 0.0), (SIZES[0], 0.01)])
def test_floors_and_heads_too_wide_for_the_kernels_are_computed(
    sizes: tuple[int, int, int, int, int], floor: float
) -> None:
    problem = choice.Problem.draw(sizes, torch.float32, False, CPU)
    for value, expected in zip(problem.solve(fused_form(), floor), problem.solve(plain, floor), strict=True):
        assert torch.equal(value, expected)


class Traffic(TorchDispatchMode):
    """Count how many tensors of the size of a relation operations read and write."""

    def __init__(self, numbers: int) -> None:
        super().__init__()
        self.numbers, self.passes = numbers, 0

    def __torch_dispatch__(self, func: Callable[..., object], types: object, args=(), kwargs=None) -> object:
        result = func(*args, **(kwargs or {}))
        views = {a.untyped_storage()._cdata for a in args if isinstance(a, Tensor)}
        is_view = not func._schema.is_mutable and getattr(result, "untyped_storage", None) is not None
        if is_view and result.untyped_storage()._cdata in views:
            return result
        tensors = [x for x in (*args, result) if isinstance(x, Tensor)]
        self.passes += sum(x.numel() == self.numbers for x in tensors)
        return result


@pytest.mark.parametrize(("form", "passes"), [(plain, 20), (cached, 30)])
def test_passes_over_a_relation(form: choice.Form, passes: int) -> None:
    problem = choice.Problem.draw((2, 40, 10, 30, 5), torch.float32, True, CPU)
    with Traffic(2 * 5 * 40 * 40) as traffic:
        problem.solve(form)
    assert traffic.passes == passes


@pytest.mark.parametrize(
    ("form", "least", "most"), [("plain", 8, 17), pytest.param("fused", 3, 4.1, marks=kernels.marks)]
)
def test_memory_grows_with_the_square_of_the_length_but_for_the_kernels(form: str, least: float, most: float) -> None:
    peaks = []
    for length in (32, 128):
        problem = choice.Problem.draw((2, length, 8, 16, 2), torch.float32, True, CPU)
        with Meter(Tensor) as meter:
            problem.solve(FORMS[form]())
        peaks.append(meter.peak)
    assert least < peaks[1] / peaks[0] < most


@pytest.mark.gpu
@needs_triton
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_kernels_are_chosen_on_a_gpu() -> None:
    chosen = choice.choose(torch.device("cuda", 0))
    assert chosen.name == "fused", chosen.reason


# bytes of shared memory that a program can have, by compute capability (CUDA C++ Programming Guide, technical data)
SHARED_MEMORY = {80: 163 * 1024, 86: 99 * 1024, 90: 227 * 1024, 100: 227 * 1024}
SPILLS = {"bfloat16": 144, "float32": 720}  # bytes of a thread, at most: those of `gradient` at 64 x 64 on sm_80
LATER = {90: 128, 100: 0}  # the same on later GPUs


@needs_triton
@pytest.mark.parametrize("capability", SHARED_MEMORY)
def test_the_kernels_fit_a_gpu_and_hardly_spill(capability: int, tmp_path: Path) -> None:
    program = Path(__file__).parent / "kernels_for_gpus.py"
    environment = os.environ | {"TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, program, str(capability)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for name, taken in json.loads(done.stdout)[str(capability)].items():
        assert taken["registers"] <= 255, name
        assert taken["spills"] <= LATER.get(capability, SPILLS["bfloat16" if "bfloat16" in name else "float32"]), name
        assert taken["shared"] <= SHARED_MEMORY[capability], name
