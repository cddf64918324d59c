"""The model card of a saved model: a README.md in the format of model hubs, whose header they read."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from huggingface_hub import EvalResult, ModelCardData
from torch import nn

from retort.job.context import RunningJob
from retort.provenance import run_environment
from retort.settings.inputs import JobSettings, settings_section

# the end of the name of a model's class -> its pipeline in transformers
PIPELINES = {
    "ForSequenceClassification": "text-classification", "ForQuestionAnswering": "question-answering",
    "ForMaskedLM": "fill-mask",
}  # fmt: skip
LICENCES = {"apache-2.0", "mit", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0"}  # as model hubs name them


@dataclass(frozen=True)
class About:
    """What a card says of a model, next to how it was trained.

    Args:
        title: the model in words.
        licences: what the model is made from -> its licence, as its source names it.
        conditions: how the steps of its training were taken, see `Checkpoint.conditions`.
        task: the task that it is scored on; empty if it has no score, as after a divergence.
        seed: of its training. The others may not be done yet: only tables know the mean over all.
        split: whose score it is.
        metrics: metric -> score.
    """

    title: str
    licences: Mapping[str, str] = field(default_factory=dict)
    conditions: Sequence[Mapping[str, Any]] = ()
    task: str = ""
    seed: int = 0
    split: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)


def card_of(job: RunningJob, settings: JobSettings, model: nn.Module, about: About) -> str:
    """Return the text of a model's card.

    Args:
        job: the job, whose device the card names, and all other code behind the model: code that made an input of it,
            or trained a part of it.
        settings: the settings of the job.
        model: the model.
        about: what else the card says.
    """
    origin = run_environment(job.device, 1, job.objectives)
    behind = "other code has made a part of it, or of what it was made from"
    mixed = f"\n**Mixed results**: {behind}: {'; '.join(job.other_makers)}.\n" if job.other_makers else ""
    head = "For".join(["", *type(model).__name__.split("For")[1:]])  # such as 'ForSequenceClassification'
    command = f"transformers.AutoModel{head}.from_pretrained(folder)"
    score = (
        f"\nThe score in its header is that of seed {about.seed} alone; tables have mean and deviation over seeds.\n"
    )
    made_from = "".join(f"\n- {title}: {licence}" for title, licence in about.licences.items())
    licences = (
        f"Its licence follows those of what it was made from, as each source names them:\n{made_from}\n\n"
        if made_from
        else ""
    )
    training = f"## Training\n\n```json\n{json.dumps(about.conditions, indent=1)}\n```\n\n" if about.conditions else ""
    return f"""---
{_header(settings, about, PIPELINES.get(head))}
---

# {about.title}

Made by `retort` at commit `{origin["commit"]}` on {origin["device"]}.
{mixed}{score * bool(about.metrics)}
Load it with `{command}` and `transformers.AutoTokenizer.from_pretrained(folder)`.

It is one measurement of a study that compares ways of distillation, and was made for that comparison alone: expect a
baseline, not a product.

{licences}{training}{settings_section(settings)}"""


def _header(settings: JobSettings, about: About, pipeline: str | None) -> str:
    """Return the header of a card as YAML, with what the study knows; with a licence if all sources share one."""
    task: Any = getattr(settings, "task", None)
    hub = task and getattr(task.source, "hub", None)
    scores = [
        EvalResult(
            task_type=pipeline or "other", dataset_type=hub.repository if hub else about.task, dataset_name=about.task,
            dataset_split=about.split, metric_type=name.partition("/")[0], metric_value=float(value), metric_name=name,
            metric_args={"seed": about.seed},
        )
        for name, value in about.metrics.items()
        if math.isfinite(value)
    ]  # fmt: skip
    named = {licence.lower().replace(" ", "-") for licence in about.licences.values()}
    repositories = dict.fromkeys(_repositories(settings.as_json()))
    models, data = ([name for of, name in repositories if of == kind] for kind in ("model", "dataset"))
    return ModelCardData(
        library_name="transformers", tags=["retort", "distillation"], pipeline_tag=pipeline, base_model=models or None,
        datasets=data or None, license=named.pop() if len(named) == 1 and named <= LICENCES else None,
        model_name=about.title if scores else None, eval_results=scores or None,
    ).to_yaml()  # fmt: skip


def _repositories(settings: Any) -> Iterator[tuple[str, str]]:
    """Yield (type, name) of each repository of the hub in settings as JSON values, but for those of tokenizers."""
    if isinstance(settings, dict) and "repository" in settings:
        yield settings["repo_type"], settings["repository"]
    elif isinstance(settings, dict | list):
        inside = settings if isinstance(settings, list) else [settings[key] for key in settings if key != "tokenizer"]
        for value in inside:
            yield from _repositories(value)
