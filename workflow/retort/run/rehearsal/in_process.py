"""Run jobs of a plan in this process, through the scripts of their rules and without Snakemake.

So nothing is imported twice: for tables and pages after a run with failures, and for rehearsals.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import runpy
import traceback
from collections.abc import Container, ItemsView, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retort.cost.jobs import Job
from retort.job import fork_client, planned_run
from retort.job.attempts import INTERRUPTED

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"


class Named(list[Any]):
    """Values in a list, of which some have names: as Snakemake gives inputs, outputs and params to scripts.

    Args:
        values: name -> a value or a list of values.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(one for value in values.values() for one in (value if isinstance(value, list) else [value]))
        vars(self).update(values)

    def __getitem__(self, key: Any) -> Any:
        return vars(self)[key] if isinstance(key, str) else super().__getitem__(key)

    def items(self) -> ItemsView[str, Any]:
        """Return the names and their values."""
        return vars(self).items()

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a name, or the default."""
        return vars(self).get(name, default)


@dataclass(frozen=True)
class Described:
    """What the script of a rule reads of its job: the part of Snakemake's `snakemake` object that scripts use."""

    rule: str
    wildcards: Named
    input: Named
    output: Named
    params: Named
    log: list[str]
    config: dict[str, Any]
    resources: dict[str, Any] = field(default_factory=dict)
    threads: int = 1


def params_of(job: Job) -> dict[str, Any]:
    """Return the params of a job by name: functions get its wildcards, and its outputs if they ask for them."""

    def value_of(param: Any) -> Any:
        if not callable(param):
            return param
        asks = "output" in inspect.signature(param).parameters
        return param(job.wildcards, *([Named(job.rule.makes(job.wildcards))] if asks else []))

    return {name: value_of(param) for name, param in job.rule.params.items()}


def run_job(job: Job, config: dict[str, Any], without: Container[str] = ()) -> bool:
    """Run the script of a job here, and return whether it succeeded; print a traceback to standard error if not.

    Args:
        job: the job.
        config: the configuration.
        without: inputs that could not be made.
    """
    rule, of = job.rule, job.wildcards
    reads = {
        name: [path for path in value if path not in without] if isinstance(value, list) else value
        for name, value in rule.reads(of).items()
    }
    inputs, outputs, params = Named(reads), Named(rule.makes(of)), Named(params_of(job))
    described = Described(rule.name, Named(vars(of)), inputs, outputs, params, [job.key], dict(config))
    try:
        for path in (job.key, *outputs):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        with _of_no_run():
            script = SCRIPTS / f"{rule.script or rule.name}.py"
            runpy.run_path(str(script), init_globals={"snakemake": described}, run_name="__main__")
    except SystemExit as end:
        if end.code == INTERRUPTED:
            raise KeyboardInterrupt from None
        return not end.code
    except Exception:
        traceback.print_exc()
        return False
    return True


@contextlib.contextmanager
def _of_no_run() -> Iterator[None]:
    """Hide from a job that runs here the settings of the run, and its server of forks."""
    hidden = {
        name: os.environ.pop(name, None) for name in (planned_run.VARIABLE, planned_run.DECIDED, fork_client.ADDRESS)
    }
    try:
        yield
    finally:
        os.environ.update({name: value for name, value in hidden.items() if value is not None})
