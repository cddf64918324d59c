"""What concerns all papers: facts of data sets, questions that several answer, and answers to what a reader asks.

How sure an answer is follows from the outcomes of the claims on which it rests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from retort.specs.base import Distinct, Label, Name, OptionalText, PaperName, Real, Spec, Text, Whole


class Facts(Spec):
    """The sizes of one data set, and the scores of a model that always predicts the most frequent label.

    Args:
        sizes: split -> rows.
        floors: metric -> per cent, on dev.
        source: where the sizes are from.
    """

    sizes: dict[Literal["train", "dev", "test"], Annotated[Whole, Field(gt=0)]] = Field(min_length=1)
    floors: dict[Text, Annotated[Real, Field(ge=-100, le=100)]] = {}
    source: Text


class Compared(Spec):
    """Rows of one table, each compared with the same row of it.

    Args:
        paper: a folder of workflow/papers.
        table: one of its tables of scores.
        about: what its students share and are compared with, in a few words.
        over: the columns whose mean is compared.
        baseline: the row that the others are compared with.
        rows: row of the table across papers -> row of this table.
    """

    paper: PaperName
    table: Name
    about: Label
    over: Distinct[Text] = Field(min_length=1)
    baseline: Text
    rows: dict[Label, Text] = Field(min_length=1)


class Across(Spec):
    """One question, and the rows of each paper that answer it.

    Args:
        title: what is varied, and against what.
        compared: from left to right.
    """

    title: Label
    compared: list[Compared] = Field(min_length=1)


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
    limits: OptionalText = ""
    picture: Label
