"""Tests of models that are built, loaded and saved: their sizes, and what is wrong with the files of a folder."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.checksums import remedy_of_model
from retort.data.corpus_tokenizer import CorpusTokenizer
from retort.errors import Diverged, RetortError
from retort.models import build, weights
from retort.models.encoders import FAMILIES, ONLY
from retort.models.initialise import check_released
from retort.settings.inputs import ModelSettings
from retort.specs import model as specs
from retort.specs.model import Architecture, described_in
from transformers import AutoConfig, DistilBertConfig, DistilBertForSequenceClassification, DistilBertModel

from tests.contracts.mistakes import models
from tests.tiny.make import family_config, make_encoder, make_family


def test_a_classifier_reads_the_pooler_through_a_relu_and_without_dropout(tmp_path: Path) -> None:
    small = Architecture(layers=1, heads=2, hidden=8, intermediate=16)
    model = build.bert(small, 20, "classification", 3)
    model.classifier.weight.data.normal_()
    build.add_pooler_relu(model)
    ids = torch.arange(1, 13).reshape(2, 6)
    first = model.eval().base_model(ids).last_hidden_state[:, 0]
    expected = model.classifier(torch.relu(torch.tanh(model.base_model.pooler.dense(first))))
    torch.testing.assert_close(model(ids).logits, expected)
    assert not any(isinstance(module, torch.nn.Dropout) for module in model.children())
    weights.save(model, tmp_path, tmp_path, "")
    torch.testing.assert_close(build.load(tmp_path, "classification", 3)(ids).logits, expected)  # the config says so


def test_a_model_is_saved_with_the_tokens_of_its_training(tmp_path: Path) -> None:
    make_encoder(tmp_path)
    models.text("tokenizer_config.json", '{"tokenizer_class": "BertTokenizer", "do_lower_case": false}')(tmp_path)
    with pytest.raises(RetortError, match="make different tokens of a text: 'bad' and '\\[UNK\\]'"):
        weights.save(build.load(tmp_path), tmp_path, tmp_path / "saved", "")


def test_a_classifier_without_a_pooler_below_has_no_relu(tmp_path: Path) -> None:
    make_family(tmp_path, "roberta")
    with pytest.raises(
        RetortError, match="'pooler_relu' needs a pooler below the classifier, which a roberta does not"
    ):
        build.add_pooler_relu(build.load(tmp_path, "classification", 2))
    build.add_pooler_relu(build.load(tmp_path, "span", 2))  # reads no pooler


BASE = Architecture(layers=12, heads=12, hidden=768, intermediate=3072)
LARGE = Architecture(layers=24, heads=16, hidden=1024, intermediate=4096)
ROBERTA = {"max_position_embeddings": 514, "type_vocab_size": 1}


@pytest.mark.parametrize(
    ("family", "config", "base", "large"),
    [
        ("bert", {"vocab_size": 30522}, 109_482_240, 335_141_888),
        ("roberta", {"vocab_size": 50265, **ROBERTA}, 124_645_632, 355_359_744),
        ("xlm-roberta", {"vocab_size": 250002, **ROBERTA}, 278_043_648, 559_890_432),
    ],
)
def test_teachers_have_the_released_size(
    family: str, config: dict[str, int], base: int, large: int, tmp_path: Path
) -> None:
    AutoConfig.for_model(family, **config).save_pretrained(tmp_path)
    with torch.device("meta"):  # shapes without values
        teachers = [build.blank(tmp_path, architecture) for architecture in (BASE, LARGE)]
    assert [sum(weight.numel() for weight in teacher.parameters()) for teacher in teachers] == [base, large]


SHAPE = {"layers": 4, "heads": 3, "hidden": 21, "intermediate": 50}


def described(**changes: Any) -> ModelSettings:
    """Return the settings of the tiny encoder of a family, with changes."""
    source = {"local": "encoder", "sha256": "0" * 64}
    given = {"architecture": SHAPE, "vocabulary": 90, "positions": 32, "version": 1, "source": source}
    return ModelSettings.model_validate({**given, **changes})


@pytest.mark.parametrize(("family", "vocabulary"), [("bert", 90), ("roberta", 300), ("xlm-roberta", 300)])
def test_the_described_model_is_right(family: str, vocabulary: int, tmp_path: Path) -> None:
    family_config(family).save_pretrained(tmp_path)
    check_released(tmp_path, described(vocabulary=vocabulary))
    narrow = Architecture(**{**SHAPE, "layers": 2}, embedding=8)  # an ELECTRA, whose positions begin at 0
    build.blank(tmp_path, narrow).config.save_pretrained(tmp_path)
    check_released(tmp_path, described(vocabulary=vocabulary, architecture=narrow.model_dump()))


def test_positions_of_roberta_begin_after_its_padding_token(tmp_path: Path) -> None:
    family_config("roberta", pad_token_id=4).save_pretrained(tmp_path)
    check_released(tmp_path, described(vocabulary=300, positions=29))
    assert described_in(tmp_path)["positions"] == 29
    model: Any = build.blank(tmp_path, Architecture(**SHAPE))
    ids = torch.arange(5, 34)[None]
    model(ids)  # the longest text that it takes
    with pytest.raises(RuntimeError, match="out of bounds"):
        model(torch.cat([ids, ids], 1)[:, :30])


# what a config of transformers says: each is computed, or changes no number here, or is refused
HONOURED = {
    "activation", "attention_dropout", "attention_probs_dropout_prob", "classifier_dropout", "dim", "dropout",
    "embedding_size", "hidden_act", "hidden_dim", "hidden_dropout_prob", "hidden_size", "id2label",
    "initializer_range", "intermediate_size", "label2id", "layer_norm_eps", "max_position_embeddings", "model_type",
    "n_heads", "n_layers", "num_attention_heads", "num_hidden_layers", "pad_token_id", "tie_word_embeddings",
    "type_vocab_size", "vocab_size",
}  # fmt: skip
WITHOUT_EFFECT = {
    "_name_or_path", "architectures", "bos_token_id", "dtype", "eos_token_id", "output_hidden_states",
    "problem_type", "qa_dropout", "seq_classif_dropout", "summary_activation", "summary_last_dropout",
    "summary_type", "summary_use_proj", "transformers_version", "use_cache",
}  # fmt: skip


@pytest.mark.parametrize("family", specs.FAMILIES)
def test_each_key_of_a_config_is_honoured_harmless_or_refused(family: str) -> None:
    assert set(AutoConfig.for_model(family).to_dict()) <= {*HONOURED, *WITHOUT_EFFECT, *ONLY}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"architecture": {**SHAPE, "heads": 7}}, "num_attention_heads is 3; the study says heads: 7"),
        ({"architecture": {**SHAPE, "intermediate": 51}}, "intermediate_size is 50; the study says intermediate: 51"),
        ({"vocabulary": 91}, "vocab_size is 90; the study says vocabulary: 91"),
        ({"positions": 64}, "it takes 32 tokens; the study says positions: 64"),
    ],
)
def test_a_config_that_contradicts_the_study(changes: dict[str, Any], line: str, tmp_path: Path) -> None:
    family_config("bert").save_pretrained(tmp_path)
    with pytest.raises(RetortError) as caught:
        check_released(tmp_path, described(**changes))
    assert str(caught.value).endswith(f"config.json: {line}")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "holds no config.json; a model is config.json, model.safetensors, tokenizer.json"),
        ("{", "config.json cannot be read"),
        ('{"model_type": "nothing"}', "config.json cannot be read"),
        ('{"model_type": "gpt2"}', "no family of encoders is called 'gpt2'; there are: bert, distilbert, electra"),
        ('{"model_type": "roberta", "pad_token_id": null}', "pad_token_id is None, and positions begin after it"),
        ('{"model_type": "distilbert", "sinusoidal_pos_embds": true}', "sinusoidal_pos_embds is True; only False"),
    ],
)
def test_a_config_that_cannot_be_read(content: str, line: str, tmp_path: Path) -> None:
    if content:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(RetortError) as caught:
        check_released(tmp_path, described())
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def fine_tuned(folder: Path, family: str, labels: list[str], head: str = "classification") -> Any:
    """Save a model of a family with a head that was trained before, for these labels, and return it."""
    make_family(folder, family)
    model: Any = build.load(folder, head, len(labels))
    model.config.id2label, model.config.label2id = dict(enumerate(labels)), {name: n for n, name in enumerate(labels)}
    model.save_pretrained(folder)
    return model


LEFT = "holds the head of an earlier training, with the labels a, b, c: it is left, and a new one starts"


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("head", ["classification", "span"])
def test_the_head_of_another_task_is_left(family: str, head: str, tmp_path: Path) -> None:
    old = fine_tuned(tmp_path, family, ["a", "b", "c"])
    said = list[str]()
    new: Any = build.load(tmp_path, head, 2, labels=["bad", "good"], say=said.append)
    assert said == [f"{tmp_path} {LEFT}"]
    before, now = old.state_dict(), new.state_dict()
    same = {name for name, weight in now.items() if name in before and weight.equal(before[name])}
    assert {name for name in now if name.startswith(old.base_model_prefix)} <= same
    assert not any(name.endswith("weight") for name in same if name.startswith("classifier"))
    with pytest.raises(
        RetortError, match="training, with the labels a, b, c; only a training can begin with a new head"
    ):
        build.load(tmp_path, head, 2)


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize(("head", "outputs"), [("classification", 1), ("span", 2)])
def test_a_head_of_as_many_outputs_is_kept_and_a_line_says_so(
    family: str, head: str, outputs: int, tmp_path: Path
) -> None:
    old = fine_tuned(tmp_path, family, [f"LABEL_{number}" for number in range(outputs)], head)
    said = list[str]()
    new = build.load(tmp_path, head, outputs, say=said.append)
    assert said == ["the model's head was trained before: it has as many outputs as the task needs, and is kept"]
    assert all(weight.equal(old.state_dict()[name]) for name, weight in new.state_dict().items())
    build.load(tmp_path, head, outputs)  # as where nothing is trained


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_labels_in_another_order_are_met_by_name(family: str, tmp_path: Path) -> None:
    ids, said = torch.arange(5, 11)[None], list[str]()
    before = fine_tuned(tmp_path, family, ["NEUTRAL", "bad", "Good"]).eval()(ids).logits

    words = {
        ("good", "neutral", "bad"): (
            [2, 0, 1],
            "its outputs NEUTRAL, bad, Good are put in the order good, neutral, bad",
        ),
        ("neutral", "bad", "good"): ([0, 1, 2], ""),
        ("x", "y", "z"): ([0, 1, 2], "its labels NEUTRAL, bad, Good are taken as x, y, z"),
    }
    for labels, (order, line) in words.items():
        model: Any = build.load(tmp_path, "classification", 3, labels=labels, say=said.append)
        torch.testing.assert_close(model(ids).logits, before[:, order])
        assert said == [f"the model's head was trained before: {line}"] * bool(line)
        assert not line or list(model.config.id2label.values()) == list(labels)
        said.clear()


def test_outputs_without_names_are_taken_as_they_stand(tmp_path: Path) -> None:
    fine_tuned(tmp_path, "bert", ["LABEL_0", "LABEL_1"])
    said = list[str]()
    model: Any = build.load(tmp_path, "classification", 2, labels=["bad", "good"], say=said.append)
    assert said == ["the model's head was trained before: its labels LABEL_0, LABEL_1 are taken as bad, good"]
    assert model.config.id2label == {0: "bad", 1: "good"}


OLD = {"weight": "LayerNorm.gamma", "bias": "LayerNorm.beta"}  # in BERT's first files


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
@pytest.mark.parametrize(("part", "words"), [(".layer.1.", "16 weights"), ("position_embeddings", "1 weight")])
def test_a_layer_or_the_embeddings_are_never_random(
    family: str, head: str, part: str, words: str, tmp_path: Path
) -> None:
    make_family(tmp_path, family)
    models.without(part)(tmp_path)
    assert f"model.safetensors lacks {words} of the encoder, such as " in line_of(tmp_path, head)


WHOLE = {
    "no pooler": models.without("pooler"),
    "unused weights": models.rewrite(
        lambda held: held | {"fit_dense.weight": torch.zeros(2), "cls.a.bias": torch.zeros(3)}
    ),
    "position ids": models.rewrite(lambda held: held | {"embeddings.position_ids": torch.arange(32)[None]}),
    "keys of released configs": models.config(
        gradient_checkpointing=True, output_past=True, pooler_type="first", emb_size=24, cell={}, structure=[]
    ),
    "16 bits": models.weights("", torch.Tensor.half),
    "old names": models.rewrite(
        lambda held: {re.sub(r"LayerNorm\.(weight|bias)", lambda name: OLD[name[1]], key): w for key, w in held.items()}
    ),
    "a sum that overflows": models.weights("attention.self.query.bias", lambda weight: torch.full_like(weight, 3e38)),
}


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("change", WHOLE)
def test_what_released_models_lack_or_hold_besides_is_accepted(family: str, change: str, tmp_path: Path) -> None:
    make_family(tmp_path, family)
    WHOLE[change](tmp_path)
    for head in build.HEADS:
        assert {weight.dtype for weight in build.load(tmp_path, head, 2).parameters()} == {torch.float32}


def test_a_file_that_holds_no_weights(tmp_path: Path) -> None:
    make_encoder(tmp_path)
    models.cut("model.safetensors")(tmp_path)
    assert "model.safetensors cannot be read (" in line_of(tmp_path)
    with pytest.raises(RetortError, match=r"model\.safetensors cannot be read"):
        build.has_masked_lm(tmp_path)
    models.pickled(tmp_path)
    with pytest.raises(RetortError, match="weights are read as safetensors only"):
        build.load(tmp_path)


DISTIL = DistilBertConfig(n_layers=2, n_heads=3, dim=12, hidden_dim=20, vocab_size=30)


def test_the_head_of_a_distilbert_is_left(tmp_path: Path) -> None:
    DistilBertForSequenceClassification(DISTIL).save_pretrained(tmp_path)
    said = list[str]()
    build.load(tmp_path, "classification", 2, say=said.append)
    assert "with the labels LABEL_0, LABEL_1: it is left, and a new one starts" in said[0]


DISTILBERT = [
    (models.without("layer.1."), "lacks 16 weights of the encoder, such as encoder.layer.1."),
    (models.without("word_embeddings"), "cannot be read ('embeddings.word_embeddings.weight')"),
    (models.filled(math.nan, "layer.1"), "holds NaN or infinity in "),
]


@pytest.mark.parametrize(("change", "words"), DISTILBERT)
def test_a_damaged_distilbert(change: models.Mend, words: str, tmp_path: Path) -> None:
    DistilBertModel(DISTIL).save_pretrained(tmp_path)
    change(tmp_path)
    assert words in line_of(tmp_path, "none")


def test_weights_of_a_training_that_diverged_may_be_anything(tmp_path: Path) -> None:
    """What starts from them counts as diverged; that is a result, and no damage."""
    make_encoder(tmp_path)
    models.filled(math.nan)(tmp_path)
    weights.note_result(tmp_path, "measured")
    assert "NaN" in line_of(tmp_path)
    weights.note_result(tmp_path, Diverged(3))
    build.load(tmp_path)
    models.without("layer.1.")(tmp_path)
    assert "lacks" in line_of(tmp_path)


@pytest.mark.parametrize("file", ["tokenizer.json", "special_tokens_map.json"])
@pytest.mark.parametrize("content", ["[3]", "", "{", "3", "\udcff"])
def test_a_damaged_tokenizer(file: str, content: str, tmp_path: Path) -> None:
    make_encoder(tmp_path)
    CorpusTokenizer.load(tmp_path)
    (tmp_path / file).write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(RetortError) as refused:
        CorpusTokenizer.load(tmp_path)
    assert str(refused.value).startswith(f"{tmp_path}/{file} cannot be read (")
    assert file != "tokenizer.json" or str(refused.value).endswith(remedy_of_model(tmp_path))
    assert "\n" not in str(refused.value)
