"""Results of finished seeds that outlive their job, so that one more seed is trained alone.

Snakemake deletes all outputs of a job before it runs the job again, also to add a seed. So a copy of each finished
seed's score and answers is kept, with their checksums and a digest of what they depend on.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from retort import checksums, machine
from retort.atomic import write_text
from retort.checksums import digest_of, place_of
from retort.errors import RetortError
from retort.job.attempts import KEPT, checkpoints_of
from retort.job.context import RunningJob
from retort.training.evaluate import ScoreToWrite

KEY = "key.json"


def each_seed(running: RunningJob, snakemake: Any) -> Iterator[tuple[RunningJob, ScoreToWrite, str | None]]:
    """Yield what each seed that is still to be trained needs, and keep its results when it is done.

    Args:
        running: the running job of all the seeds.
        snakemake: Snakemake's object for the job; its outputs are lists in the order of the seeds.

    Yields:
        The job of the seed, the score that it writes, and the folder for its weights, None if nothing reads them.
    """
    of, output = snakemake.wildcards, snakemake.output
    key = digest_of([snakemake.params.settings, [parent.sha256 for parent in running.parents.values()]])
    folders = output.get("weights") or [None] * len(output.scores)
    for score, answers, folder in zip(output.scores, output.answers, folders, strict=True):
        seed, kept = int(Path(score).stem.removeprefix("seed-")), KEPT / checkpoints_of(score).name
        weights = _weights(folder, seed in snakemake.params.get("reads_weights", ()))
        results = [Path(score), Path(answers)]
        outputs = [*results, *([Path(weights)] if weights else [])]
        running.taken |= set(map(str, outputs))
        if not weights and _restore(kept, key, results):
            running.say(f"seed {seed} was trained before")
            continue
        name = f"{running.name.rpartition(', ')[0]}, {seed})"
        own = replace(running, result=score, name=name, started=time.monotonic(), resumed_from=set(), taken=set())
        machine.reset_max_rss()
        yield own, ScoreToWrite(of.student, of.task, seed, score, answers), weights
        for path in outputs:
            own.take_checksums(path)
        _keep(kept, key, results)
        shutil.rmtree(own.checkpoints, ignore_errors=True)


def _weights(folder: str | None, are_read: bool) -> str | None:
    """Return the folder for weights; make an empty one, which Snakemake expects, if nothing reads them."""
    if folder and not are_read:
        Path(folder).mkdir(parents=True, exist_ok=True)
        return None
    return folder and str(folder)


def _keep(folder: Path, key: str, results: list[Path]) -> None:
    """Keep a copy of results and their checksums."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in results:
        shutil.copy2(path, folder / path.name)
        shutil.copy2(place_of(path), place_of(folder / path.name))
    write_text(folder / KEY, json.dumps(key))  # last: the copies are complete


def _restore(folder: Path, key: str, results: list[Path]) -> bool:
    """Put kept results with this key in their places; return whether there were any, as they were made."""
    try:
        if json.loads((folder / KEY).read_text(encoding="utf-8")) != key:
            return False
        for path in results:
            checksums.check(folder / path.name, thorough=True)
        for path in results:
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder / path.name, path)
            shutil.copy2(place_of(folder / path.name), place_of(path))
    except (OSError, ValueError, RetortError):
        return False
    return True
