"""Check the weights in a folder: they can be read, form a complete encoder, and are finite."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, zeros
from transformers import BertConfig

from retort.atomic import write_json
from retort.checksums import remedy_of_model
from retort.errors import Diverged, RetortError

FILE = "model.safetensors"
ENCODER = ("embeddings", "encoder")  # modules of every family; poolers and heads may be new


@contextlib.contextmanager
def reading_weights(folder: Path | str) -> Iterator[None]:
    """Turn the errors of libraries about damaged weights into a `RetortError`.

    Raises:
        RetortError: the block could not read the weights.
    """
    try:
        yield
    except (SafetensorError, OSError, ValueError, KeyError, RuntimeError) as error:
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise RetortError(f"{_file(folder)} cannot be read ({reason})", remedy_of_model(folder)) from error


def check_complete(folder: Path | str, model: Any, missing: Iterable[str]) -> None:
    """Check that a folder holds all weights of the embeddings and layers of a model.

    A missing pooler or head is allowed, and starts at random.

    Args:
        folder: the folder.
        model: the model.
        missing: the names of the model's weights that the folder lacks.

    Raises:
        RetortError: a missing weight belongs to the embeddings or to a layer.
    """
    prefix, parameters = f"{model.base_model_prefix}.", {name for name, _ in model.named_parameters()}
    lacks = sorted(
        name
        for name in parameters.intersection(missing)
        if name.removeprefix(prefix).partition(".")[0].startswith(ENCODER)
    )
    if lacks:
        count = f"{len(lacks)} weight{'s' * (len(lacks) != 1)}"
        raise RetortError(f"{_file(folder)} lacks {count} of the encoder, such as {lacks[0]}", remedy_of_model(folder))


def check_shapes(folder: Path | str, differing: Iterable[tuple[str, Iterable[int], Iterable[int]]]) -> None:
    """Check that the weights of a folder have the shapes that its config.json and the head require.

    Args:
        folder: the folder.
        differing: (name, shape, required shape) of each weight with another shape.

    Raises:
        RetortError: there is such a weight.
    """
    for name, held, right in sorted(differing):
        sizes = [" x ".join(map(str, shape)) for shape in (held, right)]
        raise RetortError(
            f"{_file(folder)} holds {name} of {sizes[0]} numbers, not {sizes[1]}", remedy_of_model(folder)
        )


def check_finite(folder: Path | str, model: torch.nn.Module) -> None:
    """Check that all weights of a model are finite, unless a note says that their training diverged.

    Args:
        folder: the folder that the weights were read from.
        model: the model.

    Raises:
        RetortError: a weight is NaN or infinite.
    """
    with torch.no_grad():
        # a fast test first: a finite sum has only finite summands; but a sum of finite ones may overflow
        bad = (name for name, weight in model.named_parameters() if not weight.sum().isfinite())
        bad = (name for name in bad if not model.get_parameter(name).isfinite().all())
        name = next(bad, None)
    if name is not None and not is_noted(folder):
        raise RetortError(f"{_file(folder)} holds NaN or infinity in {name}", remedy_of_model(folder))


def _file(folder: Path | str) -> Path:
    return Path(folder) / FILE


# Read the weights of a DistilBERT as those of a BERT: they are the same under other names.


# DistilBERT (Sanh et al., 2019): a BERT without token type embeddings and without a pooler.
NAMES = {
    "transformer.layer": "encoder.layer",
    "q_lin": "self.query",
    "k_lin": "self.key",
    "v_lin": "self.value",
    "out_lin": "output.dense",
    "sa_layer_norm": "attention.output.LayerNorm",
    "ffn.lin1": "intermediate.dense",
    "ffn.lin2": "output.dense",
    "output_layer_norm": "output.LayerNorm",
}
SIZES = {"num_hidden_layers": "n_layers", "num_attention_heads": "n_heads", "hidden_size": "dim",
         "intermediate_size": "hidden_dim", "hidden_act": "activation", "hidden_dropout_prob": "dropout",
         "attention_probs_dropout_prob": "attention_dropout", "vocab_size": "vocab_size",
         "max_position_embeddings": "max_position_embeddings", "pad_token_id": "pad_token_id",
         "initializer_range": "initializer_range"}  # fmt: skip
DISTILBERT = "distilbert"


def as_bert(config: Any) -> Any:
    """Return a DistilBERT config as the BERT config of the same model; any other config unchanged."""
    if config.model_type != DISTILBERT:
        return config
    return BertConfig(**{ours: getattr(config, theirs) for ours, theirs in SIZES.items()})


def weights_as_bert(folder: Path | str, types: int) -> dict[str, Tensor]:
    """Return the weights of a DistilBERT's encoder under BERT's names.

    The embeddings of the `types` token types are zeros, so that they add nothing. A masked-LM head is left out: its
    layers differ from BERT's.
    """
    weights = {}
    for name, weight in load_file(str(Path(folder) / "model.safetensors")).items():
        ours = name.removeprefix(f"{DISTILBERT}.")
        if ours.split(".")[0] in ("embeddings", "transformer"):
            for theirs, bert in NAMES.items():
                ours = ours.replace(f"{theirs}.", f"{bert}.")
            weights[ours] = weight.float()  # published weights may be in 16 bits
    embeddings = weights["embeddings.word_embeddings.weight"]  # (vocabulary, width)
    return {**weights, "embeddings.token_type_embeddings.weight": zeros(types, embeddings.shape[1])}


NOTE = "diverged.json"


def note_divergence(folder: Path | str, diverged: Diverged) -> None:
    """Write a note beside the weights of a student that its training diverged."""
    write_json(Path(folder) / NOTE, {"step": diverged.step})


def note_result(folder: Path | str, result: object) -> None:
    """Write a note beside the weights of a training if its result is a divergence."""
    if isinstance(result, Diverged):
        note_divergence(folder, result)


def check_not_diverged(*folders: Path | str | None) -> None:
    """Check that no model in these folders diverged.

    Raises:
        Diverged: one of them did, at the step that the error has.
    """
    for folder in (folder for folder in folders if folder):
        if is_noted(folder):
            raise Diverged(json.loads((Path(folder) / NOTE).read_text(encoding="utf-8"))["step"])


def is_noted(folder: Path | str) -> bool:
    """Return whether a note beside the weights in a folder says that their training diverged."""
    return (Path(folder) / NOTE).is_file()
