"""An objective that compares many layers with many layers, matched by the cheapest transport."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from retort.batch import Batch
from retort.objectives.base import Activations, Pair, in_float32, objectives, precise_product
from retort.objectives.hidden import MapRule, linear_map


def count_of(real: Tensor, like: Tensor) -> Tensor:
    """Return the number of elements of `like` where `real`, broadcast to its shape, is True; at least 1."""
    return real.sum().clamp(min=1) * (like.numel() // real.numel())  # x width, or x heads


def layer_cost(ours: Tensor, theirs: Tensor, real: Tensor) -> Tensor:
    """Return the scalar mean squared difference of two layers' tensors where `real` is True."""
    return torch.where(real, ours - theirs, 0).square().sum() / count_of(real, theirs)


def layer_costs(ours: Tensor, theirs: Tensor, real: Tensor) -> Tensor:
    """Return `layer_cost` for all pairs of layers of (layers, ...) tensors, (student layers, teacher layers)."""
    a, b = (torch.where(real, x, 0).flatten(1) for x in (ours, theirs))  # (layers, numbers of a layer)
    squares = a.square().sum(1)[:, None] + b.square().sum(1)  # |a|^2 + |b|^2: (student layers, teacher layers)
    # |a - b|^2 = |a|^2 + |b|^2 - 2 a.b, which rounding may bring below 0
    return (squares - 2 * precise_product(a, b.mT)).clamp(min=0) / count_of(real, theirs[0])


def copy_to_host(*tensors: Tensor) -> list[Tensor]:
    """Copy tensors to the CPU in float64, all in one copy, because each copy waits for the GPU."""
    copied = torch.cat([tensor.double().flatten() for tensor in tensors]).cpu()
    parts = torch.split(copied, [tensor.numel() for tensor in tensors])
    return [part.view_as(tensor) for part, tensor in zip(parts, tensors, strict=True)]


def cheapest_flow(costs: Tensor, student: Tensor, teacher: Tensor) -> Tensor:
    """Return the flow of the cheapest transport between all pairs of layers, (student layers, teacher layers).

    The flow F minimises sum_ij F_ij costs_ij; its rows sum to `student` and its columns to `teacher`, both scaled to
    sum to one. All tensors are in float64 on the CPU.

    Args:
        costs: the cost of one unit between each pair of layers, (student layers, teacher layers).
        student: the weight of each student layer, (student layers,).
        teacher: the weight of each teacher layer, (teacher layers,).
    """
    import ot  # slow to import, and only this objective needs it

    supply, demand = student.numpy(), teacher.numpy()
    flow = ot.emd(supply / supply.sum(), demand / demand.sum(), costs.numpy())
    return torch.from_numpy(flow)


Smoothing = Literal["softmax", "share"]


def ratios(weights: Tensor, paid: Tensor) -> Tensor:
    """Return sum of all unit costs / own unit cost for each layer, (layers,), with unit cost = `paid` / `weights`.

    The ratio is large for a cheap layer. It is infinite for a layer that costs nothing, and NaN for a layer of weight
    0, whose unit cost is unknown.
    """
    unit = paid / weights  # (layers,)
    return unit.sum() / unit


@objectives.register("emd")
class EarthMovers(nn.Module):
    """Earth mover's distance between all layers of both models: differences weighted by the cheapest transport.

    Activations are (layers, batch, length, width) and (layers, batch, heads, query, key). There are two transports,
    each with a distance sum_ij F_ij C_ij of flow F and cost C, and the value is their sum. In the first, the cost
    between two layers is the mean squared error of their hidden states over real tokens. In the second, it is that of
    their attention scores before softmax, over heads and real query-key pairs. BERT-EMD (Li et al., 2020). The flow is
    a constant in the gradient: it is a minimum already.

    The weight of a layer is what it gives or takes in the transport. At first all layers have the same. In training,
    the weights are updated after each call, by ratios: a layer's unit cost is what it pays divided by its weight, and
    its ratio is the sum of all unit costs divided by its own. Checkpoints hold the weights. If a cost or weight is not
    finite, the loss is NaN and the run diverges; a cost of exactly zero between two equal layers leads to such weights.

    Args:
        attention: compare attention scores too; both models then need equal numbers of heads.
        map: when to put a linear map, one for all layers, before the hidden states: always, widths-differ or never.
        update: update the weights in training.
        smoothing: how ratios become weights. "softmax": the softmax over layers of the ratios of both transports
            together, as in the paper; one cheap layer soon has nearly all the weight. "share": the ratio divided by the
            sum of all ratios, averaged over both transports, as in the released code.
        temperature: temperature of the softmax.
    """

    level = "layers"
    activations: tuple[str, ...] = ("hidden", "scores")
    joint = True
    equal_widths = {"map": ["never"]}
    equal_heads = {"attention": [True]}
    synchronises = "the transport is solved on the CPU, to which all costs are copied once a step"
    student_weights: Tensor
    teacher_weights: Tensor
    limits = {"temperature": {"ge": 0.001, "le": 1000}}

    def __init__(
        self,
        shapes: Pair,
        *,
        attention: bool = True,
        map: MapRule = "widths-differ",
        update: bool = True,
        smoothing: Smoothing = "softmax",
        temperature: float = 1.0,
    ) -> None:
        super().__init__()
        self.smoothing = smoothing
        if not attention:
            self.activations = ("hidden",)
        self.map = linear_map(map, shapes.student.width, shapes.teacher.width)
        self.update, self.temperature = update, temperature
        for side, layers in zip(("student", "teacher"), shapes.layers, strict=True):
            self.register_buffer(f"{side}_weights", torch.full((layers,), 1 / layers, dtype=torch.float64))

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        # (layers, batch, length, teacher width)
        ours = {"hidden": in_float32(self.map(in_float32(student["hidden"])))}
        compared = {"hidden": batch.attention_mask[..., None]}  # (batch, length, 1)
        if "scores" in self.activations:
            ours["scores"] = in_float32(student["scores"])
            # (batch, 1, query, key)
            compared["scores"] = batch.attention_mask[:, None, :, None] & batch.attention_mask[:, None, None, :]
        each_costs = [  # C: (student layers, teacher layers)
            layer_costs(ours[activation].detach(), in_float32(teacher[activation]).detach(), real)
            for activation, real in compared.items()
        ]
        copies = copy_to_host(self.student_weights, self.teacher_weights, *each_costs)
        student_weights, teacher_weights, *each_costs = copies
        if not all(x.isfinite().all() for x in (student_weights, teacher_weights, *each_costs)):
            return ours["hidden"].sum() * torch.nan  # the training loop reports the divergence with its step
        distances, paid = [], []
        for (activation, real), costs in zip(compared.items(), each_costs, strict=True):
            flow = cheapest_flow(costs, student_weights, teacher_weights)  # F
            # most flows are 0: only the pairs with a flow are compared again, this time with a gradient
            for s, t in flow.nonzero().tolist():
                pair = ours[activation][s], in_float32(teacher[activation][t])
                distances.append(flow[s, t].item() * layer_cost(*pair, real))  # F_st C_st
            paid.append(flow * costs)
        if self.training and self.update:
            self.update_weights(paid)
        return torch.stack(distances).sum()

    @torch.no_grad()
    def update_weights(self, paid: list[Tensor]) -> None:
        """Update the weights of all layers from what each transport paid, (student layers, teacher layers)."""
        if not any(each.any() for each in paid):
            return  # the models agree in all layers: no layer is cheaper than others
        for weights, dim in ((self.student_weights, 1), (self.teacher_weights, 0)):
            weights.copy_(self.new_weights(weights, paid, dim))

    def new_weights(self, weights: Tensor, paid: list[Tensor], dim: int) -> Tensor:
        """Return the new weights (layers,) of one model, which sum to one; `dim` of `paid` is the other model's."""
        if self.smoothing == "softmax":
            costs = torch.stack(paid).sum(0).sum(dim).to(weights.device)  # (layers,)
            return torch.softmax(ratios(weights, costs) / self.temperature, dim=0)
        each_costs = [each.sum(dim).to(weights.device) for each in paid]  # (layers,) of each transport
        shares = [each / each.sum() for each in (ratios(weights, costs) for costs in each_costs)]
        return torch.stack(shares).mean(0)
