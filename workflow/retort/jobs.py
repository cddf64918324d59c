"""The context in which a Snakemake job runs a stage.

Only this module knows Snakemake's object, so stages and the scripts that call them need not.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from retort.errors import RetortError

FULL = {errno.ENOSPC, errno.EDQUOT}
UNWRITABLE = FULL | {errno.EACCES, errno.EPERM, errno.EROFS}


@dataclass
class Job:
    """What a stage needs to know about the job that runs it.

    Args:
        name: rule and wildcards, as shown on the terminal.
        log: the job's log file, open for writing.
        threads: number of CPU threads that the job may use.
        gpu: whether the job was given a GPU.
        slug: rule and wildcards joined by dots; the name of the folder for the job's checkpoints.
        checkpoint_seconds: time between two checkpoints, in seconds.
        dataloader_num_workers: processes that prepare batches beside a training; None for 2 beside a GPU, else none.
        started: when the job began, on the monotonic clock, in seconds.
    """

    name: str
    log: TextIO
    threads: int = 1
    gpu: bool = False
    slug: str = "job"
    checkpoint_seconds: float = 20.0
    dataloader_num_workers: int | None = None
    started: float = field(default_factory=time.monotonic)

    @property
    def device(self) -> str:
        """The device to run on: 'cuda' if the job was given a GPU and torch sees one, else 'cpu'."""
        if not self.gpu:
            return "cpu"
        import torch

        return "cuda" if torch.cuda.is_available() else "cpu"

    @property
    def num_workers(self) -> int:
        """The number of processes that prepare batches; by default none on a CPU, whose cores the training needs."""
        default = 2 if self.device == "cuda" else 0
        return default if self.dataloader_num_workers is None else self.dataloader_num_workers

    @property
    def checkpoints(self) -> Path:
        """The folder of the job's checkpoints: outside what Snakemake deletes before it runs a job again."""
        return Path("results/checkpoints") / self.slug

    def seconds(self) -> float:
        """Return the seconds since the job began, rounded to one decimal."""
        return round(time.monotonic() - self.started, 1)

    def say(self, text: str) -> None:
        """Write one line to the terminal and to the log."""
        print(f"    {self.name}: {text}", file=sys.stderr, flush=True)
        self.log.write(f"{text}\n")


def _named(snakemake: Any) -> tuple[str, str]:
    """Return a job's name for the terminal, 'rule(wildcard, ...)', and its slug, 'rule.wildcard...'."""
    values = [str(value) for value in snakemake.wildcards]
    wildcards = f"({', '.join(values)})" if values else ""
    return f"{snakemake.rule}{wildcards}", ".".join([snakemake.rule, *values])


def _explain(error: BaseException) -> str | None:
    """Return one line about an error that the user can correct, or None for a bug, which needs a traceback."""
    if isinstance(error, RetortError):
        return str(error)
    if isinstance(error, OSError) and error.errno in UNWRITABLE:
        hint = "free some space" if error.errno in FULL else "make the folder writable"
        return f"cannot write {error.filename or 'results/'}: {error.strerror}; {hint}"
    # safetensors reports a full disk by its own error type, not by OSError
    if "No space left" in str(error):
        return f"cannot write results/: {error}; free some space"
    return None


@contextlib.contextmanager
def job(snakemake: Any) -> Iterator[Job]:
    """Yield the running job, and report the error that ends it.

    An error that the user can correct ends the process with one line on the terminal; a bug ends it with a traceback.
    The log gets the traceback of both.
    """
    os.environ.setdefault("OMP_NUM_THREADS", str(snakemake.threads))
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ["HF_HUB_OFFLINE"] = "1"
    name, slug = _named(snakemake)
    path = str(snakemake.log[0]) if snakemake.log else os.devnull
    with open(path, "a", encoding="utf-8") as log:
        running = Job(
            name=name,
            log=log,
            threads=snakemake.threads,
            gpu=bool(snakemake.resources.get("gpu", 0)),
            slug=slug,
            checkpoint_seconds=float(snakemake.config.get("checkpoint_seconds", 20)),
            dataloader_num_workers=snakemake.config.get("dataloader_num_workers"),
        )
        try:
            yield running
        except Exception as error:
            log.write(traceback.format_exc())
            line = _explain(error)
            if line is None:
                raise
            print(f"{name}: {line}\n  log: {path}", file=sys.stderr, flush=True)
            sys.exit(1)


def write_json(path: Path | str, content: Any, indent: int | None = 1) -> None:
    """Write JSON to a file atomically: the file is either complete or not there."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.part")
    scratch.write_text(json.dumps(content, indent=indent) + "\n", encoding="utf-8")
    os.replace(scratch, path)


def share_package() -> None:
    """Add this package to PYTHONPATH, so that jobs find it in environments where it is not installed."""
    package = str(Path(__file__).resolve().parent.parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
