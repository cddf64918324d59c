"""Objectives that compare how the tokens of an example, or outputs of its heads, relate to each other in one layer."""

from __future__ import annotations

import random
from typing import Literal

import torch
from torch import Tensor

from retort.batch import Batch
from retort.objectives.base import (
    REDUCTIONS,
    Activations,
    MeanOver,
    Pair,
    counted_tokens,
    hash_integers,
    in_float32,
    objectives,
    required_values,
)
from retort.objectives.relation_forms.choice import relation_divergence

LETTERS = {"q": "queries", "k": "keys", "v": "values"}
Letters = Literal["q-q", "q-k", "q-v", "k-q", "k-k", "k-v", "v-q", "v-k", "v-v"]
Normaliser = Literal["mean", "mean-of-texts", "sum-over-heads", "sum"]
Split = Literal["concat", "average", "random"]


def token_weights(tokens: Tensor, heads: int) -> Tensor:
    """Return (batch, length) weights: a sum over heads and rows with them is the mean over heads and `tokens`."""
    return tokens / (tokens.sum().clamp(min=1).double() * heads)  # 1 / (A_r |x|) of MiniLMv2 (Wang et al., 2021), eq. 6


def text_weights(tokens: Tensor, heads: int) -> Tensor:
    """Return (batch, length) weights: a sum over heads and rows with them is the mean of each text's mean."""
    return tokens / (tokens.sum(1, keepdim=True).clamp(min=1).double() * heads * len(tokens))  # |x| of each text


def own_divergence(
    student: Tensor, teacher: Tensor, heads: int, batch: Batch, mean_over: MeanOver, count_padding: bool
) -> Tensor:
    """Return the mean over heads and tokens of KL(R_i^T || R_i^S), where R = softmax(X X^T / sqrt(head size)).

    Args:
        student: X of the student, (batch, length, width).
        teacher: X of the teacher, (batch, length, teacher width).
        heads: number of heads that both widths are split into.
        batch: the batch.
        mean_over: the mean over all tokens of the batch, or over texts of each text's mean.
        count_padding: whether padding counts as rows and columns of R.
    """
    mask = counted_tokens(batch, count_padding)
    weights = (text_weights if mean_over == "texts" else token_weights)(mask, heads)
    return relation_divergence((student, student), (teacher, teacher), heads, mask, weights)


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

    activations = ("values",)
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
        weights = token_weights(counted_tokens(batch, self.padded_queries), self.heads)  # (batch, row)
        keys = counted_tokens(batch, self.padded_keys)  # (batch, column)
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

    activations: tuple[str, ...] = ("queries", "keys", "values")
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
        self.pairs = [tuple(LETTERS[letter] for letter in pair.split("-")) for pair in pairs]
        self.weights = [1.0] * len(pairs) if weights is None else weights
        self.activations = tuple(sorted({activation for pair in self.pairs for activation in pair}))
        self.heads = heads
        self.normaliser = normaliser
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
        weights, keys = (
            self.weights_of(counted_tokens(batch, self.padded_queries)),
            counted_tokens(batch, self.padded_keys),
        )
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
        count_padding: let padding count like real tokens, as rows and as columns of the relations.
    """

    activations = ("hidden",)
    divides_widths = ("heads", "student")
    holds_relations = True
    reads_padding = {"count_padding": [True]}

    def __init__(
        self, shapes: Pair, *, heads: int | None = None, mean_over: MeanOver = "tokens", count_padding: bool = False
    ) -> None:
        self.heads = shapes.student.heads if heads is None else heads
        self.mean_over, self.count_padding = mean_over, count_padding
        self.reduction = "examples" if count_padding else REDUCTIONS[mean_over]

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        ours, theirs = student["hidden"], teacher["hidden"]  # H H^T in eq. 8
        return own_divergence(ours, theirs, self.heads, batch, self.mean_over, self.count_padding)


@objectives.register("embedding-relation")
class EmbeddingRelation:
    """KL divergence between softmax(E E^T / sqrt(width)) of the embedding outputs, averaged over real tokens.

    Activations are (batch, length, width). MLKD-BERT (2024), eq. 1-3: L_EMB = 1/|x| sum_i KL(R_i^T || R_i^S).

    Args:
        mean_over: take the mean over all tokens of the batch ("tokens"), or over texts of each text's mean ("texts").
        count_padding: let padding count like real tokens, as rows and as columns of the relations.
    """

    level = "input"
    activations = ("embeddings",)
    holds_relations = True
    reads_padding = {"count_padding": [True]}

    def __init__(self, shapes: Pair, *, mean_over: MeanOver = "tokens", count_padding: bool = False) -> None:
        self.mean_over, self.count_padding = mean_over, count_padding
        self.reduction = "examples" if count_padding else REDUCTIONS[mean_over]

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        ours, theirs = student["embeddings"], teacher["embeddings"]
        return own_divergence(ours, theirs, 1, batch, self.mean_over, self.count_padding)


@objectives.register("word-relation")
class WordRelation:
    """KL divergence between softmax(E E^T / sqrt(width)) of normalised word embeddings, averaged over real tokens.

    Activations are (batch, length, width): word embeddings after the layer norm of the embeddings, without those of
    positions and token types, and without dropout. L_EMB in the released code of MLKD-BERT (2024), whose text has
    'embedding-relation'.

    Args:
        mean_over: take the mean over all tokens of the batch ("tokens"), or over texts of each text's mean ("texts").
        count_padding: let padding count like real tokens, as rows and as columns of the relations.
    """

    level = "input"
    activations = ("words",)
    holds_relations = True
    reads_padding = {"count_padding": [True]}

    def __init__(self, shapes: Pair, *, mean_over: MeanOver = "tokens", count_padding: bool = False) -> None:
        self.mean_over, self.count_padding = mean_over, count_padding
        self.reduction = "examples" if count_padding else REDUCTIONS[mean_over]

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        ours, theirs = student["words"], teacher["words"]
        return own_divergence(ours, theirs, 1, batch, self.mean_over, self.count_padding)


@objectives.register("mha-output-relation")
class OutputRelation:
    """KL divergence between relations of the attention heads' outputs, averaged over splits and real tokens.

    Activations are (batch, length, width), before the output projection. MLKD-BERT (2024), eq. 8-10, where A_s is the
    number of splits: L_MHA = 1/(A_s |x|) sum_a sum_i KL(R_a,i^T || R_a,i^S) and R_a = softmax(O_a O_a^T / sqrt(d_s)).
    Section 4.5 has the two other ways to reduce the teacher's heads to the number of splits.

    Args:
        splits: number of splits of both outputs; None takes the student's attention heads.
        split: "concat" keeps the outputs of all teacher heads in a split, side by side; "average" takes their mean;
            "random" takes one of them.
        redraw: with "random", draw the teacher's heads for each batch, from the seed and the numbers of its rows; else
            they are drawn once.
        seed: seed of these draws.
        dropout: take the outputs from the forward passes, with dropout on the attention of a model that has it on; else
            compute those of both models without it.
        mean_over: take the mean over all tokens of the batch ("tokens"), or over texts of each text's mean ("texts").
        count_padding: let padding count like real tokens, as rows and as columns of the relations.
    """

    activations: tuple[str, ...] = ("context",)
    divides_widths = ("splits", "student")
    holds_relations = True
    reads_padding = {"count_padding": [True]}
    divides_teacher_heads = {"split": ["average", "random"]}
    joint = {"redraw": [True]}  # the draw is of the whole batch

    def __init__(
        self,
        shapes: Pair,
        *,
        splits: int | None = None,
        split: Split = "concat",
        redraw: bool = False,
        seed: int = 0,
        dropout: bool = True,
        mean_over: MeanOver = "tokens",
        count_padding: bool = False,
    ) -> None:
        self.splits = shapes.student.heads if splits is None else splits
        self.split = split
        self.teacher_heads = shapes.teacher.heads
        self.members = max(1, self.teacher_heads // self.splits)  # teacher heads in a split
        draw = random.Random(seed)
        self.picks = [draw.randrange(self.members) for _ in range(self.splits)]  # one teacher head a split
        self.redraw, self.seed = redraw and split == "random", seed
        self.mean_over, self.count_padding = mean_over, count_padding
        if not dropout:
            self.activations = ("undropped-context",)
        self.reduction = "examples" if count_padding else REDUCTIONS[mean_over]

    def target(self, context: Tensor, batch: Batch) -> Tensor:
        """Return the teacher's outputs as (batch, length, splits * size), with the same size for each split."""
        if self.split == "concat":
            return context
        # (batch, length, splits, members, head size)
        size = context.shape[-1] // self.teacher_heads
        groups = context.reshape(*context.shape[:-1], self.splits, self.members, size)
        if self.split == "average":
            return in_float32(groups).mean(-2).flatten(-2)  # (batch, length, splits * head size)
        if self.redraw:
            each = torch.arange(self.splits, device=context.device)
            return groups[..., each, self.draw_heads(batch, each), :].flatten(-2)
        return torch.cat([groups[..., split, pick, :] for split, pick in enumerate(self.picks)], dim=-1)

    def draw_heads(self, batch: Batch, each: Tensor) -> Tensor:
        """Draw a teacher head for each split; return its number within the split, (splits,)."""
        rows = required_values(batch.rows, "mha-output-relation", "row numbers").to(each.device, non_blocking=True)
        first = hash_integers(self.seed + hash_integers(rows).sum())  # scalar, another one for another batch
        return hash_integers(first + each) % self.members

    def __call__(self, student: Activations, teacher: Activations, batch: Batch) -> Tensor:
        """Return the scalar loss."""
        (name,) = self.activations
        ours, theirs = student[name], self.target(teacher[name], batch)
        # the splits stand where eq. 6 of MiniLMv2 has relation heads
        return own_divergence(ours, theirs, self.splits, batch, self.mean_over, self.count_padding)
