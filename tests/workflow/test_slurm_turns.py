"""Short jobs that share a job of a real Slurm, if one is running: one after another, and one failure costs one job."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, read_json, snakemake
from tests.tiny.make import make_study
from tests.workflow.test_slurm import STUDY, running, uncomment_turns

pytestmark = pytest.mark.workflow
TABLE = "reports/tiny/table4.html"
SCORES = [f"results/scores/tiny-predicting/mood/seed-{seed}.json" for seed in (1, 2)]

# a module that Python imports at its start: jobs fail that import a module and have a word among their paths
BREAK = """
import builtins, os, sys
if os.environ.get("BREAK"):
    breaking, word = os.environ["BREAK"].split()
    real = builtins.__import__
    def importing(name, *args, **kwargs):
        module = real(name, *args, **kwargs)
        if name == breaking and word.encode() in open(sys.argv[0], "rb").read():
            raise OSError("no luck today")
        return module
    builtins.__import__ = importing
"""


def run(folder: Path, table: str = TABLE) -> tuple[int, str]:
    """Make the page of a table on the cluster; return the exit status and the output."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--profile", "slurm"]
    command += ["--retries", "4", "--slurm-keep-successful-logs", "--", table]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def at_the_same_time(folder: Path) -> list[int]:
    """Return how many jobs the Snakemakes of the latest Slurm jobs began at the same time; delete their logs."""
    logs = sorted(folder.glob(".snakemake/slurm_logs/group_finetune*/**/*.log"))
    text = "".join(log.read_text() for log in logs)
    for log in logs:
        log.unlink()
    return [int(number) for number in re.findall(r"^Execute (\d+) jobs", text, re.MULTILINE)]


def statuses(folder: Path, table: str = "table4", task: str = "mood") -> list[str]:
    """Return the statuses of the cells of a task in a table."""
    with (folder / f"results/tables/tiny/{table}.csv").open(encoding="utf-8") as stream:
        return [line["status"] for line in csv.DictReader(stream) if line["task"] == task]


def breakable(folder: Path, at_once: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a tiny study whose jobs share Slurm jobs, and fail as the environment says."""
    study = make_study(folder / "study")
    shutil.copytree(ROOT / "slurm", study / "slurm")
    (study / "slurm/study.yaml").write_text(STUDY)
    uncomment_turns(study, at_once)
    (folder / "sitecustomize.py").write_text(BREAK)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ["PYTHONPATH"]]))
    return study


@pytest.mark.skipif(not running(), reason="no Slurm with the profile's partitions is running")
@pytest.mark.parametrize("at_once", [1, 2])
def test_seeds_share_a_slurm_job_and_one_that_fails_costs_itself_alone(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = breakable(tmp_path, at_once, monkeypatch)
    snakemake(folder, "results/trials/tiny-predicting/mood/1-of-1.jsonl")
    monkeypatch.setenv("BREAK", "retort.stages.finetune seed-1.json")
    status, said = run(folder)
    assert status != 0
    assert len(re.findall("has been submitted", said)) == 2, said  # both seeds, twice: then seed 1 is given up
    assert at_the_same_time(folder) == [at_once] * (4 // at_once)
    assert "1 job failed; cells that need the results say 'failed', everything else is made:" in said
    assert "no luck today" in said
    assert not (folder / SCORES[0]).exists()
    assert statuses(folder) == ["failed"]
    kept = (folder / SCORES[1]).stat().st_mtime_ns
    assert read_json(folder / SCORES[1])["status"] == "ok"
    log = (folder / "results/logs/finetune_student/tiny-predicting.mood.2.log").read_text()
    assert "an earlier job has made it" in log  # at the second attempt

    monkeypatch.delenv("BREAK")
    status, said = run(folder)
    assert status == 0, said
    assert len(re.findall("has been submitted", said)) == 1, said
    assert (folder / SCORES[1]).stat().st_mtime_ns == kept
    assert statuses(folder) == ["ok"]
    assert not list(folder.glob("results/.locks/*.results"))


@pytest.mark.skipif(not running(), reason="no Slurm with the profile's partitions is running")
def test_the_run_goes_on_with_one_task_where_another_cannot_be_encoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = breakable(tmp_path, 1, monkeypatch)
    monkeypatch.setenv("BREAK", "retort.stages.preprocess results/encoded/rating")
    status, said = run(folder, "reports/tiny/table1.html")
    assert status != 0
    assert "1 job failed; cells that need the results say 'failed', everything else is made:" in said
    assert set(statuses(folder, "table1", "mood")) == {"ok"}, said
    assert set(statuses(folder, "table1", "rating")) == {"failed"}
    assert (folder / "reports/tiny/table1.html").is_file()
