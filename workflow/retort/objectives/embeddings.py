"""Objectives that compare the output of the embeddings, which a model has once."""

from __future__ import annotations

from torch import Tensor, nn

from retort.batch import Batch
from retort.objectives.base import Activations, Pair, mean_square, objectives, wide
from retort.objectives.divergence import relation_divergence, token_weights
from retort.objectives.hidden import MapRule, linear_map


@objectives.register("embedding-mse")
class EmbeddingMSE(nn.Module):
    """Mean squared error between the mapped student's and the teacher's embedding outputs.

    Activations are (batch, length, width); the mean over real tokens and the teacher's width. TinyBERT (Jiao et al.,
    2020): L_embd = MSE(E^S W_e, E^T).

    Args:
        map: when to put a linear map before the comparison: always, widths-differ or never; see `linear_map`.
    """

    version = 1
    level = "input"
    activations = ("embeddings",)
    reduction = "tokens"
    has_parameters = True
    equal_widths = {"map": ["never"]}

    def __init__(self, shapes: Pair, *, map: MapRule = "always") -> None:
        super().__init__()
        self.map = linear_map(map, shapes.student.width, shapes.teacher.width)  # W_e, without a bias

    def forward(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        # (batch, length, student width) -> (batch, length, teacher width)
        return mean_square(self.map(wide(student["embeddings"])), teacher["embeddings"], batch.attention_mask)


@objectives.register("embedding-relation")
class EmbeddingRelation:
    """KL divergence between softmax(E E^T / sqrt(width)) of the embedding outputs, averaged over real tokens.

    Activations are (batch, length, width). MLKD-BERT (2024), eq. 1-3: L_EMB = 1/|x| sum_i KL(R_i^T || R_i^S).
    """

    version = 1
    level = "input"
    activations = ("embeddings",)
    reduction = "tokens"
    holds_relations = True

    def __init__(self, shapes: Pair) -> None:
        pass

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        ours, theirs = student["embeddings"], teacher["embeddings"]  # E^S, E^T: (batch, length, width)
        # eq. 2-3: a single head, so that the size under the root is the whole width
        return relation_divergence(
            (ours, ours), (theirs, theirs), 1, batch.attention_mask, token_weights(batch.attention_mask, 1)
        )
