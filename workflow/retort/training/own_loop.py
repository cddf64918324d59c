"""The loss of a stage in a training loop of one's own, with a teacher and a student of transformers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from pydantic import ValidationError
from torch import Tensor, nn
from transformers import PreTrainedModel

from retort.batch import Batch
from retort.errors import RetortError
from retort.models.build import SIZES, shape_of
from retort.models.encoders import ATTENTION, family_of, heads_on
from retort.models.recorder import Recorder
from retort.objectives import WeightedSum, loss_of
from retort.objectives.base import UNKNOWN, TrainingRows
from retort.settings.trainings import TermSettings
from retort.specs.loading import readable_mistakes
from retort.specs.model import Architecture
from retort.specs.student import Stage
from retort.study.check_entries import term_problems
from retort.training.how.micro_batches import TrainingLoss, Values


def loss(
    terms: Sequence[Mapping[str, Any]],
    *,
    teacher: PreTrainedModel,
    student: PreTrainedModel,
    initial_layers: list[int] | None = None,
    train_labels: Sequence[float] | None = None,
) -> StageLoss:
    """Return the loss of a stage as a module: call it with a batch of transformers, train its parameters as well.

    Both models get the attention of the workflow, and the teacher is put into eval mode.

    Args:
        terms: the terms of a stage as in YAML: objective, mapping, weight, options.
        teacher: a model of transformers, not wrapped.
        student: another one that reads the same input ids; whoever trains it sets its mode.
        initial_layers: the teacher layers that the student starts from, for the mapping 'initial'.
        train_labels: the label of each training row, for objectives that contrast them.

    Raises:
        RetortError: a key or value of the terms is wrong, or an objective does not fit the models.
    """
    for side, model in (("teacher", teacher), ("student", student)):
        _check_model(side, model)
    stage = _checked_stage(terms, teacher, student, initial_layers)
    layers = [_architecture(model).layers for model in (student, teacher)]
    settings = [TermSettings.of(term, *layers, initial_layers) for term in stage.terms]
    rows = UNKNOWN if train_labels is None else TrainingRows(len(train_labels), np.asarray(train_labels))
    composed = loss_of(settings, shape_of(student, _outputs(student)), shape_of(teacher, _outputs(teacher)), rows)
    recorders = {}
    for side, model in (("teacher", teacher.eval()), ("student", student)):
        keys = composed.reads(side)
        if ("logits", None) in keys and not heads_on(model).keys() - {"pooler"}:
            what = f"the loss reads the logits of the {side}, and a {type(model).__name__} has no head"
            raise RetortError(what, "load it as AutoModelForSequenceClassification or another class with one")
        recorders[side] = Recorder(model, keys)
    return StageLoss(composed.to(student.device), TrainingLoss(composed, **recorders), _is_masked_lm(student))


class StageLoss(nn.Module):
    """The loss of a stage; its parameters are those of the objectives, such as linear maps, and of no model."""

    def __init__(self, terms: WeightedSum, compare: TrainingLoss, by_token: bool) -> None:
        super().__init__()
        self.terms, self.compare, self.by_token = terms, compare, by_token

    def forward(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Values]:
        """Return the scalar loss of a batch, and objective -> weighted value of each term, without a graph.

        Args:
            batch: what a model of transformers takes, on its device: input_ids and attention_mask, (batch, length),
                token_type_ids, and labels or start_positions and end_positions; next to them, for objectives that
                contrast training rows, `rows`: their numbers in the data set, (batch,).
        """
        return self.compare(_batch_of(batch, self.by_token))


def _check_model(side: str, model: object) -> None:
    """Check that hooks can be set on a model, and give it the attention of the workflow, whose masks have its form."""
    if not isinstance(model, PreTrainedModel):
        what = f"the {side} is a {type(model).__name__}, not a model of transformers"
        raise RetortError(what, "give the model itself, as from_pretrained returns it, not what wraps it")
    family_of(model.config)
    model.set_attn_implementation(ATTENTION)


def _checked_stage(
    terms: Sequence[Mapping[str, Any]], teacher: Any, student: Any, initial_layers: list[int] | None
) -> Stage:
    """Return the terms as a stage, checked as those of a file.

    Raises:
        RetortError: a key or value is wrong, or a term does not fit the models.
    """
    content = {"data": "corpus" if _is_masked_lm(student) else "task", "terms": list(terms)}
    try:
        stage = Stage.model_validate(content)
    except ValidationError as error:
        raise RetortError("; ".join(readable_mistakes(error, content))) from None
    if lines := list(_misfits(stage, student, teacher, initial_layers)):
        raise RetortError("; ".join(lines))
    return stage


def _misfits(stage: Stage, student: Any, teacher: Any, initial_layers: list[int] | None) -> Iterator[str]:
    """Yield each reason why the loss of a stage cannot be computed for two models."""
    sizes = [model.config.vocab_size for model in (student, teacher)]
    if sizes[0] != sizes[1]:
        yield f"the student reads {sizes[0]} tokens and its teacher {sizes[1]}; both must read the same input ids"
    for number, term in enumerate(stage.terms, start=1):
        for line in term_problems(term, _architecture(student), _architecture(teacher), initial_layers):
            yield f"terms.{number}{line}"


def _architecture(model: Any) -> Architecture:
    return Architecture(**{size: getattr(model.config, key) for size, key in SIZES.items() if size != "embedding"})


def _is_masked_lm(model: Any) -> bool:
    return family_of(model.config).masked_lm[0] in heads_on(model)


def _outputs(model: Any) -> int:
    """Return the number of outputs of a model's head."""
    outputs: int = model.config.vocab_size if _is_masked_lm(model) else model.config.num_labels
    return outputs


def _batch_of(fields: Mapping[str, Tensor], by_token: bool) -> Batch:
    """Return a batch of transformers as objectives read it; `by_token`: labels are input ids, or -100 (masked-LM)."""
    input_ids, found, rows = fields["input_ids"], dict(fields), fields.get("rows")
    if "start_positions" in found:
        found["labels"] = torch.stack([found["start_positions"], found["end_positions"]], dim=-1)
    labels, positions = found.get("labels"), None
    if by_token and labels is not None:
        positions = labels.flatten().ne(-100).nonzero().flatten()  # (positions,) in the flat batch
        labels = labels.flatten()[positions]
    return Batch(
        input_ids=input_ids,
        token_type_ids=found.get("token_type_ids", torch.zeros_like(input_ids)),
        attention_mask=found.get("attention_mask", torch.ones_like(input_ids)).bool(),
        labels=labels,
        rows=rows if rows is None else rows.cpu(),
        positions=positions,
    )
