"""Objectives on what the models predict."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from retort.objectives.base import Batch, Pair, Taps, objectives, required, wide


@objectives.register("supervised")
class Supervised:
    """Cross-entropy with the labels; the mean squared error where there is a single class (regression).

    Reads the student's logits (batch, classes) and the labels (batch,). The supervision term of Wang et al. (2023),
    section 3, 'Prediction Layer Transfer'.
    """

    version = 1
    level = "output"
    taps = ("logits",)
    teacher_taps = ()

    def __init__(self, shapes: Pair) -> None:
        self.regression = shapes.student.classes == 1

    def __call__(self, student: Taps, teacher: Taps, batch: Batch) -> Tensor:
        logits, labels = wide(student["logits"]), required(batch.labels, "supervised")
        if self.regression:
            return F.mse_loss(logits.squeeze(-1), labels.to(logits.dtype))
        return F.cross_entropy(logits, labels)


@objectives.register("soft-labels")
class SoftLabels:
    """Cross-entropy of the student's distribution with the teacher's, at one temperature for both.

    Logits are (batch, classes), or (positions, vocabulary) for masked-LM; the mean over the first. Udagawa et al.
    (2023), eq. 5, with the factor T^2; Wang et al. (2023), L_pred, and MLKD-BERT (2024), eq. 18, are without it (the
    latter is the divergence, which differs by the teacher's entropy and has the same gradient). Where there is a
    single class there is no distribution: the mean squared error to the teacher's score, whatever the temperature.

    Args:
        temperature: divides both models' logits.
        squared: multiply by the temperature's square, which keeps the gradient's size as the temperature rises.
    """

    version = 1
    level = "output"
    taps = ("logits",)

    def __init__(self, shapes: Pair, *, temperature: float = 1.0, squared: bool = True) -> None:
        self.regression = shapes.student.classes == 1
        self.temperature = temperature
        self.factor = temperature**2 if squared else 1.0

    def __call__(self, student: Taps, teacher: Taps, batch: Batch) -> Tensor:
        predicted, target = wide(student["logits"]), wide(teacher["logits"])
        if self.regression:
            return F.mse_loss(predicted, target)
        targets = F.softmax(target / self.temperature, dim=-1)
        return self.factor * F.cross_entropy(predicted / self.temperature, targets)


@objectives.register("masked-lm")
class MaskedLM:
    """Cross-entropy with the tokens that were masked out.

    Reads the student's logits (positions, vocabulary) and the labels (positions,). A label of -100 fills a position
    up and does not count. The L_mlm of Wang et al. (2023), section 3.
    """

    version = 1
    level = "output"
    taps = ("logits",)
    teacher_taps = ()

    def __init__(self, shapes: Pair) -> None:
        pass

    def __call__(self, student: Taps, teacher: Taps, batch: Batch) -> Tensor:
        labels = required(batch.labels, "masked-lm")
        losses = F.cross_entropy(wide(student["logits"]), labels, ignore_index=-100, reduction="sum")
        return losses / torch.ne(labels, -100).sum().clamp(min=1)
