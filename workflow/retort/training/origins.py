"""Record how the steps of a training were taken: on which device, in which parts, with which form of the relations.

A training may be resumed in another way. Its checkpoint and its score file name every way once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

from retort.engine.job import Job
from retort.objectives import WeightedSum
from retort.objectives.relation_forms.choice import agree, choose_ahead
from retort.provenance import device_name
from retort.training.agreement import gather
from retort.training.checkpoint import Checkpoint

RELATIONS = "relations"  # the key of the form that computed the relations, with the reason for it


def parts_of(job: Job) -> dict[str, int]:
    """Return the most rows at once and the number of GPUs of a job that divides its batches; else an empty dict."""
    return {
        **({} if job.micro_batch is None else {"micro_batch": job.micro_batch}),
        **({} if job.processes == 1 else {"gpus": job.processes}),
    }


def forms(origins: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the forms that have computed the relations of a training, in order, each once; old states name none."""
    return list(dict.fromkeys(origin[RELATIONS] for origin in origins if RELATIONS in origin))


def begin(job: Job, checkpoint: Checkpoint, loss: WeightedSum, device: torch.device) -> None:
    """Choose and log the form of the relations in a loss, and record in the checkpoint how the next steps are taken.

    All processes of a training take the same form.

    Args:
        job: the running job.
        checkpoint: the checkpoint of the training; its last form is chosen again if it works on this device.
        loss: the loss of the steps.
        device: the device of the steps.
    """
    before = next(reversed(forms(checkpoint.origins)), "")
    form = choose_ahead(device, before) if loss.holds_relations else ""
    if form:
        form = agree(device, form, gather(form))
        other = f"; before, by {before}" if before not in ("", form) else ""
        job.log.write(f"relations computed by {form}{other}\n")
        job.log.flush()
    relations = {RELATIONS: form} if form else {}
    checkpoint.note_origin({"device": device_name(job.device), **parts_of(job), **relations})
