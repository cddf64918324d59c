"""A task whose splits are files: from these to tables, answers and the zip for a server, on both roads."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from retort.tasks import task_types

from tests.conftest import read_json, snakemake
from tests.tiny.edit import write
from tests.tiny.make import make_study

pytestmark = pytest.mark.workflow
MOODS = """
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
title: Files
question: Is every subset scored?
columns:
  - {task: moods, subset: near, metric: accuracy, label: Near}
  - {task: moods, subset: far, metric: accuracy, label: Far}
  - {task: moods, subset: all, metric: f1, label: Near and far}
rows:
  - {student: tiny-teacher, label: Teacher}
  - {student: tiny-kd, label: On the task}
  - {student: tiny-predicting, label: Fine-tuned}
"""


def write_moods(folder: Path) -> None:
    """Write the files of sentences; the training file holds only a part of the whole training set."""
    folder.mkdir()
    for name, rows in (("train", 30), ("dev-near", 10), ("dev-far", 10), ("test", 10)):
        words = [("glad", "high") if number % 3 else ("sad", "low") for number in range(rows)]
        lines = [f'{word} "day" {number}\t{mood}' for number, (word, mood) in enumerate(words)]
        lines = ["sentence\tmood", *lines] if name != "test" else ["sentence", *(line.split("\t")[0] for line in lines)]
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny study with the task, a table of its scores, and a submission."""
    folder = make_study(tmp_path_factory.mktemp("files"), sample=True)
    write_moods(folder / "pairs")
    (folder / "study/tasks/moods.yaml").write_text(MOODS)
    write(folder / "study", "sources/pairs.yaml", {"title": "Pairs", "path": "pairs"})
    (folder / "study/papers/tiny/table9.yaml").write_text(TABLE)
    snakemake(folder, "reports/tiny/table9.md", "reports/submissions/tiny-teacher/seed-1.zip")
    return folder


@pytest.mark.parametrize("student", ["tiny-teacher", "tiny-kd", "tiny-predicting"])
def test_the_answers_of_each_subset_have_its_score(student: str, made: Path) -> None:
    place = made / "results/scores" / student / "moods"
    path = next(path for path in place.glob("1*.json") if not path.name.endswith(".answers.json"))
    score: Any = read_json(path)[0]
    stored = read_json(path.with_suffix(".answers.json"))["1"]
    for subset in ("near", "far"):
        again = task_types["classification"]().scores(**stored[f"dev-{subset}"])
        assert {f"{name}/{subset}": value for name, value in again.items()}.items() <= score["metrics"].items()
    for metric in again:
        mean = (score["metrics"][f"{metric}/near"] + score["metrics"][f"{metric}/far"]) / 2
        assert score["metrics"][f"{metric}/all"] == pytest.approx(mean)


def test_a_sample_is_marked(made: Path) -> None:
    score = read_json(made / "results/scores/tiny-predicting/moods/1-2.json")[1]
    assert (score["split"], score["sample"]) == ("dev", {"train": [30, 40]})
    trial = json.loads((made / "results/trials/tiny-predicting/moods/1-of-1.jsonl").read_text().splitlines()[0])
    assert 0 <= trial["dev"] <= 1
    table = (made / "reports/tiny/table9.md").read_text()
    assert "<sup>a</sup> measured on a sample: train 30 of 40 rows" in table
    assert list((made / "results/logs/record_activations").glob("tiny-teacher.moods.1.log"))
    assert not list((made / "results/activations").rglob("*.npy"))  # nobody needs them once the run is done


def test_a_submission_has_an_answer_for_each_row_of_the_test_set(made: Path) -> None:
    with zipfile.ZipFile(made / "reports/submissions/tiny-teacher/seed-1.zip") as archive:
        lines = archive.read("Moods.tsv").decode().splitlines()
    assert lines[0] == "index\tprediction"
    assert [line.split("\t")[0] for line in lines[1:]] == [str(number) for number in range(10)]
    assert {line.split("\t")[1] for line in lines[1:]} <= {"0", "1"}
