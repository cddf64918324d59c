"""The executor plugin of `snakemake --executor retort`: the Slurm plugin, but for how it looks after its jobs.

It knows jobs by the name of the run, tells which of them are lost, submits again what Slurm refuses for now, and looks
after what Slurm took though sbatch failed. The Snakemake in a Slurm job runs the job itself, rather than start another
one with srun. The settings are those of the Slurm plugin.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import threading
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from retort.job import made, planned_run, slurm
from retort.job.attempts import LOCKS, forget_running, note_refusal, slug_of
from retort.job.locks import holder_of
from snakemake_executor_plugin_slurm import Executor as SlurmExecutor
from snakemake_executor_plugin_slurm import ExecutorSettings, common_settings
from snakemake_interface_common.exceptions import WorkflowError

__all__ = ["Executor", "ExecutorSettings", "common_settings"]

LONGEST_PAUSE = 30  # seconds between two looks at the jobs
OVER = ("COMPLETED", slurm.UNKNOWN)  # states of a job that has succeeded if its results are there
# state of a job that does not run -> looks in a row that show it, after which the job has failed
LOOKS = dict.fromkeys(slurm.ENDED, 1) | dict.fromkeys(slurm.LOST, 10) | dict.fromkeys(OVER, 3)
FIRST_WAIT, LONGEST_WAIT = 10.0, 300.0  # seconds before a job that was refused is submitted again
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
OF_SBATCH = re.compile(r"The error message was '(.*?)'\.\n +sbatch call:\n +(.*?)\n", re.DOTALL)


class Executor(SlurmExecutor):  # type: ignore[misc]  # it has no types
    """Runs each job of the workflow in a Slurm job."""

    def __init__(self, workflow: Any, logger: Any) -> None:
        self.looks: dict[str, tuple[str, int]] = {}  # Slurm's id -> latest state, and the looks in a row that showed it
        self.refused: dict[int, tuple[int, float]] = {}  # Snakemake's id -> times that Slurm refused a job, since when
        self.calls: dict[int, tuple[Any, list[str]]] = {}  # Snakemake's id -> job, words of its sbatch that failed
        self.told: set[str] = set()  # ids of jobs that have ended while another process makes the same
        self.latest_job = time.monotonic()  # when the run last had a job in Slurm
        self.is_cancelled, self.submitting = False, threading.Lock()
        self.everywhere = False  # whether jobs may be on another cluster
        if workflow.executor_settings.array_jobs:
            raise WorkflowError("--retort-array-jobs does not work: each job asks for its own time and memory")
        os.environ.setdefault("SBATCH_OPEN_MODE", "append")  # a job that is queued again goes on with its log
        super().__init__(workflow, logger)

    def additional_general_args(self) -> str:
        """Return no executor for the Snakemake in a Slurm job, which then runs the job itself."""
        return ""

    def format_job_exec(self, job: Any) -> str:
        """Return the command of a Slurm job: it starts Snakemake, unless another process makes the same meanwhile."""
        command = str(super().format_job_exec(job))
        if job.is_group():
            return command
        name = planned_run.name_of(job.rule.name, dict(job.wildcards.items()))
        words = shlex.join([self.get_python_executable(), "-m", made.__name__, name, *job.log, *job.output])
        return f"(cd {shlex.quote(str(Path.cwd()))} && {words}) || {{ {command}; }}"

    def run_job(self, job: Any) -> None:
        """Submit a job, unless the run is cancelled, or Slurm has the job."""
        with self.submitting:
            self.everywhere |= any(job.resources.get(key) for key in ("slurm_cluster", "cluster", "clusters"))
            if not self.is_cancelled and not self.follows(job):
                super().run_job(job)

    def follows(self, job: Any) -> bool:
        """Return whether a job is not to be submitted: Slurm took it though sbatch failed, or does not answer."""
        if job.jobid not in self.calls:
            return False
        info, words = self.calls[job.jobid]
        comment, log = (words[words.index(option) + 1] for option in ("--comment", "--output"))
        found = slurm.find(self.run_uuid, comment, self.everywhere)
        if found is None:
            self.report_job_error(info, msg="Unable to contact Slurm")
            return True
        new = [external for external in found if external not in self.looks]  # no earlier attempt
        for external in new[:1]:
            path = Path(log.replace("%j", external))
            self.logger.info(f"Slurm took job {job.jobid} though sbatch failed: {external} (log: {path}).")
            self.report_job_submission(replace(info, external_jobid=external, aux={"slurm_logfile": path}))
        return bool(new)

    def cancel(self) -> None:
        """End the run and all its jobs in Slurm, also one whose submission is under way."""
        self.is_cancelled = True
        self.shutdown()
        with self.submitting:
            if not slurm.cancel(self.run_uuid, self.everywhere):
                self.logger.warning(f"Slurm does not answer; later, run scancel --name={self.run_uuid}")
        forget_running()

    async def sleep(self) -> None:
        """Wait before the next look; end at once when the run ends."""
        end = time.monotonic() + self.next_seconds_between_status_checks
        while self.wait and time.monotonic() < end:
            await asyncio.sleep(0.5)

    async def check_active_jobs(self, active_jobs: list[Any]) -> AsyncIterator[Any]:
        """Report the jobs that have ended, and yield the others."""
        soon = self.workflow.executor_settings.init_seconds_before_status_checks
        if not active_jobs:  # nothing else here: this thread starts before the executor is set up
            self.next_seconds_between_status_checks = soon
            return
        self.latest_job = time.monotonic()
        states = slurm.states(self.run_uuid, [info.external_jobid for info in active_jobs], self.everywhere) or {}
        pause = min(self.next_seconds_between_status_checks + soon, LONGEST_PAUSE)
        for info in active_jobs:
            state = states.get(info.external_jobid, "")
            if slurm.word(state) in LOOKS.keys() - slurm.LOST:
                pause = soon
            if not self.is_over(info, state):
                yield info
        self.next_seconds_between_status_checks = pause

    def is_over(self, info: Any, state: str) -> bool:
        """Return whether a job is over, and report it if so.

        Args:
            info: the job, as it was submitted.
            state: its state, and a reason; empty if Slurm does not answer.
        """
        word, log = slurm.word(state), info.aux["slurm_logfile"]
        before, looks = self.looks[info.external_jobid]
        looks = looks + 1 if word == before else 1
        self.looks[info.external_jobid] = word, looks
        is_last = looks >= LOOKS.get(word, looks + 1)
        # a job that Slurm does not know has ended, and may have failed a moment ago
        has_succeeded = word in OVER and (is_last or word == "COMPLETED") and has_results(info.job.output)
        if is_last and not has_succeeded:
            if self.is_elsewhere(info, state):
                return False
            has_succeeded = made.outputs_are_made(info.job.output)
        if has_succeeded:
            if not self.workflow.executor_settings.keep_successful_logs:
                with contextlib.suppress(OSError):
                    log.unlink()
            self.report_job_success(info)
            return True
        if is_last:
            reason = f"Slurm job {info.external_jobid}: {state}" + ", without its results" * (word in OVER)
            self.report_job_error(info, msg=f"{reason}\n", aux_logs=[str(log)])
        return is_last

    def is_elsewhere(self, info: Any, state: str) -> bool:
        """Return whether another process runs a job that has ended: what it makes would be deleted with a failed job.

        Args:
            info: the job, as it was submitted.
            state: how it ended.
        """
        claims = [holder_of(LOCKS / slug_of(log)) for log in info.job.log]
        others = [other.who for other in claims if other and other.slurm_job != info.external_jobid]
        if others and info.external_jobid not in self.told:
            self.told.add(info.external_jobid)
            self.logger.warning(f"Slurm job {info.external_jobid}: {state}; {others[0]} makes the same: its end counts")
        return bool(others)

    def report_job_submission(self, job_info: Any, register_job: bool = True) -> None:
        """Report that Slurm has taken a job."""
        self.refused.pop(job_info.job.jobid, None)
        self.calls.pop(job_info.job.jobid, None)
        self.looks.setdefault(job_info.external_jobid, ("", 0))
        super().report_job_submission(job_info, register_job)

    def report_job_error(self, job_info: Any, msg: str | None = None, **kwargs: Any) -> None:
        """Report that a job has failed, or submit it again later if Slurm refused it for now."""
        if said := OF_SBATCH.search(msg or ""):
            self.calls[job_info.job.jobid] = job_info, shlex.split(said[2])
        reason = "; ".join(filter(None, map(str.strip, (said[1] if said else msg or "").splitlines())))
        if job_info.external_jobid is None and self.submits_again(job_info.job, reason):
            return
        for log in job_info.job.log:
            with contextlib.suppress(OSError):
                note_refusal(str(log), reason)
        super().report_job_error(job_info, msg=msg, **kwargs)

    def submits_again(self, job: Any, reason: str) -> bool:
        """Return whether a job that was refused is submitted again after a pause.

        Args:
            job: the job.
            reason: what Slurm said when it refused the job.
        """
        times, since = self.refused.get(job.jobid, (0, time.monotonic()))
        if not FOR_NOW.search(reason) or time.monotonic() - max(since, self.latest_job) >= PATIENCE:
            return False
        if not self.refused:
            self.logger.warning(f"Slurm takes no job for now, and is asked again: {reason}")
        self.refused[job.jobid] = times + 1, since
        timer = threading.Timer(min(FIRST_WAIT * 2 ** min(times, 10), LONGEST_WAIT), self.run_job, [job])
        timer.daemon = True  # a run that ends waits for none
        timer.start()
        return True


def has_results(outputs: Iterable[str]) -> bool:
    """Return whether all outputs of a job are there; a network file system looks again at a folder that is listed."""
    for path in map(Path, outputs):
        for folder in reversed(path.parents):
            with contextlib.suppress(OSError):
                os.scandir(folder).close()
        if not path.exists():
            return False
    return True
