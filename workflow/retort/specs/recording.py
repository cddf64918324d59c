"""A recorded run of a printed paper at a scale of ours: where its numbers come from, and the numbers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from retort.specs.base import Name, Real, Settings, Spec, Text, Whole

Recorded = Annotated[list[Real], Field(min_length=1, max_length=2)]
Sample = Annotated[list[Annotated[Whole, Field(ge=0)]], Field(min_length=2, max_length=2)]


class Recording(Spec):
    """One file of a paper's folder `recorded`, named as the scale: a run of ours at that scale.

    It stands beside the numbers of whoever runs this scale, and never among the published ones.
    """

    run: dict[Text, Text] = Field(description="machine, commit, versions, precision and date of the run")
    replacements: Settings = Field(description="what the scale put in place of what the papers print")
    runs: Whole = Field(ge=1, description="over how many runs a mean with a deviation is")
    samples: dict[Name, dict[Name, Sample]] | None = Field(
        default=None,
        description="task -> split -> [rows, rows of the whole set], of splits that were read in part; {}: none was",
    )
    tables: dict[Name, dict[Text, dict[Text, Recorded]]] = Field(
        min_length=1, description="table -> row -> column -> [mean] or [mean, standard deviation], times 100"
    )
