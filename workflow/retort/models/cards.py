"""Saved weights and the model card that goes with them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from retort.checksums import Maker
from retort.engine.job import Job, this_code
from retort.models import build
from retort.provenance import environment
from retort.settings import Settings
from retort.settings.card import section


def card(
    title: str,
    settings: Settings,
    device: str,
    others: Iterable[Maker] = (),
    origins: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return a model card, a README.md in the format of model hubs.

    Args:
        title: the title.
        settings: the settings of the job.
        device: the device of the job.
        others: other code that made an input of the model, or trained a part of it.
        origins: how the steps of its training were taken, see `Checkpoint.origins`.
    """
    origin = environment(device, 1)
    return f"""---
library_name: transformers
tags: [retort, distillation]
---

# {title}

Made by `retort` at commit `{origin["commit"]}` on {origin["device"]}.
{mixed(others)}
Load it with `transformers.AutoModel.from_pretrained(folder)` and `transformers.AutoTokenizer.from_pretrained(folder)`.

It is one measurement of a study that compares ways of distillation. It was trained briefly and for that comparison
alone: expect a baseline, not a product. Its licence follows those of the model and the data named below.

{trained(origins)}{section(settings)}"""


def mixed(others: Iterable[Maker]) -> str:
    """Return a paragraph that names the other code behind a model; '' if there is none."""
    words = sorted(maker.words for maker in others)
    about = "other code has made a part of it, or of what it was made from"
    return f"\n**Mixed results**: {about}: {'; '.join(words)}.\n" if words else ""


def trained(origins: Sequence[Mapping[str, Any]]) -> str:
    """Return the section of a card that shows how the steps of a training were taken; '' if unknown."""
    return f"## Training\n\n```json\n{json.dumps(origins, indent=1)}\n```\n\n" if any(origins) else ""


def save_with_card(
    job: Job,
    settings: Settings,
    model: nn.Module,
    tokenizer_folder: Path | str,
    output: Path | str,
    title: str,
    origins: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Save a model with the tokenizer of a folder, and a model card: title, settings, device and how it was trained."""
    if not job.writes:
        return
    others = (job.ancestors | job.resumed_from) - {this_code()}
    build.save(model, tokenizer_folder, output, card(title, settings, job.device, others, origins))


# Notes beside the weights of students whose training diverged: their weights are those before that step.
#
# A job that would train such a student further raises `Diverged` with the same step, so that its cells say `diverged`.
