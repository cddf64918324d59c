"""Read the weights of a DistilBERT as those of a BERT: they are the same under other names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from torch import Tensor, zeros
from transformers import BertConfig

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
