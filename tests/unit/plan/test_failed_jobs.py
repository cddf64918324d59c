"""Tests of a run with failures: which results are not made and why, and what tables and the index say of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from retort.attempts import KILLED, RUN, Attempt
from retort.plan import failed_jobs
from retort.plan.exhibits import Exhibits
from retort.plan.plan import Plan
from retort.specs.config import read_config
from retort.tables.collect import measure_score
from retort.tables.tidy import Status, sentence

from tests.tiny.make import STUDY

LOG = "results/logs/run_grid/a.log"
SCORE = "results/scores/tiny-kd/mood/seed-1.json"


def failed(log: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempt: Attempt | None = None) -> str:
    """Return the reason of a job with this log and attempt."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(RUN, "run")
    Path(LOG).parent.mkdir(parents=True)
    Path("results/.locks").mkdir()
    if log is not None:
        Path(LOG).write_text(log)
    if attempt:
        attempt.write(Path("results/.locks/run_grid.a.1.attempt"))
    return failed_jobs.reason(SimpleNamespace(log=[LOG], rule=SimpleNamespace(name="run_grid"), wildcards=["a", 1]))


@pytest.mark.parametrize(
    ("log", "attempt", "why"),
    [
        ("step 1\nOSError: no luck\n\n", None, "OSError: no luck"),
        ("\x1b[31mkilled\x1b[0m \u202egood\x9b\n", None, r"\x1b[31mkilled\x1b[0m \u202egood\x9b"),
        (None, None, "it left no log"),
        ("", None, "its log is empty"),
        ("step 1\n", Attempt("run", "", "0.0.0"), KILLED),
        ("step 1\n", Attempt("run", "", "0.0.0", reason="no luck"), "no luck"),
        ("step 1\n", Attempt("an earlier one", "", "0.0.0", reason="no luck"), "step 1"),
    ],
)
def test_the_reason_is_the_log_and_its_last_line(
    log: str | None, attempt: Attempt | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert failed(log, tmp_path, monkeypatch, attempt) == f"{LOG}: {why}"


def planned(**failures: str) -> Plan:
    """Return the plan of the tiny study in which jobs have failed to make these results."""
    content: dict[str, Any] = {"papers": ["tiny"], "study": str(STUDY), "run_sources": {"failed": failures}}
    return Plan(read_config(content))


def test_a_failed_result_is_left_out_and_its_cell_says_why() -> None:
    plan, all_made = planned(**{SCORE: f"{LOG}: no luck"}), planned()
    name = next(name for _, name in plan.study.exhibits if SCORE in Exhibits(all_made).scores("tiny", name))
    assert set(Exhibits(all_made).scores("tiny", name)) - set(Exhibits(plan).scores("tiny", name)) == {SCORE}
    cell = measure_score(plan.study, {}, "tiny-kd", "mood", "accuracy").fields
    assert (cell["status"], cell["reason"]) == (Status.FAILED, f"{LOG}: no luck")
    assert sentence(cell["status"], cell["reason"]) == f"failed ({LOG}: no luck)"
    assert measure_score(all_made.study, {}, "tiny-kd", "mood", "accuracy").fields["status"] is Status.MISSING


def test_the_second_run_knows_that_it_is_the_second() -> None:
    assert failed_jobs.are_known({"run_sources": {"failed": {SCORE: "why"}}})
    assert not failed_jobs.are_known({"run_sources": {"failed": {}}})
    assert not failed_jobs.are_known({})
