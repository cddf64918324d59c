"""Tests of trainings on the first rows of a training split alone, and of what its number of rows decides."""

from __future__ import annotations

import io
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from retort.data.batches import TaskBatches
from retort.data.encoded import Encoded
from retort.errors import RetortError
from retort.job.context import RunningJob
from retort.models import build
from retort.plan import resolve
from retort.specs.config import Config
from retort.study.load import open_study
from retort.training.distillation import StudentInTraining, run_stages, task_specific
from retort.training.finetuning import fine_tuning, supervised
from retort.training.setup import head_of

from tests.job_settings import schedule, task_settings
from tests.tiny.edit import set_value

ROWS = Encoded(np.arange(5, 45), np.zeros(40, np.uint8), np.arange(0, 41, 4), labels=np.arange(10) % 2)


def rows_of(batches: TaskBatches) -> list[int]:
    """Return the numbers of the rows in the first ten batches, sorted, each once."""
    found = [batches[number].rows for number in range(10)]
    return sorted({int(row) for rows in found if rows is not None for row in rows})


def test_a_stage_has_the_rows_that_its_schedule_asks_for(study_folder: Path) -> None:
    changes = {"max_train_samples": 3, "batch_size": 2, "epochs": 4}
    set_value(study_folder, "papers/tiny/students.yaml", "attention", "stages", 0, "schedule", to=changes)
    study = open_study(Config(papers=["tiny"], study=str(study_folder)))
    settings = resolve.task_distillation(study, "tiny-attention", "mood")
    first, second = settings.stages
    found = task_specific(RunningJob("job", io.StringIO()), settings, "", ROWS, 1, Mock())
    assert [found.rows(stage) for stage in (first, second)] == [3, 10]
    assert [rows_of(found.batches(number, stage)) for number, stage in ((1, first), (2, second))] == [
        [0, 1, 2],
        [*range(10)],
    ]
    labels = found.labels(first)
    assert labels is not None
    assert labels.tolist() == [0, 1, 0]
    assert first.schedule.steps_on(found.rows(first)) == 8  # an epoch has two batches


@pytest.mark.parametrize(("most", "rows"), [(3, 3), (99, 10)])
def test_a_fine_tuning_has_the_rows_that_its_schedule_asks_for(most: int, rows: int, encoder: Path) -> None:
    task = task_settings()
    model = build.load(encoder, *head_of(task))
    run = supervised(model, ROWS, schedule(max_train_samples=most, epochs=1), task, 1)
    run.close()
    assert rows_of(run.batches) == [*range(rows)]
    assert run.steps == -(-rows // 2)


def test_an_epoch_whose_weights_may_be_the_best_has_the_rows_that_are_trained_on(
    encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Encoded, "load", lambda *_: ROWS)
    monkeypatch.setattr("retort.training.finetuning.dev_score", lambda *_: 0.5)
    job, settings = RunningJob("job", io.StringIO()), Mock(task=task_settings(), precision="float32")
    model, short = build.load(encoder, *head_of(settings.task)), schedule(max_train_samples=3, epochs=3)
    run = fine_tuning(job, model, "", settings, short, 1, "accuracy")
    run.close()
    assert [step for step in range(1, run.steps + 1) if run.after_step(step) is not None] == [2, 4, 6]


def test_a_rate_that_would_be_zero_before_the_last_step_is_refused(encoder: Path) -> None:
    task = task_settings()
    model = build.load(encoder, *head_of(task))
    supervised(model, ROWS, schedule(epochs=3, decay_steps=15), task, 1).close()
    with pytest.raises(RetortError, match="^decay_steps: 14 is below the 15 steps of the training; "):
        supervised(model, ROWS, schedule(epochs=3, decay_steps=14), task, 1)


def test_no_stage_begins_before_a_rate_is_refused(study_folder: Path) -> None:
    changes = {"batch_size": 2, "epochs": 4, "decay_steps": 3}
    set_value(study_folder, "papers/tiny/students.yaml", "attention", "stages", 1, "schedule", to=changes)
    study, job = open_study(Config(papers=["tiny"], study=str(study_folder))), RunningJob("job", io.StringIO())
    settings, network = resolve.task_distillation(study, "tiny-attention", "mood"), Mock()
    data = task_specific(job, settings, "", ROWS, 1, Mock())
    with pytest.raises(RetortError, match="^stage 2: decay_steps: 3 is below the 20 steps of the training; "):
        run_stages([StudentInTraining(job, network, settings, 1, 2, Mock())], data)
    assert network.mock_calls == []
