"""Predict what a paper would take if it were run as reported, and with which settings, as `retort cost` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from retort.cost.jobs import Job, Jobs
from retort.cost.overview import bills_of, hours_of, rounded_hours, selected_exhibits, targets_of, with_models
from retort.cost.speed import Speed, speed_of_device
from retort.formatters import DASH
from retort.plan.plan import Plan
from retort.specs.config import config_at
from retort.study.study import Study

ASSUMED = "One device at {flops:.3g} FLOP/s: {origin}. `retort cost --scale paper {paper}` says what else is assumed."


@dataclass(frozen=True)
class Planned:
    """The predicted cost of a table or figure on one device.

    Args:
        jobs: jobs that no earlier table or figure of the paper needs.
        hours: hours of these jobs, as text.
        shared: the same of jobs that an earlier table or figure needs too.
    """

    name: str
    jobs: int
    hours: str
    shared: str


@dataclass(frozen=True)
class Prediction:
    """A paper run as reported.

    Args:
        study: the study at scale paper.
        device: 'GPU' or 'CPU'.
        planned: the predicted cost of its tables and figures; empty for a study of ours, which takes minutes.
        jobs: the jobs of all of them.
        hours: their hours, as text.
        assumption: what the cost assumes.
    """

    study: Study
    device: str = ""
    planned: Sequence[Planned] = ()
    jobs: int = 0
    hours: str = ""
    assumption: str = ""


def predicted(config: dict[str, Any], paper: str) -> Prediction:
    """Predict a run of one paper at scale paper, from the same plan as `retort cost --scale paper <paper>`.

    Args:
        config: the configuration; what a run of another scale has decided does not count.
        paper: the paper.
    """
    plan = Plan(config_at(config, paper, "paper"))
    if plan.study.papers[paper].ours:
        return Prediction(plan.study)
    gpu = plan.config.gpus > 0
    speed = speed_of_device(None, gpu, plan.config)
    targets = targets_of(plan, selected_exhibits(plan.study, [paper]), whole=False)
    *bills, total = bills_of(Jobs(plan), targets)
    planned = [
        Planned(bill.name.partition("/")[2], len(bill.own), *(_hours(jobs, speed) for jobs in (bill.own, bill.shared)))
        for bill in bills
        if with_models([*bill.own, *bill.shared])
    ]
    assumption = ASSUMED.format(flops=speed.flops, origin=speed.origin, paper=paper)
    return Prediction(
        plan.study, "GPU" if gpu else "CPU", planned, len(total.own), _hours(total.own, speed), assumption
    )


def _hours(jobs: list[Job], speed: Speed) -> str:
    """Return the hours of the jobs that train or run a model, as `retort cost` prints them."""
    models = with_models(jobs)
    return rounded_hours(hours_of(models, speed)) if models else DASH
