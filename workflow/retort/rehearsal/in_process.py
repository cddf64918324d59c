"""Run jobs of a plan in this process, through the scripts of their rules and without Snakemake.

So nothing is imported twice: for tables and pages after a run with failures, and for rehearsals.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import runpy
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retort.cost.jobs import Job
from retort.engine import forkserver, run

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


class Named(list[Any]):
    """Values in a list, of which some have names: as Snakemake gives inputs, outputs, params and wildcards to scripts.

    Args:
        values: name -> a value or a list of values.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(one for value in values.values() for one in (value if isinstance(value, list) else [value]))
        self._values = dict(values)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, key: Any) -> Any:
        return self._values[key] if isinstance(key, str) else super().__getitem__(key)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a name, or the default."""
        return self._values.get(name, default)

    def keys(self) -> Iterable[str]:
        """Return the names, so that `**` takes the named values."""
        return self._values.keys()


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
    resources: dict[str, Any]
    threads: int = 1


def described(job: Job, config: dict[str, Any]) -> Described:
    """Return what the script of a job reads, with a configuration."""
    rule, of = job.rule, job.wildcards
    return Described(
        rule=rule.kind,
        wildcards=Named(vars(of)),
        input=Named(rule.reads(of)),
        output=Named(rule.makes(of)),
        params=Named(params_of(job)),
        log=[job.key],
        config=dict(config),
        resources={},
    )


def params_of(job: Job) -> dict[str, Any]:
    """Return the params of a job by name."""
    wildcards, output = Named(vars(job.wildcards)), Named(job.rule.makes(job.wildcards))
    return {name: _param(value, wildcards, output) for name, value in job.rule.params.items()}


def _param(value: Any, wildcards: Named, output: Named) -> Any:
    """Return the value of a param: functions get the wildcards, and the outputs if they ask for them."""
    if not callable(value):
        return value
    return value(wildcards, output) if "output" in inspect.signature(value).parameters else value(wildcards)


def run_job(job: Job, config: dict[str, Any]) -> bool:
    """Run the script of a job here, and return whether it succeeded; print a traceback to standard error if not."""
    try:
        for path in (job.key, *described_paths(job)):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        with _of_no_run():
            globals_ = {"snakemake": described(job, config)}
            runpy.run_path(
                str(SCRIPTS / f"{job.rule.script or job.rule.kind}.py"), init_globals=globals_, run_name="__main__"
            )
    except SystemExit as end:
        return not end.code
    except Exception:
        traceback.print_exc()
        return False
    return True


def described_paths(job: Job) -> list[str]:
    """Return the paths of all outputs of a job."""
    return list(Named(job.rule.makes(job.wildcards)))


@contextlib.contextmanager
def _of_no_run() -> Iterator[None]:
    """Hide from a job that runs here the settings of the run, and its server of forks."""
    hidden = {name: os.environ.pop(name, None) for name in (run.VARIABLE, run.DECIDED, forkserver.ADDRESS)}
    try:
        yield
    finally:
        os.environ.update({name: value for name, value in hidden.items() if value is not None})
