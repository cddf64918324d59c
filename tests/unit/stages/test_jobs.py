"""Tests of how a job ends that fails: one line for what the user can change, the traceback in its log."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rule_job import rule_job


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device", "results/x"), "cannot write results/x: No space left"),
        (OSError(30, "Read-only file system", "results/x"), "make the folder writable"),
        (PermissionError(13, "Permission denied", "results/x"), "cannot write results/x"),
    ],
)
def test_full_or_read_only_results(
    error: OSError, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from retort.jobs import job

    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit), job(stand_in(tmp_path / "log")):
        raise error
    assert said in capsys.readouterr().err
    assert "Traceback" in (tmp_path / "log").read_text()


def stand_in(log: Path) -> object:
    """Return a stand-in for Snakemake's object, with the few attributes that a job reads."""
    return rule_job(log=[str(log)])


def test_a_bug_keeps_its_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from retort.jobs import job

    monkeypatch.chdir(tmp_path)
    with pytest.raises(ZeroDivisionError), job(stand_in(tmp_path / "log")):
        _ = 1 / 0
