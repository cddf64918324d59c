"""What a job leaves of a model: weights, config, tokenizer and card; and a note if the training diverged.

The weights of a diverged distillation are those before the step at which it diverged, and those of a diverged
fine-tuning are the distilled student's with a new head. A job that would train such a model further raises `Diverged`
with the same step, so that its cells say `diverged`; one that predicts with it has no answers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torch import nn

from retort.atomic import write_json
from retort.data.tokenizers import FILE, check_command, copy_tokenizer
from retort.errors import Diverged
from retort.job.context import RunningJob
from retort.models.card import About, card_of
from retort.models.encoders import name_labels
from retort.settings.inputs import JobSettings, TaskSettings

NOTE = "diverged.json"
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
    about: About,
) -> None:
    """Save a model with the tokenizer of a folder, and a model card.

    Args:
        job: the job.
        settings: the settings of the job.
        model: the model.
        tokenizer_folder: the folder of the tokenizer.
        output: the folder to write.
        about: what the card says.
    """
    if job.writes:
        name_outputs(model, getattr(settings, "task", None))
        save(model, tokenizer_folder, output, card_of(job, settings, model, about))


def name_outputs(model: Any, task: TaskSettings | None) -> None:
    """Name the outputs of a model's head as its task does, so that a pipeline of transformers prints labels."""
    if task and len(task.labels) == model.config.num_labels:
        name_labels(model, task.labels)
    if task and task.task_type in PROBLEMS:
        model.config.problem_type = PROBLEMS[task.task_type]


def note_result(folder: Path | str, result: object) -> None:
    """Write a note next to the weights of a training if its result is a divergence."""
    if isinstance(result, Diverged):
        write_json(Path(folder) / NOTE, {"step": result.step})


def is_noted(folder: Path | str) -> bool:
    """Return whether a note next to the weights in a folder says that their training diverged."""
    return (Path(folder) / NOTE).is_file()


def check_not_diverged(*folders: Path | str | None) -> None:
    """Check that no model in these folders diverged.

    Raises:
        Diverged: one of them did, at the step that the error has.
    """
    for folder in (folder for folder in folders if folder and is_noted(folder)):
        raise Diverged(json.loads((Path(folder) / NOTE).read_text(encoding="utf-8"))["step"])
