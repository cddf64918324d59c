"""Tests of damaged weights and tokenizers: each has one line that names the file, and nothing whole is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from retort.data.text_tokenizer import CorpusTokenizer
from retort.data.tokenizers import read_tokenizer
from retort.errors import Diverged, RetortError
from retort.models import build, weights
from retort.models.recorder import FAMILIES
from retort.models.weights import remedy_of_model
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import DistilBertConfig, DistilBertModel

from tests.tiny.make import make_encoder, make_family

Weights = dict[str, Tensor]
Change = Callable[[Weights], Weights]


def without(part: str) -> Change:
    """Return a function that leaves out the weights whose names contain a part."""
    return lambda weights: {name: weight for name, weight in weights.items() if part not in name}


def changed(part: str, change: Callable[[Tensor], Tensor]) -> Change:
    """Return a function that changes the weights whose names contain a part."""
    return lambda weights: {name: change(weight) if part in name else weight for name, weight in weights.items()}


def with_one(value: float) -> Callable[[Tensor], Tensor]:
    """Return a function that sets the last number of a tensor."""

    def change(weight: Tensor) -> Tensor:
        weight.view(-1)[-1] = value
        return weight

    return change


def old_names(weights: Weights) -> Weights:
    """Return the weights of layer normalisation by the names that BERT's first files give them."""
    new = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    return {name.replace(key, new[key]): w for name, w in weights.items() for key in new if key in name} | {
        name: weight for name, weight in weights.items() if "LayerNorm" not in name
    }


def rewrite(folder: Path, change: Change) -> None:
    """Change the weights of a folder."""
    weights = {name: weight.clone() for name, weight in load_file(folder / "model.safetensors").items()}
    save_file(change(weights), folder / "model.safetensors", {"format": "pt"})


def line_of(folder: Path, head: str = "classification") -> str:
    """Return the line with which the weights of a folder are refused."""
    with pytest.raises(RetortError) as refused:
        build.load(folder, head, 2)
    line = str(refused.value)
    assert "\n" not in line
    assert line.startswith(f"{folder}/model.safetensors ")
    assert line.endswith(remedy_of_model(folder))
    return line


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("head", list(build.HEADS))
def test_a_layer_or_the_embeddings_are_never_random(family: str, head: str, tmp_path: Path) -> None:
    make_family(tmp_path, family)
    rewrite(tmp_path, without(".layer.1."))
    assert "model.safetensors lacks 16 weights of the encoder, such as " in line_of(tmp_path, head)
    make_family(tmp_path, family)
    rewrite(tmp_path, without("position_embeddings"))
    assert "lacks 1 weight of the encoder" in line_of(tmp_path, head)


WHOLE: dict[str, Change] = {
    "no pooler": without("pooler"),
    "unused weights": lambda weights: weights | {"fit_dense.weight": torch.zeros(2), "cls.a.bias": torch.zeros(3)},
    "16 bits": changed("", Tensor.half),
    "old names": old_names,
    "large and finite": changed("query", with_one(3e38)),
}


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("change", WHOLE)
def test_what_published_models_lack_or_hold_besides_is_accepted(family: str, change: str, tmp_path: Path) -> None:
    make_family(tmp_path, family)
    rewrite(tmp_path, WHOLE[change])
    for head in build.HEADS:
        build.load(tmp_path, head, 2)


def test_a_sum_that_overflows_is_no_damage(tmp_path: Path) -> None:
    make_encoder(tmp_path)
    rewrite(tmp_path, changed("0.attention.self.query.bias", lambda weight: torch.full_like(weight, 3e38)))
    build.load(tmp_path)


DAMAGE: dict[str, tuple[Change, str]] = {
    "NaN": (changed("layer.0.output.dense.bias", with_one(float("nan"))), "holds NaN or infinity in bert.encoder"),
    "infinite": (
        changed("layer.0.output.dense.bias", with_one(float("-inf"))),
        "holds NaN or infinity in bert.encoder",
    ),
    "another shape": (changed("word", lambda weight: weight[:-1].clone()), " of 89 x 24 numbers, not 90 x 24; delete"),
    "no weights": (lambda weights: {}, " weights of the encoder, such as "),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_weights(damage: str, tmp_path: Path) -> None:
    make_encoder(tmp_path)
    change, words = DAMAGE[damage]
    rewrite(tmp_path, change)
    assert words in line_of(tmp_path)


@pytest.mark.parametrize("content", [b"", b"garbage", b"\xff" * 64, None])
def test_a_file_that_holds_no_weights(content: bytes | None, tmp_path: Path) -> None:
    make_encoder(tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-9] if content is None else content)
    assert "model.safetensors cannot be read (" in line_of(tmp_path)
    with pytest.raises(RetortError, match=r"model\.safetensors cannot be read"):
        build.has_masked_lm(tmp_path)


def test_a_damaged_distilbert(tmp_path: Path) -> None:
    sizes = {"n_layers": 2, "n_heads": 3, "dim": 12, "hidden_dim": 20, "vocab_size": 30}
    for change, words in (
        (without("layer.1."), "lacks 16 weights of the encoder, such as encoder.layer.1."),
        (without("word_embeddings"), "cannot be read ('embeddings.word_embeddings.weight')"),
        (changed("layer.1", with_one(float("nan"))), "holds NaN or infinity in "),
    ):
        DistilBertModel(DistilBertConfig(**sizes)).save_pretrained(tmp_path)
        rewrite(tmp_path, change)
        assert words in line_of(tmp_path, "none")


def test_weights_of_a_training_that_diverged_may_be_anything(tmp_path: Path) -> None:
    """What starts from them counts as diverged; that is a result, and no damage."""
    make_encoder(tmp_path)
    rewrite(tmp_path, changed("layer.0", with_one(float("nan"))))
    weights.note_result(tmp_path, "measured")
    assert "NaN" in line_of(tmp_path)
    weights.note_result(tmp_path, Diverged(3))
    build.load(tmp_path)
    rewrite(tmp_path, without("layer.1."))
    assert "lacks" in line_of(tmp_path)


@pytest.mark.parametrize("content", ["[]", "", "{", "null", '{"model": 3}', "\udcff"])
def test_a_damaged_tokenizer(content: str, tmp_path: Path) -> None:
    make_encoder(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(content.encode(errors="surrogateescape"))
    for read, place in ((read_tokenizer, tmp_path / "tokenizer.json"), (CorpusTokenizer.load, tmp_path)):
        with pytest.raises(RetortError) as refused:
            read(place)
        assert str(refused.value).startswith(f"{tmp_path}/tokenizer.json cannot be read (")
        assert str(refused.value).endswith(remedy_of_model(tmp_path))
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", ["[3]", "", "{", "3", "\udcff"])
def test_a_damaged_configuration_of_a_tokenizer(content: str, tmp_path: Path) -> None:
    make_encoder(tmp_path)
    CorpusTokenizer.load(tmp_path)
    (tmp_path / "special_tokens_map.json").write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(RetortError, match=r"special_tokens_map\.json cannot be read \("):
        CorpusTokenizer.load(tmp_path)
