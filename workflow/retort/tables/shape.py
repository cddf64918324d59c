"""The keys and types of a score, and of the origin in every result: a file that was edited may hold anything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from retort.checksums import Maker
from retort.errors import RetortError
from retort.tables.tidy import AGAIN


class Stamp(BaseModel):
    """The origin of a score or a profile; further keys are allowed."""

    model_config = ConfigDict(extra="allow", strict=True)

    settings: dict[str, Any]
    seconds: float = 0.0
    versions: dict[str, str] = {}
    ancestors: list[Maker] = []
    resumed_from: list[Maker] = []


class Score(BaseModel):
    """The training and metrics of a score; further keys are allowed."""

    model_config = ConfigDict(extra="allow", strict=True)

    status: Literal["ok", "diverged"]
    step: Annotated[int, Field(ge=1)] | None
    split: str | None
    metrics: dict[str, float]
    sample: dict[str, Annotated[list[int], Field(min_length=2, max_length=2)]] = {}  # split -> [rows read, rows in all]
    unlabelled: list[str] = []

    @model_validator(mode="after")
    def _check_step(self) -> Self:
        if (self.status == "ok") != (self.step is None):
            raise ValueError("a training that diverged has a step, and no other")
        return self


def check_shape(path: Path | str, record: Any, shape: type[BaseModel]) -> None:
    """Check the keys of a record and the types of their values.

    Raises:
        RetortError: one is wrong; the line names the first such key.
    """
    try:
        shape.model_validate(record)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "status"
        message = first["msg"].removeprefix("Value error, ")
        raise RetortError(f"{path} is not a whole result ({where}: {message})", AGAIN) from None
