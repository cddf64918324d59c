"""Results of finished seeds that outlive their job, so that one more seed is trained alone.

Snakemake deletes all outputs of a job before it runs the job again, also to add a seed. So the score and the answers of
each seed are kept in a folder of their own, with a digest of what they depend on. When all seeds of a job are done,
their scores become one file, and so do their answers.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from retort import machine
from retort.atomic import write_json, write_text
from retort.checksums import Maker, digest_of, is_sealed, sha256
from retort.job.attempts import KEPT, checkpoints_of
from retort.job.context import RunningJob
from retort.study.addresses import answers_address, seed_address, seeds_in
from retort.training.evaluate import ScoreToWrite

KEY, SCORE = "key.json", "score.json"


def each_seed(running: RunningJob, snakemake: Any) -> Iterator[tuple[RunningJob, ScoreToWrite, str | None]]:
    """Yield what each seed that is still to be trained needs, and write the scores of all when they are done.

    Args:
        running: the running job of all the seeds.
        snakemake: Snakemake's object for the job.

    Yields:
        The job of the seed, the score that it writes, and the folder for its weights, None if nothing reads them.
    """
    of, output = snakemake.wildcards, snakemake.output
    key = digest_of([snakemake.params.settings, [parent.sha256 for parent in running.lasting_parents.values()]])
    kept = {seed: kept_folder(of.student, of.task, seed) for seed in seeds_in(of.seeds)}
    if output.get("weights"):
        Path(output.weights).mkdir(parents=True, exist_ok=True)  # empty if nothing reads the weights
    for seed, folder in kept.items():
        weights = f"{output.weights}/seed-{seed}" if seed in snakemake.params.get("reads_weights", ()) else None
        with running.claiming(folder.name):  # a job of a stopped run may still train this seed, next to others
            if not weights and is_kept(folder, key):
                running.say(f"seed {seed} was trained before")
                continue
            shutil.rmtree(folder, ignore_errors=True)
            name = f"{running.name.rpartition(', ')[0]}, {seed})"
            own = replace(running, result=seed_address(of.student, of.task, seed), name=name, started=time.monotonic(),
                          resumed_from=set(), taken=set())  # fmt: skip
            machine.reset_max_rss()
            yield own, score_in(folder, of.student, of.task, seed), weights
            write_text(folder / KEY, json.dumps(key))  # last: the score and the answers are complete
            shutil.rmtree(own.checkpoints, ignore_errors=True)
    gather(running, list(kept.values()), output)


@contextmanager
def one_score(running: RunningJob, student: str, task: str, seed: int, output: Any) -> Iterator[ScoreToWrite]:
    """Yield a score to write, and write it as the only one of a job's file of scores at the end."""
    folder = running.checkpoints / "score"
    yield score_in(folder, student, task, seed)
    gather(running, [folder], output)


def kept_folder(student: str, task: str, seed: int) -> Path:
    """Return the folder that keeps the score and the answers of a finished seed."""
    return KEPT / checkpoints_of(seed_address(student, task, seed)).name


def score_in(folder: Path, student: str, task: str, seed: int) -> ScoreToWrite:
    """Return a score that is to be written to a folder."""
    file = str(folder / SCORE)
    return ScoreToWrite(student, task, seed, file, answers_address(file))


def is_kept(folder: Path, key: str) -> bool:
    """Return whether a folder keeps a whole score with its answers, made from what this key stands for."""
    score = folder / SCORE
    try:
        record = json.loads(score.read_text(encoding="utf-8"))
        answers = sha256(Path(answers_address(str(score))))
        own = json.loads((folder / KEY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(own == key and is_sealed(record) and record.get("answers_sha256") == answers)


def gather(running: RunningJob, folders: list[Path], output: Any) -> None:
    """Write the scores of some seeds as one file and their answers as another; add the code behind them to the job.

    Args:
        running: the running job.
        folders: the folder of each seed's score and answers.
        output: the outputs of the job; `scores` and `answers` are written.
    """
    scores = [json.loads((folder / SCORE).read_text(encoding="utf-8")) for folder in folders]
    answers = {
        str(score["seed"]): json.loads(Path(answers_address(str(folder / SCORE))).read_text(encoding="utf-8"))
        for score, folder in zip(scores, folders, strict=True)
    }
    for score in scores:
        makers = [{"commit": score["commit"], "code": score["code"]}, *score["ancestors"]]
        running.ancestors |= {Maker(**each) for each in (*makers, *score.get("resumed_from", ()))} - {running.maker}
    write_json(output.answers, answers, indent=None)
    write_json(output.scores, scores)
