"""Which form computes the divergence between relations on a device."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from retort.objectives.relation_forms.cached import cached
from retort.objectives.relation_forms.pieces import Form, Vectors
from retort.objectives.relation_forms.plain import plain
from retort.precision import float32_products

TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 1e-2}  # of the norm of the loss and of each gradient
# Batch, length, width, teacher width and heads of what forms are compared on: blocks that are not full, head sizes that
# are no powers of two, and the widest heads that the kernels take, which need most of a GPU's memory on the chip.
COMPARED = ((3, 70, 10, 40, 2), (2, 40, 64, 64, 1))
TIMED = (4, 512, 48 * 8, 48 * 16, 48)  # the same of the batch that forms are timed on
RUNS = 3  # after a first one, which compiles


@dataclass(frozen=True)
class Choice:
    """The form for a device, and why.

    Args:
        form: the function.
        name: its name.
        reason: what decided, in a few words.
    """

    form: Form
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


CHOICES: dict[torch.device, Choice] = {}  # of this process: one for each GPU that a relation was computed on


def form_on(device: torch.device) -> Form:
    """Return the form that runs on a device: on a CPU always `cached`, whatever else is installed."""
    return cached if device.type == "cpu" else _chosen(device).form


def ahead(device: torch.device, before: str = "") -> str:
    """Choose the form that will run on a device; return it and why; empty on a CPU, where there is no choice.

    Args:
        device: the device.
        before: what this function returned for the steps that a resumed training has taken; it goes on with that form
            if it runs there.
    """
    return "" if device.type == "cpu" else str(_chosen(device, before))


def same_for_all(device: torch.device, own: str, forms: Iterable[str]) -> str:
    """Choose one form for all devices of a training and return it: the plain one if it was chosen for one of them.

    Args:
        device: the device of this process.
        own: what `ahead` chose for it.
        forms: what it chose for each device.
    """
    form = next((form for form in forms if form.startswith("plain")), own)
    if form != own:
        CHOICES[device] = choose(device, form)
    return form


def _chosen(device: torch.device, before: str = "") -> Choice:
    """Return what was chosen for a GPU; this process chooses once."""
    if device not in CHOICES:
        CHOICES[device] = choose(device, before)
    return CHOICES[device]


def choose(device: torch.device, before: str = "") -> Choice:
    """Choose the form for a GPU: the kernels, if they agree with `plain` there and are no slower.

    A training that began with a form goes on with it, whatever is faster; but for kernels that do not agree there.
    """
    name, _, kept = before.partition(": ")
    if name == "plain":
        return Choice(plain, "plain", kept)
    try:
        from retort.objectives.relation_forms.fused import fused
    except ImportError:
        return Choice(plain, "plain", "triton is not installed")
    try:
        with float32_products("float32"):
            reason = disagreement(fused, device)
        reason = reason or ("" if name == "fused" else slowness(fused, device))
    except Exception as error:  # a kernel that cannot be compiled or started raises errors of many types
        reason = f"the kernels fail: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    if reason:
        return Choice(plain, "plain", reason)
    return Choice(fused, "fused", kept or "the kernels agree with the plain form and are no slower")


def disagreement(form: Form, device: torch.device) -> str:
    """Return where a form differs from `plain` by more than rounding, on small examples; empty where nowhere.

    The examples have padding, an example that is all padding, a floor, rows that are the columns and rows that are not.
    """
    cases = itertools.product(COMPARED, TOLERANCE.items(), ((True, 0.0), (False, 0.0), (False, 0.01)))
    for sizes, (dtype, tolerance), (same, floor) in cases:
        problem = _Problem.draw(sizes, dtype, same, device)
        for value, expected in zip(problem.solve(form, floor), problem.solve(plain, floor), strict=True):
            error = float((value - expected).norm() / expected.norm())
            if not error <= tolerance:  # also where it is not a number
                return f"the kernels differ by {error:.1e} in {dtype} (sizes {sizes}, floor {floor})"
    return ""


def slowness(form: Form, device: torch.device) -> str:
    """Return by how much a form is slower than `plain` on a batch of a usual size; empty where it is not."""
    problem = _Problem.draw(TIMED, torch.bfloat16, True, device)
    seconds, plain_seconds = _seconds(problem, form), _seconds(problem, plain)
    return f"the kernels take {seconds / plain_seconds:.1f} times as long" if seconds > plain_seconds else ""


def _seconds(problem: _Problem, form: Form) -> float:
    """Return the least time of several runs, forward and backward."""
    times = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        float(problem.solve(form, 0.0)[-1].sum())  # waits for the device
        times.append(time.perf_counter() - start)
    return min(times[1:])


@dataclass(frozen=True)
class _Problem:
    """Random vectors with padding, to compare forms on.

    Args:
        student: two tensors (batch, length, width); one tensor twice where the rows are the columns.
        teacher: the same of the teacher.
        heads: number of heads.
        keys: (batch, length), True at the real tokens.
    """

    student: Vectors
    teacher: Vectors
    heads: int
    keys: Tensor

    @classmethod
    def draw(
        cls, sizes: tuple[int, int, int, int, int], dtype: torch.dtype, same: bool, device: torch.device
    ) -> _Problem:
        """Draw a problem of these sizes (batch, length, width, teacher width, heads); the first example is padding."""
        batch, length, width, teacher_width, heads = sizes
        generator = torch.Generator().manual_seed(1)  # its own, so that no other draw changes

        def vectors(size: int, learned: bool) -> Vectors:
            made = [
                torch.randn(batch, length, size, generator=generator).to(device, dtype).requires_grad_(learned)
                for _ in range(1 if same else 2)
            ]
            return made[0], made[-1]

        ends = torch.arange(batch) * length // (batch - 1)  # 0, ..., length real tokens
        keys = (torch.arange(length) < ends[:, None]).to(device)
        return cls(vectors(width, True), vectors(teacher_width, False), heads, keys)

    def solve(self, form: Form, floor: float) -> list[Tensor]:
        """Return the loss and its gradients, in float64."""
        weights = self.keys / self.keys.sum()
        learned = self.student[:1] if self.student[0] is self.student[1] else self.student
        with torch.enable_grad():
            loss = form(self.student, self.teacher, self.heads, self.keys, weights, floor)
            return [x.detach().double() for x in (loss, *torch.autograd.grad(loss, learned))]
