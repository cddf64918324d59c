"""The spec of a pre-trained model: where its files come from and which architecture they must have."""

from __future__ import annotations

from pydantic import Field, model_validator

from retort.specs.base import Name, Spec, Text


class Architecture(Spec):
    """The shape of an encoder, as papers write it: layers, heads, hidden, intermediate and sometimes embedding."""

    layers: int = Field(gt=0, le=48, description="transformer layers")
    heads: int = Field(gt=0, description="attention heads of a layer")
    hidden: int = Field(gt=0, description="width of the hidden states")
    intermediate: int = Field(gt=0, description="width of the feed-forward networks")
    embedding: int | None = Field(
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
    def widths(self) -> tuple[int, int, int]:
        """The (hidden, intermediate, embedding) widths; layers can be copied only between models with equal widths."""
        return self.hidden, self.intermediate, self.embedding or self.hidden


class TokensPerWord(Spec):
    """How many tokens a tokenizer makes of a word, from which costs are predicted before texts are read."""

    value: float = Field(gt=0, description="tokens divided by words, as spaces separate them")
    origin: Text = Field(description="on which texts it was measured")


class Model(Spec):
    """A pre-trained model: one YAML file of workflow/models."""

    title: Text = Field(description="what it is, in one line")
    source: Name = Field(description="an entry of workflow/sources")
    architecture: Architecture = Field(description="as its config.json says")
    vocabulary: int = Field(gt=0, description="tokens in the vocabulary")
    tokenizer: Name | None = Field(
        default=None, description="the model whose tokenizer it has, so that both read the same data; none: its own"
    )
    tokens_per_word: TokensPerWord | None = Field(default=None, description="of its tokenizer, on English text")
    masked_lm: bool = Field(default=False, description="its files hold the head of its pre-training, read as it is")
    version: int = Field(default=1, ge=1, description="raised when the same settings would give other numbers")
