"""Tests of what is Snakemake's: its versions, the short form of a dry run, and faults that are seen to be mended."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet
from retort.run.dry_run import OF_LINES, WIDTH, ShortForm, is_short
from retort.run.run_folder import BOUNDS
from retort.settings.folder_digests import content_of
from snakemake.persistence import ParamsChange
from snakemake_interface_logger_plugins.common import LogEvent

from tests.conftest import ROOT, SNAKEFILE, run_snakemake

SLURM = "snakemake-executor-plugin-slurm"


@pytest.mark.parametrize(("name", "version"), [("snakemake", "9.28.0"), (SLURM, "2.7.1")])
def test_another_version_is_refused_in_a_line(name: str, version: str, tmp_path: Path) -> None:
    about = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    done = run_snakemake(tmp_path, "--snakefile", SNAKEFILE, "--cores", "1", "-n", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    right, how = f"{name}{BOUNDS[name]}", "install another version: pip install"
    line = f"{name} {version} is installed, and this workflow needs {right}; {how} '{right}'"
    said = done.stdout + done.stderr
    assert line in said.splitlines()
    assert "Traceback" not in said


def test_the_project_asks_for_the_same_versions_and_the_lock_has_one_of_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = set(project["dependencies"])
    locked = dict(line.split("==") for line in (ROOT / "requirements.lock").read_text().split())
    for name, bounds in BOUNDS.items():
        assert f"{name}{bounds}" in asked
        assert SpecifierSet(bounds).contains(locked[name])


# the short form of a dry run


def written(*records: tuple[str, dict[str, Any]]) -> str:
    """Return what is written of messages of Snakemake with these attributes."""
    short, lines = ShortForm(), []
    for text, attributes in records:
        if shown := short.shortened(logging.makeLogRecord({"msg": text, **attributes})):
            lines.append(shown.getMessage())
    return "\n".join(lines)


def job(rule: str, reason: str) -> tuple[str, dict[str, Any]]:
    """Return what Snakemake says of a job."""
    return f"Rule: {rule}", {"event": LogEvent.JOB_INFO, "rule_name": rule, "reason": reason}


def because(old: list[Any], new: list[Any]) -> str:
    """Return Snakemake's reason for a job whose params have changed from `old` to `new`."""
    change = ParamsChange(only_old=set(map(repr, old)), only_new=set(map(repr, new)))
    return f"Missing output files: a; Params have changed since last execution: {change}"


def test_a_dry_run_names_the_files_of_a_source_that_changed(here: Path) -> None:
    (here / "mine").mkdir()
    states = []
    for text in ("a", "b"):
        (here / "mine/all.csv").write_text(text)
        content_of.cache_clear()
        states.append(content_of("mine", here / "mine"))
    settings = [{"local": "mine", "sha256": state} for state in states]
    of_task = because(*([{"task": {"source": each}}] for each in settings))
    of_source = because(*([each] for each in settings))
    said = written(job("encode_task", of_task), job("fetch_source", of_source), ("Reasons:", {}))
    assert "encode_task: task.source has changed: all.csv" in said
    assert "fetch_source: the source has changed: all.csv" in said


@pytest.mark.parametrize("asked", ["", "printshellcmds", "verbose", "debug_dag", "quiet"])
def test_a_dry_run_is_short_unless_more_or_less_is_asked_for(asked: str) -> None:
    settings = dict.fromkeys(("printshellcmds", "verbose", "debug_dag", "quiet"), False) | (
        {asked: True} if asked else {}
    )
    assert is_short(SimpleNamespace(dryrun=True, **settings)) == (not asked)
    assert not is_short(SimpleNamespace(dryrun=False, **settings))


STATS = {"event": LogEvent.RUN_INFO, "stats": {"finetune_student": 3, "total": 3}}


def test_the_table_of_jobs_is_told_once_and_no_line_of_a_job() -> None:
    said = written(
        ("Job stats: of rules", STATS),
        job("finetune_student", "Missing output files: a"),
        ("Shell command: None", {"event": LogEvent.SHELLCMD}),
        *((f"{line} and more", {}) for line in OF_LINES),
        ("again", STATS),
        ("This was a dry-run", {}),
    )
    assert said == "Job stats: of rules\nThis was a dry-run"


def test_a_changed_setting_is_told_by_its_key_with_its_old_and_its_new_value() -> None:
    old = {"schedule": {"learning_rate": 1e-05, "steps": 9}, "note": "x" * 1000}
    new = {"schedule": {"learning_rate": 2e-05, "steps": 9}, "note": "y " * 1000}
    said = written(
        job("finetune_student", because([old, 1], [new, 2])),
        job("finetune_student", because([{"lost": "}"}], [{"lost": None}])),
        job("make_table", "Missing output files: b; Input files updated by another job: c"),
        job("make_table", "Params have changed since last execution: <what nobody can read>"),
        job("make_index", "Missing output files: c"),
        job("make_table", "Missing output files: d"),
        ("Would remove temporary output results/x", {}),
        ("Reasons:\n    (check individual jobs above for details)", {}),
    )
    for line in (
        "        1  finetune_student: schedule.learning_rate: 1e-05 -> 2e-05",
        "        1  finetune_student: a setting: 1 -> 2",
        "        1  finetune_student: lost: } -> None",
        "        2  make_table: not made yet",
        "        1  make_index: not made yet",
        "        1  make_table: settings have changed",
    ):
        assert line in said.splitlines()
    rules = [line.split()[1].rstrip(":") for line in said.splitlines()[1:]]
    assert rules == sorted(rules)
    assert "Would remove" not in said
    assert max(map(len, said.splitlines())) <= WIDTH


# a test that fails says that a fault is mended, and its repair can go

TERMINATING = "Terminating processes on user request, this might take some time.\n"
FAULT = f"""
import sys
sys.path.insert(0, "{ROOT}/workflow")
from retort.run.repairs import end_once, look_once
onstart:
    if config.get("repaired"):
        end_once()
        look_once(workflow.scheduler)
rule all:
    input: expand("made/{{number}}", number=range(30))
rule waits:
    output: "waited"
    shell: "touch begun; sleep 60"
rule make:
    output: "made/{{number}}"
    shell: "sleep 0.3; touch {{output}}"
"""


@pytest.mark.slow
@pytest.mark.parametrize(("config", "few"), [([], False), (["--config", "repaired=1"], True)])
def test_each_job_adds_a_look_a_second(config: list[str], few: bool, tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(FAULT)
    done = run_snakemake(tmp_path, "--cores", "3", "--scheduler", "greedy", "--verbose", *config)
    assert done.returncode == 0, done.stderr
    looks = done.stderr.count("Ready jobs: ")
    assert (looks <= 31) == few


@pytest.mark.slow
@pytest.mark.parametrize(("config", "ends"), [([], False), (["--config", "repaired=1"], True)])
def test_a_second_ctrl_c_is_a_traceback(config: list[str], ends: bool, tmp_path: Path) -> None:
    """Without the workflow's own end, it is a traceback unless it comes too late, which it rarely does."""
    tries = 1 if ends else 10
    assert any(ends_well_after_two(config, tmp_path / str(number)) == ends for number in range(tries))


def ends_well_after_two(config: list[str], folder: Path) -> bool:
    """Return whether a run that gets Ctrl-C twice ends without a traceback."""
    folder.mkdir()
    (folder / "Snakefile").write_text(FAULT)
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # a shell's background ignores it
    code = f"{heard}; from snakemake.cli import main; main()"
    command = [sys.executable, "-c", code, "waited", "--cores", "1", *config]
    run = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not (folder / "begun").exists():
        assert run.poll() is None
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGINT)
    assert run.stderr is not None
    assert TERMINATING in iter(run.stderr.readline, "")
    os.killpg(run.pid, signal.SIGINT)
    said = run.communicate()[1]
    return "Traceback" not in said and run.returncode == 1


MORE = f"""
import sys
sys.path.insert(0, "{ROOT}/workflow")
from retort.run.repairs import compare_with_known
if config.get("repaired"):
    compare_with_known()
rule make:
    output: "made", *(["more"] if config.get("more") else [])
    params: setting=config["setting"]
    shell: "touch {{output}}"
"""


@pytest.mark.parametrize(("repaired", "again"), [(0, False), (1, True)])
def test_a_job_with_one_more_output_is_never_compared(repaired: int, again: bool, tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(MORE)

    def said(setting: int, more: int, *arguments: str) -> str:
        config = ("--config", f"setting={setting}", f"more={more}", f"repaired={repaired}")
        done = run_snakemake(tmp_path, "--cores", "1", *arguments, "made", *config)
        assert done.returncode == 0, done.stderr
        return done.stderr + done.stdout

    said(1, 0)
    assert "Nothing to be done" in said(1, 1, "-n")  # what only is more re-runs nothing
    assert ("Nothing to be done" not in said(2, 1, "-n")) == again
    said(2, 1)
    assert (tmp_path / "more").exists() == again


@pytest.mark.parametrize(
    ("is_full", "says"),
    [(True, "No space left on device; free some space"), (False, "Read-only file system; make the folder writable")],
)
def test_a_disk_that_cannot_be_written_is_told_in_a_line(is_full: bool, says: str, small_disk: Path) -> None:
    if is_full:
        (small_disk / ".snakemake/log").mkdir(parents=True)
        with contextlib.suppress(OSError):
            (small_disk / "full").write_bytes(bytes(2**20))
    else:
        subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    done = run_snakemake(small_disk, "--snakefile", SNAKEFILE, "--cores", "1")
    assert done.returncode == 1
    assert done.stderr.endswith(f"\ncannot write {small_disk}: {says}\n")
    assert "Traceback" not in done.stdout + done.stderr
