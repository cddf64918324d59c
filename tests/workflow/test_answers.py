"""Extractive question answering, task-specific and task-agnostic, from SQuAD's JSON to the table and the answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from retort.tasks import task_types

from tests.tiny.make import make_study

pytestmark = pytest.mark.workflow
TASK = """
title: Which word follows 'glad'?
source: words
task_type: span
metrics: [f1, exact]
subsets: [de, en]
splits:
  train: {rows: 24}
  dev: {rows: 6, subsets: true}
read:
  local:
    format: squad
    files: {train: train.json, dev: 'dev-{subset}.json'}
    columns: {id: id, question: question, context: context, label: answers}
metric_for_best_model: f1/en
evaluation_split: dev
max_length: 20
windows: {overlap: 4, question: 6}
version: 1
sample:
  - {id: a, question: which word, context: a glad day, label: {text: [day], answer_start: [7]}}
  - {id: b, question: which word, context: a glad song, label: {text: [song], answer_start: [7]}}
"""
TABLE = """
kind: scores
title: Words
question: Are spans found?
columns:
  - {task: words, subset: de, metric: f1, label: German}
  - {task: words, subset: all, metric: exact, label: Both}
rows:
  - {student: tiny-teacher, label: Teacher}
  - {student: tiny-kd, label: On the task}
  - {student: tiny-predicting, label: Fine-tuned}
"""


def write_words(path: Path, rows: int) -> None:
    """Write a file of questions; some contexts are longer than a window."""
    paragraphs = []
    for number in range(rows):
        words = ["road", "house"] * (number % 12) + ["glad", ("day", "song")[number % 2], "town"]
        context = " ".join(words)
        answer = {"text": words[-2], "answer_start": context.index("glad ") + 5}
        asked = {"id": f"{path.stem}-{number}", "question": "which word", "answers": [answer]}
        paragraphs.append({"context": context, "qas": [asked]})
    path.write_text(json.dumps({"version": "1.1", "data": [{"title": "Words", "paragraphs": paragraphs}]}))


def test_spans_on_both_roads(tmp_path: Path, run_in: Callable[..., object]) -> None:
    folder = make_study(tmp_path)
    study_folder = folder / "study"
    (folder / "words").mkdir()
    for name, rows in (("train", 24), ("dev-de", 6), ("dev-en", 6)):
        write_words(folder / "words" / f"{name}.json", rows)
    (study_folder / "tasks/words.yaml").write_text(TASK)
    (study_folder / "sources/words.yaml").write_text("{title: Words, path: words}")
    (study_folder / "papers/tiny/table9.yaml").write_text(TABLE)
    run_in(folder, "reports/tiny/table9.md")

    for student in ("tiny-teacher", "tiny-kd", "tiny-predicting"):
        place = folder / "results/scores" / student / "words"
        score = json.loads((place / "seed-1.json").read_text())
        stored = json.loads((place / "seed-1.answers.json").read_text())
        kind = task_types["span"]()
        for subset in ("de", "en"):
            given = stored[f"dev-{subset}"]
            again = kind.scores(given["answers"], given["truth"])
            assert {f"{name}/{subset}": value for name, value in again.items()}.items() <= score["metrics"].items()
            assert [row["id"] for row in given["answers"]] == [f"dev-{subset}-{number}" for number in range(6)]
            assert {row["normalisation"] for row in given["truth"]} == {f"mlqa-{subset}"}
    assert not list((folder / "results/activations").rglob("*.npy"))  # nobody needs them once the run is done
    assert "German" in (folder / "reports/tiny/table9.md").read_text()
