"""Made models: random weights in the published form of each family."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModel, AutoModelForPreTraining

from retort.made.tokenizers import write_tokenizer
from retort.specs.made import MadeModel

SIZES = {"layers": "num_hidden_layers", "heads": "num_attention_heads", "hidden": "hidden_size"}
SIZES |= {"intermediate": "intermediate_size"}
OF_DISTILBERT = {"layers": "n_layers", "heads": "n_heads", "hidden": "dim", "intermediate": "hidden_dim"}
OF_ROBERTA = {"type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
# family -> (names of sizes in its config, position id of the first token, further settings)
FAMILIES: dict[str, tuple[dict[str, str], int, dict[str, int]]] = {
    "bert": (SIZES, 0, {"pad_token_id": 0}),
    "roberta": (SIZES, 2, OF_ROBERTA),
    "xlm-roberta": (SIZES, 2, OF_ROBERTA),
    "distilbert": (OF_DISTILBERT, 0, {"pad_token_id": 0}),
}

# Standard deviation of the initial weights, also of heads and of students that start at random. It is ten times the
# usual one, so that narrow untrained models answer differently on different rows, and scores of two seeds differ.
INITIALIZER_RANGE = 0.2


def write_model(folder: Path, made: MadeModel, seed: int) -> None:
    """Write config.json, model.safetensors and, if the model has its own tokenizer, tokenizer.json to a folder."""
    torch.manual_seed(seed)
    with_head = made.masked_lm or made.family == "distilbert"  # published DistilBERTs always have the head
    auto_class: Any = AutoModelForPreTraining if with_head else AutoModel
    model = auto_class.from_config(config_of(made))
    model.save_pretrained(str(folder), safe_serialization=True)
    if made.tokenizer:
        write_tokenizer(folder, made.family, made.vocabulary)


def config_of(made: MadeModel) -> Any:
    """Return the config of a made model, with the keys of its family."""
    names, first_position, further = FAMILIES[made.family]
    sizes = {key: getattr(made.architecture, size) for size, key in names.items()}
    return AutoConfig.for_model(
        made.family,
        vocab_size=made.vocabulary,
        max_position_embeddings=made.positions + first_position,
        initializer_range=INITIALIZER_RANGE,
        **sizes,
        **further,
    )
