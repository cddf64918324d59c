"""Objectives that compare the output of the embeddings, which a model has once."""

from __future__ import annotations

from torch import Tensor, nn

from retort.batch import Batch
from retort.objectives.base import REDUCTIONS, Activations, MeanOver, Pair, mean_square, objectives, wide
from retort.objectives.hidden import MapRule, linear_map
from retort.objectives.relation_forms.choice import WEIGHTS, relation_divergence


@objectives.register("embedding-mse")
class EmbeddingMSE(nn.Module):
    """Mean squared error between the mapped student's and the teacher's embedding outputs.

    Activations are (batch, length, width); the mean over real tokens and the teacher's width. TinyBERT (Jiao et al.,
    2020): L_embd = MSE(E^S W_e, E^T).

    Args:
        map: when to put a linear map before the comparison: always, widths-differ or never; see `linear_map`.
        mean_over: take the mean over all tokens of the batch ("tokens"), or over texts of each text's mean ("texts").
    """

    version = 1
    level = "input"
    activations = ("embeddings",)
    reduction = "tokens"
    has_parameters = True
    equal_widths = {"map": ["never"]}

    def __init__(self, shapes: Pair, *, map: MapRule = "always", mean_over: MeanOver = "tokens") -> None:
        super().__init__()
        self.map = linear_map(map, shapes.student.width, shapes.teacher.width)  # W_e, without a bias
        self.mean_over, self.reduction = mean_over, REDUCTIONS[mean_over]

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        # (batch, length, student width) -> (batch, length, teacher width)
        mapped = self.map(wide(student["embeddings"]))
        return mean_square(mapped, teacher["embeddings"], batch.attention_mask, self.mean_over)


def embedding_divergence(student: Tensor, teacher: Tensor, batch: Batch, mean_over: MeanOver) -> Tensor:
    """Return the mean over real tokens of KL(R_i^T || R_i^S), where R = softmax(E E^T / sqrt(width))."""
    weights = WEIGHTS[mean_over](batch.attention_mask, 1)
    # E^S, E^T: (batch, length, width); a single head, so that the size under the root is the whole width
    return relation_divergence((student, student), (teacher, teacher), 1, batch.attention_mask, weights)


@objectives.register("embedding-relation")
class EmbeddingRelation:
    """KL divergence between softmax(E E^T / sqrt(width)) of the embedding outputs, averaged over real tokens.

    Activations are (batch, length, width). MLKD-BERT (2024), eq. 1-3: L_EMB = 1/|x| sum_i KL(R_i^T || R_i^S).

    Args:
        mean_over: take the mean over all tokens of the batch ("tokens"), or over texts of each text's mean ("texts").
    """

    version = 1
    level = "input"
    activations = ("embeddings",)
    reduction = "tokens"
    holds_relations = True

    def __init__(self, shapes: Pair, *, mean_over: MeanOver = "tokens") -> None:
        self.mean_over, self.reduction = mean_over, REDUCTIONS[mean_over]

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        return embedding_divergence(student["embeddings"], teacher["embeddings"], batch, self.mean_over)


@objectives.register("word-relation")
class WordRelation:
    """KL divergence between softmax(E E^T / sqrt(width)) of normalised word embeddings, averaged over real tokens.

    Activations are (batch, length, width): word embeddings after the layer norm of the embeddings, without those of
    positions and token types, and without dropout. L_EMB in the released code of MLKD-BERT (2024), whose text has
    'embedding-relation'.

    Args:
        mean_over: take the mean over all tokens of the batch ("tokens"), or over texts of each text's mean ("texts").
    """

    version = 1
    level = "input"
    activations = ("words",)
    reduction = "tokens"
    holds_relations = True

    def __init__(self, shapes: Pair, *, mean_over: MeanOver = "tokens") -> None:
        self.mean_over, self.reduction = mean_over, REDUCTIONS[mean_over]

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        return embedding_divergence(student["words"], teacher["words"], batch, self.mean_over)
