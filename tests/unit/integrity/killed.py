"""Run the job of a stage in a process that is killed at a chosen moment: when it changes a file for the n-th time.

The processes are forks of one that has imported what stages need, as with `retort.forkserver`.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import datasets.arrow_writer
import huggingface_hub
import safetensors.numpy
import tokenizers
from retort.data.sources import packages
from retort.job.context import RunningJob, job
from retort.plan import resolve_data
from retort.run.run_folder import begin, files_of
from retort.specs.config import read_config
from retort.study.load import open_study
from retort.study.study import Study
from retort.training.stages import preprocess

from tests.rule_job import rule_job

LIBRARIES = (datasets.arrow_writer, huggingface_hub, safetensors.numpy, tokenizers)  # imported before the forks
TEXTS, ENCODER = "results/sources/texts", "results/sources/encoder"
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True)
class Stage:
    """A stage, and how its job runs it.

    Args:
        name: the rule.
        inputs: the results that it reads.
        output: the folder that it makes.
        run: calls the stage.
    """

    name: str
    inputs: list[str]
    output: str
    run: Callable[[RunningJob, Study, Stage], None]


def _fetch(running: RunningJob, study: Study, stage: Stage) -> None:
    preprocess.fetch_source(running, resolve_data.fetched(study, "texts"), stage.output)


def _encode(running: RunningJob, study: Study, stage: Stage) -> None:
    settings = resolve_data.tokenized_task(study, "encoder", "mood")
    preprocess.encode_task(running, settings, [TEXTS], ENCODER, stage.output)


def _tokenize(running: RunningJob, study: Study, stage: Stage) -> None:
    settings = resolve_data.tokenized_corpus(study, "encoder", "sentences")
    preprocess.tokenize_corpus(running, settings, [TEXTS], ENCODER, 1, 1, stage.output)


def _build(running: RunningJob, study: Study, stage: Stage) -> None:
    settings = resolve_data.tokenized_corpus(study, "encoder", "sentences")
    preprocess.build_corpus(running, settings, [TEXTS], ENCODER, [TOKENIZED], stage.output)


TOKENIZED = "results/tokenized/sentences/encoder/1-of-1"
FETCH = Stage("fetch_source", [], TEXTS, _fetch)
ENCODE = Stage("encode_task", [TEXTS, ENCODER], "results/encoded/mood/encoder", _encode)
TOKENIZE = Stage("tokenize_corpus", [TEXTS, ENCODER], TOKENIZED, _tokenize)
BUILD = Stage("build_corpus", [TEXTS, ENCODER, TOKENIZED], "results/corpora/sentences/encoder", _build)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class _Clock:
    """Counts the changes of files under `results`, and kills this process at one of them or shortly after.

    Args:
        moment: the number of that change, from 1; 0 for never.
        delay: seconds from that change to the kill: libraries write without telling Python.
    """

    def __init__(self, moment: int, delay: float) -> None:
        self.moment, self.delay, self.count = moment, delay, 0
        self.results = str(Path("results").absolute())

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Count an event of `sys.addaudithook`."""
        changes = event in CHANGES or (event == "open" and arguments[2] & WRITING)
        if not changes or not isinstance(arguments[0], str | os.PathLike):
            return
        path = os.fspath(arguments[0])
        if path.startswith(("results/", self.results)):
            self.count += 1
            if self.count == self.moment:
                threading.Timer(self.delay, _kill).start() if self.delay else _kill()


def _run(stage: Stage, folder: Path, environment: dict[str, str], moment: int, delay: float) -> None:
    os.chdir(folder)
    os.environ |= environment
    links = {"no-index": "true", "find-links": str(folder / "links")}
    packages.pip_settings = lambda: links
    given = json.loads(Path("config.yaml").read_text())
    config = read_config(given)
    study = open_study(config)
    begin(given, config, files_of(config))  # as Snakemake's own process does
    clock = _Clock(moment, delay)
    sys.addaudithook(clock)
    log = f"results/logs/{stage.name}.log"
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    with job(rule_job(rule=stage.name, input=stage.inputs, output=[stage.output], log=[log])) as running:
        stage.run(running, study, stage)
    Path("changes").write_text(str(clock.count))


def forks() -> ForkServerContext:
    """Return where processes start as forks of one that has imported this module."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def run(stage: Stage, folder: Path, moment: int = 0, delay: float = 0.0, **environment: str) -> int | None:
    """Run the job of a stage in a folder; return the exit status of its process, below 0 for the signal it died of."""
    process = forks().Process(target=_run, args=(stage, folder, environment, moment, delay))
    process.start()
    process.join()
    return process.exitcode
