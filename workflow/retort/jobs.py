"""The context in which a Snakemake job runs a stage.

Only this module knows Snakemake's object, so stages and the scripts that call them need not.
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
from retort.attempts import CHECKPOINTS, LOCKS, TRAINS_FOR, attempt, file_of, leaves_the_rest, written_by
from retort.checksums import RESULTS, Maker, Parent, digest_of
from retort.errors import explain, first_line
from retort.job_names import shown, slug
from retort.locks import locked
from retort.run_config import of_this_run
from retort.signals import Interrupted, kept_for_next_training

STAMPS = RESULTS / "together"  # files that only order jobs: nothing is made from them
# variables that hold a token, or an address with a password, of what is downloaded from
TOKENS: tuple[str, ...] = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACEHUB_API_TOKEN")
TOKENS += ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_PROXY")
IN_TURN = "in_turn"  # the resource of jobs that share a Slurm job, in which they run one after another
DOWNLOADS = "fetch_source"  # the only rule whose jobs may see tokens


@dataclass
class Job:
    """What a stage needs to know about the job that runs it.

    Args:
        name: rule and wildcards, as shown on the terminal.
        log: the job's log file, open for writing.
        threads: number of CPU threads that the job may use.
        gpu: whether the job was given a GPU.
        gpus: the processes that a training is given, one for each GPU; on a CPU, tests alone ask for several.
        processes: the number of processes that run the stage: 1, until as many are started as there are GPUs.
        rank: the number of this process, from 0; that with number 0 writes the results.
        micro_batch: the most rows of a batch that go through a device at once; None for all of them.
        slug: rule and wildcards joined by dots; the name of the folder for the job's checkpoints.
        checkpoint_seconds: time between two checkpoints, in seconds.
        dataloader_num_workers: processes that prepare batches beside a training; None for 2 beside a GPU, else none.
        started: when the job began, on the monotonic clock, in seconds.
        parents: the results that the job reads, by path, each with its digest and the code that made it.
        ancestors: the code that made the parents, and what they were made from.
        resumed_from: the code that trained a part of this job's model before this process, where it differs.
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
        default = 2 if self.device == "cuda" else 0
        return default if self.dataloader_num_workers is None else self.dataloader_num_workers

    @property
    def checkpoints(self) -> Path:
        """The folder of the job's checkpoints: outside what Snakemake deletes before it runs a job again."""
        return CHECKPOINTS / self.slug

    @property
    def writes(self) -> bool:
        """Whether this process writes the results of the job: one of them does."""
        return self.rank == 0

    def seconds(self) -> float:
        """Return the seconds since the job began, rounded to one decimal."""
        return round(time.monotonic() - self.started, 1)

    def lineage(self) -> dict[str, Any]:
        """Return what a result says of the results that it was made from, as JSON values."""
        lineage: dict[str, Any] = {
            "parents": {path: parent.model_dump() for path, parent in self.parents.items()},
            "ancestors": _listed(self.ancestors),
        }
        return lineage | ({"resumed_from": _listed(self.resumed_from)} if self.resumed_from else {})

    def say(self, text: str) -> None:
        """Write one line to the terminal and to the log."""
        print(f"    {self.name}: {text}", file=sys.stderr, flush=True)
        self.log.write(f"{text}\n")


def _listed(makers: Iterable[Maker]) -> list[dict[str, str]]:
    return sorted((maker.model_dump() for maker in makers), key=lambda maker: (maker["commit"], maker["code"]))


@contextlib.contextmanager
def job(snakemake: Any) -> Iterator[Job]:
    """Yield the running job, and report the error that ends it.

    No other process does the same job meanwhile. Results that the job reads are compared with the checksums that were
    taken when they were made, and checksums of its own results are taken when it has made them.

    An error that the user can correct ends the process with one line on the terminal; a bug ends it with a traceback.
    The log gets the traceback of both. A training that a signal ended at its limit is queued again where Slurm runs it.
    """
    if snakemake.rule != DOWNLOADS:  # only a process of its own may see tokens
        forkserver.hand_over()
    _prepare_process(snakemake)
    name = shown(snakemake.rule, snakemake.wildcards)
    path = str(snakemake.log[0]) if snakemake.log else os.devnull
    try:
        snakemake.config.update(of_this_run())  # YAML files may be edited while a run lasts
        with open(path, "a", encoding="utf-8") as log:
            running = _running(snakemake, log)
            with kept_for_next_training(), _at_work(running, snakemake):
                yield running
        _stamp(snakemake.output)
    except Exception as error:
        with contextlib.suppress(OSError), open(path, "a", encoding="utf-8") as log:  # the disk may be full
            log.write(traceback.format_exc())
        line = explain(error) or parents.damage(_results(snakemake.input))
        if left := leaves_the_rest(snakemake.rule, error):
            line = f"{line or first_line(error)}; left to {TRAINS_FOR[snakemake.rule]}"
            _stamp(snakemake.output)
        if line is None:
            raise
        print(f"{name}: {line}\n  log: {path}", file=sys.stderr, flush=True)
        if isinstance(error, Interrupted) and error.ahead_of_limit and not snakemake.resources.get("only_saves"):
            slurm.queue_again()
        sys.exit(0 if left else 1)


def _stamp(outputs: Iterable[str]) -> None:
    """Write the stamps of a job that is done: one that Slurm has forgotten has failed if they are not there."""
    for path in map(Path, outputs):
        if path.parent == STAMPS:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()


def _running(snakemake: Any, log: TextIO) -> Job:
    """Return the job that Snakemake runs, with its log."""
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
def _at_work(running: Job, snakemake: Any) -> Iterator[None]:
    """Keep all others from the job, check what it reads, and take the checksums of what it has made."""
    me = this_code()  # before the long imports: the files may be edited while the job runs
    lock, outputs = LOCKS / running.slug, list(map(Path, snakemake.output))
    with handover.locked_in_turn(lock, running.name, running.say):
        _read_parents(running, _results(snakemake.input))
        contents = [parent.sha256 for parent in running.parents.values()]
        key = digest_of([dict(snakemake.params.items()), contents])
        shares = bool(snakemake.resources.get(IN_TURN))
        if handover.accept(lock, key, outputs):
            _succeed(running, lock, key, outputs, shares)
            running.say("an earlier job has made it")
            sys.exit(0)
        for folder in {output.parent for output in outputs}:
            remove_leftovers(folder)
        states = written_by(running.rule, running.slug, snakemake.params.get("settings", ()))
        with attempt(file_of(running.slug), states):
            yield
            made = _results(snakemake.output)
            for output in made:
                checksums.take(output, running.name, me, running.ancestors | running.resumed_from, running.parents)
        if made == outputs:
            _succeed(running, lock, key, outputs, shares)


def _succeed(running: Job, lock: Path, key: str, outputs: list[Path], shares: bool) -> None:
    """Keep the results of a job for another attempt where one may come, and only then remove its checkpoints."""
    trained = bool(slurm.job_id()) and running.checkpoints.exists()
    try:
        handover.offer(lock, key, outputs, shares or trained)
    except OSError as error:  # the results are in their places
        running.log.write(f"results are not kept for another attempt: {first_line(error)}\n")
    shutil.rmtree(running.checkpoints, ignore_errors=True)


def weights_folder(snakemake: Any) -> str | None:
    """Return the folder in which a job saves its weights; None if nothing reads them.

    An output that Snakemake expects is made all the same; it stays empty.
    """
    folder = snakemake.output.get("weights")
    if folder and not snakemake.resources.get("reads_weights", 1):
        Path(folder).mkdir(parents=True, exist_ok=True)
        return None
    return str(folder) if folder else None


def _prepare_process(snakemake: Any) -> None:
    """Set the environment variables and the memory of a job; a job that downloads nothing loses the tokens."""
    machine.keep_freed_memory()
    os.environ.setdefault("OMP_NUM_THREADS", str(snakemake.threads))
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ["HF_HUB_OFFLINE"] = "1"
    if snakemake.rule != DOWNLOADS:
        for name in TOKENS:
            os.environ.pop(name, None)


def lock_of(rule: str, wildcard: str) -> contextlib.AbstractContextManager[None]:
    """Return the lock of the job of a rule with one wildcard, for a block in which no other process may do that job.

    Raises:
        RetortError: on entering: another process is at work on that job.
    """
    return locked(LOCKS / slug(rule, [wildcard]), shown(rule, [wildcard]))


@contextlib.contextmanager
def acting_for(running: Job, rule: str, wildcard: str, inputs: Iterable[str]) -> Iterator[Job]:
    """Yield a job for which the running one does a part of the work, with its checkpoints.

    It has a log of its own in the folder of the running job's: Snakemake deletes a job's log before it runs it.

    Args:
        running: the running job.
        rule: the rule of the other job.
        wildcard: its one wildcard.
        inputs: what the other job reads, in its order.
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
    """Return those of a job's inputs or outputs that are results and exist."""
    results = (path for path in map(Path, paths) if path.is_relative_to(RESULTS) and path.parent != STAMPS)
    return [path for path in results if path.exists()]


def _read_parents(running: Job, inputs: list[Path]) -> None:
    """Check the results that a job reads, and note them and the code that made them."""
    running.parents, makers = parents.read(inputs, running.say)
    running.ancestors |= makers
