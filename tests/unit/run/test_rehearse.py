"""Tests of rehearsals: what fails is told and costs its own cells, and one that was stopped goes on."""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from retort import provenance
from retort.cli import main
from retort.cli.rehearsing import rehearsal_config
from retort.run.rehearsal.rehearse import NOTES

from tests.tiny.edit import change, write
from tests.tiny.make import make_study

pytestmark = pytest.mark.slow  # whole rehearsals
HUB = {"repository": "a/b", "repo_type": "model", "files": ["config.json"]}
CALL = """
import signal, sys
from retort.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell makes processes in its background ignore it
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a call that rehearses the tiny study in the folder `here`, as if its paper was printed."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # as jobs set it: so it is unset again at the end
    study = make_study(tmp_path / "own") / "study"
    paper = study / "papers/tiny/paper.yaml"
    paper.write_text(paper.read_text().replace("ours: true\n", ""))
    return ["rehearse", "--config", str(tmp_path / "own/config.yaml"), "--folder", str(tmp_path / "here")]


def test_what_fails_costs_its_own_cells_until_a_rehearsal_makes_them(
    tiny: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = tmp_path / "here"
    table, log = here / "results/tables/tiny/table1.csv", here / "results/logs/distill_on_task/tiny-kd.mood.1-2.log"
    assert main(tiny) == 0
    told = capsys.readouterr()
    assert told.out.endswith(f" jobs, 0 failed; the pages are in {here}/reports\n")
    assert "failed" not in told.err  # a slow machine shows the progress there
    assert "tiny-kd" in log.read_text()

    model = here / "results/teachers/tiny-teacher/mood/1"
    (model / "model.safetensors").write_bytes(b"damaged")
    (here / "results/scores/tiny-kd/mood/1-2.json").unlink()
    assert main(tiny) == 1
    told = capsys.readouterr()
    assert f"failed: distill_on_task(tiny-kd, mood, 1-2): {model.relative_to(here)}" in told.err
    assert f"\n  look at {log}\n" in told.err
    assert told.out.endswith(f"1 jobs, 1 failed; the pages are in {here}/reports\n")
    assert "failed" in table.read_text()

    shutil.rmtree(model)
    assert main(tiny) == 0
    assert "failed" not in table.read_text()
    assert main(tiny) == 0
    assert "0 jobs, 0 failed;" in capsys.readouterr().out


def test_a_rehearsal_is_alone_in_its_folder_and_goes_on_after_it_was_stopped(
    tiny: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = tmp_path / "here" / NOTES
    running = subprocess.Popen([sys.executable, "-c", CALL, *tiny, "tiny"], stderr=subprocess.PIPE, text=True)
    while not notes.is_file() or notes.read_text().count("\n") < 10:
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(signal.SIGSTOP)
    assert main(tiny) == 2
    assert f"here is already at work elsewhere: process {running.pid} on " in capsys.readouterr().err
    running.send_signal(signal.SIGINT)
    running.send_signal(signal.SIGCONT)
    told = running.communicate()[1]
    assert running.returncode == 1
    stopped = re.search(r"stopped after (\d+) jobs; run it again to go on\n", told)
    assert stopped, told
    assert main([*tiny, "tiny"]) == 0
    went_on = int(capsys.readouterr().out.splitlines()[-1].split()[0])
    assert int(stopped[1]) + went_on == len({line.split()[1] for line in notes.read_text().splitlines()})


def test_changed_code_is_run_again(
    tiny: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = []
    for code in (provenance.code, provenance.code, lambda objectives: f"other {sorted(objectives)}"):
        monkeypatch.setattr(provenance, "code", code)
        assert main([*tiny, "--distinct"]) == 0
        ran.append(int(capsys.readouterr().out.split()[0]))
    assert ran[0] > ran[1] == 0
    assert ran[2] == ran[0]


def test_results_of_another_scale_are_left_alone(
    tiny: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here/results").mkdir(parents=True)
    (tmp_path / "here/results/scale").write_text("paper\n")
    assert main(tiny) == 2
    assert "results/ holds runs at scale paper" in capsys.readouterr().err


def test_a_configuration_for_gpus_of_a_cluster_can_be_rehearsed(tmp_path: Path) -> None:
    path = tmp_path / "gpus.yaml"
    path.write_text("scale: paper\nprecision: tf32\ncluster: slurm/partitions.yaml\nstudents_together: 2\n")
    config = rehearsal_config(argparse.Namespace(config=str(path), papers=["wang2023"]))
    assert config.papers is None
    assert (config.scale, config.precision, config.cluster, config.students_together) == ("rehearsal", "auto", None, 2)


@pytest.mark.parametrize("source", [{"path": "encoder"}, {"hub": HUB, "licence": "any", "local": "encoder"}])
def test_sizes_are_read_in_a_folder_of_the_user(
    tiny: list[str], source: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = tmp_path / "own/study"
    write(study, "sources/encoder.yaml", {"title": "Weights of mine", **source})
    write(study, "models/encoder.yaml", {"title": "My teacher", "source": "encoder"})
    change(tmp_path, "own/config.yaml", '"papers"', '"models_dir": ".", "papers"')
    monkeypatch.chdir(tmp_path / "own")
    assert main([*tiny, "--distinct"]) == 0
    assert Path.cwd() == tmp_path / "own"


def test_a_study_of_ones_own_is_rehearsed_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_study(tmp_path / "own")
    call = ["rehearse", "--config", str(tmp_path / "own/config.yaml"), "--folder", str(tmp_path / "here")]
    assert main([*call, "tny"]) == 2
    assert "no paper is called 'tny'; did you mean 'tiny'?" in capsys.readouterr().err
    assert main([*call, "tiny"]) == 0
    assert " jobs, 0 failed" in capsys.readouterr().out
    assert (tmp_path / "here/reports/tiny/table1.html").is_file()
