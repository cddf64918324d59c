"""Tests of the executor plugin and what it asks of Slurm, with pretended commands of Slurm that answer for each job."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from retort import checksums
from retort.atomic import write_text
from retort.checksums import Maker
from retort.job import attempts, planned_run, slurm
from retort.job.attempts import LOCKS, Attempt
from retort.job.locks import hold_claim
from snakemake_executor_plugin_retort import FOR_NOW, Executor

pytestmark = pytest.mark.slow  # whole runs of Snakemake
# sbatch, squeue, sacct, scancel and scontrol in one: jobs are files, named after their ids, with their names and modes
SLURM = """#!{python}
import json, os, subprocess, sys
from pathlib import Path

home, tool, arguments = Path({home!r}), Path(sys.argv[0]).name, sys.argv[1:]
cases = json.loads((home / "cases.json").read_text())


def earlier(key):
    with (home / f"{{key}}.times").open("a") as times:
        times.write("x")
        return times.tell() - 1


def option(name):
    return next((a.partition("=")[2] or arguments[i + 1] for i, a in enumerate(arguments) if a.startswith(name)), "")


def make(mode):
    Path("results", mode).mkdir(parents=True, exist_ok=True)
    Path("results", mode, "out").touch()


with (home / "calls").open("a") as calls:
    calls.write(f"{{tool}} {{' '.join(arguments)}}\\n")
if tool == "sbatch":
    mode = option("--comment").rpartition("_")[2]
    case, asked = cases[mode], earlier(mode)
    if asked < case["refusals"] and not case["took"]:
        sys.exit(case["says"])
    job = str(100 + earlier("ids"))
    Path(option("--output").replace("%j", job)).touch()
    if mode == "good":
        subprocess.run(["sh"], input=sys.stdin.read(), text=True, env=os.environ | {{"SLURM_JOB_ID": job}})
    name = "other" if mode == "reused" else option("--job-name")
    (home / "jobs" / job).write_text(f"{{name}} {{mode}} {{option('--comment')}}")
    if asked < case["refusals"]:
        sys.exit(case["says"])
    print(job)
elif tool == "squeue" and 1 < earlier(tool) < 4:
    sys.exit("slurm_load_jobs error: Unable to contact slurm controller")
elif tool in ("squeue", "sacct"):
    for path in (home / "jobs").iterdir():
        name, mode, comment = path.read_text().split()
        if name != option("--name"):
            continue
        case = cases[mode]
        if "omment" in option("--format") or "%k" in option("--format"):
            if case["took"] == tool:
                print(f"{{path.name}}|RUNNING|{{comment}}")
            continue
        if tool == "sacct" and path.name in option("--jobs").split(","):
            print(f"{{path.name}}|{{case['record']}}|None")
        if tool == "squeue":
            look = earlier(path.name)
            if look == case["made"]:
                make(mode)
            if state := case["states"][min(look, len(case["states"]) - 1)]:
                print(f"{{path.name}}|{{state}}")
"""
SNAKEFILE = """
rule all:
    input: expand("results/{mode}/after", mode=config["modes"].split("+"))
rule job:
    output: "results/{mode}/out"
    log: "results/logs/job/{mode}.log"
    resources: runtime=1, mem_mb=1, slurm_partition="cpu"
    shell: "echo $SLURM_JOB_ID > {output}"
rule after:  # made if the job has succeeded
    localrule: True
    input: "results/{mode}/out"
    output: "results/{mode}/after"
    shell: "touch {output}"
"""
FASTER = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "  # a shell's background ignores it
    "import snakemake_executor_plugin_retort as plugin; plugin.FIRST_WAIT = plugin.LONGEST_WAIT = 0.2; "
    "plugin.LONGEST_PAUSE = 1; plugin.LOOKS.update(NODE_FAIL=4); plugin.PATIENCE = 9; "
    "from snakemake.cli import main; main()"
)
LIMIT = (
    "sbatch: error: QOSMaxSubmitJobPerUserLimit\n"
    "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size "
    "and/or time limits)"
)
ACCOUNT = "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified"
TIMED_OUT = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"
FOR_EVER = 10_000


# states: state and reason in the answers of squeue, one after another, empty where it does not know the job; record:
# the state in those of sacct; made: in which answer of squeue the results are there; refusals: of sbatch, saying
# `says`; took: which command knows the job that Slurm took all the same
USUAL = {"states": ["COMPLETED|None"], "record": "", "made": 0, "refusals": 0, "says": "", "took": ""}
NOT_THERE = r"Slurm job \d+: UNKNOWN, without its results"
CASES: dict[str, tuple[str, dict[str, object]]] = {  # mode -> pattern of the reason of its failure, what is not usual
    "good": ("", {"states": ["PENDING|Priority", "RUNNING|None", "COMPLETED|None"], "made": -1}),
    "later": ("", {"refusals": 3, "says": LIMIT}),
    "taken": ("", {"refusals": FOR_EVER, "says": TIMED_OUT, "took": "squeue"}),
    "recalled": ("", {"refusals": FOR_EVER, "says": TIMED_OUT, "took": "sacct"}),
    "refused": (re.escape(ACCOUNT), {"refusals": FOR_EVER, "says": ACCOUNT}),
    "never": ("QOSMaxSubmitJobPerUserLimit", {"refusals": FOR_EVER, "says": LIMIT}),
    "failed": (r"Slurm job \d+: FAILED \(NonZeroExitCode\)", {"states": ["FAILED|NonZeroExitCode"]}),
    "cancelled": (r"Slurm job \d+: CANCELLED by 1000", {"states": [""], "record": "CANCELLED by 1000"}),
    "empty": (r"Slurm job \d+: COMPLETED, without its results", {"made": -1}),
    "late": ("", {"made": 1}),
    "recorded": ("", {"states": ["RUNNING|None", ""], "record": "COMPLETED"}),
    "vanished": (NOT_THERE, {"states": ["RUNNING|None", ""], "made": -1}),
    "forgotten": ("", {"states": ["RUNNING|None", ""]}),
    "runaway": (NOT_THERE, {"states": [""], "record": "RUNNING", "made": -1}),
    "reused": (NOT_THERE, {"made": -1}),
    "lost": (r"Slurm job \d+: NODE_FAIL \(NodeDown\)", {"states": ["NODE_FAIL|NodeDown"]}),
    "back": ("", {"states": ["NODE_FAIL|NodeDown", "PENDING|BeginTime", "RUNNING|None", "COMPLETED|None"]}),
}


def started(folder: Path, cases: dict[str, dict[str, object]], *arguments: str) -> subprocess.Popen[str]:
    """Start a run with a job of each case."""
    slurm = folder / "slurm"
    (slurm / "jobs").mkdir(parents=True)
    (slurm / "cases.json").write_text(json.dumps({mode: USUAL | case for mode, case in cases.items()}))
    for tool in ("sbatch", "squeue", "sacct", "scancel", "scontrol"):
        (slurm / tool).write_text(SLURM.format(python=sys.executable, home=str(slurm)))
        (slurm / tool).chmod(0o755)
    (folder / "Snakefile").write_text(SNAKEFILE)
    command = [sys.executable, "-c", FASTER, "--executor", "retort", "--jobs", "50", "--keep-going",
               "--retort-init-seconds-before-status-checks", "1", "--retort-pass-command-as-script",
               "--latency-wait", "120", "--config", f"modes={'+'.join(cases)}", *arguments]  # fmt: skip
    variables = os.environ | {"PATH": f"{slurm}:/usr/bin:/bin"}
    with (folder / "out.txt").open("w") as out:
        return subprocess.Popen(
            command, cwd=folder, env=variables, stdout=out, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with all cases, once it has ended."""
    folder = tmp_path_factory.mktemp("run")
    began = time.monotonic()
    assert started(folder, {mode: case for mode, (_, case) in CASES.items()}).wait(240) == 1
    assert time.monotonic() - began < 120  # no job without results was waited for as long as for a late file
    return folder


@pytest.mark.parametrize("mode", CASES)
def test_a_job_ends_as_slurm_says(mode: str, folder: Path) -> None:
    reason, note = CASES[mode][0], folder / f"results/.locks/job.{mode}.attempt"
    said = (folder / "out.txt").read_text()
    assert (folder / f"results/{mode}/after").exists() == (not reason), said
    if reason:
        assert re.search(reason, json.loads(note.read_text())["reason"])
        assert re.search(rf"Error in rule job:\n +message: [^\0]*?{reason}", said)
    else:
        assert not note.exists()


def test_a_job_is_submitted_again_only_after_a_refusal_for_now(folder: Path) -> None:
    times = {mode: len((folder / f"slurm/{mode}.times").read_text()) for mode in CASES}
    assert times.pop("later") == 4
    assert times.pop("never") > 4
    assert set(times.values()) == {1}
    said = (folder / "out.txt").read_text().count("Slurm takes no job for now, and is asked again: sbatch: error: ")
    refused = sum(case.get("says") in (LIMIT, TIMED_OUT) for _, case in CASES.values())
    assert 1 <= said <= refused  # on a slow machine, one may be taken before the next is refused


def test_a_refusal_is_told_once_while_any_job_waits() -> None:
    told, jobs = list[str](), [SimpleNamespace(jobid=number) for number in range(2)]
    executor = SimpleNamespace(
        refused={}, latest_job=time.monotonic(), logger=SimpleNamespace(warning=told.append), run_job=lambda job: None
    )
    for job in (*jobs, *jobs):
        assert Executor.submits_again(executor, job, LIMIT)
    assert told == [f"Slurm takes no job for now, and is asked again: {LIMIT}"]
    executor.refused.clear()  # Slurm has taken both
    assert Executor.submits_again(executor, jobs[0], LIMIT)
    assert len(told) == 2


def test_the_job_runs_in_one_snakemake_and_only_a_failed_one_keeps_its_slurm_log(folder: Path) -> None:
    job = (folder / "results/good/out").read_text().strip()
    assert job.isdigit()
    logs = {path.parent.name for path in folder.glob(".snakemake/slurm_logs/rule_job/*/*.log")}
    assert logs == {mode for mode, (reason, case) in CASES.items() if reason and "refusals" not in case}
    assert "--exclude" not in (folder / "slurm/calls").read_text()


@pytest.mark.parametrize("is_whole", [True, False])
def test_while_another_process_runs_a_job_it_has_not_failed(
    is_whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Snakemake would delete what that process makes."""
    output = tmp_path / "results/elsewhere/out"
    monkeypatch.setenv(attempts.RUN, "run")
    write_text(tmp_path / planned_run.FOLDER / f"run{planned_run.JOBS}", "")
    with hold_claim(tmp_path / attempts.LOCKS / "job.elsewhere", "job"):
        run = started(tmp_path, {"elsewhere": {"states": ["FAILED|NonZeroExitCode"], "made": -1}})
        while "its end counts" not in (said := (tmp_path / "out.txt").read_text()):
            assert run.poll() is None, said
            time.sleep(0.05)
        write_text(output, "made")
        if is_whole:
            checksums.take(output, "job", Maker(commit="", code=""), (), {})
    assert (run.wait(60), output.exists()) == (0, True) if is_whole else (1, False)
    assert re.search(rf"FAILED \(NonZeroExitCode\); process {os.getpid()} on .* makes the same: its end counts", said)


def test_a_run_that_is_stopped_leaves_no_job_behind(tmp_path: Path) -> None:
    cases = {f"long{number}": {"states": ["RUNNING|None"]} for number in range(30)}
    run, calls = started(tmp_path, cases), tmp_path / "slurm/calls"
    while not calls.exists() or "sbatch" not in calls.read_text():
        assert run.poll() is None, (tmp_path / "out.txt").read_text()
        time.sleep(0.05)
    notes = {name: tmp_path / LOCKS / f"{name}.attempt" for name in ("running", "failed", "of-another-run")}
    for name, path in notes.items():
        Attempt("another" * (name == "of-another-run"), "why" * (name == "failed")).write(path)
    run.send_signal(signal.SIGINT)
    assert run.wait(30) == 1
    assert [name for name, path in notes.items() if path.exists()] == ["failed", "of-another-run"]
    names = re.findall(r"--job-name (\S+)", calls.read_text())
    assert calls.read_text().splitlines()[-1] == f"scancel --name={names[0]}"
    assert len(names) < len(cases)


@pytest.mark.parametrize(
    ("says", "for_now"),
    [
        (LIMIT, True),
        (LIMIT.splitlines()[1], True),  # as versions say it that do not name the limit
        ("sbatch: error: AssocMaxSubmitJobLimit", True),
        (TIMED_OUT, True),
        ("sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)", True),
        ("sbatch: error: Batch job submission failed: Unexpected message received", True),
        ("sbatch: error: Batch job submission failed: Resource temporarily unavailable", True),
        ("sacctmgr: error: Connection refused", True),
        (ACCOUNT, False),
        ("sbatch: error: invalid partition specified: nowhere", False),
        (LIMIT.replace("QOSMaxSubmitJobPerUserLimit", "QOSMaxWallDurationPerJobLimit"), False),
    ],
)
def test_a_refusal_is_for_now_or_for_good(says: str, for_now: bool) -> None:
    assert bool(FOR_NOW.search(says)) == for_now


# the state of a job

Put = Callable[..., Path]
SILENT = "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1"
RUNNING = "echo '17|RUNNING|None'"


@pytest.mark.parametrize(
    ("squeue", "sacct", "state"),
    [
        (RUNNING, "exit 1", "RUNNING"),
        ("echo '17|COMPLETED|None'", "exit 1", "COMPLETED"),
        ("echo 'CLUSTER: here'; echo '17|FAILED|NonZeroExitCode'", "exit 1", "FAILED (NonZeroExitCode)"),
        ("echo '17|NODE_FAIL|NodeDown'", "exit 1", "NODE_FAIL (NodeDown)"),  # the node may be out of reach
        ("", "echo '17|CANCELLED by 1000|None'", "CANCELLED by 1000"),
        ("echo '18|RUNNING|None'", "echo '17|TIMEOUT|'", "TIMEOUT"),
        ("", "echo '17|RUNNING|None'", "UNKNOWN"),  # a record that nobody closed
        ("", SILENT, "UNKNOWN"),
        (f'[ -n "$SQUEUE_PARTITION" ] || {RUNNING}', "exit 1", "RUNNING"),
    ],
)
def test_the_state_of_a_job(squeue: str, sacct: str, state: str, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQUEUE_PARTITION", "other")
    asked = put(squeue=squeue, sacct=sacct)
    assert slurm.states("run-1", ["17"]) == {"17": state}
    assert all(
        "--name=run-1" in line for line in asked.read_text().splitlines()
    )  # another run may have a job of the same id


@pytest.mark.parametrize("scripts", [{"squeue": SILENT, "sacct": RUNNING}, {}])
def test_a_slurm_that_is_silent_or_not_there_says_nothing(scripts: dict[str, str], put: Put) -> None:
    put(**scripts)
    assert slurm.states("run-1", ["17"]) is None
