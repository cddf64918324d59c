"""Start Snakemake once in a Slurm job, not twice, and send each job a signal before its time limit.

The executor plugin submits a Snakemake that only starts a second one with srun, and the second one runs the job. For a
short job, the first is half of the cost. Here, the plugin submits the srun itself, which starts through this file.

At the signal (2 minutes before the limit, earlier for a large state) a training writes its state, and is queued again;
its log is continued then. Every submission asks for the signal, whatever else `slurm_extra` holds: without it, a
training would die at its limit.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

PLUGIN = "snakemake_executor_plugin_slurm"
LEAD = 120  # seconds from the signal to the limit; Slurm may send it a minute earlier
WRITING_SPEED = 100  # MB a second, of a busy file system
LAST_PART = 5  # the signal comes in the last fifth of the time
JOBS = "RETORT_JOBS_IN_TURN"  # environment variable: how many jobs of the study run in this Slurm job
# What a step may know of its Slurm job. Sizes that are set for the whole job contradict those that srun is given.
KEPT_VARIABLES = (
    "SLURM_CLUSTER_NAME",
    "SLURM_CONF",
    "SLURM_JOBID",
    "SLURM_JOB_ID",
    "SLURM_SUBMIT_DIR",
    "SLURM_SUBMIT_HOST",
)


def adapt_plugin() -> None:
    """Let the plugin submit the step of a job itself, if this process has loaded it."""
    plugin = sys.modules.get(PLUGIN)
    if plugin is not None:
        executor = plugin.Executor
        executor.format_job_exec = run_in_step(executor.format_job_exec)
        executor.additional_general_args = without_executor(executor.additional_general_args)
        plugin.get_submit_command = with_signal(plugin.get_submit_command)  # type: ignore[attr-defined]


def lead(resources: Mapping[str, Any]) -> int:
    """Return how many seconds before its limit a job gets the signal: to write as much as its memory, and more."""
    longest = int(resources.get("runtime") or sys.maxsize) * 60 // LAST_PART
    return min(LEAD + int(resources.get("mem_mb") or 0) // WRITING_SPEED, longest)


def with_signal(submit_command: Callable[..., str]) -> Callable[..., str]:
    """Wrap the function that makes the command of a submission: it also asks for the signal before the limit."""

    def make(job: Any, *arguments: Any, **settings: Any) -> str:
        given = str(job.resources.get("slurm_extra") or "")
        asked = {"--signal": f"URG@{lead(job.resources)}", "--open-mode": "append"}  # of sbatch
        lacking = [f"{name}={value}" for name, value in asked.items() if f"{name}=" not in given]
        return " ".join([submit_command(job, *arguments, **settings), *lacking])

    return make


def _uses_arrays(executor: Any) -> bool:
    """Return whether jobs are submitted as arrays; only the plugin's own Snakemake can tell the jobs of one apart."""
    return bool(executor.workflow.executor_settings.array_jobs)


def without_executor(arguments: Callable[[Any], str]) -> Callable[[Any], str]:
    """Wrap the function that names Snakemake's executor: it names none, and Snakemake runs the job in its process."""
    return lambda executor: arguments(executor) if _uses_arrays(executor) else ""


def run_in_step(command: Callable[[Any, Any], str]) -> Callable[[Any, Any], str]:
    """Wrap the function that makes the command of a job: it runs in a step with all cores and GPUs of the Slurm job."""

    def make(executor: Any, job: Any) -> str:
        if _uses_arrays(executor):
            return command(executor, job)
        from snakemake_executor_plugin_slurm_jobstep import get_cpu_setting, get_gpu_setting, get_node_setting

        sizes = (get_cpu_setting(job, bool(job.resources.get("gpu"))), get_gpu_setting(job), get_node_setting(job))
        start = f"{sys.executable} -I {shlex.quote(str(Path(__file__).resolve()))} {len(job)}"
        return " ".join([start, "srun -n1 --cpu-bind=q", *filter(None, sizes), command(executor, job)])

    return make


def jobs_in_turn() -> int:
    """Return how many jobs of the study run in the Slurm job of this process; 1 outside of Slurm."""
    return int(os.environ.get(JOBS, 1))


def main(number: str, command: list[str]) -> None:
    """Replace this process by srun, without the variables of the Slurm job that would contradict its arguments."""
    ours = {name: value for name, value in os.environ.items() if name in KEPT_VARIABLES or not _of_slurm(name)}
    os.execvpe(command[0], command, ours | {JOBS: number})


def _of_slurm(name: str) -> bool:
    return name.startswith(("SLURM_", "SRUN_", "SBATCH_"))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
