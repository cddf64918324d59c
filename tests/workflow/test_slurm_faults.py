"""Trainings on a real Slurm that meet every fault once, and end in the bytes of an undisturbed run.

The faults: its time limit, `scontrol requeue`, the loss of its node, `scancel`, the death of Snakemake, and
an sbatch that fails though Slurm took the job. They need a Slurm whose nodes the user may set down, and ten minutes.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT, SNAKEMAKE, read_json, snakemake
from tests.tiny.edit import AGNOSTIC, PROTOCOL, STUDENTS, add, change
from tests.tiny.make import make_study
from tests.workflow.test_slurm import STUDY, running

pytestmark = pytest.mark.workflow
JOB = "distill_on_task.tiny-attention.mood.1-2"
STATES = [f"scores.tiny-attention.mood.seed-{seed}" for seed in (1, 2)]
SCORE = "results/scores/tiny-attention/mood/1-2.json"
WEIGHTS = "results/students/tiny-attention/mood/1-2/seed-1/model.safetensors"
STEPS = int(os.environ.get("RETORT_TEST_STEPS", "3500"))  # of each of four stages; 6 ms each: 1.4 minutes
ACTIVATIONS = "results/activations/tiny-teacher/mood/1"
FEW = STEPS // 5  # longer than two submissions
LIMIT = int(os.environ.get("RETORT_TEST_LIMIT", "1"))  # minutes; more on a busy machine, where a start takes long
LONG = 60  # minutes
PATIENCE = 3600.0  # seconds
# a shell command that makes Slurm lose the node $1 and all that runs on it, and gives the node back
DOWN = "scontrol update NodeName=$1 State=DOWN Reason=test; sleep 2; scontrol update NodeName=$1 State=RESUME || true"
LOSE = os.environ.get("RETORT_TEST_LOSE_NODE", DOWN)


# sbatch as it is while Slurm is slow: it submits, and fails each time, or the first time
SLOW = """#!/bin/sh
echo >> {folder}/calls
job=$({sbatch} "$@") || exit
if [ $(wc -l < {folder}/calls) -gt {failures} ]; then echo $job; exit; fi
sleep 1
echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2
exit 1
"""
# a command that finds no job by its comment
HIDES = """#!/bin/sh
case "$*" in *%k* | *Comment*) ;; *) exec {real} "$@" ;; esac
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a study of which all but a training is made, here rather than on the cluster."""
    folder = make_study(tmp_path_factory.mktemp("faults") / "base", keep_weights=True, checkpoint_seconds=1)
    lengthen(folder, STEPS, "Attention, then predictions")
    snakemake(on_slurm(folder), "results/teachers/tiny-teacher/mood/1", ACTIVATIONS)
    return folder


def lengthen(folder: Path, steps: int, *titles: str) -> None:
    """Give the students with these titles as many steps a stage."""
    for name in (PROTOCOL, AGNOSTIC):
        text = (folder / "study" / name).read_text().replace("steps: 6", f"steps: {steps}", 1)
        (folder / "study" / name.replace("short", "long")).write_text(text)
    for title in titles:
        own = f"{title}\n  teacher: tiny-teacher\n  protocol: "
        change(folder / "study", STUDENTS, f"{own}short", f"{own}long")


def on_slurm(folder: Path) -> Path:
    """Add the profile to a study, and return its folder."""
    shutil.copytree(ROOT / "slurm", folder / "slurm")
    (folder / "slurm/study.yaml").write_text(STUDY)
    add(folder, "slurm/config.yaml", "\nretort-keep-successful-logs: true\n")
    return folder


@contextlib.contextmanager
def started(folder: Path, rule: str, *targets: str, limit: int = LONG) -> Iterator[subprocess.Popen[bytes]]:
    """Start Snakemake on the cluster; kill it at the end of the block, as a lost login node would.

    Args:
        folder: the study, with commands of Slurm in its folder bin that go before the real ones.
        rule: the rule whose jobs are described.
        targets: what is to be made.
        limit: the time limit of the first attempt at such a job, in minutes; later ones get a long one.
    """
    runtime = f"runtime={limit} if attempt == 1 else {LONG}"
    asked = [f"{rule}:{resource}" for resource in (runtime, "mem_mb=1500")]
    command = [*SNAKEMAKE, "--profile", "slurm", "--set-resources", *asked, "--", *targets]
    variables = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    with (folder / "out.txt").open("ab") as out:
        controller = subprocess.Popen(
            command, cwd=folder, env=variables, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield controller
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(controller.pid, signal.SIGKILL)  # and what it has started on this machine
        controller.wait()


def wait_until(true: Callable[[], bool], controller: subprocess.Popen[bytes]) -> None:
    """Wait until something holds, as long as Snakemake lives."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert controller.poll() is None, "Snakemake has ended"
        assert time.monotonic() < end
        time.sleep(0.3)


@dataclass(frozen=True)
class Training:
    """The trainings of a job as they are seen from outside: its Slurm job, and how far they have got.

    Args:
        folder: the study.
        controller: the process of Snakemake.
        job: the name of the job's lock.
        states: the names of the folders of its checkpoints.
    """

    folder: Path
    controller: subprocess.Popen[bytes]
    job: str
    states: Sequence[str]

    def owner(self) -> str:
        """Return the Slurm job that is at work; empty if none is."""
        with contextlib.suppress(OSError, ValueError):
            return str(json.loads((self.folder / "results/.locks" / self.job).read_text())["slurm_job"])
        return ""

    def positions(self) -> list[str]:
        """Return what the checkpoints of each of the trainings say of how far it has got."""
        folders = [self.folder / "results/checkpoints" / state for state in self.states]
        return ["".join(note.read_text() for note in folder.glob("*.json*")) for folder in folders]

    def gets_further(self) -> str:
        """Wait until a job at work takes a step from here; return its id."""
        here = self.positions()
        wait_until(lambda: bool(self.owner()) and self.positions() != here, self.controller)
        return self.owner()

    def is_queued_again(self, job: str, fault: Callable[[], None]) -> None:
        """Let a fault happen, and wait until Slurm has queued the job again and it goes on."""
        before = restarts(job)
        fault()
        wait_until(lambda: restarts(job) > before, self.controller)
        assert self.gets_further() == job


def slurm(*command: str) -> str:
    """Run a command of Slurm and return what it prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def shown(job: str, key: str) -> str:
    """Return a value that `scontrol show job` shows."""
    return re.findall(rf"\b{key}=(\S*)", slurm("scontrol", "show", "job", job))[0]


def restarts(job: str) -> int:
    """Return how often Slurm has queued a job again."""
    return int(shown(job, "Restarts"))


def lose(node: str) -> None:
    """Make Slurm lose a node, and wait until it has the node again."""
    slurm("sh", "-c", LOSE, "sh", node)
    end = time.monotonic() + 60
    while slurm("sinfo", "-h", "-n", node, "-o", "%t").strip() not in ("idle", "mix", "alloc", "comp"):
        assert time.monotonic() < end, f"{node} does not come back"
        time.sleep(1)


@pytest.mark.skipif(not running(), reason="no Slurm with the profile's partitions is running")
def test_a_training_meets_every_fault_and_ends_in_the_same_bytes(base: Path, tmp_path: Path) -> None:
    whole, cut = (shutil.copytree(base, tmp_path / name, symlinks=True) for name in ("whole", "cut"))
    with ThreadPoolExecutor(1) as nearby:
        undisturbed = nearby.submit(snakemake, whole, SCORE)
        meet_every_fault(cut)
        undisturbed.result()
    assert (cut / WEIGHTS).read_bytes() == (whole / WEIGHTS).read_bytes()
    for mine, other in zip(read_json(cut / SCORE), read_json(whole / SCORE), strict=True):
        assert all(mine[key] == other[key] for key in ("metrics", "status", "seed", "split"))


def meet_every_fault(cut: Path) -> None:
    """Run the training on Slurm, with one fault after the other."""
    with started(cut, "distill_on_task", SCORE, limit=LIMIT) as controller:
        training = Training(cut, controller, JOB, STATES)
        first = training.gets_further()
        training.is_queued_again(first, lambda: None)  # its limit
        training.is_queued_again(first, lambda: slurm("scontrol", "requeue", first))
        training.is_queued_again(first, lambda: lose(shown(first, "BatchHost")))
        slurm("scancel", first)
        second = training.gets_further()
        assert second != first
    with started(cut, "distill_on_task", SCORE) as controller:
        training = Training(cut, controller, JOB, STATES)
        wait_until(lambda: f"Slurm job {second}, since" in logs(cut), controller)  # as the new run's job says
        assert training.gets_further() == second
        slurm("scancel", second)
        wait_until(lambda: training.owner() not in ("", second), controller)
        assert controller.wait(PATIENCE) == 0, (cut / "out.txt").read_text()[-3000:]
    said = logs(cut)
    assert "snakemake was started again since this job was queued" not in said  # the old run's job is not queued again
    assert "its time limit ended it after step" in said
    assert not any((cut / "results/checkpoints" / state).exists() for state in STATES)
    assert not list((cut / "results/.locks").glob(f"{JOB}.[ar]*"))


@pytest.mark.skipif(not running(), reason="no Slurm with the profile's partitions is running")
@pytest.mark.parametrize(("failures", "hiding"), [(9, ()), (1, ("squeue", "sacct"))], ids=["found", "hidden"])
def test_slurm_took_a_job_though_sbatch_failed(
    failures: int, hiding: tuple[str, ...], base: Path, tmp_path: Path
) -> None:
    """The run follows that job; if Slurm cannot find it, the job that is submitted again takes what it makes."""
    folder = shutil.copytree(base, tmp_path / "study", symlinks=True)
    change(folder, "config.yaml", str(base), str(folder))
    lengthen(folder, FEW)
    shutil.rmtree(folder / ACTIVATIONS)  # of longer trainings
    snakemake(folder, ACTIVATIONS)
    scripts = {"sbatch": SLOW.format(folder=folder, sbatch=shutil.which("sbatch"), failures=failures)}
    scripts |= {name: HIDES.format(real=shutil.which(name)) for name in hiding}
    for name, script in scripts.items():
        (folder / "bin").mkdir(exist_ok=True)
        (folder / "bin" / name).write_text(script)
        (folder / "bin" / name).chmod(0o755)
    with started(folder, "distill_on_task", SCORE) as controller:
        training = Training(folder, controller, JOB, STATES)
        worker = training.gets_further()
        assert controller.wait(PATIENCE) == 0, (folder / "out.txt").read_text()[-3000:]
    assert (folder / "calls").read_text().count("\n") == 1 + len(hiding[:1])
    told, said = (folder / "out.txt").read_text(), logs(folder)
    assert (f"though sbatch failed: {worker} " in told) == (not hiding), told
    assert said.count(f"Slurm job {worker}, since") == len(hiding[:1])
    assert (folder / WEIGHTS).is_file()


def logs(folder: Path) -> str:
    """Return what all Slurm jobs of a study have printed."""
    return "".join(log.read_text() for log in folder.glob(".snakemake/slurm_logs/**/*.log"))
