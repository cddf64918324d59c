"""Hugging Face encoders, loaded from safetensors only and saved so that AutoModel finds them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
)
from transformers.utils import logging

from retort.errors import RetortError
from retort.objectives.base import Shape

logging.set_verbosity_error()
logging.disable_progress_bar()

HEADS: dict[str, Any] = {
    "none": AutoModel,
    "classification": AutoModelForSequenceClassification,
    "masked-lm": AutoModelForMaskedLM,
    "span": AutoModelForQuestionAnswering,
}
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


def load(folder: Path | str, head: str = "none", classes: int = 1) -> torch.nn.Module:
    """The model of a folder, with a head of the named kind; a head that the folder lacks starts at random.

    Raises:
        RetortError: the folder has no safetensors weights.
    """
    if not (Path(folder) / "model.safetensors").is_file():
        raise RetortError(f"{folder} holds no model.safetensors", "weights are read as safetensors only")
    more = {"num_labels": classes} if head in ("classification", "span") else {}
    model: torch.nn.Module = HEADS[head].from_pretrained(
        str(folder), use_safetensors=True, trust_remote_code=False, local_files_only=True, **more
    )
    return model


def blank(like: Path | str, architecture: dict[str, int], head: str = "none", classes: int = 1) -> torch.nn.Module:
    """A model with random weights, of the family of the folder `like` and the given architecture."""
    config = AutoConfig.from_pretrained(str(like), trust_remote_code=False, local_files_only=True)
    config.num_hidden_layers = architecture["layers"]
    config.num_attention_heads = architecture["heads"]
    config.hidden_size = architecture["hidden"]
    config.intermediate_size = architecture["intermediate"]
    if head == "classification":
        config.num_labels = classes
    model: torch.nn.Module = HEADS[head].from_config(config)
    return model


def check_shape(folder: Path | str, architecture: dict[str, int]) -> None:
    """Nothing, when the folder's config.json has the architecture that the book gives it.

    Raises:
        RetortError: they differ; names the field.
    """
    config = json.loads((Path(folder) / "config.json").read_text())
    names = {
        "layers": "num_hidden_layers",
        "heads": "num_attention_heads",
        "hidden": "hidden_size",
        "intermediate": "intermediate_size",
    }
    for name, key in names.items():
        if config[key] != architecture[name]:
            raise RetortError(
                f"{folder}/config.json: {key} is {config[key]}", f"the book says {name}: {architecture[name]}"
            )


def shape_of(model: torch.nn.Module, classes: int) -> Shape:
    """The sizes of a model that objectives depend on."""
    config: Any = model.config
    return Shape(config.hidden_size, config.num_attention_heads, config.intermediate_size, classes)


def save(model: Any, tokenizer: Path | str, to: Path | str, card: str) -> None:
    """Nothing; the folder `to` holds weights (safetensors), config, tokenizer and model card."""
    model.save_pretrained(str(to), safe_serialization=True)
    for name in TOKENIZER_FILES:
        if (Path(tokenizer) / name).is_file():
            shutil.copyfile(Path(tokenizer) / name, Path(to) / name)
    (Path(to) / "README.md").write_text(card)


def set_dropout(model: torch.nn.Module, probability: float | None) -> None:
    """Nothing; every dropout of the model has the probability, or its own where that is None."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            own = module.__dict__.setdefault("own_p", module.p)
            module.p = own if probability is None else probability


def ready(model: Any, schedule: dict[str, Any]) -> None:
    """Nothing; the model is as a schedule trains it: parts frozen, dropout set."""
    freeze(model, schedule["freeze"])
    set_dropout(model, schedule["dropout"])


def freeze(model: Any, parts: list[str]) -> None:
    """Nothing; the named parts take no gradient, so that the optimiser never touches them; all others do."""
    model.requires_grad_(True)
    for part in parts:
        if part == "embeddings":
            model.base_model.embeddings.requires_grad_(False)
        if part == "encoder":
            model.base_model.requires_grad_(False)
