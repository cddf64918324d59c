"""The context in which a Snakemake job runs a stage: log, claim, checksums, checkpoints and errors.

Stages get a `RunningJob` and never see Snakemake's `snakemake` object.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from retort import checksums, machine, provenance
from retort.atomic import remove_leftovers
from retort.checksums import REPORTS, RESULTS, Maker, Parent, digest_of
from retort.errors import RetortError, explain_error
from retort.job import attempts, forkserver, gpus, planned_run, slurm
from retort.job.attempts import INTERRUPTED, LOCKS, NEVER, Clock, Interrupted, checkpoints_of, slug_of
from retort.job.locks import hold_claim, in_turn
from retort.job.made import outputs_are_made
from retort.job.steps import steps_file

ENDING = 120.0  # seconds within which Slurm ends a job that it queues again


@dataclass
class RunningJob:
    """What a stage needs to know about the job that runs it.

    Args:
        name: what it does and of what, as shown on the terminal.
        log: the job's log file, open for writing.
        threads: number of CPU threads that the job may use.
        gpu: whether the job was given a GPU.
        gpus: number of GPUs, with a training process for each. Tests set it on a CPU, for several processes.
        processes: number of processes that run the stage: 1 until `training.how.launch` starts one for each GPU.
        rank: the number of this process, from 0; process 0 writes the results.
        result: the path of what is made; the folder of its checkpoints has its name.
        slug: how its log and its claim are named; a student next to others has that of all.
        checkpoint_seconds: least time between two checkpoints, in seconds.
        dataloader_num_workers: processes that prepare batches; None for the default: 2 with a GPU, 0 without.
        clock: tells when the job's time limit is near.
        started: when the job began, on the monotonic clock, in seconds.
        parents: the results that the job reads, by path, each with its digest and the code that made it.
        ancestors: the code that made the parents, and the code that made their own parents, and so on.
        resumed_from: other code that trained a part of this job's model before the job was resumed.
        taken: the results of which the checksums are taken already.
        objectives: the objectives that the job uses.
        point: the number of the point of a grid that is trained, from 1; 0 outside of grids.
        settings: the digest of its settings, for the checksums of what it makes; empty if it has none.
    """

    name: str
    log: TextIO
    threads: int = 1
    gpu: bool = False
    gpus: int = 0
    processes: int = 1
    rank: int = 0
    result: str = "results/job"
    slug: str = "job"
    checkpoint_seconds: float = 20.0
    dataloader_num_workers: int | None = None
    clock: Clock = NEVER
    started: float = field(default_factory=time.monotonic)
    parents: dict[str, Parent] = field(default_factory=dict)
    ancestors: set[Maker] = field(default_factory=set)
    resumed_from: set[Maker] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    objectives: frozenset[str] = frozenset()
    point: int = 0
    settings: str = ""

    @property
    def device(self) -> str:
        """The device to run on: 'cuda' if the job was given a GPU, else 'cpu'.

        Raises:
            RetortError: the job was given more GPUs than torch sees.
        """
        if self.gpu:
            machine.check_gpus(max(1, self.gpus))
        return "cuda" if self.gpu else "cpu"

    @property
    def maker(self) -> Maker:
        """The code that the job runs, as far as its results depend on it."""
        return this_code(self.objectives)

    @property
    def other_makers(self) -> list[str]:
        """Other code that made what the job reads, or a part of its model, in words."""
        made_by = (self.ancestors | self.resumed_from) - {self.maker}
        return sorted(each.words for each in made_by if provenance.are_different([each.code, self.maker.code]))

    @property
    def num_workers(self) -> int:
        """The number of processes that prepare batches; by default none on a CPU, whose cores the training needs."""
        given = self.dataloader_num_workers
        return machine.default_workers(self.device == "cuda") if given is None else given

    @property
    def checkpoints(self) -> Path:
        """The folder of the job's checkpoints: no output of the job, which Snakemake would delete before a re-run."""
        return checkpoints_of(self.result)

    @property
    def writes(self) -> bool:
        """Whether this process writes the results of the job: only rank 0 does."""
        return self.rank == 0

    @property
    def steps_file(self) -> Path | None:
        """The file for the steps of its trainings, next to its log; None for a process or a test that writes none."""
        name = getattr(self.log, "name", "")
        return steps_file(name) if self.writes and name else None

    def seconds(self) -> float:
        """Return the seconds since the job began, rounded to hundredths."""
        return round(time.monotonic() - self.started, 2)

    @property
    def lasting_parents(self) -> dict[str, Parent]:
        """The results that it reads, without those that a run deletes: these are made from the others."""
        return checksums.lasting(self.parents)

    def lineage(self) -> dict[str, object]:
        """Return the JSON values by which a result names its parents and the code behind it."""
        parents = {path: parent.model_dump() for path, parent in self.lasting_parents.items()}
        resumed = {"resumed_from": _as_json(self.resumed_from)} if self.resumed_from else {}
        return {"parents": parents, "ancestors": _as_json(self.ancestors), **resumed}

    @contextlib.contextmanager
    def claiming(self, name: str) -> Iterator[None]:
        """Claim a result for a block, by a name; wait as long as another process makes the same."""
        with contextlib.ExitStack() as held:
            in_turn(
                lambda: held.enter_context(hold_claim(LOCKS / name, self.name)),
                lambda other: self.say(f"waits for the end of {other.who}, which makes the same"),
            )
            yield

    def read_parents(self, inputs: Iterable[str]) -> None:
        """Check results that the job reads; add them, and the code that made them, to the job.

        The content of a file is compared only if its size or time has changed.

        Raises:
            RetortError: a result has changed, or its checksums are gone.
        """
        for path in _results(inputs):
            if (taken := checksums.check_parent(path, self.say)) is not None:
                self.parents[str(path)] = Parent(**taken.maker.model_dump(), sha256=taken.digest)
                self.ancestors |= {taken.maker, *taken.ancestors}

    def take_checksums(self, result: Path) -> None:
        """Take the checksums of a result that this job has made."""
        ancestors = self.ancestors | self.resumed_from
        plan = planned_run.plan()
        checksums.take(result, self.name, self.maker, ancestors, self.parents, plan, self.settings)

    def say(self, text: str) -> None:
        """Write one line to the terminal and to the log."""
        print(f"    {self.name}: {text}", file=sys.stderr, flush=True)
        self.log.write(f"{text}\n")


def _as_json(makers: Iterable[Maker]) -> list[dict[str, str]]:
    return sorted((maker.model_dump() for maker in makers), key=lambda maker: (maker["commit"], maker["code"]))


@contextlib.contextmanager
def job(snakemake: Any, hidden: Sequence[str] = forkserver.TOKENS) -> Iterator[RunningJob]:
    """Yield the running job, and report the error that ends it.

    The job is claimed against other processes, and gets GPUs of its own. Its inputs are compared with their checksums,
    and the checksums of its outputs are taken at the end.

    An error that the user can correct ends the process with one line on the terminal; a bug ends it with a traceback.
    The log gets the traceback of both. Slurm queues the job again if its time limit ended a training.

    Args:
        snakemake: Snakemake's object for the job.
        hidden: environment variables that the job does not see.
    """
    _prepare_process(snakemake, hidden)
    path = str(snakemake.log[0])
    try:
        snakemake.config.update(planned_run.configuration())  # YAML files may be edited while a run lasts
        with open(path, "a", encoding="utf-8") as log:
            running = _make_job(snakemake, log)
            with _claim_and_check(running, snakemake):
                yield running
    except KeyboardInterrupt:  # Ctrl-C reaches all jobs: their tracebacks would mix on the terminal
        sys.exit(INTERRUPTED)
    except Exception as error:
        with contextlib.suppress(OSError), open(path, "a", encoding="utf-8") as log:  # the disk may be full
            log.write(traceback.format_exc())
        line = explain_error(error) or _damage(snakemake.input)
        if line is None:
            raise
        if isinstance(error, gpus.MemoryTaken) and gpus.tries_again():
            print(f"{shown(path)}: {error.message}; it is tried again as it was", file=sys.stderr, flush=True)
            gpus.run_again()
        print(f"{shown(path)}: {line}\n  log: {path}", file=sys.stderr, flush=True)
        if isinstance(error, Interrupted) and _is_latest(snakemake) and slurm.requeue():
            attempts.file_of(path).unlink(missing_ok=True)  # it waits, and has not failed
            time.sleep(ENDING)
        sys.exit(1)


def _is_latest(snakemake: Any) -> bool:
    """Return whether no later run has planned the job."""
    return planned_run.is_latest(planned_run.name_of(snakemake.rule, dict(snakemake.wildcards.items())))


def download(snakemake: Any) -> AbstractContextManager[RunningJob]:
    """Return the context of a job that downloads: it alone sees access tokens, in a process of its own."""
    return job(snakemake, hidden=())


def shown(log: str) -> str:
    """Return a job's name for the terminal, from its log: 'finetune_student(kd, rte, 1-2)'."""
    kind, *values = slug_of(log).split(".")
    return kind + (f"({', '.join(values)})" if values else "")


def _make_job(snakemake: Any, log: TextIO) -> RunningJob:
    """Return the `RunningJob` that a `snakemake` object describes."""
    asked = snakemake.resources
    limits, settings = (asked.get("runtime") or 0, asked.get("mem_mb") or 0), snakemake.params.get("settings")
    return RunningJob(
        name=shown(snakemake.log[0]),
        log=log,
        threads=snakemake.threads,
        gpu=bool(asked.get("gpu", 0)),
        gpus=asked.get("gpu", 0),
        result=str(snakemake.output[0]),
        slug=slug_of(snakemake.log[0]),
        checkpoint_seconds=float(snakemake.config.get("checkpoint_seconds", 20)),
        dataloader_num_workers=snakemake.config.get("dataloader_num_workers"),
        clock=attempts.clock_of(*limits, slurm.end_time(), time.time()) if slurm.job_id() else NEVER,
        objectives=provenance.objectives_in(settings),
        settings=digest_of(settings) if settings else "",
    )


@contextlib.contextmanager
def _claim_and_check(running: RunningJob, snakemake: Any) -> Iterator[None]:
    """Claim the job for a block, check its inputs before it, and take the checksums of its outputs after it."""
    _ = running.maker  # before the long imports: the files may be edited while the job runs
    outputs = list(map(Path, snakemake.output))
    with running.claiming(slug_of(snakemake.log[0])):
        if outputs_are_made(snakemake.output):
            running.say("another process has made it")
            sys.exit(0)
        for folder in {output.parent for output in outputs}:
            remove_leftovers(folder)
        with attempts.attempt(attempts.file_of(snakemake.log[0])):
            running.read_parents(snakemake.input)
            with gpus.hold(running.gpus, running.say):
                running.started = time.monotonic()  # it may have waited long
                yield
            for output in _results(snakemake.output, RESULTS, REPORTS):
                if str(output) not in running.taken:
                    running.take_checksums(output)
        for output in outputs:
            shutil.rmtree(checkpoints_of(output), ignore_errors=True)


def _prepare_process(snakemake: Any, hidden: Sequence[str]) -> None:
    """Set the environment variables and the allocator of a job, and remove what it does not see."""
    machine.keep_freed_memory()
    machine.settle_environment()
    os.environ.setdefault("OMP_NUM_THREADS", str(snakemake.threads))
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ["HF_HUB_OFFLINE"] = "1"
    for name in hidden:
        os.environ.pop(name, None)


def this_code(objectives: frozenset[str] = frozenset()) -> Maker:
    """Return the code that this process runs, as far as a result depends on it that uses some objectives."""
    return Maker(commit=provenance.commit(objectives), code=provenance.code(objectives))


def _results(paths: Iterable[str], *tops: Path) -> list[Path]:
    """Return the inputs or outputs of a job that lie in some folders, by default results/, and exist."""
    found = [path for path in map(Path, paths) if path.exists()]
    return [path for path in found if any(path.is_relative_to(top) for top in tops or (RESULTS,))]


def _damage(inputs: Iterable[str]) -> str | None:
    """Return a line about the first input with a changed content; None if there is none."""
    try:
        for path in _results(inputs):
            checksums.check(path, thorough=True)
    except RetortError as error:
        return str(error)
    return None
