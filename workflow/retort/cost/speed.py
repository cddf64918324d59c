"""How fast a machine does the work of jobs: stated by the user, measured on a few steps, or guessed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from retort.cost import work
from retort.cost.preprocessing import Volume
from retort.cost.work import Work
from retort.errors import RetortError
from retort.plan import resolve
from retort.provenance import processor
from retort.specs.config import Config
from retort.specs.protocol import Schedule
from retort.study.study import Study

STORED = Path("results/calibration.json")


@dataclass(frozen=True)
class Speed:
    """What one device achieves in training.

    Args:
        flops: FLOPs of matrix products in a second, with all that encoders do between them.
        bandwidth: bytes of losses and the optimiser that are moved in a second.
        start: seconds that a job takes beside its work, to load Python, torch, transformers and the model's files.
        origin: where the numbers come from.
        relations: the time of relations, relative to moving their bytes at `bandwidth`: below 1 if kernels never write
            them to memory.
    """

    flops: float
    bandwidth: float
    start: float
    origin: str
    relations: float = 1.0

    def hours(self, work: Work, jobs: int = 1) -> float:
        """Return the hours that jobs with this work in total take on one device, one after another."""
        moved = work.traffic + (self.relations - 1) * work.relation_traffic
        seconds = work.flops / self.flops + moved / self.bandwidth + work.seconds + self.start * jobs
        return seconds / 3600


# first guesses if jobs run on a GPU (True) or not
GUESSED = {
    True: Speed(60e12, 1.3e12, 15.0, "a guess for a GPU of the A100 class at a fifth of its peak in bfloat16"),
    False: Speed(1e11, 5e9, 7.0, "a guess for one core of a server CPU with bfloat16 instructions"),
}


def read_speed(gpu: bool, config: Config, path: Path = STORED) -> tuple[Speed | None, str]:
    """Read the speed that `retort cost --calibrate` measured.

    It counts for jobs on the same type of device (CPU or GPU) and in the same precision. Where jobs run on the CPU of
    this machine, it must be the same CPU. The devices of a cluster's nodes are not known here, so any name counts.

    Args:
        gpu: whether jobs run on a GPU.
        config: the configuration, with the precision of the study.
        path: the file.

    Returns:
        The speed or None, and why a measurement does not count (empty if it counts, or if there is none).

    Raises:
        RetortError: the file holds no calibration.
    """
    if not path.is_file():
        return None, ""
    try:
        calibration = json.loads(path.read_text(encoding="utf-8"))
        device, precision = calibration["device"], calibration["precision"]
        origin = f"measured on {device}, {calibration['threads']} thread(s), {precision}, {calibration['at'][:10]}"
        start = float(calibration["start" if config.cluster else "fork"])
        speed = Speed(
            float(calibration["flops"]), float(calibration["bandwidth"]), start, origin, float(calibration["relations"])
        )
        problem = _mismatch(device.startswith("cpu: "), device.removeprefix("cpu: "), precision, gpu, config)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RetortError(
            f"{path} holds no calibration", "measure again with `retort cost --calibrate`, or delete it"
        ) from None
    return (None, f"{path} was {origin}, but {problem}") if problem else (speed, "")


def _mismatch(on_cpu: bool, name: str, precision: str, gpu: bool, config: Config) -> str:
    """Return why a measurement does not count for the study's jobs; empty if it counts."""
    reasons = {
        f"jobs run on a {'GPU' if gpu else 'CPU'}": on_cpu == gpu,
        f"the study trains in {config.resolved_precision()}": precision != config.resolved_precision(),
        f"this machine has another CPU, {processor()}": not (gpu or config.cluster) and name != processor(),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def speed_of_device(flops: float | None, gpu: bool, config: Config) -> Speed:
    """Return the speed that the user stated, else the measured one, else a guess.

    Args:
        flops: FLOPs per second from the command line, or None.
        gpu: whether jobs run on a GPU.
        config: the configuration.

    Raises:
        RetortError: the stated speed is not positive, or a file holds no calibration.
    """
    measured, problem = read_speed(gpu, config)
    if flops is None:
        guess = GUESSED[gpu]
        hint = "measure it with --calibrate or give it with --flops"
        return measured or replace(guess, origin="; ".join(filter(None, [guess.origin, problem, hint])))
    if not flops > 0:
        raise RetortError(f"--flops {flops:g} is no speed", "give FLOPs a second, such as --flops 60e12")
    return replace(measured or GUESSED[gpu], flops=flops, origin="given with --flops")


# The cost of training one student, computed from its settings alone.
#
# Nothing is measured, so the numbers are the same on every machine; they leave out interruptions, other devices and
# students side by side.


DEVICE = GUESSED[True]
COUNTED = (
    "Hours of ours are computed from the settings at the papers' own scale, not measured: matrix products of student, "
    f"teacher and losses, and what losses and the optimiser move, on a GPU with {DEVICE.flops / 1e12:g} TFLOP/s and "
    f"{DEVICE.bandwidth / 1e12:g} TB/s (one of the A100 class at a fifth of its peak). All stages of a student count, "
    "with a pass of the teacher over each batch and rows as long as a task allows; not its start, its teacher's "
    "training, or fine-tuning."
)


def _model(study: Study, student: str) -> str:
    return study.teachers[study.students[student].teacher].model


def work_of(study: Study, student: str, task: str) -> Work:
    """Return the work of training a student, by the files of the study alone.

    Args:
        study: the study.
        student: the name of the student.
        task: the task that it is distilled on; empty for a task-agnostic student.
    """
    volume, model = Volume(study, None), _model(study, student)
    if task:
        settings = resolve.task_distillation(study, student, task)
        return work.task_training(settings, task, volume, model, teacher_runs=True)
    own, taught = work.corpus_distillation(resolve.corpus_distillation(study, student), volume, model)
    return own + taught


def _stages(study: Study, student: str, task: str) -> list[tuple[Schedule, int]]:
    """Return the schedule of each stage, and the rows or blocks that it is trained on."""
    volume, model = Volume(study, None), _model(study, student)
    if task:
        settings = resolve.task_distillation(study, student, task)
        schedules = [stage.schedule for stage in settings.stages]
        return [(each, volume.batches(task, settings.task, model, each).count) for each in schedules]
    stages = resolve.corpus_distillation(study, student).stages
    return [(stage.schedule, volume.blocks(stage.data, stage.schedule, model).count) for stage in stages]


def hours(study: Study, student: str, task: str) -> float:
    """Return the hours that the training takes on one GPU of the A100 class."""
    return DEVICE.hours(work_of(study, student, task), jobs=0)


def batch_size(study: Study, student: str, task: str) -> float:
    """Return the rows of a batch; of the largest one if stages differ."""
    return max(schedule.batch_size for schedule, _ in _stages(study, student, task))


def steps(study: Study, student: str, task: str) -> float:
    """Return the steps of all stages."""
    return sum(schedule.steps_on(rows) for schedule, rows in _stages(study, student, task))


# column of a table of training costs -> its unit, and the function that computes it
COSTS: dict[str, tuple[str, Callable[[Study, str, str], float]]] = {
    "hours": ("h", hours),
    "batch_size": ("rows", batch_size),
    "steps": ("steps", steps),
}
