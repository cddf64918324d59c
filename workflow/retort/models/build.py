"""Hugging Face encoders, loaded from safetensors only and saved so that AutoModel finds them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    ElectraConfig,
)
from transformers.utils import logging

from retort.errors import RetortError
from retort.models.taps import embeddings_of, family_of
from retort.models.translate import OTHER_NAMES, as_bert, weights_as_bert
from retort.objectives.base import Shape

logging.set_verbosity_error()
logging.disable_progress_bar()

HEADS: dict[str, Any] = {
    "none": AutoModel,
    "classification": AutoModelForSequenceClassification,
    "masked-lm": AutoModelForMaskedLM,
    "span": AutoModelForQuestionAnswering,
}
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",  # BERT
    "vocab.json",  # RoBERTa
    "merges.txt",
    "sentencepiece.bpe.model",  # XLM-R
)
SIZES = {
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "hidden": "hidden_size",
    "intermediate": "intermediate_size",
    "embedding": "embedding_size",  # in ELECTRA's config alone
}
# What a config says of the vocabulary and of how a layer computes: alike in all families.
KEPT = (
    "vocab_size",
    "type_vocab_size",
    "pad_token_id",
    "bos_token_id",
    "eos_token_id",
    "hidden_act",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "classifier_dropout",
    "initializer_range",
    "layer_norm_eps",
)


def load(folder: Path | str, head: str = "none", classes: int = 1, heads: int | None = None) -> torch.nn.Module:
    """The model of a folder in float32, with a head of the named kind; a head that it lacks starts at random.

    Args:
        heads: into how many attention heads the width is cut, where not as the folder says; no weight depends on it.

    Raises:
        RetortError: the folder has no safetensors weights.
    """
    if not (Path(folder) / "model.safetensors").is_file():
        raise RetortError(f"{folder} holds no model.safetensors", "weights are read as safetensors only")
    more: dict[str, Any] = {"num_labels": classes} if head in ("classification", "span") else {}
    more |= {SIZES["heads"]: heads} if heads else {}
    if _published(folder).model_type == OTHER_NAMES:
        return _translated(folder, head, more)
    model: torch.nn.Module = HEADS[head].from_pretrained(
        str(folder), use_safetensors=True, dtype=torch.float32, trust_remote_code=False, local_files_only=True, **more
    )
    return model


def _translated(folder: Path | str, head: str, more: dict[str, Any]) -> torch.nn.Module:
    config = _config(folder)
    for key, value in more.items():
        setattr(config, key, value)
    model: torch.nn.Module = HEADS[head].from_config(config, dtype=torch.float32)
    encoder: Any = model.base_model
    lacks, unknown = encoder.load_state_dict(weights_as_bert(folder, config.type_vocab_size), strict=False)
    if unknown or any(not name.startswith("pooler.") for name in lacks):
        raise RetortError(f"{folder}/model.safetensors does not hold a {OTHER_NAMES}", f"it lacks {', '.join(lacks)}")
    return model


def has_masked_lm(folder: Path | str) -> bool:
    """Whether the weights of a folder have a masked-LM head."""
    names = family_of(_config(folder)).masked_lm
    with safe_open(str(Path(folder) / "model.safetensors"), "pt") as weights:
        return any(key.split(".")[0] in names for key in weights.keys())  # noqa: SIM118 - not a dictionary


def _config(folder: Path | str) -> Any:
    return as_bert(_published(folder))


def _published(folder: Path | str) -> Any:
    return AutoConfig.from_pretrained(str(folder), trust_remote_code=False, local_files_only=True)


def blank(like: Path | str, architecture: dict[str, int], head: str = "none", classes: int = 1) -> torch.nn.Module:
    """A model with random weights, of the architecture, for the vocabulary and the tokenizer of the folder `like`.

    It is of that folder's family, unless its token embeddings are narrower than its layers: then it is an ELECTRA
    model, which is a BERT with a projection between the two.
    """
    config = _config(like)
    sizes = {"embedding": architecture["hidden"], **architecture}
    if sizes["embedding"] != sizes["hidden"] and not hasattr(config, SIZES["embedding"]):
        config = _with_narrow_embeddings(config)
    for name, key in SIZES.items():
        if hasattr(config, key):
            setattr(config, key, sizes[name])
    if head == "classification":
        config.num_labels = classes
    model: torch.nn.Module = HEADS[head].from_config(config, dtype=torch.float32)
    return model


def _with_narrow_embeddings(config: Any) -> ElectraConfig:
    """The config as one of ELECTRA, with its vocabulary, tokenizer and number of positions."""
    family, kept = family_of(config), {name: getattr(config, name) for name in KEPT}
    positions = config.max_position_embeddings - family.first_position
    return ElectraConfig(max_position_embeddings=positions, tokenizer_class=family.tokenizer, **kept)


def check_shape(folder: Path | str, architecture: dict[str, int], vocabulary: int) -> None:
    """Nothing, when the folder's config.json has the architecture and vocabulary that the book gives it.

    Args:
        architecture: without 'heads', any number of them will do.

    Raises:
        RetortError: they differ, or its family is not known here; names the field.
    """
    config = _config(folder)
    family_of(config)
    book = {"embedding": architecture["hidden"], **architecture, "vocabulary": vocabulary}
    keys = {**SIZES, "vocabulary": "vocab_size"}
    for name, key in ((name, key) for name, key in keys.items() if name in book):
        found = getattr(config, key, config.hidden_size)  # none but ELECTRA's says how wide the embeddings are
        if found != book[name]:
            raise RetortError(f"{folder}/config.json: {key} is {found}", f"the book says {name}: {book[name]}")


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
            for module in embeddings_of(model):
                module.requires_grad_(False)
        if part == "encoder":
            model.base_model.requires_grad_(False)
