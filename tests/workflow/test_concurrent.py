"""Tests of runs next to runs: GPUs that they share, and two runs in one folder."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from retort.job import fork_client

from tests.conftest import SNAKEMAKE, run_snakemake, server_of_jobs, snakemake
from tests.tiny.make import make_study
from tests.workflow.test_slurm_faults import lengthen

pytestmark = pytest.mark.workflow

SCORE, OTHER = "results/scores/tiny-attention/mood/1-2.json", "results/encoded/rating/encoder"
TOY = """
workflow.register_resource("gpu", 2)
rule all:
    input: expand("trained{number}", number=range(4))
rule train:
    output: "trained{number}"
    resources: gpu=1
    shell: "echo 1 >> log; sleep 1; echo -1 >> log; touch {output}"
"""


def test_as_many_trainings_run_as_there_are_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Snakefile").write_text(TOY)
    assert run_snakemake(tmp_path, "--cores", "8", "--quiet").returncode == 0
    assert max(itertools.accumulate(map(int, (tmp_path / "log").read_text().split()))) == 2
    folder = make_study(tmp_path / "tiny", scale="paper")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "pretend-a,pretend-b")
    teacher = "results/teachers/tiny-teacher/mood/1"
    assert 'gpu=Resource("gpu", 2)' in snakemake(folder, teacher, check=False).stderr
    assert 'gpu=Resource("gpu", 1)' in snakemake(folder, teacher, "--resources", "gpu=1", check=False).stderr


@pytest.fixture
def shared() -> Iterator[Path]:
    """Return a folder in which all users may work, with a tiny study that has a long training."""
    folder = Path(tempfile.mkdtemp(prefix="nearby-", dir="/var/tmp"))
    make_study(folder)
    lengthen(folder, 600, "Attention, then predictions")
    snakemake(folder, "results/teachers/tiny-teacher/mood/1")
    yield folder
    shutil.rmtree(folder)


def started(folder: Path, *targets: str, user: int = 0) -> subprocess.Popen[str]:
    """Start a run, as another user if one is given."""
    as_user = ["setpriv", f"--reuid={user}", "--clear-groups"] if user else []
    command = [*as_user, *SNAKEMAKE, "--directory", str(folder), "--configfile", str(folder / "config.yaml")]
    mine = os.environ | dict.fromkeys(("HOME", "XDG_CACHE_HOME"), str(folder / f"home-{user}"))
    mine[fork_client.ADDRESS] = server_of_jobs()
    return subprocess.Popen([*command, "--cores=1", *targets], cwd=folder, env=mine, stderr=subprocess.PIPE, text=True)


def test_a_run_leaves_another_alone_or_is_refused_in_one_line(shared: Path) -> None:
    first, jobs = started(shared, SCORE), list[psutil.Process]()
    try:
        while not list(shared.glob("results/.locks/distill_on_task.*")):
            assert first.poll() is None
            time.sleep(0.1)
        line = f" and 1 more: process {first.pid} on "

        def refuses(said: str) -> bool:
            told = [each for each in said.splitlines() if line in each and each.startswith("another run is at work on")]
            return len(told) == 1 and told[0].endswith("; wait for its end, or ask for other files")

        assert refuses(snakemake(shared, SCORE, check=False).stderr)
        page = snakemake(shared, "reports/tiny/table1.html", check=False).stderr
        assert refuses(page)
        assert not any(word in page for word in ("Traceback", "common.smk", "not as they were made"))
        snakemake(shared, SCORE, "-n")
        if os.getuid() == 0:
            subprocess.run(["chmod", "-R", "a+rwX", str(shared)], check=True)
            assert refuses(started(shared, SCORE, user=65534).communicate()[1])
        snakemake(shared, OTHER)
        assert first.poll() is None
        jobs = psutil.Process(first.pid).children(recursive=True)
        first.send_signal(signal.SIGTERM)  # it ends when its job has ended
        assert refuses(snakemake(shared, SCORE, check=False).stderr)
    finally:
        for process in (first, *jobs):
            process.kill()
    first.communicate()
    snakemake(shared, "results/sources/texts", "--force")  # a run that was killed is in nobody's way
    assert not list(shared.glob(f"results/.locks/run.*-{first.pid}"))
