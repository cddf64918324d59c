"""Objectives on the predictions of the models."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from retort.batch import Batch
from retort.objectives.base import NEVER, Activations, Pair, in_float32, objectives, required_values


def choices(logits: Tensor, mask: Tensor) -> Tensor:
    """Return logits of shape (rows, choices), with one distribution in each row.

    Args:
        logits: (batch, num_labels) or (positions, vocabulary), returned unchanged; or (batch, length, 2), the start and
            the end of an answer, returned as two rows for each example, (batch * 2, length).
        mask: (batch, length), True at real tokens: an answer neither starts nor ends in padding.
    """
    if logits.dim() == 2:
        return logits
    return logits.masked_fill(~mask[..., None], NEVER).transpose(1, 2).flatten(0, 1)  # (batch * 2, length)


@objectives.register("supervised")
class Supervised:
    """Cross-entropy with the labels; the mean squared error where num_labels is 1 (regression).

    Reads the student's logits (batch, num_labels) and the labels (batch,); for extractive question answering, logits
    (batch, length, 2) and the positions (batch, 2) of start and end, whose losses are averaged. The supervision loss
    L_ce of Wang et al. (2023), section 3, 'Prediction Layer Transfer'.
    """

    data = "task"
    level = "output"
    reduction = "examples"
    activations = ("logits",)
    teacher_activations = ()

    def __init__(self, shapes: Pair) -> None:
        self.regression = shapes.student.num_labels == 1

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        logits, labels = in_float32(student["logits"]), required_values(batch.labels, "supervised")
        if self.regression:
            return F.mse_loss(logits.squeeze(-1), labels.to(logits.dtype))  # (batch, 1) -> (batch,)
        return F.cross_entropy(choices(logits, batch.attention_mask), labels.flatten())  # spans: (batch * 2,) labels


@objectives.register("soft-labels")
class SoftLabels:
    """Cross-entropy of the student's distribution with the teacher's, at one temperature for both.

    Logits are (batch, num_labels), (positions, vocabulary) for masked-LM, or (batch, length, 2) for start and end of an
    answer; the mean over the first dimension, and over start and end. Udagawa et al. (2023), eq. 5:
    L_OD = T^2 CE(softmax(z^T / T), softmax(z^S / T)); Wang et al. (2023), L_pred, without the factor T^2; MLKD-BERT
    (2024), eq. 18, without it and as the KL divergence. Where num_labels is 1 there is no distribution, and the value
    is the mean squared error to the teacher's score, whatever the temperature.

    Args:
        temperature: T, which divides both models' logits.
        squared: multiply by T^2, which keeps the size of the gradient as T rises.
        divergence: subtract the teacher's entropy, so that the value is the KL divergence; the gradient is the same.
        class_mean: take the mean over classes, as in the released code of several methods, in place of the sum. Start
            and end of an answer have no classes and keep the sum.
    """

    level = "output"
    activations = ("logits",)
    reduction = "predictions"
    limits = {"temperature": {"ge": 0.001, "le": 1000}}

    def __init__(
        self,
        shapes: Pair,
        *,
        temperature: float = 1.0,
        squared: bool = True,
        divergence: bool = False,
        class_mean: bool = False,
    ) -> None:
        self.regression = shapes.student.num_labels == 1
        self.temperature = temperature
        self.factor = temperature**2 if squared else 1.0
        self.divergence, self.class_mean = divergence, class_mean

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        predicted, target = in_float32(student["logits"]), in_float32(teacher["logits"])
        if self.regression:
            # (batch, 1): a softmax over one number is always 1
            return F.mse_loss(predicted, target)
        factor = self.factor / predicted.shape[-1] if self.class_mean and predicted.dim() == 2 else self.factor
        predicted, target = (choices(x / self.temperature, batch.attention_mask) for x in (predicted, target))  # z / T
        if self.divergence:
            log_p, log_q = F.log_softmax(target, dim=-1), F.log_softmax(predicted, dim=-1)
            return factor * F.kl_div(log_q, log_p, reduction="batchmean", log_target=True)  # eq. 18
        return factor * F.cross_entropy(predicted, F.softmax(target, dim=-1))  # eq. 5


@objectives.register("masked-lm")
class MaskedLM:
    """Cross-entropy of the student's predictions with the tokens that were masked out.

    Reads the student's logits (positions, vocabulary) and the labels (positions,). A label of -100 marks a position
    that does not count. L_mlm of Wang et al. (2023), section 3.
    """

    data = "corpus"
    level = "output"
    activations = ("logits",)
    teacher_activations = ()
    reduction = "labels"

    def __init__(self, shapes: Pair) -> None:
        pass

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        labels = required_values(batch.labels, "masked-lm")
        losses = F.cross_entropy(in_float32(student["logits"]), labels, ignore_index=-100, reduction="sum")
        return losses / torch.ne(labels, -100).sum().clamp(min=1)  # a batch without a masked token has loss 0, not NaN
