"""Answers to what a reader of all papers asks first: one sentence each, and the claims on which it rests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from retort.specs.base import Distinct, Label, Name, Spec
from retort.specs.fields import PaperName


class Basis(Spec):
    """What one paper, or one study of ours, has to say of an answer.

    Args:
        paper: a folder of workflow/papers.
        claims: claim of its claims.yaml -> the outcome on which the answer rests.
        exhibits: its tables and figures with the numbers.
    """

    paper: PaperName
    claims: dict[Name, Literal["supported", "not supported", "depends on length"]] = {}
    exhibits: Distinct[Name] = []

    def _wrong(self) -> Iterator[str]:
        if not (self.claims or self.exhibits):
            yield f"'{self.paper}' has no part in this answer: name 'claims' or 'exhibits', or leave it out"


class Answer(Spec):
    """One question of a reader and its answer. How sure it is follows from outcomes of claims, and is not typed.

    Args:
        question: what a reader asks.
        answer: the answer, in a plain sentence.
        rests_on: the papers and studies behind it.
        limits: what nobody has tested, or what may change the answer, in a sentence.
        picture: what shows it: a question of across.yaml, or 'paper/figure'.
    """

    question: Label
    answer: Label
    rests_on: list[Basis] = Field(min_length=1)
    limits: str = ""
    picture: Label
