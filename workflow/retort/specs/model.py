"""A pre-trained model: where its files are and what shape they must have."""

from __future__ import annotations

from pydantic import Field, model_validator

from retort.specs.base import Name, Spec, Text


class Architecture(Spec):
    """The shape of an encoder, as the papers write it: [layers, heads, hidden, intermediate]."""

    layers: int = Field(gt=0, le=48)
    heads: int = Field(gt=0)
    hidden: int = Field(gt=0)
    intermediate: int = Field(gt=0)

    @model_validator(mode="after")
    def _divides(self) -> Architecture:
        if self.hidden % self.heads:
            raise ValueError(f"hidden ({self.hidden}) is not a multiple of heads ({self.heads})")
        return self


class Model(Spec):
    """One YAML file of workflow/models."""

    title: Text
    source: Name
    architecture: Architecture
    vocabulary: int = Field(gt=0, description="tokens in the vocabulary")
    version: int = Field(default=1, ge=1)
