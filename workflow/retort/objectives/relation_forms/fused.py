"""The KL divergence between relations by Triton kernels, forward and backward."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
import triton
from torch import Tensor
from torch.autograd.function import once_differentiable

from retort.objectives.relation_forms import kernels
from retort.objectives.relation_forms.in_pytorch import Vectors, form_of, plain

WIDEST = 64  # the largest head size whose blocks fit into a GPU's registers and shared memory; `plain` does wider heads
NARROWEST = 16  # the smallest size that Triton's `dot` takes


class Launch(NamedTuple):
    """The launch configuration of the kernels for vectors of one shape.

    Args:
        grid: the number of programs.
        scalars: the kernels' scalar arguments, in order.
        constants: the compile-time arguments that both kernels take.
        block: block sizes in tokens: (ROWS, COLUMNS) of `row_divergence`, (MINE, OTHERS) of `gradient`.
    """

    grid: tuple[int]
    scalars: tuple[int | float, ...]
    constants: dict[str, object]
    block: tuple[int, int]


def launch_of(student: Tensor, teacher: Tensor, heads: int) -> Launch:
    """Return the launch configuration for student and teacher vectors (batch, length, width)."""
    constants: dict[str, Any] = {"num_stages": 2}
    for letter, x in (("S", student), ("T", teacher)):
        size = x.shape[-1] // heads
        constants[f"SIZE_{letter}"] = size
        constants[f"WIDE_{letter}"] = max(NARROWEST, triton.next_power_of_2(size))
        constants[f"PRODUCT_{letter}"] = "tf32x3" if x.dtype == torch.float32 else "tf32"
    scales = (1 / math.sqrt(constants["SIZE_S"]), 1 / math.sqrt(constants["SIZE_T"]))
    batch, length, _ = student.shape
    widest = max(constants["WIDE_S"], constants["WIDE_T"])
    block = (64, 64) if widest <= NARROWEST else (64, 32)
    constants["num_warps"] = 8 if widest == WIDEST else 4
    grid = (batch * heads * triton.cdiv(length, block[0]),)
    return Launch(grid, (length, heads, *scales), constants, block)


class _Fused(torch.autograd.Function):
    """The scalar sum over heads and rows of weight x KL(teacher || student); `kernels` has the equations."""

    @staticmethod
    def forward(
        ctx: Any, a: Tensor, b: Tensor, c: Tensor, d: Tensor, keys: Tensor, weights: Tensor, heads: int, floor: float
    ) -> Tensor:
        """Return the scalar loss of the student's vectors a (rows) and b (columns) and the teacher's c and d."""
        ctx.same = a is b and c is d
        a, b, c, d, keys = (x.contiguous() for x in (a, b, c, d, keys))
        launch = launch_of(a, c, heads)
        row_weights = weights.float().contiguous()  # (batch, length)
        statistics = a.new_empty(len(a), heads, kernels.STATISTICS.value, a.shape[1], dtype=torch.float32)
        with torch.cuda.device_of(a):  # type: ignore[no-untyped-call] # Triton starts kernels on the current GPU
            kernels.row_divergence[launch.grid](
                a, b, c, d, keys, statistics, *launch.scalars,
                **launch.constants, ROWS=launch.block[0], COLUMNS=launch.block[1],
            )  # fmt: skip
        ctx.launch = launch
        ctx.save_for_backward(a, b, c, d, keys, row_weights, statistics)
        divergence = statistics[:, :, kernels.KL.value]  # (batch, heads, length)
        total: Tensor = (divergence * row_weights[:, None, :]).sum()
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients with respect to a and b; the other inputs have none."""
        a, b, c, d, keys, row_weights, statistics = ctx.saved_tensors
        launch: Launch = ctx.launch
        scalar = upstream.float().contiguous()

        def gradient(
            student: tuple[Tensor, Tensor], teacher: tuple[Tensor, Tensor], rows: bool, columns: bool
        ) -> Tensor:
            result = torch.empty_like(student[0])
            kernels.gradient[launch.grid](
                *student, *teacher, keys, row_weights, statistics, scalar, result, *launch.scalars, **launch.constants,
                AS_ROWS=rows, AS_COLUMNS=columns, MINE=launch.block[0], OTHERS=launch.block[1],
            )  # fmt: skip
            return result

        if ctx.same:
            return gradient((a, a), (c, c), True, True), *[None] * 7  # a is b: their sum
        by_rows = gradient((a, b), (c, d), True, False) if ctx.needs_input_grad[0] else None
        by_columns = gradient((b, a), (d, c), False, True) if ctx.needs_input_grad[1] else None
        return by_rows, by_columns, *[None] * 6


_by_kernels = form_of(_Fused)


def fused_divergence(
    student: Vectors, teacher: Vectors, heads: int, keys: Tensor, weights: Tensor, floor: float
) -> Tensor:
    """Return the scalar sum of `relation_divergence`; leave float64, floors and heads wider than WIDEST to `plain`."""
    widest = max(student[0].shape[-1], teacher[0].shape[-1]) // heads
    exact = torch.float64 in (student[0].dtype, teacher[0].dtype)
    form = plain if exact or floor or widest > WIDEST else _by_kernels
    return form(student, teacher, heads, keys, weights, floor)
