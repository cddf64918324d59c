"""A corpus: texts for task-agnostic distillation, packed to blocks of one length."""

from __future__ import annotations

from pydantic import Field

from retort.specs.base import Name, Spec, Text
from retort.specs.source import Relative


class Masking(Spec):
    """Dynamic masking for masked language modelling, as BERT's: 80 % [MASK], 10 % random, 10 % kept."""

    probability: float = Field(default=0.15, gt=0, lt=1)


class Corpus(Spec):
    """One YAML file of workflow/corpora: texts for task-agnostic distillation."""

    title: Text
    source: Name
    files: list[Relative] = Field(min_length=1)
    format: Name = Field(description="how the texts stand in the files")
    block: int = Field(ge=8, le=512, description="tokens a packed block holds")
    masking: Masking = Masking()
    version: int = Field(ge=1)
