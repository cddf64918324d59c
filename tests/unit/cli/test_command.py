"""Tests of the command itself: help, version, misspelled verbs, completions, the width of what it prints."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from retort import __version__
from retort.cli import main

from tests.conftest import ROOT

COMPLETE = (
    "import argcomplete, os; from retort.cli import parser; argcomplete.autocomplete(parser(), exit_method=os._exit)"
)


def test_without_a_verb_it_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])
    assert not ended.value.code
    assert "usage: retort" in capsys.readouterr().out


def test_it_tells_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"retort {__version__}\n"
    assert f"\n## {__version__}\n" in (ROOT / "CHANGELOG.md").read_text()
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_a_misspelled_verb_is_told_with_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chek"]) == 2
    assert capsys.readouterr().err == "retort chek: no verb is called 'chek'; did you mean 'check'?\n"


def test_a_shell_completes_verbs_and_options(tmp_path: Path) -> None:
    def completed(line: str) -> list[str]:
        found = tmp_path / "found"
        asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9"}
        asked |= {"_ARGCOMPLETE_STDOUT_FILENAME": str(found), "_ARGCOMPLETE_IFS": "\n"}
        subprocess.run([sys.executable, "-c", COMPLETE], env={**os.environ, **asked}, check=True)
        return [word.strip() for word in found.read_text().splitlines()]

    assert completed("retort che") == ["check"]
    assert completed("retort compare --rec") == ["--recorded"]


def test_there_may_be_nothing_to_verify(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify"]) == 0
    assert capsys.readouterr().out == "nothing to verify: results holds no results; `make run` makes them\n"


@pytest.mark.slow
@pytest.mark.parametrize("call", ["list", "show wang2023-kd sst2"])
def test_no_line_is_longer_than_120_characters(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(call.split()) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 120


@pytest.mark.slow
def test_recorded_rows_are_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    mine = tmp_path / "reduced.yaml"
    mine.write_text("scale: reduced\n")
    assert main(["compare", "wang2023/table1", "Att-KL", "Vanilla KD", "--recorded", "--config", str(mine)]) == 0
    assert "(mrpc, qnli, sst2)" in capsys.readouterr().out
    assert main(["compare", "pocket/table1", "Vanilla KD", "Nobody", "--recorded"]) == 2
    assert main(["compare", "wang2023/table1", "Att-KL", "Vanilla KD", "--recorded"]) == 2
    assert "no run of wang2023 at scale pocket is recorded" in capsys.readouterr().err


@pytest.mark.slow
def test_a_wheel_says_what_it_lacks(tmp_path: Path) -> None:
    def python(*arguments: str, path: Path = ROOT / "workflow") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(path)}
        done = [sys.executable, "-m", *arguments]
        return subprocess.run(done, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)

    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "workflow", tmp_path / "workflow", ignore=shutil.ignore_patterns("*.egg-info", "papers"))
    built = python("pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", "built", ".")
    assert built.returncode == 0, built.stderr
    (wheel,) = (tmp_path / "built").glob("retort-*.whl")
    python("pip", "install", "-q", "--no-deps", "--target", "lib/installed/here", str(wheel))
    installed = tmp_path / "lib/installed/here"
    assert python("retort", "--version", path=installed).stdout == f"retort {__version__}\n"
    done = python("retort", "list", path=installed)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("retort list: this is the package without its workflow; work in a clone of retort: ")
    assert len(done.stderr.splitlines()) == 1
