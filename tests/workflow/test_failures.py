"""One failed job costs its own cells: all else is made, and the next run tries it again."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import pytest
from retort.job import fork_client, forkserver

from tests import conftest
from tests.conftest import read_json, snakemake

pytestmark = pytest.mark.workflow
SCORE = "results/scores/tiny-predicting/mood/1-2.json"

# a module that Python imports at its start: fine-tuning ends as a variable of the environment says
BREAK = """
import builtins, os
real = builtins.__import__
def importing(name, *args, **kwargs):
    module, how = real(name, *args, **kwargs), os.environ.get("BREAK")
    if how and name == "retort.training.stages.finetune":
        if how == "kill":
            os.kill(os.getpid(), 9)
        raise OSError("no luck today")
    return module
builtins.__import__ = importing
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let jobs be forks of a server that has read the module."""
    (tmp_path / "sitecustomize.py").write_text(BREAK)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]]))
    forkserver.start()
    address = os.environ.pop(fork_client.ADDRESS)
    monkeypatch.setattr(conftest, "server_of_jobs", lambda: address)


def lines(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of the table that shows the task-agnostic student."""
    with (folder / "results/tables/tiny/table4.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def assert_failed(copied: Path, why: str) -> None:
    """Run a study one of whose jobs fails, and check that it costs the student's own cells."""
    others = (copied / "results/tables/tiny/table1.csv").stat().st_mtime_ns
    done = snakemake(copied, "--retries=1", "--forcerun", "results/tables/tiny/table4.csv", check=False)
    assert done.returncode != 0
    assert "1 job failed; cells that need the results say 'failed', everything else is made:" in done.stderr
    (failed,) = lines(copied)
    assert (failed["student"], failed["status"]) == ("tiny-predicting", "failed")
    log = "results/logs/finetune_student/tiny-predicting.mood.1-2.log: "
    assert failed["reason"].startswith(log)
    assert why in failed["reason"]
    index = (copied / "reports/index.html").read_text(encoding="utf-8")
    assert "1 job failed</h2>" in index
    assert why in index
    assert (copied / "results/tables/tiny/table1.csv").stat().st_mtime_ns == others


@pytest.mark.usefixtures("server")
def test_a_failed_job_costs_its_own_cells(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (SCORE, "results/tables/tiny/table4.csv"):
        (copied / path).unlink()
    for how, why in (("raise", "no luck today"), ("kill", "it was killed")):
        monkeypatch.setenv("BREAK", how)
        assert_failed(copied, why)
    monkeypatch.delenv("BREAK")
    snakemake(copied)  # the next run tries again
    assert [line["status"] for line in lines(copied)] == ["ok"]
    assert [score["status"] for score in read_json(copied / SCORE)] == ["ok", "ok"]
    assert "failed</h2>" not in (copied / "reports/index.html").read_text(encoding="utf-8")
