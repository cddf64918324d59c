"""What a job leaves of a model: weights, config, tokenizer and card; and a note if the training diverged.

The weights of a diverged training are those before the step at which it diverged. A job that would train such a model
further raises `Diverged` with the same step, so that its cells say `diverged`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from retort.atomic import write_json
from retort.data.tokenizers import FILE, check_command, copy_tokenizer
from retort.errors import Diverged
from retort.job.context import RunningJob
from retort.models.encoders import name_labels
from retort.provenance import run_environment
from retort.settings.inputs import JobSettings, TaskSettings, settings_section

NOTE = "diverged.json"
# the end of the name of a model's class -> its pipeline in transformers
PIPELINES = {
    "ForSequenceClassification": "text-classification", "ForQuestionAnswering": "question-answering",
    "ForMaskedLM": "fill-mask",
}  # fmt: skip
PROBLEMS = {"classification": "single_label_classification", "regression": "regression"}  # by task type


def save(model: Any, tokenizer_folder: Path | str, output: Path | str, card: str) -> None:
    """Write weights (safetensors), config, tokenizer and model card to the folder `output`."""
    model.save_pretrained(str(output), safe_serialization=True)
    for path in Path(output).glob("*.safetensors"):  # whose writer lets nobody else read them
        path.chmod((Path(output) / "config.json").stat().st_mode)
    copy_tokenizer(tokenizer_folder, output)
    if (Path(output) / FILE).is_file():
        check_command(output, output)
    (Path(output) / "README.md").write_text(card)


def save_with_card(
    job: RunningJob,
    settings: JobSettings,
    model: nn.Module,
    tokenizer_folder: Path | str,
    output: Path | str,
    title: str,
    conditions: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Save a model with the tokenizer of a folder, and a model card: a README.md in the format of model hubs.

    Args:
        job: the job, whose device the card names, and all other code behind the model: code that made an input of it,
            or trained a part of it.
        settings: the settings of the job.
        model: the model.
        tokenizer_folder: the folder of the tokenizer.
        output: the folder to write.
        title: the title of the card.
        conditions: how the steps of its training were taken, see `Checkpoint.conditions`.
    """
    if not job.writes:
        return
    origin = run_environment(job.device, 1, job.objectives)
    about = "other code has made a part of it, or of what it was made from"
    mixed = f"\n**Mixed results**: {about}: {'; '.join(job.other_makers)}.\n" if job.other_makers else ""
    name_outputs(model, getattr(settings, "task", None))
    head = "For".join(["", *type(model).__name__.split("For")[1:]])  # such as 'ForSequenceClassification'
    command = f"transformers.AutoModel{head}.from_pretrained(folder)"
    pipeline = f"\npipeline_tag: {PIPELINES[head]}" if head in PIPELINES else ""
    training = f"## Training\n\n```json\n{json.dumps(conditions, indent=1)}\n```\n\n" if conditions else ""
    card = f"""---
library_name: transformers
tags: [retort, distillation]{pipeline}
---

# {title}

Made by `retort` at commit `{origin["commit"]}` on {origin["device"]}.
{mixed}
Load it with `{command}` and `transformers.AutoTokenizer.from_pretrained(folder)`.

It is one measurement of a study that compares ways of distillation. It was trained briefly and for that comparison
alone: expect a baseline, not a product. Its licence follows those of the model and the data named below.

{training}{settings_section(settings)}"""
    save(model, tokenizer_folder, output, card)


def name_outputs(model: Any, task: TaskSettings | None) -> None:
    """Name the outputs of a model's head as its task does, so that a pipeline of transformers prints labels."""
    if task and len(task.labels) == model.config.num_labels:
        name_labels(model, task.labels)
    if task and task.task_type in PROBLEMS:
        model.config.problem_type = PROBLEMS[task.task_type]


def note_result(folder: Path | str, result: object) -> None:
    """Write a note beside the weights of a training if its result is a divergence."""
    if isinstance(result, Diverged):
        write_json(Path(folder) / NOTE, {"step": result.step})


def is_noted(folder: Path | str) -> bool:
    """Return whether a note beside the weights in a folder says that their training diverged."""
    return (Path(folder) / NOTE).is_file()


def check_not_diverged(*folders: Path | str | None) -> None:
    """Check that no model in these folders diverged.

    Raises:
        Diverged: one of them did, at the step that the error has.
    """
    for folder in (folder for folder in folders if folder and is_noted(folder)):
        raise Diverged(json.loads((Path(folder) / NOTE).read_text(encoding="utf-8"))["step"])
