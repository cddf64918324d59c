"""Objectives that compare how the tokens of an example relate to each other inside one layer."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from retort.batch import Batch
from retort.objectives.base import REDUCTIONS, Activations, MeanOver, Pair, counted, objectives, one_of
from retort.objectives.relation_forms.choice import WEIGHTS, relation_divergence, text_weights, token_weights

LETTERS = {"q": "queries", "k": "keys", "v": "values"}
Letters = Literal["q-q", "q-k", "q-v", "k-q", "k-k", "k-v", "v-q", "v-k", "v-v"]
Normaliser = Literal["mean", "mean-of-texts", "sum-over-heads", "sum"]


@objectives.register("value-relation")
class ValueRelation:
    """KL divergence between softmax(V V^T / sqrt(head size)) of the values, averaged over heads and real tokens.

    Activations are (batch, length, width), split into the teacher's number of heads. The second term of MiniLM (Wang
    et al., 2020); 'Val-KL' of Wang et al. (2023), section 3.

    Args:
        padded_queries: let padding count as rows of V V^T.
        padded_keys: let padding count as columns of V V^T.
        floor: student probabilities below it are raised to it; 0 leaves them as they are.
    """

    version = 1
    activations = ("values",)
    reduction = "tokens"
    divides_widths = ("teacher",)
    reads_padding = {"padded_queries": [True], "padded_keys": [True]}
    holds_relations = True
    limits = {"floor": {"ge": 0, "lt": 1}}

    def __init__(
        self, shapes: Pair, *, padded_queries: bool = False, padded_keys: bool = False, floor: float = 0.0
    ) -> None:
        self.heads = shapes.teacher.heads
        self.padded_queries, self.padded_keys, self.floor = padded_queries, padded_keys, floor
        self.reduction = "examples" if padded_queries else "tokens"  # with padding all examples have as many

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        weights = token_weights(counted(batch, self.padded_queries), self.heads)  # (batch, row)
        keys = counted(batch, self.padded_keys)  # (batch, column)
        ours, theirs = student["values"], teacher["values"]  # V: (batch, length, width)
        return relation_divergence((ours, ours), (theirs, theirs), self.heads, keys, weights, self.floor)


@objectives.register("relations")
class Relations:
    """KL divergence between relations of queries, keys and values, split into relation heads; a sum over the pairs.

    Activations are (batch, length, width). MiniLMv2 (Wang et al., 2021), eq. 5-8: L = sum_ij alpha_ij L_ij, where
    L_ij = 1/(A_r |x|) sum_a sum_t KL(R_ij,a,t^T || R_ij,a,t^S) and R_ij,a = softmax(A_i,a A_j,a^T / sqrt(d_r)). Udagawa
    et al. (2023), eq. 7-9, write the cross-entropy, which differs by the teacher's entropy and has the same gradient.

    Args:
        pairs: which of the nine relations to compare: "q-q", "q-k", ..., "v-v".
        heads: number of relation heads (A_r); it must divide both widths.
        weights: a factor for each of the pairs (alpha in eq. 5); None gives each the factor 1.
        normaliser: "mean" averages over heads and the real tokens of a batch; "mean-of-texts" over heads and the tokens
            of each text, for which MiniLMv2 writes eq. 6, and then over texts. Udagawa et al., eq. 7, has no division:
            "sum-over-heads" sums over heads and averages over real tokens, "sum" sums over heads and the
            tokens of an example and averages over examples.
        padded_queries: let padding count as rows of a relation.
        padded_keys: let padding count as columns of a relation.
    """

    version = 1
    activations: tuple[str, ...] = ("queries", "keys", "values")
    reduction = "tokens"
    divides_widths = ("heads",)
    holds_relations = True
    equal_lengths = ("pairs", "weights")
    reads_padding = {"padded_queries": [True], "padded_keys": [True]}
    limits = {"weights": {"ge": 0, "le": 1000000}}

    def __init__(
        self,
        shapes: Pair,
        *,
        pairs: list[Letters] = ["q-q", "k-k", "v-v"],  # noqa: B006 - read, never written; YAML has lists
        heads: int = 48,
        weights: list[float] | None = None,
        normaliser: Normaliser = "mean",
        padded_queries: bool = False,
        padded_keys: bool = False,
    ) -> None:
        chosen = [one_of("relation", pair, get_args(Letters)) for pair in pairs]
        self.pairs = [tuple(LETTERS[letter] for letter in pair.split("-")) for pair in chosen]
        self.weights = [1.0] * len(pairs) if weights is None else weights
        self.activations = tuple(sorted({activation for pair in self.pairs for activation in pair}))
        self.heads = heads
        self.normaliser = one_of("normaliser", normaliser, get_args(Normaliser))
        # with padding all examples have as many tokens
        self.reduction = "examples" if normaliser in ("sum", "mean-of-texts") or padded_queries else "tokens"
        self.padded_queries, self.padded_keys = padded_queries, padded_keys

    def weights_of(self, queries: Tensor) -> Tensor:
        """Return the weight of each row in the sum over heads and rows, (batch, length)."""
        if self.normaliser == "mean-of-texts":
            return text_weights(queries, self.heads)
        if self.normaliser == "sum":
            return queries.double() / queries.shape[0]  # 1 / batch for each token that counts
        return token_weights(queries, self.heads if self.normaliser == "mean" else 1)

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        # (batch, row), (batch, column)
        weights, keys = self.weights_of(counted(batch, self.padded_queries)), counted(batch, self.padded_keys)
        losses = []
        for (a, b), weight in zip(self.pairs, self.weights, strict=True):
            ours, theirs = (student[a], student[b]), (teacher[a], teacher[b])  # A_i, A_j: (batch, length, width)
            losses.append(weight * relation_divergence(ours, theirs, self.heads, keys, weights))  # alpha_ij L_ij
        return torch.stack(losses).sum()


@objectives.register("hidden-relation")
class HiddenRelation:
    """KL divergence between relations of the hidden states, averaged over heads and real tokens.

    Activations are (batch, length, width). MLKD-BERT (2024), Table 6: eq. 8 applied to the feed-forward sub-layer.

    Args:
        heads: number of parts that the width is split into; None takes the student's attention heads.
        mean_over: take the mean over all tokens of the batch ("tokens"), or over texts of each text's mean ("texts").
    """

    version = 1
    activations = ("hidden",)
    reduction = "tokens"
    divides_widths = ("heads", "student")
    holds_relations = True

    def __init__(self, shapes: Pair, *, heads: int | None = None, mean_over: MeanOver = "tokens") -> None:
        self.heads = shapes.student.heads if heads is None else heads
        self.mean_over, self.reduction = mean_over, REDUCTIONS[mean_over]

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        ours, theirs, mask = student["hidden"], teacher["hidden"], batch.attention_mask
        weights = WEIGHTS[self.mean_over](mask, self.heads)
        return relation_divergence((ours, ours), (theirs, theirs), self.heads, mask, weights)  # H H^T in eq. 8
