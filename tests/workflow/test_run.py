"""The whole workflow on the tiny study: task-specific and task-agnostic distillation, tables, figures, page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from retort.study.addresses import answers_address

from tests.conftest import read_json, snakemake
from tests.tiny.edit import STUDENTS, change
from tests.tiny.make import make_study
from tests.workflow.test_incremental import scores_of

pytestmark = pytest.mark.workflow
SCORES = scores_of("kd", "attention") | scores_of("predicting", tasks=["mood"]) | scores_of("teacher", seeds=[1])


def test_every_score_stands_at_its_address_with_its_origin(finished: Path) -> None:
    found = {str(path.relative_to(finished)) for path in finished.glob("results/scores/*/*/[0-9]*.json")}
    assert found == SCORES | set(map(answers_address, SCORES))
    for name in SCORES:
        scores: Any = read_json(finished / name)
        seeds = "-".join(str(score["seed"]) for score in scores)
        assert {f"results/scores/{score['student']}/{score['task']}/{seeds}.json" for score in scores} == {name}
    for score in (score for name in SCORES for score in read_json(finished / name)):
        assert score["status"] == "ok"
        assert all(-1 <= value <= 1 for value in score["metrics"].values())
        assert score["seconds"] > 0
        assert score["device"].startswith("cpu: ")
        assert {"python", "torch", "transformers"} <= set(score["versions"])
        assert score["commit"]
        assert score["settings"]["precision"] == "float32"


def test_seeds_differ_and_the_grid_point_is_the_best_on_dev(finished: Path) -> None:
    lines = next(finished.glob("results/trials/*/mood/1-of-1.jsonl")).read_text().splitlines()
    trials = list(map(json.loads, lines))
    assert len(trials) == 2
    best = max(trials, key=lambda trial: trial["dev"])
    scores = read_json(finished / "results/scores/tiny-predicting/mood/1-2.json")
    assert scores[0]["chosen"] == {key: best[key] for key in ("learning_rate", "batch_size")}
    one, two = (score["metrics"] for score in read_json(finished / "results/scores/tiny-kd/rating/1-2.json"))
    assert one != two


def test_nothing_is_left_behind(finished: Path) -> None:
    assert not list((finished / "results/checkpoints").glob("*"))
    assert not list((finished / "results/students").glob("*/*/[0-9]*"))  # weights are not kept unless asked for


def test_the_report_is_a_folder_without_a_network(finished: Path) -> None:
    index, page = ((finished / "reports" / name).read_text() for name in ("index.html", "tiny/index.html"))
    for text in ("On the task", "Task-agnostic", "Latency", "Effects", "Vanilla KD beats attention transfer on mood."):
        assert text in page
    assert "On the task" in index
    for name, text in (("index.html", index), ("tiny/index.html", page)):
        links = re.findall(r"(?:src|href)=[\"']([^\"']+)", text)
        files = {link.partition("#")[0] for link in links if not link.startswith(("#", "data:"))}
        assert files
        assert all((finished / "reports" / name).parent.joinpath(file).is_file() for file in files), files
        assert "<script src" not in text
        assert "@import" not in text


def test_everything_is_as_it_was_made(finished: Path) -> None:
    command = [sys.executable, "-m", "retort", "verify", "--config", str(finished / "config.yaml")]
    done = subprocess.run(command, cwd=finished, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1].endswith("MB: all as they were made"), done.stdout + done.stderr


def test_a_mistake_stops_the_workflow_before_anything_runs(tmp_path: Path) -> None:
    folder = make_study(tmp_path)
    change(folder / "study", STUDENTS, "mapping: uniform", "mapping: unifrom")
    done = snakemake(folder, check=False)
    said = done.stdout + done.stderr
    assert done.returncode
    assert "no mapping is called 'unifrom'; did you mean 'uniform'?" in said
    assert "Traceback" not in said
    assert not (folder / "results").exists()
