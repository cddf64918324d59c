"""Tests of the registration of kinds of tables and figures."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import Field, create_model
from retort.errors import RetortError
from retort.figures.base import Figure
from retort.specs.exhibit import figure_kind, figure_kinds


@pytest.mark.filterwarnings("ignore:Field name")  # pydantic warns, too
@pytest.mark.parametrize("field", ["students", "cells", "timed", "first"])
def test_a_field_that_hides_an_answer_is_refused(field: str) -> None:
    fields: dict[str, Any] = {"kind": (Literal["hiding"], Field()), field: (list[str], Field(default=[]))}
    hiding = create_model("HidingFigure", __base__=Figure, **fields)
    hiding.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]
    with pytest.raises(RetortError, match=rf"figure 'hiding' has a field '{field}'; .* answers {field}\(\): give the"):
        figure_kind(hiding)
    assert "hiding" not in figure_kinds
