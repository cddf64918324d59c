"""The spec of a pre-trained model: where its files come from and which architecture they must have."""

from __future__ import annotations

from pydantic import Field, model_validator

from retort.specs.base import Name, Real, Spec, Text, Version, Whole


class Architecture(Spec):
    """The shape of an encoder, as papers write it: layers, heads, hidden, intermediate and sometimes embedding."""

    layers: Whole = Field(gt=0, le=48, description="transformer layers")
    heads: Whole = Field(gt=0, le=1024, description="attention heads of a layer")
    hidden: Whole = Field(gt=0, le=65_536, description="width of the hidden states")
    intermediate: Whole = Field(gt=0, le=1_000_000, description="width of the feed-forward networks")
    embedding: Whole | None = Field(
        default=None,
        gt=0,
        exclude_if=lambda width: width is None,  # so that the settings of models without it do not change
        description="width of the token embeddings, where it is smaller than hidden; a projection stands between",
    )

    @model_validator(mode="after")
    def _divides(self) -> Architecture:
        if self.hidden % self.heads:
            raise ValueError(f"hidden ({self.hidden}) is not a multiple of heads ({self.heads})")
        if self.embedding is not None and self.embedding >= self.hidden:
            raise ValueError(f"embedding ({self.embedding}) is not smaller than hidden ({self.hidden}); leave it out")
        return self

    @property
    def weights_after_attention(self) -> int:
        """The weights of a layer's matrices after its attention: the output projection and the two of the FFN."""
        return self.hidden**2 + 2 * self.hidden * self.intermediate

    @property
    def layer_weights(self) -> int:
        """The weights of a layer's matrices: the projections to queries, keys and values, and those after attention."""
        return 3 * self.hidden**2 + self.weights_after_attention

    @property
    def widths(self) -> tuple[int, int, int]:
        """The (hidden, intermediate, embedding) widths; layers can be copied only between models with equal widths."""
        return self.hidden, self.intermediate, self.embedding or self.hidden


class TokensPerWord(Spec):
    """How many tokens a tokenizer makes of a word, from which costs are predicted before texts are read."""

    value: Real = Field(gt=0, le=100, description="tokens divided by words, as spaces separate them")
    origin: Text = Field(description="on which texts it was measured")


class Model(Spec):
    """A pre-trained model: one YAML file of workflow/models."""

    title: Text = Field(description="what it is, in one line")
    source: Name = Field(description="an entry of workflow/sources")
    architecture: Architecture = Field(description="as its config.json says")
    vocabulary: Whole = Field(gt=0, le=10_000_000, description="tokens in the vocabulary")
    positions: Whole = Field(default=512, gt=2, le=8192, description="the longest text that it takes, in tokens")
    tokenizer: Name | None = Field(
        default=None, description="the model whose tokenizer it has, so that both read the same data; none: its own"
    )
    tokens_per_word: TokensPerWord | None = Field(default=None, description="of its tokenizer, on English text")
    masked_lm: bool = Field(default=False, description="its files hold the head of its pre-training, read as it is")
    version: Version = Field(default=1, description="raised when the same settings would give other numbers")
