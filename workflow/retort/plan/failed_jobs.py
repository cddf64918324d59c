"""After a run with failures: list the results that are missing and why, and make the pages in a second run.

The second run plans with the failed results known, like sources that are missing: tables read what there is, and their
cells say `failed`. The next run of the user knows nothing of it, and tries the failed jobs again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from retort.atomic import write_json
from retort.attempts import KILLED, RUN, Attempt, file_of
from retort.errors import printable
from retort.job_names import expand_groups, slug_of
from retort.plan import slurm_submit

FILE = Path("results/runs/failed.json")  # the configuration of the second run
QUIET = ("--quiet", "rules", "progress", "reason", "host")  # `all` would leave out errors, on the terminal and in logs
PRINTING = (
    "all", "make_table", "plot_figure", "plot_verdicts", "check_claims", "make_page", "make_index", "make_audit",
)  # fmt: skip


def are_known(config: dict[str, Any]) -> bool:
    """Return whether this is the second run."""
    return bool(config.get("run_sources", {}).get("failed"))


def make_pages(workflow: Any, config: dict[str, Any]) -> None:
    """Make the tables and pages that were asked for, with what there is; print a line for each job that failed.

    Nothing is made if the user stopped the run, or if the run stopped at the first failure: then more is missing.

    Args:
        workflow: Snakemake's workflow, after its last job.
        config: the configuration of the run.
    """
    jobs = sorted((job for job in expand_groups(workflow.scheduler.failed) if not workflow.dag.finished(job)), key=str)
    stopped = workflow.scheduler._user_kill or not workflow.execution_settings.keep_going
    targets = [target for target in map(str, workflow.dag_settings.targets) if target.startswith(("all", "reports/"))]
    left_out = workflow.dag_settings.targets and not targets
    if not jobs or stopped or left_out or are_known(config) or not workflow.is_main_process:
        return
    reasons = {job: reason(job) for job in jobs}
    plural = "s" * (len(jobs) != 1)
    _say(f"{len(jobs)} job{plural} failed; cells that need the results say 'failed', everything else is made:")
    for each in reasons.values():
        _say(f"  {each}")
    write_json(FILE, {**config, "run_sources": {**config["run_sources"], "failed": not_made(workflow.dag, reasons)}})
    command = [
        *(sys.executable, "-m", "snakemake", "--snakefile", str(workflow.main_snakefile), "--nolock", "--cores", "1"),
        *("--configfile", str(FILE), "--rerun-incomplete", "--keep-going", *QUIET),
        *("--allowed-rules", *PRINTING, "--", *targets),
    ]
    if subprocess.run(command, check=False).returncode:
        _say("not all tables and pages could be made")


def not_made(dag: Any, reasons: dict[Any, str]) -> dict[str, str]:
    """Return result -> reason for the results of failed jobs, and of all jobs that depend on them."""
    return {
        str(output): why
        for failed, why in reasons.items()
        for waiting in dag.bfs(dag.depending, failed, stop=dag.finished)
        for output in waiting.output
        if waiting.rule.name not in PRINTING
    }


def reason(job: Any) -> str:
    """Return '<log of a failed job>: <why it failed>': what Slurm said, the noted reason, or the log's last line."""
    log = str(job.log[0]) if job.log else ""
    attempt = Attempt.read(file_of(slug_of(job)))
    noted = attempt and attempt.run == os.environ.get(RUN) and (attempt.reason or KILLED)
    why = slurm_submit.line_of(job) or noted or _last_line(Path(log))
    return printable(f"{log}: {why}")


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return "it left no log"
    return next((line.strip() for line in reversed(lines) if line.strip()), "its log is empty")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
