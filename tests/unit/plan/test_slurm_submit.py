"""Tests that a job which Slurm refuses for the moment is submitted again, by the plugin and a stand-in for sbatch."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from retort.plan import failed_jobs, slurm_submit
from snakemake.iocontainers import Namedlist

LIMIT = (
    "sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: "
    "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
)
# it refuses as often as there are characters in the file `refusals`
SBATCH = """#!/bin/sh
cd {0}; echo x >> asked
[ -s refusals ] || exec echo 17
r=$(cat refusals); printf %s "${{r#?}}" > refusals
cat says >&2; exit 1
"""
Outcome = tuple[str, str]
Submit = Callable[..., Outcome]


def job() -> Any:
    """Return a job of the plan."""
    resources = Namedlist(fromdict={"mem_mb": 1, "runtime": 1})
    rule = SimpleNamespace(name="rule")
    names = {"rule": rule, "name": "rule", "wildcards": ["a"], "wildcards_dict": {"a": "a"}, "log": ["a.log"]}
    return SimpleNamespace(**names, resources=resources, threads=1, jobid=1, is_group=lambda: False)


@pytest.fixture
def submit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Submit]:
    """Submit a job by the plugin; return what it reports: 'submitted' and an id, or 'error' and a message."""
    import snakemake_executor_plugin_slurm as plugin

    for name in ("_report_job_error_threadsafe", "_report_job_submission_threadsafe", "run_job"):
        monkeypatch.setattr(plugin.Executor, name, getattr(plugin.Executor, name))
    slurm_submit.adapt_plugin()
    monkeypatch.setattr(slurm_submit, "FIRST", 0.001)
    monkeypatch.setattr(slurm_submit, "LONGEST", 0.01)
    monkeypatch.setattr(slurm_submit, "_refused", {})
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sbatch").write_text(SBATCH.format(tmp_path))
    (tmp_path / "sbatch").chmod(0o755)
    outcomes: queue.Queue[Outcome] = queue.Queue()
    with ThreadPoolExecutor(1) as threads:

        def submit(
            says: str, refusals: int, active: int = 0, array_jobs: str = "", killed: bool = False, sent: Any = None
        ) -> Outcome:
            (tmp_path / "says").write_text(says)
            (tmp_path / "refusals").write_text("x" * refusals)
            settings = plugin.ExecutorSettings(array_jobs=array_jobs or None)
            scheduler = SimpleNamespace(_user_kill=killed)
            executor = plugin.Executor.__new__(plugin.Executor)
            executor.__dict__ |= {
                "workflow": SimpleNamespace(executor_settings=settings, workdir_init=".", scheduler=scheduler),
                "logger": logging.getLogger(__name__),
                "slurm_logdir": tmp_path / "logs",
                "run_uuid": "run",
                "_fallback_account_arg": "",
                "_fallback_partition": "",
                "_partitions": None,
                "_failed_nodes": set(),
                "_main_event_loop": None,
                "_submitted_job_clusters": set(),
                "_job_submission_executor": threads,
                "active_jobs": ["another"] * active,
                "format_job_exec": lambda job: "true",
                "report_job_submission": lambda info: outcomes.put(("submitted", info.external_jobid)),
                "report_job_error": lambda info, msg: outcomes.put(("error", msg)),
            }
            executor.run_job(sent or job())
            return outcomes.get(timeout=20)

        yield submit


def asked(folder: Path) -> int:
    """Return how often sbatch was called."""
    return (folder / "asked").read_text().count("x")


@pytest.mark.parametrize(
    "says",
    [
        LIMIT,
        LIMIT.splitlines()[1],  # as versions say it that do not name the limit
        "sbatch: error: AssocMaxSubmitJobLimit",
        "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
        "sbatch: error: Batch job submission failed: Unexpected message received",
        "sbatch: error: Batch job submission failed: Resource temporarily unavailable",
    ],
)
def test_a_job_that_slurm_refuses_for_now_is_submitted_again(
    says: str, submit: Submit, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert submit(says, refusals=8) == ("submitted", "17")
    assert asked(tmp_path) == 9
    assert [text for text in caplog.messages if "refus" in text or "for now" in text] == [
        f"Slurm does not take rule.a for now, and is asked again: {'; '.join(says.splitlines())}"
    ]
    assert slurm_submit.line_of(job()) is None


@pytest.mark.parametrize(
    "says",
    [
        "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
        "sbatch: error: invalid partition specified: nowhere",
        LIMIT.replace("QOSMaxSubmitJobPerUserLimit", "QOSMaxWallDurationPerJobLimit"),
    ],
)
def test_any_other_refusal_is_passed_on_with_its_line(says: str, submit: Submit, tmp_path: Path) -> None:
    outcome, message = submit(says, refusals=1)
    assert outcome == "error"
    assert says in message
    assert asked(tmp_path) == 1
    assert failed_jobs.reason(job()) == f"a.log: {'; '.join(says.splitlines())}"


def test_a_job_that_is_refused_for_hours_while_no_other_runs_ends_with_the_reason(
    submit: Submit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm_submit, "PATIENCE", 0.1)
    assert submit(LIMIT, refusals=10_000)[0] == "error"
    often = asked(tmp_path)
    assert often > 1
    assert submit(LIMIT, refusals=10_000)[0] == "error"  # a retry waits no more
    assert asked(tmp_path) == often + 1
    assert "QOSMaxSubmitJobPerUserLimit" in failed_jobs.reason(job())


@pytest.mark.parametrize(("active", "outcome"), [(0, "error"), (1, "submitted")])
def test_a_job_waits_as_long_as_others_of_its_run_are_in_slurm(
    active: int, outcome: str, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm_submit, "FIRST", 0.05)
    monkeypatch.setattr(slurm_submit, "LONGEST", 0.05)
    monkeypatch.setattr(slurm_submit, "PATIENCE", 0.2)
    assert submit(LIMIT, refusals=8, active=active)[0] == outcome


def test_an_error_of_jobs_that_share_a_slurm_job_is_reported(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin asks for the account first; its database may be out of reach."""
    import snakemake_executor_plugin_slurm as plugin

    def fails(executor: Any, job: Any) -> Iterator[str]:
        raise OSError("sacctmgr: Connection refused")
        yield ""

    monkeypatch.setattr(plugin.Executor, "get_account_arg", fails)
    monkeypatch.setattr(slurm_submit, "PATIENCE", 0.0)
    own = {"name": "group", "is_group": lambda: True, "jobs": [job()], "groupid": "group", "jobid": 1}
    resources = Namedlist(fromdict={})
    sent = SimpleNamespace(**own, resources=resources, wildcards=[], wildcards_dict={})
    assert submit("", 0, sent=sent) == ("error", "sacctmgr: Connection refused")
    assert slurm_submit.line_of(job()) == "sacctmgr: Connection refused"


@pytest.mark.parametrize("how", [{"array_jobs": "all"}, {"killed": True}])
def test_jobs_of_an_array_and_of_a_run_that_is_to_end_are_not_waited_for(how: dict[str, Any], submit: Submit) -> None:
    assert submit(LIMIT, refusals=2, **how)[0] == "error"


def test_the_plugin_submits_in_threads_of_its_own() -> None:
    import snakemake_executor_plugin_slurm as plugin

    assert "_job_submission_executor" in plugin.Executor._submit_job.__code__.co_names
    names = plugin.Executor.run_job.__code__.co_names
    assert {"_report_job_error_threadsafe", "_report_job_submission_threadsafe"} <= set(names)
