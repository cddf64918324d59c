"""Mistakes in the folder of a model: what is done to a good one, and words of the answer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

Mend = Callable[[Path], Any]
LAYER = "encoder.layer.1.output.dense.weight"
NONE = {"Regex": "("}
ENDLESS = {"type": "Split", "pattern": {"Regex": "(.+.+)+[0-9]{9}"}, "behavior": "Isolated", "invert": False}


def config(**values: Any) -> Mend:
    """Return what changes keys of config.json."""

    def change(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **values}))

    return change


def rewrite(change: Callable[[dict[str, Tensor]], dict[str, Tensor]]) -> Mend:
    """Return what changes the weights as a whole."""

    def write(folder: Path) -> None:
        path = folder / "model.safetensors"
        save_file(change({name: weight.clone() for name, weight in load_file(path).items()}), path, {"format": "pt"})

    return write


def weights(part: str, change: Callable[[Tensor], Tensor | None]) -> Mend:
    """Return what changes the weights whose names contain a part, or takes them away if it makes None of them."""

    def changed(held: dict[str, Tensor]) -> dict[str, Tensor]:
        new = {name: change(weight) if part in name else weight for name, weight in held.items()}
        return {name: weight for name, weight in new.items() if weight is not None}

    return rewrite(changed)


def without(part: str) -> Mend:
    """Return what takes away the weights whose names contain a part."""
    return weights(part, lambda weight: None)


def text(name: str, content: str | bytes) -> Mend:
    """Return what writes a file as a whole."""
    raw = content if isinstance(content, bytes) else content.encode()
    return lambda folder: (folder / name).write_bytes(raw)


def cut(name: str) -> Mend:
    """Return what cuts a file in half."""
    return lambda folder: (folder / name).write_bytes(
        (folder / name).read_bytes()[: (folder / name).stat().st_size // 2]
    )


def gone(name: str) -> Mend:
    """Return what takes a file away."""
    return lambda folder: (folder / name).unlink()


def tokenizer(change: Callable[[dict[str, Any]], object]) -> Mend:
    """Return what changes the content of tokenizer.json."""

    def write(folder: Path) -> None:
        content = json.loads((folder / "tokenizer.json").read_text())
        change(content)
        (folder / "tokenizer.json").write_text(json.dumps(content))

    return write


def empty(folder: Path) -> None:
    """Take all files away."""
    for path in folder.iterdir():
        path.unlink()


def pickled(folder: Path) -> None:
    """Give the weights the name of pickled ones."""
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def in_parts(folder: Path) -> None:
    """Give the weights the names of two parts."""
    for part in (1, 2):
        shutil.copy(folder / "model.safetensors", folder / f"model-0000{part}-of-00002.safetensors")
    (folder / "model.safetensors").unlink()


def filled(value: float, part: str = LAYER) -> Mend:
    """Return what puts a number into weights."""
    return weights(part, lambda weight: weight.index_fill(0, torch.tensor([2]), value))


MISTAKES: list[tuple[str, Mend, str]] = [
    ("an empty folder", empty, "is empty; put the files there"),
    ("no config", gone("config.json"), "holds no config.json"),
    ("no weights", gone("model.safetensors"), "holds no model.safetensors"),
    ("pickled weights", pickled, "holds no model.safetensors"),
    ("no tokenizer", gone("tokenizer.json"), "holds no tokenizer.json"),
    ("half a config", cut("config.json"), "config.json cannot be read"),
    ("an empty config", text("config.json", ""), "config.json cannot be read"),
    ("a config that is a list", text("config.json", "[]"), "config.json cannot be read"),
    ("a config in Latin-1", text("config.json", b'{"a": "\xe9"}'), "config.json cannot be read"),
    ("another family", config(model_type="gpt2"), "no family of encoders is called 'gpt2'"),
    ("an unknown family", config(model_type="mine"), "no family of encoders is called 'mine'"),
    ("a family like one", config(model_type="camembert"), "called 'camembert'; there are: bert, distilbert, electra"),
    ("weights in parts", in_parts, "holds no model.safetensors, but 2 parts such as model-00001-of-00002.safetensors"),
    ("other positions", config(max_position_embeddings=128), "a config.json with positions: 128, not 32"),
    ("another vocabulary", config(vocab_size=91), "a config.json with vocabulary: 91, not 90"),
    ("other layers", config(num_hidden_layers=3), "a config.json with layers: 3, not 4"),
    ("other heads", config(num_attention_heads=4), "a config.json with heads: 4, not 3"),
    ("other widths", config(hidden_size=48, intermediate_size=96), "with hidden: 48, not 24, intermediate: 96, not 48"),
    ("half of the weights", cut("model.safetensors"), "model.safetensors cannot be read"),
    ("weights that are text", text("model.safetensors", "no weights"), "model.safetensors cannot be read"),
    ("no weight at all", without(""), "lacks"),
    ("a layer is missing", without(LAYER), "lacks 1 weight of the encoder"),
    ("positions by distance", config(position_embedding_type="relative_key"), "only absolute is computed"),
    ("a decoder", config(is_decoder=True), "config.json: is_decoder is True; only False is computed here"),
    ("an outer attention", config(add_cross_attention=True), "add_cross_attention is True; only False is computed"),
    ("outputs in a tuple", config(return_dict=False), "config.json: return_dict is False; only True is computed here"),
    ("pruned heads", config(pruned_heads={"0": [1]}), "pruned_heads is {'0': [1]}, and nothing here reads it; take"),
    ("quantised", config(quantization_config={"quant_method": "fp8"}), "quantization_config is {'quant_method'"),
    ("code of its own", config(auto_map={"AutoModel": "mine.Model"}), "auto_map is {'AutoModel': 'mine.Model'}, and"),
    ("another activation", config(hidden_act="gellu"), "no activation is called 'gellu'; did you mean 'gelu'?"),
    ("a word for a number", config(layer_norm_eps="tiny"), "config.json cannot be read (Validation error for field"),
    ("a weight too many", rewrite(lambda held: held | {"encoder.layer.4.a.bias": torch.zeros(2)}), "1 weight of"),
    ("a transposed weight", weights(LAYER, lambda weight: weight.T.contiguous()), "not 24 x 48, as config.json says"),
    ("whole numbers", weights(LAYER, lambda weight: weight.to(torch.int8)), "as I8, not as floating-point numbers"),
    ("a NaN", filled(float("nan")), "holds NaN or infinity in"),
    ("an infinity", filled(float("inf")), "holds NaN or infinity in"),
    ("half a tokenizer", cut("tokenizer.json"), "tokenizer.json cannot be read"),
    ("a tokenizer of another kind", text("tokenizer.json", "{}"), "tokenizer.json cannot be read"),
    ("a tokenizer with more tokens", tokenizer(lambda held: held["model"]["vocab"].update(further=90)),
     "token 'further' has the id 90; the model has 90 tokens"),
    ("a tokenizer without special tokens", tokenizer(lambda held: held.update(post_processor=None)),
     "the tokenizer puts 0 tokens around a text, not a start and an end"),
    ("two tokenizers", text("tokenizer_config.json", '{"tokenizer_class": "BertTokenizer", "do_lower_case": false}'),
     "AutoTokenizer, which reads tokenizer_config.json, make different tokens of a text: 'bad' and '[UNK]'; correct"),
    ("a tokenizer of no class", text("tokenizer_config.json", '{"tokenizer_class": 5}'), "AutoTokenizer cannot read"),
    ("an expression that never ends", tokenizer(lambda held: held.update(pre_tokenizer=ENDLESS)),
     "tokenizer.json cannot encode a text (Onig: Regex search error: retry-limit-in-match over); a regular expression"),
    ("an expression that is none", tokenizer(lambda held: held.update(pre_tokenizer={**ENDLESS, "pattern": NONE})),
     "tokenizer.json cannot be read (Oniguruma error: end pattern with unmatched parenthesis"),
]  # fmt: skip
