"""Read scores and profiles, and check them: a file that was edited may hold anything.

Each score and each profile holds a checksum of itself, and a score follows from the answers next to its file.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from retort.checksums import REMEDY, Maker, is_sealed
from retort.errors import RetortError, check_file
from retort.settings.inputs import TaskSettings
from retort.specs import catalogue
from retort.specs.reported import metric_limits
from retort.study.addresses import answers_address
from retort.study.reasons import Status
from retort.tasks.answers import ModelAnswers, metrics_of

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
    """Read a profile.

    Raises:
        RetortError: the file is not a whole result, or its content and its checksum differ.
    """
    return _checked(str(path), _content(path))


def read_score_file(path: Path | str) -> list[Record]:
    """Read the scores of a job, one for each seed.

    Raises:
        RetortError: the file is not a whole result, or the content of a score and its checksum differ.
    """
    scores = _content(path)
    if not (isinstance(scores, list) and scores):
        raise RetortError(f"{path} is not a whole result", REMEDY)
    return [_checked(name_of_score(path, score), score) for score in scores]


def name_of_score(path: Path | str, score: Any) -> str:
    """Return what messages call one score of a file."""
    return f"{path}, seed {score.get('seed') if isinstance(score, dict) else score}"


def _content(path: Path | str) -> Any:
    """Return the content of a JSON file; None if it cannot be read."""
    try:
        check_file(Path(path))
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (RetortError, OSError, ValueError, RecursionError):
        return None


def _checked(name: str, record: Any) -> Record:
    """Return a score or profile whose content and checksum agree."""
    if not isinstance(record, dict) or not isinstance(record.get("settings"), dict):
        raise RetortError(f"{name} is not a whole result", REMEDY)
    if "sha256" not in record:
        raise RetortError(f"{name} has no checksum of itself", REMEDY)
    if not is_sealed(record):
        raise RetortError(f"{name} is not as it was made: its content and its checksum differ", REMEDY)
    check_shape(name, record, Stamp)
    return dict(record)


def check_score(path: Path | str, record: Record, task: TaskSettings) -> dict[str, float]:
    """Return the metrics of a score, computed again from the answers next to its file; none of a training that failed.

    Metrics that were registered after the training are among them.

    Raises:
        RetortError: a metric is out of range, missing, or not what the answers give; the answers are missing or are not
            those that the score was computed from; or the record is not a whole score.
    """
    name = name_of_score(path, record)
    check_shape(name, record, Score)
    for metric, value in record["metrics"].items():
        least, greatest = metric_limits(metric)
        if not (math.isnan(value) or least - ROUNDING <= value <= greatest + ROUNDING):
            raise RetortError(f"{name}: {metric} is {value:g}, and can be {least:g} to {greatest:g}", REMEDY)
    answers = answers_of(path, record)
    if record["status"] != Status.OK:
        if record["metrics"]:
            raise RetortError(f"{name} has metrics, though its training {record['status']}", REMEDY)
        return {}
    again = _compute_metrics(name, task, record["split"], answers)
    for metric, value in record["metrics"].items():
        # a metric that is not registered here is of a study that is not read now
        registered = metric.partition("/")[0] in catalogue.metrics_of(task.task_type)
        other = again.get(metric, math.nan if registered else value)
        if not (math.isnan(value) and math.isnan(other)) and not abs(value - other) <= ROUNDING:
            raise RetortError(f"{name}: {metric} is {value:g}, and the answers next to it give {other:g}", REMEDY)
    if again and not record["metrics"]:
        raise RetortError(f"{name} has no metric, and the answers next to it give {', '.join(sorted(again))}", REMEDY)
    return again


def answers_of(path: Path | str, record: Record) -> dict[str, Any]:
    """Return the answers that a score was computed from: encoded split -> answers, compared with their checksum.

    Raises:
        RetortError: they are missing, or are others.
    """
    name, nearby = name_of_score(path, record), Path(answers_address(str(path)))
    if not nearby.is_file():
        raise RetortError(f"{nearby} is missing, the answers of {name}", REMEDY)
    stored = _content(nearby)
    if not isinstance(stored, dict) or not isinstance(answers := stored.get(str(record["seed"])), dict):
        raise RetortError(f"{nearby} holds no answers of seed {record['seed']}", REMEDY)
    written = f"{json.dumps(answers)}\n".encode()  # as when the training of the seed was scored
    if hashlib.sha256(written).hexdigest() != record.get("answers_sha256"):
        raise RetortError(f"{nearby} does not hold the answers that {name} was computed from", REMEDY)
    return answers


def _compute_metrics(name: str, task: TaskSettings, split: str, answers: dict[str, Any]) -> dict[str, float]:
    try:
        if not answers:
            raise ValueError("there are none")
        return metrics_of(task, split, {name: ModelAnswers(**stored) for name, stored in answers.items()})
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise RetortError(
            f"no metric of {name} can be computed from the answers next to it ({error})", REMEDY
        ) from None
