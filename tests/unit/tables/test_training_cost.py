"""Tests of tables of what trainings cost: computed from settings, next to what papers state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from retort.cost.training_work import COSTS, COUNTED, DEVICE, stages_of, work_of
from retort.cost.work import TRAINED, forward
from retort.results.frames import lines_of
from retort.specs.config import Config, read_config
from retort.specs.model import Architecture
from retort.study.load import open_study, open_written, read_study
from retort.study.reasons import Status
from retort.tables.base import Inputs
from retort.tables.kinds.training_cost import TrainingCostTable

from tests.tiny.variant import NARROW, STUDENTS, write_study

HOURS = {"label": "Hours", "of": "hours"}
OURS = {"label": "Ours", "student": "minilmv2-6x384-bert-base"}
OTHERS = {"label": "Others", "quoted": "A. et al.", "stated": {"Hours": "1,720"}}


def table(rows: list[dict[str, Any]], columns: list[dict[str, Any]]) -> TrainingCostTable:
    """Return a table of these rows and columns."""
    content = {"kind": "training-cost", "title": "T", "question": "Q?", "columns": columns, "rows": rows}
    return TrainingCostTable.model_validate(content)


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    """Return the study of one paper, with nothing that was run."""
    return Inputs(open_study(Config(papers=["minilmv2"], scale="paper")), "minilmv2", "table-cost")


def test_hours_are_computed_from_settings_by_hand(inputs: Inputs) -> None:
    study = open_written(inputs.study.config)
    stages = stages_of(study, "minilmv2-6x384-bert-base", "")
    done = work_of(stages)
    student = Architecture(layers=6, heads=12, hidden=384, intermediate=1536)
    teacher = Architecture(layers=12, heads=12, hidden=768, intermediate=3072)
    rows = 400_000 * 256
    encoders = rows * (TRAINED * forward(student, 512) + forward(teacher, 512))
    # each of three relations: 2 x 512 x 512 x (384 + 768) of both models, and twice that of the student for gradients
    relations = rows * 3 * 2 * 512 * 512 * (384 + 768 + 2 * 384)
    assert done.flops == pytest.approx(encoders + relations, rel=1e-4)  # the last batch of an epoch is smaller
    seconds = done.flops / DEVICE.flops + done.traffic / DEVICE.bandwidth
    assert COSTS["hours"][1](stages) == pytest.approx(seconds / 3600)


def test_cells_are_computed_or_as_stated(inputs: Inputs) -> None:
    columns = [HOURS, {"label": "Batch", "of": "batch_size"}, {"label": "Steps", "of": "steps"}]
    spec = table([{**OURS, "stated": {"Batch": "256"}}, OTHERS], columns)
    frame = spec.collect(inputs)
    lines = {(line.row, line.column): line for line in lines_of(frame)}
    assert lines["Ours", "Hours"].mean == pytest.approx(134, abs=1)
    batch = lines["Ours", "Batch"]
    assert (batch.mean, batch.reported, batch.unit) == (256, 256, "rows")
    assert lines["Ours", "Steps"].mean == 400_000
    assert (lines["Others", "Hours"].mean, lines["Others", "Hours"].status) == (1720, Status.OK)
    assert (lines["Others", "Batch"].mean, lines["Others", "Batch"].status) == (None, Status.QUOTED)
    sheet = spec.lay_out(frame)
    ours, others = ([entry.text for entry in row.entries] for row in sheet.grids[0].rows)
    assert (ours, others) == (["134.2", "256", "400,000"], ["1,720", "-", "-"])
    assert sheet.remarks == [COUNTED]
    assert sheet.letters["as stated: A. et al."] == "a"
    assert not any(line.verdict for line in lines.values())


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [([{"label": "A"}], [HOURS], "row 'A' needs either 'student' or 'quoted'"),
     ([{**OURS, "quoted": "B"}], [HOURS], "row 'Ours' needs either 'student' or 'quoted'"),
     ([{**OTHERS, "stated": {"Hour": "1"}}], [HOURS], "column of row 'Others' is called 'Hour'; did you mean"),
     ([{**OTHERS, "stated": {"Hours": "few"}}], [HOURS], "row 'Others', column 'Hours': 'few' is no number"),
 ],
)  # fmt: skip
def test_mistakes_in_a_table(rows: list[dict[str, Any]], columns: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ValidationError, match=message.replace("'", ".")):
        table(rows, columns)


@pytest.mark.parametrize(
    ("student", "column", "message"),
    [("tiny-kd", HOURS, "column 'Hours': 'tiny-kd' is distilled on a task; give 'task'"),
     ("tiny-narrow", {**HOURS, "task": "mood"}, "'tiny-narrow' is distilled on a corpus; leave out 'task'"),
     ("tiny-teacher", HOURS, "'tiny-teacher' has no stage")],
)  # fmt: skip
def test_mistakes_next_to_the_study(student: str, column: dict[str, Any], message: str, tmp_path: Path) -> None:
    content = {"kind": "training-cost", "title": "T", "question": "Q?", "columns": [column],
               "rows": [{"label": "A", "student": student}]}  # fmt: skip
    students = {**STUDENTS, "narrow": NARROW}
    config = write_study(tmp_path / "study", students=students, table5=content)
    _, problems = read_study(read_config(config))
    assert [line for line in problems if message in line], problems
