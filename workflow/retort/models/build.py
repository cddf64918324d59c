"""Load Hugging Face encoders, from safetensors only, and save them so that AutoModel loads them."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
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

from retort.batch import Shape
from retort.errors import RetortError
from retort.models.attention_forms import ATTENTION
from retort.models.recorder import embeddings_of, family_of
from retort.models.weights import (
    DISTILBERT,
    as_bert,
    check_complete,
    check_finite,
    check_shapes,
    reading_weights,
    weights_as_bert,
)
from retort.specs.model import Architecture
from retort.specs.protocol import Schedule

logging.set_verbosity_error()  # type: ignore[no-untyped-call]
logging.disable_progress_bar()  # type: ignore[no-untyped-call]
with contextlib.suppress(ImportError):  # compiles a thousand patterns once, before a job's process is forked
    from transformers.conversion_mapping import get_checkpoint_conversion_mapping

    get_checkpoint_conversion_mapping("bert")  # type: ignore[no-untyped-call]

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
# config keys of the vocabulary and of a layer's computation; all families share them
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


def load(folder: Path | str, head: str = "none", num_labels: int = 1, heads: int | None = None) -> torch.nn.Module:
    """Load the model of a folder in float32, with a head; initialise a missing head at random.

    Args:
        folder: a folder with model.safetensors and config.json.
        head: a key of HEADS.
        num_labels: number of outputs of a classification or span head.
        heads: number of attention heads, in place of the folder's; no weight depends on it. None keeps the folder's.

    Raises:
        RetortError: the safetensors weights are missing, cannot be read, lack some of the encoder's, or are NaN or
            infinite without a note that the training diverged.
    """
    if not (Path(folder) / "model.safetensors").is_file():
        raise RetortError(f"{folder} holds no model.safetensors", "weights are read as safetensors only")
    overrides: dict[str, Any] = {"num_labels": num_labels} if head in ("classification", "span") else {}
    overrides |= {SIZES["heads"]: heads} if heads else {}
    with reading_weights(folder):
        is_distilbert = _read_config(folder).model_type == DISTILBERT
        model = (_load_distilbert if is_distilbert else _load_pretrained)(folder, head, overrides)
    check_finite(folder, model)
    return model


def _load_pretrained(folder: Path | str, head: str, overrides: dict[str, Any]) -> torch.nn.Module:
    # local files and safetensors only: nothing is downloaded, and no code of a model repository runs
    model: torch.nn.Module
    model, loading = HEADS[head].from_pretrained(
        str(folder),
        use_safetensors=True,
        dtype=torch.float32,
        attn_implementation=ATTENTION,
        trust_remote_code=False,
        local_files_only=True,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # `check_shapes` refuses them, with their names
        **overrides,
    )
    check_shapes(folder, loading["mismatched_keys"])
    check_complete(folder, model, loading["missing_keys"])
    return model


def _load_distilbert(folder: Path | str, head: str, overrides: dict[str, Any]) -> torch.nn.Module:
    """Load a DistilBERT as a BERT with the same weights; initialise its pooler and its head at random."""
    config = _config(folder)
    for key, value in overrides.items():
        setattr(config, key, value)
    model: torch.nn.Module = HEADS[head].from_config(config, dtype=torch.float32, attn_implementation=ATTENTION)
    encoder: Any = model.base_model
    lacks, unknown = encoder.load_state_dict(weights_as_bert(folder, config.type_vocab_size), strict=False)
    check_complete(folder, encoder, lacks)  # DistilBERT has no pooler: a missing one is right
    if unknown:
        raise RetortError(f"{folder}/model.safetensors does not hold a {DISTILBERT}", f"it holds {unknown[0]}")
    return model


def has_masked_lm(folder: Path | str) -> bool:
    """Return whether the weights of a folder have a masked-LM head."""
    names = family_of(_config(folder)).masked_lm
    with reading_weights(folder), safe_open(str(Path(folder) / "model.safetensors"), "pt") as weights:
        return any(key.split(".")[0] in names for key in weights.keys())  # noqa: SIM118 - not a dictionary


def _config(folder: Path | str) -> Any:
    """Return the config of a folder; that of a DistilBERT as a BERT config."""
    return as_bert(_read_config(folder))


def _read_config(folder: Path | str) -> Any:
    """Read the config.json of a folder.

    Raises:
        RetortError: it is missing, or cannot be read.
    """
    if not (Path(folder) / "config.json").is_file():
        raise RetortError(f"{folder} holds no config.json", "a model is config.json, model.safetensors, tokenizer.json")
    try:
        return AutoConfig.from_pretrained(str(folder), trust_remote_code=False, local_files_only=True)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise RetortError(f"{folder}/config.json cannot be read ({reason})", "it is that of no known model") from error


def blank(
    model_folder: Path | str, architecture: Architecture, head: str = "none", num_labels: int = 1
) -> torch.nn.Module:
    """Build a model with random weights, for the vocabulary and the tokenizer of another model.

    Both are of one family, except if the new model's token embeddings are narrower than its layers: then it is an
    ELECTRA model, which is a BERT with a projection from the embeddings to the layers.

    Args:
        model_folder: the folder of the other model, which gives config and tokenizer.
        architecture: the sizes of the new model.
        head: a key of HEADS.
        num_labels: number of outputs of a classification head.
    """
    config, sizes = _config(model_folder), sizes_of(architecture)
    if sizes["embedding"] != sizes["hidden"] and not hasattr(config, SIZES["embedding"]):
        config = _with_narrow_embeddings(config)
    for name, key in SIZES.items():
        if hasattr(config, key):
            setattr(config, key, sizes[name])
    if head == "classification":
        config.num_labels = num_labels  # the config decides the size of the head
    model: torch.nn.Module = HEADS[head].from_config(config, dtype=torch.float32, attn_implementation=ATTENTION)
    return model


def sizes_of(architecture: Architecture) -> dict[str, int]:
    """Return the sizes of an architecture by the keys of SIZES."""
    return {"embedding": architecture.hidden, **architecture.model_dump()}


def _with_narrow_embeddings(config: Any) -> ElectraConfig:
    """Return an ELECTRA config with the same vocabulary, tokenizer and number of positions."""
    family, kept = family_of(config), {name: getattr(config, name) for name in KEPT}
    positions = config.max_position_embeddings - family.first_position  # RoBERTa has unused ones before the first token
    return ElectraConfig(max_position_embeddings=positions, tokenizer_class=family.tokenizer, **kept)  # type: ignore[call-arg]


def check_shape(
    folder: Path | str,
    architecture: Architecture,
    vocabulary: int,
    any_heads: bool = False,
    positions: int | None = None,
) -> None:
    """Check that the config.json of a model has the architecture and vocabulary that the study states.

    Args:
        folder: the folder of the model.
        architecture: the stated sizes.
        vocabulary: the stated number of tokens in the vocabulary.
        any_heads: accept any number of attention heads, since no weight depends on it.
        positions: the stated number of tokens in the longest text; None accepts any number.

    Raises:
        RetortError: a field differs, or the family of the model is not supported.
    """
    config = _config(folder)
    family = family_of(config)
    expected = {**sizes_of(architecture), "vocabulary": vocabulary}
    keys = {**SIZES, "vocabulary": "vocab_size"}
    for name, key in ((name, key) for name, key in keys.items() if not (any_heads and name == "heads")):
        actual = getattr(config, key, config.hidden_size)  # only ELECTRA's config has a width of the embeddings
        if actual != expected[name]:
            raise RetortError(f"{folder}/config.json: {key} is {actual}", f"the study says {name}: {expected[name]}")
    longest = config.max_position_embeddings - family.first_position  # without those before the first token
    if positions is not None and longest != positions:
        raise RetortError(f"{folder}/config.json: it takes {longest} tokens", f"the study says positions: {positions}")


def shape_of(model: torch.nn.Module, num_labels: int) -> Shape:
    """Return the sizes of a model that objectives depend on; `num_labels` is the number of outputs of its head."""
    config: Any = model.config
    return Shape(config.hidden_size, config.num_attention_heads, config.intermediate_size, num_labels)


def save(model: Any, tokenizer_folder: Path | str, output: Path | str, card: str) -> None:
    """Write weights (safetensors), config, tokenizer and model card to the folder `output`."""
    model.save_pretrained(str(output), safe_serialization=True)
    for name in TOKENIZER_FILES:
        if (Path(tokenizer_folder) / name).is_file():
            shutil.copyfile(Path(tokenizer_folder) / name, Path(output) / name)
    (Path(output) / "README.md").write_text(card)


def set_dropout(model: torch.nn.Module, probability: float | None) -> None:
    """Set the probability of every dropout of the model; None restores the original ones."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            own = module.__dict__.setdefault("own_p", module.p)  # the original one, which a later stage may restore
            module.p = own if probability is None else probability


def prepare(model: Any, schedule: Schedule) -> None:
    """Freeze the parts of the model that the schedule freezes, and set its dropout."""
    freeze(model, schedule.freeze)
    set_dropout(model, schedule.dropout)


def freeze(model: Any, modules: Sequence[str]) -> None:
    """Freeze the modules 'embeddings' or 'encoder', if they are listed, and unfreeze all others."""
    model.requires_grad_(True)  # an earlier stage may have frozen other modules
    for name in modules:
        if name == "embeddings":
            for module in embeddings_of(model):
                module.requires_grad_(False)
        if name == "encoder":
            model.base_model.requires_grad_(False)
