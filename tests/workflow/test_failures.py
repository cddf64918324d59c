"""One failed job costs its own cells: all else is made, and the next run tries it again."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import read_json, snakemake
from tests.tiny.make import make_study

pytestmark = pytest.mark.workflow

# a module that Python imports at its start: jobs whose script and wildcards match end as the variable says
BREAK = """
import os, sys
if os.environ.get("BREAK") and "retort" not in sys.modules:
    import builtins
    real = builtins.__import__
    def importing(name, *args, **kwargs):
        module = real(name, *args, **kwargs)
        if name == "retort.stages.finetune" and os.environ["BREAK"] == "kill":
            os.kill(os.getpid(), 9)
        if name == "retort.stages.finetune":
            raise OSError("no luck today")
        return module
    builtins.__import__ = importing
"""


def lines(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of the tiny study's first table."""
    with (folder / "results/tables/tiny/table1.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize(("how", "why"), [("raise", "no luck today"), ("kill", "it was killed")])
def test_a_failed_job_costs_its_own_cells(how: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_study(tmp_path / "study")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "sitecustomize.py").write_text(BREAK)
    path = os.environ["PYTHONPATH"]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "broken"), path]))
    monkeypatch.setenv("BREAK", how)
    done = snakemake(folder, "--keep-going", check=False)
    assert done.returncode != 0
    assert "2 jobs failed; cells that need the results say 'failed'" in done.stderr or "1 job failed" in done.stderr
    failed = [line for line in lines(folder) if line["status"] == "failed"]
    assert failed
    assert {line["student"] for line in failed} == {"tiny-predicting"}
    assert all(why in line["reason"] and "results/logs/" in line["reason"] for line in failed)
    assert any(line["status"] == "ok" for line in lines(folder))
    index = (folder / "reports/index.html").read_text(encoding="utf-8")
    assert "failed</h2>" in index
    assert why in index
    monkeypatch.delenv("BREAK")
    snakemake(folder, "--keep-going")
    assert all(line["status"] != "failed" for line in lines(folder))
    assert read_json(folder / "results/scores/tiny-predicting/mood/seed-1.json")["status"] == "ok"
    assert "failed</h2>" not in (folder / "reports/index.html").read_text(encoding="utf-8")
