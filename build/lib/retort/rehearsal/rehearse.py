"""A rehearsal: run the jobs of a plan in this process, so that nothing is imported twice and short trainings are quick.

A file notes what each job was made from when it ran. So a rehearsal that was stopped goes on where it was.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from retort import machine
from retort.checksums import digest_of
from retort.cost.jobs import Job
from retort.engine.attempts import failure
from retort.plan.plan import Plan
from retort.rehearsal.in_process import params_of, run_job
from retort.specs.student import Initialisation, Term
from retort.specs.task import Task
from retort.study.cells import score_address
from retort.study.questions import seeds_of
from retort.study.study import Study

NOTES = Path("results/rehearsed.txt")  # lines '<digest> <job>'; the last line of a job counts
UNFINISHED = "-"  # the digest of a job that has begun


def distinct_trainings(plan: Plan) -> list[str]:
    """Return the results of one training for each distinct combination, in the order of the plan.

    - The combination of a distillation: objectives with options and mappings of each stage, initialisation, family of
      the model, and on a task the type of the task.
    - The combination of a fine-tuning: initialisation of a student that is not distilled, family, and type of the task.
      Also, each task is learnt at least once.
    """
    study, chosen, met = plan.study, list[str](), set[Hashable]()
    for student, task in plan.pairs:
        if keys := _training(plan, student, task) - met:
            met |= keys
            chosen.append(score_address(student, task, seeds_of(study, student)[0]))
    finetuned = {address.split("/")[2] for address in chosen}
    distilled = sorted(plan.task_agnostic, key=lambda student: student not in finetuned)  # these are trained anyway
    for student in distilled:
        if (key := _distillation(study, student)) not in met:
            met.add(key)
            chosen.append(f"results/students/{student}/model")
    return chosen


def _training(plan: Plan, student: str, task: str) -> set[Hashable]:
    """Return the combinations that a training on a task covers; none for a teacher, which students need anyway."""
    study = plan.study
    if student in plan.task_specific:
        return {(*_distillation(study, student), _type(study.tasks[task]))}
    if student not in plan.task_agnostic:
        return set()
    published = not study.students[student].stages
    start = _start(study.students[student].initialisation) if published else None
    return {(family(study, student), _type(study.tasks[task]), start), task}


def family(study: Study, student: str) -> str:
    """Return the family of the models of a student and its teacher."""
    model = study.teachers[study.students[student].teacher].model
    return study.scale.miniature.family(model) if study.scale.miniature else model


def _distillation(study: Study, name: str) -> tuple[Hashable, ...]:
    student = study.students[name]
    stages = tuple((stage.data == "task", stage.training_rows, *map(_term, stage.terms)) for stage in student.stages)
    return stages, _start(student.initialisation), family(study, name)


def _term(term: Term) -> tuple[str, ...]:
    mapping = term.mapping if isinstance(term.mapping, str) else next(iter(term.mapping or {}), "")
    return term.objective, mapping, json.dumps(term.options, sort_keys=True)


def _start(start: Initialisation) -> tuple[str, ...]:
    """Return the given keys of an initialisation, and the model whose layers are taken."""
    return (*sorted(key for key, value in start.model_dump().items() if value), start.of)


def _type(task: Task) -> tuple[Hashable, ...]:
    return task.task_type, bool(task.subsets), len(task.labels)


@dataclass(frozen=True)
class Ran:
    """A job that has run.

    Args:
        job: the job.
        seconds: its CPU time.
        failed: whether it failed.
    """

    job: Job
    seconds: float
    failed: bool


def run(jobs: Iterable[Job], config: dict[str, Any]) -> Iterator[Ran | None]:
    """Run jobs, and yield what each took; None for a job that was done already, and one whose inputs are not there.

    Args:
        jobs: the jobs, each after those that it depends on.
        config: the configuration that their scripts read.
    """
    notes, lost = _read_notes(), set[str]()
    for job in jobs:
        outputs = job.outputs
        if lost.intersection(job.inputs):
            lost.update(outputs)
            yield None
        elif notes.get(job.key) == (digest := _made_from(job)) and all(map(os.path.exists, outputs)):
            yield None
        else:
            _note(job, UNFINISHED)
            ran = _run(job, outputs, config)
            lost.update(outputs if ran.failed else ())
            _note(job, UNFINISHED if ran.failed else digest)
            yield ran


def _run(job: Job, outputs: list[str], config: dict[str, Any]) -> Ran:
    """Run a job, with its standard error in its log."""
    for path in map(Path, outputs):  # of an earlier run
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    gc.collect()  # models have reference cycles
    gc.freeze()  # leave imported modules out of later collections, which would take a second each
    machine.reset_max_rss()
    begun = time.process_time()
    Path(job.key).parent.mkdir(parents=True, exist_ok=True)
    with open(job.key, "a", encoding="utf-8") as log, contextlib.redirect_stderr(log):
        made = run_job(job, config) and all(map(os.path.exists, outputs))
    return Ran(job, time.process_time() - begun, not made)


def _made_from(job: Job) -> str:
    """Return a digest of what a job is made from: its params, and the times of change of its inputs."""
    times = {str(path): path.stat().st_mtime_ns for path in map(Path, job.inputs) if path.exists()}
    return digest_of([params_of(job), times])


def _read_notes() -> dict[str, str]:
    """Return job -> digest of what it was made from."""
    lines = NOTES.read_text(encoding="utf-8").splitlines() if NOTES.is_file() else []
    return {key: digest for digest, _, key in (line.partition(" ") for line in lines)}


def _note(job: Job, digest: str) -> None:
    """Note what a job was made from; a line that is cut off when the process is killed counts for no job."""
    with open(NOTES, "a", encoding="utf-8") as stream:
        stream.write(f"{digest} {job.key}\n")


def with_progress(jobs: Iterable[Ran | None], total: int) -> Iterator[Ran]:
    """Yield the jobs that run; show a bar on a terminal, else a line each minute, and a line for each failure.

    Args:
        jobs: what `run` yields.
        total: the number of jobs.
    """
    wait = 0.1 if sys.stderr.isatty() else 60.0  # seconds
    with tqdm(jobs, total=total, unit=" jobs", mininterval=wait, delay=wait) as bar:
        for ran in filter(None, bar):
            if ran.failed:
                why = failure(ran.job.key) or "without a word"
                told = f"failed: {ran.job.name}: {why[:160]}\n  look at {Path(ran.job.key).absolute()}"
                bar.write(told, file=sys.stderr)
            yield ran


def summary(jobs: list[Ran]) -> Iterator[str]:
    """Yield a line for each kind of job with their number and CPU time."""
    by_kind = defaultdict[str, list[Ran]](list)
    for ran in jobs:
        by_kind[ran.job.rule.kind].append(ran)
    width = max(map(len, by_kind), default=0)
    yield f"{'rule':<{width}}  jobs  CPU seconds  longest"
    for kind, done in sorted(by_kind.items(), key=lambda item: -sum(ran.seconds for ran in item[1])):
        seconds = [ran.seconds for ran in done]
        yield f"{kind:<{width}}  {len(done):>4}  {sum(seconds):>11.1f}  {max(seconds):>7.1f}"
