"""Submit a job again that Slurm refuses for the moment: at a limit of submitted jobs, after a timeout, without contact.

The executor plugin counts each refusal as a failure of the job, which Snakemake starts again at once: all `retries` are
used up within a second. Here, the plugin submits the job again after a pause, during which none of its threads waits.
This goes on as long as other jobs of the run are in Slurm, whose end may make room, and some hours longer. Any other
refusal is passed on at once.

Slurm may have taken a job whose submission timed out. The second one then waits for it, and takes over its results.
"""

from __future__ import annotations

import contextlib
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from retort.job_names import expand_groups, slug_of
from retort.plan.slurm_step import PLUGIN

FIRST, LONGEST = 10.0, 300.0  # seconds of a pause, which doubles with each refusal
PATIENCE = 4 * 3600.0  # seconds without a job in Slurm after which a refusal counts
# what sbatch, sacctmgr and sshare print (slurm_errno.c and job_state_reason.c of Slurm). A limit is named on a line of
# its own; versions that do not name it only say that it may be one of submitted jobs
FOR_NOW = re.compile(
    r"SubmitJob|\A(?!.*\b(QOS|Assoc)[A-Z]).*job submit limit|MaxJobCount limit|Rate limit exceeded|queue full"
    r"|timed out|temporarily|in standby|submissions disabled|Unable to contact|Unable to connect"
    r"|Connection (refused|reset|rejected)|connection failure|Message (send|receive) failure|Zero Bytes"
    r"|Unexpected message received|No route to host|Transport endpoint|Protocol authentication error"
    r"|I/O error writing script",
    re.DOTALL | re.IGNORECASE,
)
OF_SBATCH = re.compile(r"The error message was '(.*?)'\.\n +sbatch call", re.DOTALL)
Report = Callable[[Any, Any, str], None]


@dataclass
class Refusal:
    """What Slurm said when it refused a job last.

    Args:
        line: what it said.
        times: how often it refused the job.
        since: when the run last had a job in Slurm, or the job was refused first, on the monotonic clock in seconds.
    """

    line: str
    times: int
    since: float


_refused: dict[str, Refusal] = {}  # slugs of the jobs of this run whose latest submission was refused


def line_of(job: Any) -> str | None:
    """Return what Slurm said when it refused the latest submission of a job; None if it took it."""
    refusal = _refused.get(slug_of(job))
    return refusal.line if refusal else None


def adapt_plugin() -> None:
    """Let the plugin submit again what Slurm refuses for the moment, if this process has loaded it."""
    plugin = sys.modules.get(PLUGIN)
    if plugin is not None:
        executor = plugin.Executor
        executor._report_job_error_threadsafe = submit_again(executor._report_job_error_threadsafe)
        executor._report_job_submission_threadsafe = forget_refusals(executor._report_job_submission_threadsafe)
        executor.run_job = report_errors(executor.run_job)


def report_errors(run: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Wrap the function that submits a job: it reports any error.

    The plugin's own report reads the rule of a job. Jobs that share a Slurm job have no common rule, so the report
    would fail, and Snakemake would wait for ever.
    """

    def reported(executor: Any, job: Any) -> None:
        try:
            run(executor, job)
        except Exception as error:
            submitted = sys.modules[PLUGIN].SubmittedJobInfo(job)
            executor._report_job_error_threadsafe(submitted, str(error.__context__ or error))

    return reported


def forget_refusals(report: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Wrap the function that reports a submission: it first forgets the refusals of the job."""

    def reported(executor: Any, submitted: Any) -> None:
        for each in expand_groups([submitted.job]):
            _refused.pop(slug_of(each), None)
        report(executor, submitted)

    return reported


def submit_again(report: Report) -> Report:
    """Wrap the function that reports a refused submission: after a refusal for now, it submits the job again."""

    def reported(executor: Any, submitted: Any, message: str) -> None:
        refusal = _note_refusal(executor, submitted.job, message)
        if not _is_tried_again(executor, refusal):
            report(executor, submitted, message)
            return
        if refusal.times == 1:
            name = ", ".join(map(slug_of, expand_groups([submitted.job])))
            executor.logger.warning(f"Slurm does not take {name} for now, and is asked again: {refusal.line}")
        pause = min(FIRST * 2.0 ** min(refusal.times - 1, 10), LONGEST)
        timer = threading.Timer(pause, _submit, [executor, submitted.job])
        timer.daemon = True  # a run that is ended waits for none
        timer.start()

    return reported


def _note_refusal(executor: Any, job: Any, message: str) -> Refusal:
    """Note that a job was refused, and return what is known of its refusals."""
    slugs, now = [slug_of(each) for each in expand_groups([job])], time.monotonic()
    said = OF_SBATCH.search(message)
    line = "; ".join(filter(None, map(str.strip, (said[1] if said else message).splitlines())))
    before = _refused.get(slugs[0])
    since = now if before is None or executor.active_jobs else before.since
    refusal = Refusal(line, before.times + 1 if before else 1, since)
    _refused.update(dict.fromkeys(slugs, refusal))
    return refusal


def _is_tried_again(executor: Any, refusal: Refusal) -> bool:
    """Return whether a refused job is submitted again; jobs of an array are left to the plugin."""
    workflow = executor.workflow
    is_over = workflow.scheduler._user_kill or time.monotonic() - refusal.since >= PATIENCE
    return bool(FOR_NOW.search(refusal.line)) and not is_over and not workflow.executor_settings.array_jobs


def _submit(executor: Any, job: Any) -> None:
    """Submit a job, in one of the plugin's threads."""
    with contextlib.suppress(RuntimeError):  # the run has ended
        executor._job_submission_executor.submit(executor.run_job, job)
