"""A task whose splits have separate files, from the files to the table and to the zip for the server."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from retort.tasks import task_types

from tests.tiny.make import make_study

pytestmark = pytest.mark.workflow
TASK = """
title: Is a sentence glad, near and far?
source: pairs
task_type: classification
labels: [sad, glad]
metrics: [accuracy, f1]
subsets: [near, far]
splits:
  train: {rows: 40}
  dev: {rows: 10, subsets: true}
  test: {rows: 10, labelled: false}
read:
  local:
    format: tsv
    files: {train: train.tsv, dev: 'dev-{subset}.tsv', test: test.tsv}
    columns: {text: sentence, label: mood}
    label_names: [low, high]
metric_for_best_model: accuracy/near
evaluation_split: dev
submission: {files: {test: Moods.tsv}, label_names: ['0', '1']}
max_length: 16
version: 1
sample:
  - {text: a glad day, label: glad}
  - {text: a sad day, label: sad}
"""
TABLE = """
kind: scores
title: Near and far
question: Is every subset scored?
columns:
  - {task: moods, subset: near, metric: accuracy, label: Near}
  - {task: moods, subset: far, metric: accuracy, label: Far}
  - {task: moods, subset: all, metric: f1, label: Both}
rows:
  - {student: tiny-teacher, label: Teacher}
  - {student: tiny-predicting, label: Fine-tuned}
"""


def write_files(folder: Path) -> None:
    """Write the task's files; the training file holds only a part of the whole training set."""
    folder.mkdir()
    for name, rows in (("train", 30), ("dev-near", 10), ("dev-far", 10), ("test", 10)):
        words = [("glad", "high") if number % 3 else ("sad", "low") for number in range(rows)]
        lines = [f'{word} "day" {number}\t{mood}' for number, (word, mood) in enumerate(words)]
        lines = ["sentence\tmood", *lines] if name != "test" else ["sentence", *(line.split("\t")[0] for line in lines)]
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")


def test_parts_samples_and_a_submission(tmp_path: Path, run_in: Callable[..., object]) -> None:
    folder = make_study(tmp_path, sample=True)
    study_folder = folder / "study"
    write_files(folder / "pairs")
    (study_folder / "tasks/moods.yaml").write_text(TASK)
    (study_folder / "sources/pairs.yaml").write_text("{title: Pairs, path: pairs}")
    (study_folder / "papers/tiny/table9.yaml").write_text(TABLE)
    run_in(folder, "reports/tiny/table9.md", "reports/submissions/tiny-teacher/seed-1.zip")

    score = json.loads((folder / "results/scores/tiny-predicting/moods/seed-2.json").read_text())
    assert score["split"] == "dev"
    assert score["sample"] == {"train": [30, 40]}
    assert {"accuracy/near", "accuracy/far", "accuracy/all", "f1/near"} <= set(score["metrics"])
    stored = json.loads((folder / "results/scores/tiny-predicting/moods/seed-2.answers.json").read_text())
    kind = task_types[score["settings"]["task"]["task_type"]]()
    for subset in ("near", "far"):
        again = kind.scores(**stored[f"dev-{subset}"])
        assert {f"{name}/{subset}": value for name, value in again.items()}.items() <= score["metrics"].items()
    assert score["metrics"]["accuracy/all"] == pytest.approx(
        (score["metrics"]["accuracy/near"] + score["metrics"]["accuracy/far"]) / 2
    )
    trial = json.loads((folder / "results/trials/tiny-predicting/moods/1-of-1.jsonl").read_text().splitlines()[0])
    assert 0 <= trial["dev"] <= 1
    assert "<sup>a</sup> measured on a sample: train 30 of 40 rows" in (folder / "reports/tiny/table9.md").read_text()

    with zipfile.ZipFile(folder / "reports/submissions/tiny-teacher/seed-1.zip") as archive:
        lines = archive.read("Moods.tsv").decode().splitlines()
    assert lines[0] == "index\tprediction"
    assert [line.split("\t")[0] for line in lines[1:]] == [str(number) for number in range(10)]
    assert {line.split("\t")[1] for line in lines[1:]} <= {"0", "1"}
