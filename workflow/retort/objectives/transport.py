"""Many layers to many layers, matched by the cheapest transport."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from retort.objectives.attention import same_heads
from retort.objectives.base import Batch, Pair, Taps, objectives, product, wide
from retort.objectives.hidden import MapRule, linear_map


def counted_by(real: Tensor, like: Tensor) -> Tensor:
    """How many numbers of a layer's tensor count, where `real` says which, up to dimensions that it spans."""
    return real.sum().clamp(min=1) * (like.numel() // real.numel())


def apart(ours: Tensor, theirs: Tensor, real: Tensor) -> Tensor:
    """The scalar mean squared difference of two layers' tensors, where `real` is True."""
    return torch.where(real, ours - theirs, 0).square().sum() / counted_by(real, theirs)


def pairwise(ours: Tensor, theirs: Tensor, real: Tensor) -> Tensor:
    """(student layers, teacher layers): `apart` of each two layers of (layers, ...), by way of matrix products."""
    a, b = (torch.where(real, x, 0).flatten(1) for x in (ours, theirs))
    squares = a.square().sum(1)[:, None] + b.square().sum(1)
    return (squares - 2 * product(a, b.mT)).clamp(min=0) / counted_by(real, theirs[0])


def cheapest(costs: Tensor, student: Tensor, teacher: Tensor) -> Tensor:
    """(student layers, teacher layers), on the CPU: how much each pair carries in the cheapest transport.

    Args:
        costs: (student layers, teacher layers), what a unit costs on the way between them.
        student: (student layers,), what each gives, summing to one; teacher: what each takes, likewise.
    """
    import ot  # takes as long to import as several steps; only this objective needs it

    given, taken = (weights.double().cpu().numpy() for weights in (student, teacher))
    flow = ot.emd(given / given.sum(), taken / taken.sum(), costs.double().cpu().numpy())
    return torch.from_numpy(flow)


@objectives.register("emd")
class EarthMovers(nn.Module):
    """Earth mover's distance between all layers of both models: differences, weighed by the cheapest transport.

    Taps are (layers, batch, length, width) and (layers, batch, heads, query, key). The cost between two layers is the
    mean squared error of their hidden states over real tokens, and, in a second transport, that of their attention
    scores before softmax over heads and real query-key pairs; the two distances are added. BERT-EMD (Li et al., 2020).
    The loss has no gradient through the transport, whose flow is best already.

    What a layer gives or takes starts equal for all. In training it follows the costs after each call: a layer's unit
    cost is what it pays for both transports by what it carries, and the new weights are the softmax of the sum of all
    unit costs divided by each. The weights are saved with the maps: a resumed run goes on with them.

    Args:
        attention: compare attention scores too, which needs equal head numbers.
        map: when a linear map, one for all layers, stands before hidden states: always, widths-differ, never.
        update: let the weights follow the costs.
        temperature: of the softmax over weights.
    """

    version = 1
    level = "layers"
    taps: tuple[str, ...] = ("hidden", "scores")
    over = "batch"
    learns = True
    waits = "the transport is solved on the CPU, once a step"
    student_weights: Tensor
    teacher_weights: Tensor

    def __init__(
        self,
        shapes: Pair,
        *,
        attention: bool = True,
        map: MapRule = "widths-differ",
        update: bool = True,
        temperature: float = 1.0,
    ) -> None:
        super().__init__()
        if attention:
            same_heads(shapes)
        else:
            self.taps = ("hidden",)
        self.map = linear_map(map, shapes.student.width, shapes.teacher.width)
        self.update, self.temperature = update, temperature
        for side, layers in zip(("student", "teacher"), shapes.layers, strict=True):
            self.register_buffer(f"{side}_weights", torch.full((layers,), 1 / layers, dtype=torch.float64))

    def forward(self, student: Taps, teacher: Taps, batch: Batch) -> Tensor:
        ours = {"hidden": wide(self.map(wide(student["hidden"])))}
        compared = {"hidden": batch.mask[..., None]}
        if "scores" in self.taps:
            ours["scores"] = wide(student["scores"])
            compared["scores"] = batch.mask[:, None, :, None] & batch.mask[:, None, None, :]
        distances, paid = [], []
        for tap, real in compared.items():
            theirs = wide(teacher[tap])
            costs = pairwise(ours[tap].detach(), theirs.detach(), real)
            flow = cheapest(costs, self.student_weights, self.teacher_weights)
            # a cheapest transport uses few of the ways: only their layers are compared again, with a gradient
            for s, t in flow.nonzero().tolist():
                distances.append(flow[s, t].item() * apart(ours[tap][s], theirs[t], real))
            paid.append(flow * costs.double().cpu())
        if self.training and self.update:
            self.follow(torch.stack(paid).sum(0))
        return torch.stack(distances).sum()

    @torch.no_grad()
    def follow(self, paid: Tensor) -> None:
        """Nothing; the weights follow what the transports paid, (student layers, teacher layers)."""
        for weights, costs in ((self.student_weights, paid.sum(1)), (self.teacher_weights, paid.sum(0))):
            unit = costs.to(weights.device) / weights
            ratio = unit.sum() / unit.clamp(min=1e-12)
            weights.copy_(torch.softmax(ratio / self.temperature, dim=0))
