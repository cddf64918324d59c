"""The base of all settings of jobs."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from retort.specs.base import Spec


class Settings(Spec):
    """Settings of a job: frozen, without unknown keys, and only with values that can change a result."""

    def as_json(self) -> dict[str, Any]:
        """Return the settings as JSON values: what the params of a rule, a score file and a model card hold."""
        return self.model_dump(mode="json")


def left_out_if_none() -> Any:
    """Return a field that is None by default, and is then left out of the JSON values."""
    return Field(default=None, exclude_if=lambda value: value is None)
