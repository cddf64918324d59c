"""The context in which a Snakemake job runs a stage: log, lock, checksums, checkpoints and errors.

Stages get a `Job` and never see Snakemake's `snakemake` object.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from retort import checksums, forkserver, handover, machine, parents, provenance, slurm
from retort.atomic import remove_leftovers
from retort.attempts import (
    CHECKPOINTS,
    LOCKS,
    TRAINS_FOR,
    attempt,
    checkpoint_folders,
    counts_as_done,
    file_of,
    is_latest_run,
)
from retort.checksums import RESULTS, Maker, Parent, digest_of
from retort.errors import explain, first_line
from retort.job_names import shown, slug
from retort.locks import locked
from retort.run_config import of_this_run
from retort.signals import Interrupted, kept_for_next_training

STAMPS = RESULTS / "together"  # empty files that only order jobs
# environment variables that hold an access token, or an address with a password
TOKENS: tuple[str, ...] = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACEHUB_API_TOKEN")
TOKENS += ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_PROXY")
IN_TURN = "in_turn"  # the resource of jobs that share a Slurm job: each needs a unit, and there are `at_once` units
DOWNLOADS = "fetch_source"  # the only rule whose jobs may see tokens


@dataclass
class Job:
    """What a stage needs to know about the job that runs it.

    Args:
        name: rule and wildcards, as shown on the terminal.
        log: the job's log file, open for writing.
        threads: number of CPU threads that the job may use.
        gpu: whether the job was given a GPU.
        gpus: number of GPUs, with a training process for each. Tests set it on a CPU, for several processes.
        processes: number of processes that run the stage: 1 until `training.launch` starts one for each GPU.
        rank: the number of this process, from 0; process 0 writes the results.
        micro_batch: the most rows of a batch that go through a device at once; None for all of them.
        slug: rule and wildcards joined by dots; the name of the folder for the job's checkpoints.
        checkpoint_seconds: least time between two checkpoints, in seconds.
        dataloader_num_workers: processes that prepare batches; None for the default: 2 with a GPU, 0 without.
        started: when the job began, on the monotonic clock, in seconds.
        parents: the results that the job reads, by path, each with its digest and the code that made it.
        ancestors: the code that made the parents, and the code that made their own parents, and so on.
        resumed_from: other code that trained a part of this job's model before the job was resumed.
    """

    name: str
    log: TextIO
    threads: int = 1
    gpu: bool = False
    gpus: int = 0
    processes: int = 1
    rank: int = 0
    micro_batch: int | None = None
    slug: str = "job"
    checkpoint_seconds: float = 20.0
    dataloader_num_workers: int | None = None
    started: float = field(default_factory=time.monotonic)
    parents: dict[str, Parent] = field(default_factory=dict)
    ancestors: set[Maker] = field(default_factory=set)
    resumed_from: set[Maker] = field(default_factory=set)

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
    def rule(self) -> str:
        """The name of the rule."""
        return self.name.split("(")[0]

    @property
    def num_workers(self) -> int:
        """The number of processes that prepare batches; by default none on a CPU, whose cores the training needs."""
        default = machine.default_workers(self.device == "cuda")
        return default if self.dataloader_num_workers is None else self.dataloader_num_workers

    @property
    def checkpoints(self) -> Path:
        """The folder of the job's checkpoints: no output of the job, which Snakemake would delete before a re-run."""
        return CHECKPOINTS / self.slug

    @property
    def writes(self) -> bool:
        """Whether this process writes the results of the job: only rank 0 does."""
        return self.rank == 0

    def seconds(self) -> float:
        """Return the seconds since the job began, rounded to one decimal."""
        return round(time.monotonic() - self.started, 1)

    def lineage(self) -> dict[str, Any]:
        """Return the JSON values by which a result names its parents and the code behind it."""
        lineage: dict[str, Any] = {
            "parents": {path: parent.model_dump() for path, parent in self.parents.items()},
            "ancestors": _as_json(self.ancestors),
        }
        return lineage | ({"resumed_from": _as_json(self.resumed_from)} if self.resumed_from else {})

    def say(self, text: str) -> None:
        """Write one line to the terminal and to the log."""
        print(f"    {self.name}: {text}", file=sys.stderr, flush=True)
        self.log.write(f"{text}\n")


def _as_json(makers: Iterable[Maker]) -> list[dict[str, str]]:
    return sorted((maker.model_dump() for maker in makers), key=lambda maker: (maker["commit"], maker["code"]))


@contextlib.contextmanager
def job(snakemake: Any) -> Iterator[Job]:
    """Yield the running job, and report the error that ends it.

    The job is locked against other processes. Its inputs are compared with their checksums, and the checksums of its
    outputs are taken at the end.

    An error that the user can correct ends the process with one line on the terminal; a bug ends it with a traceback.
    The log gets the traceback of both. Slurm queues the job again if its time limit interrupted a training.
    """
    if snakemake.rule != DOWNLOADS:  # a download sees tokens, so it has a process of its own
        forkserver.hand_over()
    _prepare_process(snakemake)
    name = shown(snakemake.rule, snakemake.wildcards)
    path = str(snakemake.log[0]) if snakemake.log else os.devnull
    try:
        snakemake.config.update(of_this_run())  # YAML files may be edited while a run lasts
        with open(path, "a", encoding="utf-8") as log:
            running = _make_job(snakemake, log)
            with kept_for_next_training(), _lock_and_check(running, snakemake):
                yield running
        _stamp(snakemake.output)
    except Exception as error:
        with contextlib.suppress(OSError), open(path, "a", encoding="utf-8") as log:  # the disk may be full
            log.write(traceback.format_exc())
        line = explain(error) or parents.damage(_results(snakemake.input))
        if is_done := counts_as_done(snakemake.rule, error):
            line = f"{line or first_line(error)}; left to {TRAINS_FOR[snakemake.rule]}"
            _stamp(snakemake.output)
        if line is None:
            raise
        print(f"{name}: {line}\n  log: {path}", file=sys.stderr, flush=True)
        if _goes_on_later(error) and not snakemake.resources.get("only_saves"):
            handover.wait_for_neighbours()
            slurm.queue_again()
        sys.exit(0 if is_done else 1)


def _goes_on_later(error: Exception) -> bool:
    """Return whether Slurm should queue the job again: its time limit ended it, and no later run has such a job."""
    return isinstance(error, Interrupted) and error.ahead_of_limit and is_latest_run()


def _stamp(outputs: Iterable[str]) -> None:
    """Write the stamps of a finished job: they tell it from a failed one even if Slurm has forgotten the job."""
    for path in map(Path, outputs):
        if path.parent == STAMPS:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()


def _make_job(snakemake: Any, log: TextIO) -> Job:
    """Return the `Job` that a `snakemake` object describes."""
    return Job(
        name=shown(snakemake.rule, snakemake.wildcards),
        log=log,
        threads=snakemake.threads,
        gpu=bool(snakemake.resources.get("gpu", 0)),
        gpus=snakemake.resources.get("gpu", 0),
        micro_batch=snakemake.resources.get("micro_batch", 0) or None,
        slug=slug(snakemake.rule, snakemake.wildcards),
        checkpoint_seconds=float(snakemake.config.get("checkpoint_seconds", 20)),
        dataloader_num_workers=snakemake.config.get("dataloader_num_workers"),
    )


@contextlib.contextmanager
def _lock_and_check(running: Job, snakemake: Any) -> Iterator[None]:
    """Lock the job for a block, check its inputs before it, and take the checksums of its outputs after it."""
    me = this_code()  # before the long imports: the files may be edited while the job runs
    lock, outputs = LOCKS / running.slug, list(map(Path, snakemake.output))
    with handover.locked_in_turn(lock, running.name, running.say):
        _read_parents(running, _results(snakemake.input))
        contents = [parent.sha256 for parent in running.parents.values()]
        key = digest_of([dict(snakemake.params.items()), contents])
        shares_slurm_job = bool(snakemake.resources.get(IN_TURN))
        if handover.accept(lock, key, outputs):
            _finish(running, lock, key, outputs, shares_slurm_job)
            running.say("an earlier job has made it")
            sys.exit(0)
        for folder in {output.parent for output in outputs}:
            remove_leftovers(folder)
        states = checkpoint_folders(running.rule, running.slug, snakemake.params.get("settings", ()))
        with attempt(file_of(running.slug), states):
            yield
            made = _results(snakemake.output)
            for output in made:
                checksums.take(output, running.name, me, running.ancestors | running.resumed_from, running.parents)
        if made == outputs:
            _finish(running, lock, key, outputs, shares_slurm_job)


def _finish(running: Job, lock: Path, key: str, outputs: list[Path], shares_slurm_job: bool) -> None:
    """Keep the results of a job if another attempt may need them, and only then remove its checkpoints."""
    trained_on_slurm = bool(slurm.job_id()) and running.checkpoints.exists()
    try:
        handover.offer(lock, key, outputs, shares_slurm_job or trained_on_slurm)
    except OSError as error:  # no failure of the job: its own results are written
        running.log.write(f"results are not kept for another attempt: {first_line(error)}\n")
    shutil.rmtree(running.checkpoints, ignore_errors=True)


def weights_folder(snakemake: Any) -> str | None:
    """Return the folder in which a job saves its weights; None if nothing reads them.

    Snakemake expects the folder in any case: make an empty one if nothing reads the weights.
    """
    folder = snakemake.output.get("weights")
    if folder and not snakemake.resources.get("reads_weights", 1):
        Path(folder).mkdir(parents=True, exist_ok=True)
        return None
    return str(folder) if folder else None


def _prepare_process(snakemake: Any) -> None:
    """Set the environment variables and the allocator of a job; remove tokens unless the job downloads."""
    machine.keep_freed_memory()
    os.environ.setdefault("OMP_NUM_THREADS", str(snakemake.threads))
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ["HF_HUB_OFFLINE"] = "1"
    if snakemake.rule != DOWNLOADS:
        for name in TOKENS:
            os.environ.pop(name, None)


def lock_of(rule: str, wildcard: str) -> contextlib.AbstractContextManager[None]:
    """Return the lock of another job, of a rule with one wildcard, as a context manager.

    Raises:
        RetortError: on entering, if another process runs that job.
    """
    return locked(LOCKS / slug(rule, [wildcard]), shown(rule, [wildcard]))


@contextlib.contextmanager
def acting_for(running: Job, rule: str, wildcard: str, inputs: Iterable[str]) -> Iterator[Job]:
    """Yield another job, so that the running job can do a part of its work and write its checkpoints.

    The log lies in the folder of the running job's logs: Snakemake deletes a job's own log before it runs the job.

    Args:
        running: the running job.
        rule: the rule of the other job.
        wildcard: the one wildcard of the other job.
        inputs: what the other job reads, in the order of its rule.
    """
    path = RESULTS / "logs" / running.slug.split(".")[0] / f"{wildcard}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path if running.writes else os.devnull, "a", encoding="utf-8") as log:
        other = replace(
            running,
            name=shown(rule, [wildcard]),
            slug=slug(rule, [wildcard]),
            log=log,
            parents={},
            ancestors=set(),
            resumed_from=set(),
        )
        _read_parents(other, _results(inputs))
        yield other


def this_code() -> Maker:
    """Return the code that this process runs."""
    return Maker(commit=provenance.commit(), code=provenance.code())


def _results(paths: Iterable[str]) -> list[Path]:
    """Return the inputs or outputs of a job that are results and exist."""
    results = (path for path in map(Path, paths) if path.is_relative_to(RESULTS) and path.parent != STAMPS)
    return [path for path in results if path.exists()]


def _read_parents(running: Job, inputs: list[Path]) -> None:
    """Check the results that a job reads; add them and the code that made them to the job."""
    running.parents, makers = parents.read(inputs, running.say)
    running.ancestors |= makers
