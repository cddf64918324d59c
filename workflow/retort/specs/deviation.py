"""A deviation: what was chosen where a paper is silent, or where a study differs from it, and what it decides."""

from __future__ import annotations

from pydantic import Field

from retort.specs.base import Distinct, Spec, Text


class Deviation(Spec):
    """One choice, in a sentence, with the settings or cells that it decides."""

    of: Distinct[Text] = Field(
        min_length=1,
        description="settings as `retort show` names them, * for any text; or a table, or 'table1: a column or row'",
    )
    text: Text = Field(description="what was chosen, and why")
