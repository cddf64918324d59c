"""Test that trainings of every sort of the four papers run, in miniature."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.cli import main

from tests.conftest import ROOT


def test_trainings_of_every_sort_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # as jobs set it: so it is unset again at the end
    monkeypatch.chdir(ROOT)
    assert main(["rehearse", "--distinct", "--folder", str(tmp_path)]) == 0, capsys.readouterr()
    assert " 0 failed" in capsys.readouterr().out
    assert len(list(tmp_path.glob("results/scores/*/*/*[0-9].json"))) > 40
