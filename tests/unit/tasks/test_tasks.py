"""Tests of every task of the study: its made-up records, read from each form of its files, encoded, trained on."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.data.encoded import Encoded, RowCounts
from retort.data.encoding import SplitWriter, encode_task
from retort.data.formats import formats
from retort.data.splits import SplitRows, read_task
from retort.data.tokenizers import Tokeniser
from retort.job.context import RunningJob
from retort.models import build
from retort.plan import resolve_data
from retort.settings.inputs import TaskSettings
from retort.specs.config import ROOT, Config
from retort.specs.task import Task
from retort.study.load import open_study
from retort.study.study import Study
from retort.tasks import task_type_of
from retort.training.checkpoint import Checkpoint
from retort.training.evaluate import measure
from retort.training.finetuning import supervised
from retort.training.setup import head_of, train_in

from tests.conftest import whole_study
from tests.job_settings import schedule
from tests.tiny.forms import write_sample

TASKS = sorted(path.stem for path in (ROOT / "workflow" / "tasks").glob("*.yaml"))
BOOK = whole_study()
FILED = [name for name in TASKS if BOOK.tasks[name].splits]
TWICE = [name for name in FILED if len(BOOK.tasks[name].read) == 2]
SCHEDULE = schedule(warmup_ratio=0.0, weight_decay=0.0)


def folders(study: Study, task: Task, location: str, to: Path) -> dict[str, Path]:
    """Return the folder of each source of a task's files."""
    names = {task.source, *(split.source for split in task.splits.values() if split.source)}
    local = {name: to / str(getattr(study.sources[name], "local", name)) for name in names}
    return local if location == "local" else {name: to / name for name in names}


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Study]:
    """Return location -> the study whose data is there."""
    folders = {"local": str(tmp_path_factory.mktemp("local")), "hub": None}
    return {location: open_study(Config(sample=True, data_dir=folder)) for location, folder in folders.items()}


def read_sample(study: Study, name: str, location: str, to: Path) -> tuple[TaskSettings, dict[str, SplitRows]]:
    """Write the task's sample as files of a location; return its settings and the rows read back, by encoded split."""
    task, to = study.tasks[name], Path(study.config.data_dir or to)
    where = folders(study, task, location, to)
    write_sample(task, location, where)
    settings = resolve_data.task_settings(study, name, list(task.splits))
    return settings, dict(read_task(settings, task_type_of(settings), where))


@pytest.mark.parametrize("name", TWICE)
def test_label_names_of_local_files_and_numbers_of_the_hub_are_the_same_records(
    name: str, studies: dict[str, Study], tmp_path: Path
) -> None:
    local, hub = (read_sample(studies[location], name, location, tmp_path)[1] for location in ("local", "hub"))
    assert list(local) == list(hub) == list(BOOK.tasks[name].encoded_splits)
    for split, rows in local.items():
        assert rows.records == hub[split].records
        assert rows.labelled == hub[split].labelled
        assert rows.sample is not None
    labels = {getattr(row, "label", row) for row in local["train"].records}
    expected = BOOK.tasks[name].labels
    assert labels <= set(range(len(expected))) if expected else len(labels) > 1


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_encoded_and_trained_on(name: str, studies: dict[str, Study], encoder: Path, tmp_path: Path) -> None:
    """Two steps change the weights, and every metric of the evaluation split is measured."""
    spec, task = BOOK.tasks[name], resolve_data.task_settings(BOOK, name)
    task_type, to = task_type_of(task), tmp_path / "encoded"
    if spec.splits:
        location = next(iter(spec.read))
        study = studies[location]
        task, _ = read_sample(study, name, location, tmp_path)
        where = folders(study, spec, location, Path(study.config.data_dir or tmp_path))
        encode_task(task, task_type, where, encoder / "tokenizer.json", to, lambda _: None)
    else:
        encode_sample(spec, task, encoder, to)
    torch.manual_seed(1)
    model: Any = build.load(encoder, *head_of(task))
    before = {key: value.clone() for key, value in model.state_dict().items()}
    run = supervised(model, Encoded.load(to, spec.train_split), SCHEDULE, task, 1)
    train_in(RunningJob("job", io.StringIO()), run, 1, "float32", Checkpoint(tmp_path / "state", {}, 1e9))
    run.close()
    assert any(not torch.equal(value, before[key]) for key, value in model.state_dict().items())
    found = measure(model, to, spec.evaluation_split, task, "float32", "cpu")
    assert set(spec.measures(spec.evaluation_split)) <= set(found.metrics)
    assert {key.split("-")[0] for key in found.answers} == {spec.evaluation_split}


def encode_sample(spec: Task, task: TaskSettings, encoder: Path, to: Path) -> None:
    """Encode the task's sample as each of its splits, for a task that draws its splits."""
    from tokenizers import Tokenizer

    task_type = task_type_of(task)
    records = [task_type.record(row, task, spec.labels, True) for row in spec.sample]
    tokenise = Tokeniser.of(Tokenizer.from_file(str(encoder / "tokenizer.json")))
    writer = SplitWriter(to, task.labels)
    for split in spec.used:
        writer.write(split, task_type.encode(task, records, tokenise))
    RowCounts().write(to)


@pytest.mark.parametrize("name", FILED)
def test_a_choice_and_a_score_are_of_labelled_splits_and_the_dev_set_is_reported(name: str) -> None:
    spec = BOOK.tasks[name]
    assert spec.train_split != spec.validation_split
    assert spec.chosen_by in spec.measures(spec.validation_split)
    assert spec.evaluation_split == ("test" if name in ("xnli", "xnli-128", "mlqa") else "dev")


def test_the_guide_names_every_format() -> None:
    guide = (ROOT / "workflow" / "tasks" / "README.md").read_text()
    assert all(f"`{name}`" in guide for name in formats)
