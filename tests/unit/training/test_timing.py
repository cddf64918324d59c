"""Tests of what is timed of a model, and what tables show of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from retort.plan import resolve
from retort.results.frames import Line, lines_of
from retort.settings.trainings import ProfileSettings
from retort.specs.reported import Timing
from retort.study.cells import profiled
from retort.study.questions import further_timings
from retort.training.stages.profile import profile_student

from tests.tiny.results import STAMP, collected, opened, quiet
from tests.tiny.variant import ROWS, write_study

BASE = {"batch": 1, "length": 32, "runs": 5, "passes": 30, "threads": 1}
SPEEDS = [{"metric": "latency", "label": "Time"}, {"metric": "speed-up", "label": "Speed"}]
BATCHES = [{"label": f"B{size}", "metric": "latency", "timing": f"batch-{size}"} for size in (1, 16)]


def table(columns: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return a table of profiles of the teacher and of the student of attention."""
    return {"kind": "profiles", "title": "T", "question": "Q?", "columns": columns, "rows": ROWS[::2], **more}


def timed(config: dict[str, Any], profiles: dict[str, Any]) -> dict[tuple[str, str], Line]:
    """Return the lines of table 2 made from these profiles, by student and column."""
    _, frame = collected(opened(config), "table2", profiles=profiles)
    return {(line.student, line.column): line for line in lines_of(frame)}


def profile(times: list[float], device: str = "cuda: a GPU", **more: list[float]) -> dict[str, Any]:
    """Return a profile with further times."""
    return {"latency_ms": times, "further": {name.replace("_", "-"): value for name, value in more.items()},
            "parameters": 1, **STAMP, "device": device}  # fmt: skip


def test_a_processor_is_timed_next_to_the_device_of_the_job(tmp_path: Path) -> None:
    columns = [{"label": name.upper(), "metric": "latency", "timing": name} for name in ("gpu", "cpu")]
    config = write_study(tmp_path / "study", table2=table(columns))
    assert further_timings(opened(config))["tiny-attention"] == [Timing(device="cpu")]
    on_gpu, on_cpu = profile([2.0, 4.0], batch_1_length_32_cpu=[9.0]), profile([9.0], "cpu: <any>")
    lines = timed(config, {"tiny-attention": on_gpu, "tiny-teacher": on_cpu})
    assert (lines["tiny-attention", "GPU"].mean, lines["tiny-attention", "CPU"].mean) == (3.0, 9.0)
    assert lines["tiny-teacher", "GPU"].state == "missing (its profile was timed on cpu: <any>)"


def test_a_speed_up_is_against_the_first_row_or_the_one_that_is_named(tmp_path: Path) -> None:
    profiles = {"tiny-teacher": profile([8.0]), "tiny-attention": profile([2.0]), "tiny-kd": profile([4.0])}
    lines = timed(write_study(tmp_path / "study", table2=table(SPEEDS)), profiles)
    assert (lines["tiny-attention", "Speed"].mean, lines["tiny-attention", "Time"].mean) == (4.0, 2.0)
    config = write_study(tmp_path / "again", table2=table(SPEEDS, against="tiny-kd"))
    assert timed(config, profiles)["tiny-attention", "Speed"].mean == 2.0
    study = opened(config)
    assert profiled(study, study.exhibits["tiny", "table2"]) == ["tiny-teacher", "tiny-attention", "tiny-kd"]


def test_a_table_may_ask_for_the_time_of_each_batch(tmp_path: Path) -> None:
    config = write_study(tmp_path / "study", table2=table(BATCHES, spread="batches"))
    study = opened(config)
    timings = further_timings(study)
    assert timings["tiny-attention"] == [Timing(size, values="batches") for size in (1, 16)]
    assert "further" not in resolve.profile(study, "tiny-kd", timings).as_json()
    own = profile([9.0], batch_1_length_32_each_batch=[1.0, 3.0, 5.0], batch_16_length_32_each_batch=[2.0, 4.0])
    lines = timed(config, {"tiny-attention": own})
    found = [(line.mean, line.n) for (student, _), line in lines.items() if student == "tiny-attention"]
    assert found == [(3.0, 3), (3.0, 2)]


def test_what_is_asked_for_is_timed(encoder: Path, tmp_path: Path) -> None:
    shape = {"layers": 2, "heads": 3, "hidden": 24, "intermediate": 48}
    each = {"batch": 1, "length": 16, "values": "batches"}
    asked = [{"batch": 64, "length": 16}, {"batch": 1, "length": 16, "device": "cpu"}, each]
    values = {**BASE, "architecture": shape, "vocabulary": 90, "runs": 2, "passes": 3, "stage": 1}
    settings = ProfileSettings.model_validate({**values, "further": asked})
    profile_student(quiet(), settings, "s", str(encoder), str(tmp_path / "s.json"))
    found = json.loads((tmp_path / "s.json").read_text())
    numbers = {name: len(times) for name, times in found["further"].items()}
    assert numbers == {"batch-1-length-16-cpu": 2, "batch-64-length-16": 2, "batch-1-length-16-each-batch": 6}
    assert found["parameters"] - found["without_pooler"] == 24 * 24 + 24
    assert len(found["latency_ms"]) == 2
    assert min(found["further"]["batch-64-length-16"]) > max(found["further"]["batch-1-length-16-cpu"])
    profile_student(quiet(), ProfileSettings.model_validate(values), "s", str(encoder), str(tmp_path / "s.json"))
    assert "further" not in json.loads((tmp_path / "s.json").read_text())
