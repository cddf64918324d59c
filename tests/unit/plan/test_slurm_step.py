"""Tests that a Slurm job starts Snakemake once."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from retort.plan import slurm_step


class Jobs(SimpleNamespace):
    """A job, or several that share a Slurm job."""

    def __len__(self) -> int:
        return self.number


def job(number: int = 1, **resources: Any) -> Jobs:
    return Jobs(number=number, threads=4, resources=resources)


def executor(array_jobs: str | None = None) -> Any:
    settings = SimpleNamespace(array_jobs=array_jobs)
    return SimpleNamespace(workflow=SimpleNamespace(executor_settings=settings))


def submitted(own: Any, given: Any) -> list[str]:
    """Return the command of a job, of which Snakemake's own part is 'snakemake --mode remote'."""
    make = slurm_step.run_in_step(lambda executor, job: "snakemake --mode remote")
    return shlex.split(make(own, given))


def test_a_job_is_submitted_as_its_step() -> None:
    command = submitted(executor(), job(gpu=2))
    assert command[:4] == [sys.executable, "-I", slurm_step.__file__, "1"]
    step = "srun -n1 --cpu-bind=q --cpus-per-task=4 --gpus=2 --nodes=1 snakemake --mode remote"
    assert " ".join(command[4:]) == step
    assert "--gpus=2" not in submitted(executor(), job())
    assert submitted(executor(), job(number=30))[3] == "30"
    assert slurm_step.without_executor(lambda _: "--executor slurm-jobstep")(executor()) == ""


def test_jobs_of_an_array_are_left_to_the_plugin() -> None:
    assert submitted(executor("all"), job()) == ["snakemake", "--mode", "remote"]
    assert slurm_step.without_executor(lambda _: "--executor slurm-jobstep")(executor("all")).endswith("jobstep")


def test_a_step_inherits_no_sizes_of_its_slurm_job() -> None:
    """Variables that contradict its arguments are refused by srun."""
    kept = {"SLURM_JOB_ID": "7", "SLURM_CONF": "here", "COLOUR": "red"}
    dropped = {"SLURM_CPUS_PER_TASK": "9", "SRUN_CPUS_PER_TASK": "9"}
    show = "import json, os; print(json.dumps(dict(os.environ)))"
    command = [sys.executable, "-I", slurm_step.__file__, "3", sys.executable, "-c", show]
    done = subprocess.run(command, env=os.environ | kept | dropped, capture_output=True, text=True, check=True)
    shown = json.loads(done.stdout)
    assert {name: shown[name] for name in (*kept, slurm_step.JOBS)} == kept | {slurm_step.JOBS: "3"}
    assert not dropped.keys() & shown.keys()


def test_a_process_knows_how_many_jobs_share_its_slurm_job(monkeypatch: pytest.MonkeyPatch) -> None:
    assert slurm_step.jobs_in_turn() == 1
    monkeypatch.setenv(slurm_step.JOBS, "30")
    assert slurm_step.jobs_in_turn() == 30


def test_the_plugin_is_adapted(monkeypatch: pytest.MonkeyPatch) -> None:
    import snakemake_executor_plugin_slurm as plugin

    monkeypatch.setattr(plugin, "get_submit_command", plugin.get_submit_command)
    for name in ("format_job_exec", "additional_general_args"):
        monkeypatch.setattr(plugin.Executor, name, getattr(plugin.Executor, name))
    slurm_step.adapt_plugin()
    for name in ("format_job_exec", "additional_general_args"):
        assert getattr(plugin.Executor, name).__module__ == slurm_step.__name__
    assert "format_job_exec" in plugin.Executor.run_job.__code__.co_names
    assert plugin.get_submit_command.__module__ == slurm_step.__name__


@pytest.mark.parametrize(
    ("resources", "seconds"),
    [({}, 120), ({"mem_mb": 30_000}, 420), ({"mem_mb": 30_000, "runtime": 60}, 420), ({"runtime": 5}, 60)],
)
def test_a_job_with_more_to_write_is_told_earlier(resources: dict[str, int], seconds: int) -> None:
    assert slurm_step.lead(resources) == seconds


@pytest.mark.parametrize(
    ("extra", "added"),
    [
        (None, "--signal=URG@120 --open-mode=append"),
        ("--nice=100", "--signal=URG@120 --open-mode=append"),
        ("--signal=URG@300", "--open-mode=append"),
        ("--signal=URG@300 --open-mode=append", ""),
    ],
)
def test_every_job_is_told_ahead_of_its_end(extra: str | None, added: str) -> None:
    make = slurm_step.with_signal(lambda job, params, settings: f"sbatch {params} {settings}")
    assert make(job(slurm_extra=extra), "-t 10", settings="--requeue") == f"sbatch -t 10 --requeue {added}".strip()
