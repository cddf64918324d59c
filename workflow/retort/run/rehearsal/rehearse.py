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
from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

from retort import machine, provenance
from retort.checksums import digest_of
from retort.cost.jobs import Job
from retort.job.attempts import failure_reason
from retort.plan.plan import Plan
from retort.run.rehearsal.in_process import params_of, run_job
from retort.specs.student import Term
from retort.study.addresses import score_files
from retort.study.study import Study

NOTES = Path("results/rehearsed.txt")  # lines '<digest> <job>'; the last line of a job counts
Key = TypeVar("Key", bound=Hashable)
UNFINISHED = "-"  # the digest of a job that has begun


def distinct_trainings(plan: Plan) -> list[str]:
    """Return the results of few trainings that meet each of these at least once.

    - In distillation, on tasks and on corpora: an objective with its options and mapping, a number of stages, an
      initialisation with a family of models.
    - On tasks, distilled or fine-tuned: a task, a type of task with a family of models.

    Of trainings that meet as much, it is the one with the smallest teacher.
    """
    study = plan.study
    sizes = {student: _size(study, student) for student in study.students}
    pairs = sorted((pair for pair in plan.pairs if pair[0] in sizes), key=lambda pair: sizes[pair[0]])
    on_tasks = {pair: _met_on_task(plan, *pair) for pair in pairs}
    chosen = _few_that_meet_all(on_tasks, set())
    met, finetuned = set().union(*map(on_tasks.__getitem__, chosen)), {student for student, _ in chosen}
    in_stages = {  # first those that are trained anyway
        student: _met_in_stages(study, student)
        for student in sorted(plan.task_agnostic, key=lambda student: (student not in finetuned, sizes[student]))
    }
    scores = [score_files(study, student, task)[0] for student, task in chosen]
    return scores + [f"results/students/{student}/model" for student in _few_that_meet_all(in_stages, met)]


def _few_that_meet_all(meets: Mapping[Key, set[Hashable]], met: set[Hashable]) -> list[Key]:
    """Return few trainings that together meet everything: again and again the one that meets most of what is left."""
    chosen, left = list[Key](), set().union(*meets.values()) - met
    while left:
        chosen.append(max(meets, key=lambda training: len(meets[training] & left)))
        left -= meets[chosen[-1]]
    return chosen


def _size(study: Study, student: str) -> int:
    """Return the layers times the width of a student's teacher."""
    architecture = study.model_of(study.students[student].teacher).architecture
    return architecture.layers * architecture.hidden


def _met_on_task(plan: Plan, name: str, task: str) -> set[Hashable]:
    study, spec, on_task = plan.study, plan.study.tasks[task], name in plan.task_specific
    kind = spec.task_type, bool(spec.subsets), len(spec.labels)
    without_stages = on_task or not study.students[name].stages
    return {task, (on_task, kind, family(study, name))} | (_met_in_stages(study, name) if without_stages else set())


def _met_in_stages(study: Study, name: str) -> set[Hashable]:
    student = study.students[name]
    on_task, start = any(stage.data == "task" for stage in student.stages), student.initialisation
    given = (*sorted(key for key, value in start.model_dump().items() if value), start.of)
    terms = [_term(term) for stage in student.stages for term in stage.terms]
    return {(on_task, len(student.stages), given, family(study, name)), *((on_task, *term) for term in terms)}


def _term(term: Term) -> tuple[str, ...]:
    mapping = term.mapping if isinstance(term.mapping, str) else next(iter(term.mapping or {}), "")
    return term.objective, mapping, json.dumps(term.options, sort_keys=True)


def family(study: Study, student: str) -> str:
    """Return the family of the models of a student and its teacher."""
    model = study.teachers[study.students[student].teacher].model
    return study.scale.miniature.family(model) if study.scale.miniature else model


def run(jobs: Iterable[Job], config: dict[str, Any]) -> Iterator[tuple[Job, bool] | None]:
    """Run jobs, and yield each with whether it succeeded.

    Yield None for a job that was done already, and for one whose inputs are not there.

    Args:
        jobs: the jobs, each after those that it depends on.
        config: the configuration that their scripts read.
    """
    notes, lost = _read_notes(), set[str]()
    for job in jobs:
        if lost.intersection(job.inputs):
            lost.update(job.outputs)
            yield None
        elif notes.get(job.key) == (digest := _made_from(job)) and all(map(os.path.exists, job.outputs)):
            yield None
        else:
            _note(job, UNFINISHED)
            made = _run(job, config)
            lost.update([] if made else job.outputs)
            _note(job, digest if made else UNFINISHED)
            yield job, made


def _run(job: Job, config: dict[str, Any]) -> bool:
    """Run a job, with its standard error in its log; return whether it made its outputs."""
    for path in map(Path, job.outputs):  # of an earlier run
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    gc.collect()  # models have reference cycles
    gc.freeze()  # leave imported modules out of later collections, which would take a second each
    machine.reset_max_rss()
    Path(job.key).parent.mkdir(parents=True, exist_ok=True)
    with open(job.key, "a", encoding="utf-8") as log, contextlib.redirect_stderr(log):
        return run_job(job, config) and all(map(os.path.exists, job.outputs))


def _made_from(job: Job) -> str:
    """Return a digest of what a job is made from: its params, the times of change of its inputs, and the code."""
    times = {str(path): path.stat().st_mtime_ns for path in map(Path, job.inputs) if path.exists()}
    params = params_of(job)
    return digest_of([params, times, provenance.code(provenance.objectives_in(params.get("settings")))])


def _read_notes() -> dict[str, str]:
    """Return job -> digest of what it was made from."""
    lines = NOTES.read_text(encoding="utf-8").splitlines() if NOTES.is_file() else []
    return {key: digest for digest, _, key in (line.partition(" ") for line in lines)}


def _note(job: Job, digest: str) -> None:
    """Note what a job was made from; a line that is cut off when the process is killed counts for no job."""
    with open(NOTES, "a", encoding="utf-8") as stream:
        stream.write(f"{digest} {job.key}\n")


def with_progress(jobs: Iterable[tuple[Job, bool] | None], total: int) -> Iterator[bool]:
    """Yield whether each job that runs succeeded; show a bar on a terminal, else a line each minute.

    A line tells of each failure.

    Args:
        jobs: what `run` yields.
        total: the number of jobs.
    """
    wait = 0.1 if sys.stderr.isatty() else 60.0  # seconds
    with tqdm(jobs, total=total, unit=" jobs", mininterval=wait, delay=wait) as bar:
        for job, made in filter(None, bar):
            if not made:
                why = (failure_reason(job.key) or "without a word")[:160]
                bar.write(f"failed: {job.name}: {why}\n  look at {Path(job.key).absolute()}", file=sys.stderr)
            yield made
