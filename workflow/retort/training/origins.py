"""How the steps of a training were taken: on which device, in which parts, with which form of the relations.

A training that is resumed may go on in another way. Its state keeps all of them, each once, and so does its record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

from retort.jobs import Job
from retort.objectives import WeightedSum
from retort.objectives.relation_forms.choice import ahead, same_for_all
from retort.provenance import device_name
from retort.training.agreement import told
from retort.training.checkpoint import Checkpoint

RELATIONS = "relations"  # the key of the form that computed relations, and why


def parts_of(job: Job) -> dict[str, int]:
    """Return how a job divides a batch: the most rows at once and the GPUs, where it does."""
    return {
        **({} if job.micro_batch is None else {"micro_batch": job.micro_batch}),
        **({} if job.processes == 1 else {"gpus": job.processes}),
    }


def forms(origins: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the forms that have computed the relations of a training, the last one last; older states name none."""
    return list(dict.fromkeys(origin[RELATIONS] for origin in origins if RELATIONS in origin))


def begin(job: Job, checkpoint: Checkpoint, loss: WeightedSum, device: torch.device) -> None:
    """Choose and log the form of the relations that a loss compares, and note how the steps that follow are taken.

    All processes of a training take the same form.

    Args:
        job: the running job.
        checkpoint: of the training; a form that its state names is chosen again if it runs here.
        loss: the loss of the steps.
        device: where they are taken.
    """
    before = next(reversed(forms(checkpoint.origins)), "")
    form = ahead(device, before) if loss.holds_relations else ""
    if form:
        form = same_for_all(device, form, told(form))
        other = f"; before, by {before}" if before not in ("", form) else ""
        job.log.write(f"relations computed by {form}{other}\n")
        job.log.flush()
    relations = {RELATIONS: form} if form else {}
    checkpoint.note_origin({"device": device_name(job.device), **parts_of(job), **relations})
