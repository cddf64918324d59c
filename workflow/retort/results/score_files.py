"""Read scores and profiles, and check them: a file that was edited may hold anything.

Each holds a checksum of itself, and a score follows from the answers beside it.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from retort.checksums import REMEDY, Maker, is_sealed, sha256
from retort.errors import RetortError
from retort.settings.inputs import TaskSettings
from retort.specs.printed import limits
from retort.study.cells import answers_address
from retort.study.reasons import Status
from retort.tasks.answers import Answers, metrics_of

Record = dict[str, Any]
ROUNDING = 1e-9  # a sum in another order, or on another processor, differs by less


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
        raise RetortError(f"{path} is not a whole result ({where}: {message})", REMEDY) from None


def read_record(path: Path | str) -> Record:
    """Read a score or profile.

    Raises:
        RetortError: the file is not a whole result, or its content and its checksum differ.
    """
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        record = None
    if not isinstance(record, dict) or not isinstance(record.get("settings"), dict):
        raise RetortError(f"{path} is not a whole result", REMEDY)
    if "sha256" not in record:
        raise RetortError(f"{path} has no checksum of itself", REMEDY)
    if not is_sealed(record):
        raise RetortError(f"{path} is not as it was made: its content and its checksum differ", REMEDY)
    check_shape(path, record, Stamp)
    return record


def check_score(path: Path | str, record: Record, task: TaskSettings) -> None:
    """Compute the metrics of a score again, from the answers beside it.

    Raises:
        RetortError: a metric is out of range, missing, or not what the answers give; the answers are missing or are not
            those that the score was computed from; or the record is not a whole score.
    """
    check_shape(path, record, Score)
    for name, value in record["metrics"].items():
        least, greatest = limits(name)
        if not (math.isnan(value) or least - ROUNDING <= value <= greatest + ROUNDING):
            raise RetortError(f"{path}: {name} is {value:g}, and can be {least:g} to {greatest:g}", REMEDY)
    answers = _read_answers(path, record)
    if record["status"] != Status.OK:
        if record["metrics"]:
            raise RetortError(f"{path} has metrics, though its training {record['status']}", REMEDY)
        return
    again = _compute_metrics(path, task, record["split"], answers)
    for name, value in record["metrics"].items():
        other = again.get(name, math.nan)
        if not (math.isnan(value) and math.isnan(other)) and not abs(value - other) <= ROUNDING:
            raise RetortError(f"{path}: {name} is {value:g}, and the answers beside it give {other:g}", REMEDY)
    if again and not record["metrics"]:
        raise RetortError(f"{path} has no metric, and the answers beside it give {', '.join(sorted(again))}", REMEDY)


def _read_answers(path: Path | str, record: Record) -> dict[str, Any]:
    """Read the answers beside a score, after comparing them with the checksum in the score."""
    answers = Path(answers_address(str(path)))
    if not answers.is_file():
        raise RetortError(f"{answers} is missing, the answers of {path}", REMEDY)
    if sha256(answers) != record.get("answers_sha256"):
        raise RetortError(f"{answers} does not hold the answers that {path} was computed from", REMEDY)
    try:
        return dict(json.loads(answers.read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        raise RetortError(f"{answers} holds no answers", REMEDY) from None


def _compute_metrics(path: Path | str, task: TaskSettings, split: str, answers: dict[str, Any]) -> dict[str, float]:
    try:
        if not answers:
            raise ValueError("there are none")
        return metrics_of(task, split, {name: Answers(**stored) for name, stored in answers.items()})
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise RetortError(f"no metric of {path} can be computed from the answers beside it ({error})", REMEDY) from None
