"""Choose the form that computes the divergence between relations on a device."""

from __future__ import annotations

import itertools
import timeit
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from retort.machine import float32_products
from retort.objectives.relation_forms.in_pytorch import Form, Vectors, cached, plain

TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 1e-2}  # relative error of the loss and of each gradient, as norms
# (batch, length, width, teacher width, heads) of the batches on which forms are compared: partly filled blocks, head
# sizes that are no powers of two, and the widest heads that the kernels take, which need most on-chip memory
COMPARED = ((3, 70, 10, 40, 2), (2, 40, 64, 64, 1))
TIMED = (4, 512, 48 * 8, 48 * 16, 48)  # the same sizes, of the batch on which forms are timed
RUNS = 3  # timed runs, after a first one that compiles


@dataclass(frozen=True)
class ChosenForm:
    """The form for a device, and the reason.

    Args:
        form: the function.
        name: the name of the form.
        reason: why it was chosen, in a few words.
    """

    form: Form
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


CHOICES: dict[torch.device, ChosenForm] = {}  # the choices of this process so far, by GPU


def relation_divergence(
    student: tuple[Tensor, Tensor],
    teacher: tuple[Tensor, Tensor],
    heads: int,
    keys: Tensor,
    weights: Tensor,
    floor: float = 0.0,
) -> Tensor:
    """Return the scalar sum over heads and rows of weight x KL(teacher's relation || student's relation).

    A relation is softmax(a b^T / sqrt(head size)) over the keys, where a and b are one head's slice of two vectors:
    MiniLMv2 (Wang et al., 2021), eq. 7-8.

    Args:
        student: two tensors (batch, length, width); the tokens of the first are the rows, of the second the columns.
        teacher: two tensors of the teacher, likewise; their width may differ from the student's.
        heads: number of heads that both widths are split into.
        keys: (batch, length), True at the columns that count.
        weights: (batch, length), the weight of each row.
        floor: student probabilities below it are raised to it; 0 leaves them as they are.
    """
    return form_on(keys.device)(student, teacher, heads, keys, weights, floor)


def form_on(device: torch.device) -> Form:
    """Return the form that runs on a device; on a CPU always `cached`."""
    return cached if device.type == "cpu" else _choose_once(device).form


def choose_ahead(device: torch.device, before: str = "") -> str:
    """Choose the form that will run on a device; return 'name: reason', or an empty string on a CPU.

    Args:
        device: the device.
        before: for a resumed training, what this function returned before: that form is chosen again if it works on
            this device.
    """
    return "" if device.type == "cpu" else str(_choose_once(device, before))


def agree_on_form(device: torch.device, own: str, forms: Iterable[str]) -> str:
    """Choose one form for all devices of a training and return it: `plain` if one of them chose it, else `own`.

    Args:
        device: the device of this process.
        own: what `choose_ahead` returned for this device.
        forms: what it returned for each device of the training.
    """
    form = next((form for form in forms if form.startswith("plain")), own)
    if form != own:
        CHOICES[device] = choose(device, form)
    return form


def _choose_once(device: torch.device, before: str = "") -> ChosenForm:
    """Return the choice for a GPU; choose at the first call only."""
    if device not in CHOICES:
        CHOICES[device] = choose(device, before)
    return CHOICES[device]


def choose(device: torch.device, before: str = "") -> ChosenForm:
    """Choose the form for a GPU: `fused`, if it agrees with `plain` there and is not slower.

    A resumed training keeps its form, even if it is slower; but `fused` must agree with `plain` on this GPU, too.
    """
    name, _, kept = before.partition(": ")
    if name == "plain":
        return ChosenForm(plain, "plain", kept)
    try:
        from retort.objectives.relation_forms.fused import fused_divergence
    except ImportError:
        return ChosenForm(plain, "plain", "triton is not installed")
    try:
        with float32_products("float32"):
            reason = disagreement(fused_divergence, device)
        reason = reason or ("" if name == "fused" else slowness(fused_divergence, device))
    except Exception as error:  # a kernel that cannot be compiled or started raises errors of many types
        reason = f"the kernels fail: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    if reason:
        return ChosenForm(plain, "plain", reason)
    return ChosenForm(fused_divergence, "fused", kept or "the kernels agree with the plain form and are no slower")


def disagreement(form: Form, device: torch.device) -> str:
    """Return a message if a form differs from `plain` by more than rounding on small examples, else an empty string.

    The examples have padding, an example that is all padding, and rows equal to and other than the columns.
    """
    for sizes, (dtype, tolerance), same in itertools.product(COMPARED, TOLERANCE.items(), (True, False)):
        problem = Problem.draw(sizes, dtype, same, device)
        for value, expected in zip(problem.solve(form), problem.solve(plain), strict=True):
            error = float((value - expected).norm() / expected.norm())
            if not error <= tolerance:  # True for NaN, too
                return f"the kernels differ by {error:.1e} in {dtype} (sizes {sizes})"
    return ""


def slowness(form: Form, device: torch.device) -> str:
    """Return a message if a form is slower than `plain` on a batch of a usual size, else an empty string."""
    problem = Problem.draw(TIMED, torch.bfloat16, True, device)

    def shortest(each: Form) -> float:
        """Return the shortest time of some runs, forward and backward, after a first one that compiles."""
        # to read a number is to wait for the device
        return min(timeit.repeat(lambda: float(problem.solve(each)[-1].sum()), number=1, repeat=1 + RUNS)[1:])

    ratio = shortest(form) / shortest(plain)
    return f"the kernels take {ratio:.1f} times as long" if ratio > 1 else ""


@dataclass(frozen=True)
class Problem:
    """Random vectors with padding, on which forms are compared.

    Args:
        student: two tensors (batch, length, width), rows and columns; may be one tensor twice.
        teacher: the same for the teacher.
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
    ) -> Problem:
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

    def wide(self) -> Problem:
        """Return the same problem in float64."""

        def of(vectors: Vectors, learned: bool) -> Vectors:
            rows = vectors[0].detach().double().requires_grad_(learned)
            return rows, rows if vectors[0] is vectors[1] else vectors[1].detach().double().requires_grad_(learned)

        return Problem(of(self.student, True), of(self.teacher, False), self.heads, self.keys)

    def solve(self, form: Form, floor: float = 0.0) -> list[Tensor]:
        """Return the loss and its gradients, in float64."""
        weights = self.keys / self.keys.sum()
        learned = self.student[:1] if self.student[0] is self.student[1] else self.student
        with torch.enable_grad():
            loss = form(self.student, self.teacher, self.heads, self.keys, weights, floor)
            return [x.detach().double() for x in (loss, *torch.autograd.grad(loss, learned))]
