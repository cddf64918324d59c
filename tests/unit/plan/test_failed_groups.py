"""Tests that a run goes on after failures among grouped jobs, in small runs on a stand-in for a cluster."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# an executor that runs the jobs of a group here, lets them keep their results, and tells Snakemake how all ended
CLUSTER = """
import subprocess
from pathlib import Path
from retort import handover
from retort.attempts import LOCKS
from retort.checksums import place_of
from retort.job_names import expand_groups, slug_of
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.settings import CommonSettings

common_settings = CommonSettings(
    job_deploy_sources=False, non_local_exec=True, implies_no_shared_fs=False,
    pass_default_storage_provider_args=False, pass_default_resources_args=False,
    pass_envvar_declarations_to_cmd=False, auto_deploy_default_storage_provider=False,
    init_seconds_before_status_checks=0,
)

class Executor(RemoteExecutor):
    def run_job(self, job):
        has_failed = False
        for each in expand_groups([job]):
            output, = map(Path, each.output)
            for path in (output, place_of(output)):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            ended = subprocess.run(each.shellcmd, shell=True, check=False).returncode
            if ended != 1:
                handover.offer(LOCKS / slug_of(each), "key", [output], always=True)
            has_failed |= bool(ended)
        submitted = SubmittedJobInfo(job, external_jobid="1", aux={"failed": has_failed})
        self.report_job_submission(submitted)

    async def check_active_jobs(self, jobs):
        for each in jobs:
            (self.report_job_error if each.aux["failed"] else self.report_job_success)(each)
        return
        yield

    def cancel_jobs(self, jobs):
        pass
"""
HEAD = """
import os, sys
from retort import attempts
from retort.plan.failed_groups import adapt_snakemake
os.environ[attempts.RUN] = "run"
attempts.LOCKS.mkdir(parents=True, exist_ok=True)

onstart:
    adapt_snakemake()

onerror:
    print("failed:", sorted(map(str, workflow.scheduler.failed)), file=sys.stderr)
"""
TASKS = """
def end(status):  # with which a job ends
    return lambda wildcards: status.get("".join(wildcards), 0)

rule all:
    input: "tables/a", "tables/b"

rule encode:
    output: "encoded/{task}"
    params: end=end(STATUS)
    group: "encode"
    shell: "exit {params.end}"

rule finetune:
    input: "encoded/{task}"
    output: "scores/{task}/{seed}"
    params: end=end(STATUS)
    group: "finetune"
    shell: "exit {params.end}"

rule table:
    input: "scores/{task}/1", "scores/{task}/2"
    output: "tables/{task}"
    localrule: True
    shell: "touch {output}"
"""


# three failures, one after the other, before jobs of one group
IN_ROUNDS = """
rule all:
    input: "grouped/early", "grouped/late", "grouped/good"

rule chain:
    input: lambda wildcards: [] if wildcards.n == "0" else f"chain/{int(wildcards.n) - 1}"
    output: "chain/{n}"
    shell: "exit 0"

rule fail:
    input: "chain/{n}"
    output: "failed/{n}"
    shell: "exit 1"

rule grouped:
    input:
        lambda wildcards: {
            "early": ["failed/0", "failed/3"], "late": ["failed/2"], "good": ["chain/5"]
        }[wildcards.name]
    output: "grouped/{name}"
    group: "grouped"
    shell: "exit 0"
"""
# the reader's name comes before the maker's
ORDERED = """
rule all:
    input: "a_reader", "failed"

rule maker:
    output: "made"
    group: "g"
    shell: "exit 0"

rule a_reader:
    input: "made"
    output: "a_reader"
    group: "g"
    shell: "exit 0"

rule fail:
    output: "failed"
    group: "g"
    shell: "exit 1"
"""


def run(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a small workflow whose groups are whole."""
    package = folder / "plugins/snakemake_executor_plugin_here"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(CLUSTER)
    (folder / "Snakefile").write_text(HEAD + text)
    paths = os.pathsep.join([str(package.parent), os.environ["PYTHONPATH"]])
    command = [sys.executable, "-m", "snakemake", "--executor", "here", "--jobs", "4", "--keep-going", "--nocolor"]
    names = set(re.findall(r'group: "(.*)"', text))
    command += ["--group-components", *(f"{name}=9" for name in names), "--seconds-between-status-checks", "0"]
    return subprocess.run(
        [*command, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip


def run_tasks(folder: Path, text: str = TASKS, **status: int) -> subprocess.CompletedProcess[str]:
    """Run the workflow of tasks; jobs with these wildcards end with a status: 1 is a failure, 2 a late result."""
    return run(folder, f"STATUS = {status}\n{text}")


def made(folder: Path) -> list[str]:
    """Return the results that a run has made."""
    paths = (path for name in ("encoded", "scores", "tables", "grouped") for path in (folder / name).glob("**/*"))
    return sorted(str(path.relative_to(folder)) for path in paths if path.is_file() and path.name[0] != ".")


OF_A = ["encoded/a", "scores/a/1", "scores/a/2", "tables/a"]


@pytest.mark.slow
def test_what_depends_on_a_successful_job_is_made_though_another_job_of_its_group_failed(tmp_path: Path) -> None:
    done = run_tasks(tmp_path, b=1)
    assert done.returncode == 1
    assert made(tmp_path) == OF_A, done.stderr


@pytest.mark.slow
def test_a_failure_in_a_later_group_costs_what_depends_on_it_alone(tmp_path: Path) -> None:
    done = run_tasks(tmp_path, b2=1)
    assert done.returncode == 1
    assert made(tmp_path) == sorted([*OF_A, "encoded/b", "scores/b/1"]), done.stderr


@pytest.mark.slow
def test_a_run_whose_results_were_only_late_has_not_failed(tmp_path: Path) -> None:
    done = run_tasks(tmp_path, a=2, b1=2)
    assert done.returncode == 0, done.stderr
    assert "failed:" not in done.stderr
    assert [path for path in made(tmp_path) if path.startswith("tables/")] == ["tables/a", "tables/b"]


@pytest.mark.slow
def test_one_job_that_is_left_of_a_group_is_run(tmp_path: Path) -> None:
    one_seed = TASKS.replace('"scores/{task}/1", "scores/{task}/2"', '"scores/{task}/1"')
    done = run_tasks(tmp_path, one_seed.replace('    group: "encode"\n', ""), b=1)
    assert made(tmp_path) == ["encoded/a", "scores/a/1", "tables/a"], done.stderr


@pytest.mark.slow
def test_failures_one_after_the_other_leave_a_group_with_the_jobs_that_can_run(tmp_path: Path) -> None:
    done = run(tmp_path, IN_ROUNDS)
    assert done.returncode == 1
    assert made(tmp_path) == ["grouped/good"], done.stderr


@pytest.mark.slow
def test_a_result_is_newer_than_what_it_was_made_from(tmp_path: Path) -> None:
    assert run(tmp_path, ORDERED).returncode == 1
    assert "Nothing to be done" in run(tmp_path, ORDERED, "-n", "a_reader").stdout
