"""Tests of activations: of every family equal to transformers' own, only those asked for, and as they were stored."""

from __future__ import annotations

import copy
import functools
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from retort.batch import Batch
from retort.data.batches import collate
from retort.data.encoded import Encoded
from retort.errors import RetortError
from retort.models import build, weights
from retort.models.encoders import ATTENTION, FAMILIES, round_once
from retort.models.recorder import DERIVED, MODULES, Key, Recorder, keys_to_record
from retort.models.stored_activations import StoredActivations, create, store_activations
from retort.specs.catalogue import BASIS
from retort.specs.model import Architecture

from tests.conftest import ROOT
from tests.tiny.make import make_family

DEPTH, HEADS, WIDTH = 3, 3, 21
NARROW = Architecture(layers=DEPTH, heads=HEADS, hidden=WIDTH, intermediate=50, embedding=8)
KINDS = [*sorted(FAMILIES), "bert with narrow embeddings", "xlm-roberta with narrow embeddings"]
CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Save a random encoder of each family, and students of two of them with embeddings narrower than their layers."""
    home = tmp_path_factory.mktemp("families")
    for family in FAMILIES:
        make_family(home / family, family, num_hidden_layers=DEPTH)
    for kind in KINDS[len(FAMILIES) :]:
        like = home / kind.split(" ")[0]
        torch.manual_seed(1)
        weights.save(build.blank(like, NARROW), like, home / kind, "# A card\n")
    return {kind: home / kind for kind in KINDS}


Load = Callable[..., Any]


@pytest.fixture(scope="module")
def load(folders: dict[str, Path]) -> Load:
    """Return a function that gives a copy, without dropout, of a model that it loads once, with a head or without."""

    @functools.cache
    def loaded(kind: str, head: str) -> Any:
        torch.manual_seed(1)  # for the weights of a head that the folder lacks
        return build.load(folders[kind], head, 2).eval()

    return lambda kind, head="none": copy.deepcopy(loaded(kind, head))


def batch(length: int = 7) -> Batch:
    """Return rows of 7, 5 and 2 tokens, padded to the length; the second half of each row has token type id 1."""
    places, sizes = torch.arange(length), torch.tensor([7, 5, 2])
    mask = places < sizes[:, None]
    ids = torch.zeros(3, length, dtype=torch.long)
    ids[:, :7] = torch.randint(5, 60, (3, 7), generator=torch.Generator().manual_seed(1))
    types = (places >= sizes[:, None] // 2).long() * mask
    return Batch(ids * mask, types, mask)


def inputs(model: Any, given: Batch) -> dict[str, torch.Tensor]:
    """Return the batch as transformers expects it, with the model's own padding id."""
    ids = given.input_ids.masked_fill(~given.attention_mask, model.config.pad_token_id)
    types = {"token_type_ids": given.token_type_ids} if model.config.type_vocab_size > 1 else {}
    return {"input_ids": ids, "attention_mask": given.attention_mask.long(), **types}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [7, 32])
def test_activations_of_every_layer(load: Load, kind: str, length: int) -> None:
    """They equal what transformers outputs with its own options, and what its modules make of each other.

    Padding with 0 gives the same values as the model's own padding id (RoBERTa: 1), up to all 32 positions.
    """
    given, layers = batch(length), range(1, DEPTH + 1)
    real = given.attention_mask
    model = load(kind)
    keys: set[Key] = {("embeddings", None), ("hidden", 0), ("cls", 0)}
    keys |= {(activation, layer) for activation in (*MODULES, "cls", "scores", "undropped-context") for layer in layers}
    with torch.no_grad():
        found = Recorder(model, keys)(given)
        made: dict[Key, torch.Tensor] = {}
        for layer, block in enumerate(model.encoder.layer, start=1):
            below, own = found["hidden", layer - 1], block.attention.self
            made |= {("queries", layer): own.query(below), ("keys", layer): own.key(below)}
            made["values", layer] = own.value(below)
            attended = block.attention.output(found["context", layer], below)
            made["ffn", layer] = block.intermediate(attended)
            made["hidden", layer] = block.output(found["ffn", layer], attended)
        model.set_attn_implementation("eager")
        whole = model(**inputs(model, given), output_hidden_states=True, output_attentions=True)
    for key, expected in made.items():
        torch.testing.assert_close(found[key], expected, **CLOSE)
    for layer, states in enumerate(whole.hidden_states):
        torch.testing.assert_close(found["hidden", layer][real], states[real], **CLOSE)
        torch.testing.assert_close(found["cls", layer], states[:, 0], **CLOSE)
    assert torch.equal(found["embeddings", None], found["hidden", 0])
    for layer, attention in enumerate(whole.attentions, start=1):
        masked = found["scores", layer].masked_fill(~real[:, None, None, :], -torch.inf)
        torch.testing.assert_close(masked.softmax(-1), attention, **CLOSE)
        values = found["values", layer].unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2)
        context = (attention @ values).transpose(1, 2).flatten(-2)[real]
        for activation in ("context", "undropped-context"):
            torch.testing.assert_close(found[activation, layer][real], context, **CLOSE)


def test_the_guide_to_objectives_lists_every_activation_with_its_shape(load: Load) -> None:
    text = (ROOT / "workflow/retort/objectives/activations.md").read_text()
    lines = text.partition("| activation | shape |")[2].partition("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]
    listed = {name: (shape, level) for names, shape, _, level in rows for name in re.findall(r"`([\w-]+)`", names)}
    assert sorted(listed) == sorted({*MODULES, *BASIS, *DERIVED, "pooled", "logits"})
    keys: set[Key] = {(name, None if level in ("input", "output") else 1) for name, (_, level) in listed.items()}
    model = load("bert", "classification")
    sizes = {"batch": 3, "length": 7, "width": WIDTH, "heads": HEADS, "labels": 2}
    sizes["intermediate"] = model.config.intermediate_size
    found = Recorder(model, keys)(batch())
    for (name, _), value in found.items():
        assert list(value.shape) == [sizes[word] for word in listed[name][0].split(", ")], name


@pytest.mark.parametrize("kind", KINDS)
def test_the_output_of_the_pooler_where_there_is_one(load: Load, kind: str) -> None:
    given, model = batch(), load(kind)
    if not hasattr(model, "pooler"):
        with pytest.raises(RetortError, match="'pooled' needs a pooler below the classifier, which a electra does not"):
            Recorder(model, {("pooled", None)})
        return
    expected = model(**inputs(model, given)).pooler_output
    for keys in ({("pooled", None)}, {("pooled", None), ("hidden", DEPTH)}):
        torch.testing.assert_close(Recorder(model, keys)(given)["pooled", None], expected, **CLOSE)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("head", ["classification", "masked-lm"])
def test_what_is_rounded_once_gives_the_same_under_autocast(load: Load, kind: str, head: str) -> None:
    keys: set[Key] = {("logits", None), ("embeddings", None), ("words", None)}
    keys |= {(activation, layer) for activation in (*MODULES, "scores") for layer in range(1, DEPTH + 1)}
    found = []
    for precision in ("float32", "bfloat16"):
        model = load(kind, head)
        round_once(model, precision)
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            found.append(Recorder(model, keys)(batch()))
        assert model.base_model.encoder.layer[0].intermediate.dense.weight.dtype == getattr(torch, precision)
    assert all(torch.equal(tensor, found[1][key]) for key, tensor in found[0].items())


@pytest.mark.parametrize("kind", KINDS)
def test_words_and_attention_outputs_have_no_dropout(load: Load, kind: str) -> None:
    given = batch()
    model = load(kind)
    embeddings, real = model.embeddings, given.attention_mask
    expected = embeddings.LayerNorm(embeddings.word_embeddings.weight[given.input_ids])
    build.prepare(model.train(), dropout=0.5)
    found = Recorder(model, {("context", 1), ("undropped-context", 1), ("words", None)})(given)
    assert not torch.allclose(found["context", 1][real], found["undropped-context", 1][real], atol=1e-3)
    for words in (found["words", None], Recorder(model, {("words", None)})(given)["words", None]):
        torch.testing.assert_close(words[real], expected[real], **CLOSE)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("head", "positions"), [("classification", None), ("masked-lm", None), ("masked-lm", torch.tensor([1, 8, 13]))]
)
def test_logits_are_those_of_the_untouched_model(
    load: Load, kind: str, head: str, positions: torch.Tensor | None
) -> None:
    given = batch()
    given.positions = positions
    model = load(kind, head)
    with torch.no_grad():
        expected = model(**inputs(model, given)).logits
        found = Recorder(model, {("logits", None), ("hidden", 2)})(given)["logits", None]
    torch.testing.assert_close(found, expected if positions is None else expected.flatten(0, 1)[positions], **CLOSE)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("head", ["classification", "masked-lm", "span"])
@pytest.mark.parametrize("read", [None, "queries", "cls", "hidden", "context"])
def test_only_position_0_of_the_last_layer_runs_where_nothing_else_is_read(
    load: Load, kind: str, head: str, read: str | None
) -> None:
    """Logits, activations and every gradient are those of the whole model."""
    given = batch()
    models = [load(kind, head).double() for _ in range(2)]
    keys: set[Key] = {("logits", None)} | ({(read, DEPTH)} if read else set())
    seen: list[int] = []
    recorder = Recorder(models[0], keys)
    whole = Recorder(models[1], keys | {("hidden", DEPTH)})
    feed_forward = models[0].base_model.encoder.layer[-1].intermediate
    feed_forward.register_forward_hook(lambda _, __, out: seen.append(out.shape[1]))
    for given_to in (recorder, whole):
        outputs = given_to(given)
        sum(outputs[key].square().sum() for key in sorted(keys, key=str)).backward()
    assert seen == [1 if head == "classification" and read in (None, "queries", "cls") else 7]
    for key in keys:
        torch.testing.assert_close(recorder(given)[key], whole(given)[key])
    weights = [dict(model.named_parameters()) for model in models]
    for name, weight in weights[0].items():
        assert (weight.grad is None) == (weights[1][name].grad is None), name
        if weight.grad is not None:
            torch.testing.assert_close(weight.grad, weights[1][name].grad)


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_is_asked_for_runs_and_is_kept(load: Load, kind: str) -> None:
    model = load(kind)
    keys: set[Key] = {("hidden", 2), ("queries", 1)}
    recorder = Recorder(model, keys)
    with torch.no_grad(), mock.patch.object(model.encoder.layer[2], "forward") as above:
        recorder(batch())
        assert set(recorder.caught) == keys
        assert not above.called
    model(batch().input_ids)  # the hooks are inactive while other code runs the model
    recorder.close()
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


@pytest.mark.parametrize("kind", KINDS)
def test_saved_models_load_with_transformers(folders: dict[str, Path], kind: str, tmp_path: Path) -> None:
    from tokenizers import Tokenizer
    from transformers import AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification, AutoTokenizer

    given = batch()
    heads = {"none": AutoModel, "classification": AutoModelForSequenceClassification, "masked-lm": AutoModelForMaskedLM}
    for head, kinds in heads.items():
        torch.manual_seed(3)
        student: Any = build.blank(folders[kind], NARROW.model_copy(update={"layers": 2}), head, 2).eval()
        weights.save(student, folders[kind], tmp_path / head, "# A card\n")
        loaded = kinds.from_pretrained(tmp_path / head).eval()
        with torch.no_grad():
            mine, theirs = (
                m(given.input_ids, attention_mask=given.attention_mask.long())[0] for m in (student, loaded)
            )
        assert torch.equal(mine, theirs)
        assert ATTENTION not in (tmp_path / head / "config.json").read_text()  # transformers loads it without us
        own = Tokenizer.from_file(str(folders[kind] / "tokenizer.json")).encode("glad day", "song").ids
        assert AutoTokenizer.from_pretrained(tmp_path / head)("glad day", "song")["input_ids"] == own


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("part", "frozen"), [("embeddings", "embeddings"), ("encoder", "")])
def test_a_frozen_part_takes_no_gradient(load: Load, kind: str, part: str, frozen: str) -> None:
    """Freezing the embeddings freezes all below layer 1; a masked-LM head on a frozen part is still trained."""
    model = load(kind, "masked-lm")
    build.prepare(model, [part])
    given = batch()
    given.positions = torch.tensor([1])
    Recorder(model, {("logits", None)})(given)["logits", None].square().sum().backward()
    expected = {id(weight) for name, weight in model.base_model.named_parameters() if name.startswith(frozen)}
    assert {id(weight) for weight in model.parameters() if weight.grad is None} == expected


# activations of a teacher that are stored


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_recorded_teacher_is_the_teacher(encoder: Path, tmp_path: Path, precision: str) -> None:
    rows = Encoded(
        input_ids=np.arange(5, 16, dtype=np.int32), token_type_ids=np.zeros(11, np.uint8),
        offsets=np.array([0, 5, 9, 11]), labels=np.zeros(3, np.float32),
    )  # fmt: skip
    given = collate(rows, np.array([2, 0, 1]))
    model: Any = build.load(encoder, "classification", 2).eval()
    keys: set[Key] = {("hidden", 2), ("scores", 1), ("logits", None)}
    with torch.no_grad():
        live = Recorder(model, keys)(given)
    numbers = 4 if precision == "float32" else 2  # bytes
    expected = (4, 3 * 11 * 24 * numbers + 3 * 2 * 4)  # hidden states, queries, keys; and logits, in float32
    assert store_activations(model, rows, keys_to_record(keys), tmp_path, precision, "cpu") == expected
    stored = StoredActivations(tmp_path, rows, keys, heads=3)
    read = stored(given)
    for number in range(3):  # a part of a batch is padded as the whole
        part = stored(given.part(number, number + 1))
        assert all(torch.equal(x, read[key][number : number + 1]) for key, x in part.items())
    mask = given.attention_mask
    pairs = (mask[:, None, :, None] & mask[:, None, None, :]).expand(-1, 3, -1, -1)
    close = {"atol": 1e-5, "rtol": 1e-5} if precision == "float32" else {"atol": 0.05, "rtol": 0.02}
    for key, real in ((("hidden", 2), mask), (("scores", 1), pairs), (("logits", None), ...)):
        torch.testing.assert_close(read[key][real].float(), live[key][real], **close)


def test_recorded_activations_of_other_rows_are_refused(tmp_path: Path) -> None:
    rows = Encoded(np.arange(4, dtype=np.int32), np.zeros(4, np.uint8), np.array([0, 4]), np.zeros(1, np.float32))
    create(tmp_path, ("hidden", 1), 9, 2, "float32")
    with pytest.raises(RetortError, match=r"hidden-1.npy is missing or of other rows"):
        StoredActivations(tmp_path, rows, {("hidden", 1)}, heads=1)


@pytest.mark.parametrize(("activation", "needed"), [(("hidden", 1), 40), (("logits", None), 80)])
def test_activations_that_do_not_fit_the_disk_are_refused(
    activation: tuple[str, int | None], needed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = [needed - 1, needed]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free.pop(0)))
    with pytest.raises(RetortError, match="do not fit; free some space"):
        create(tmp_path, activation, 10, 2, "bfloat16")  # logits are kept in float32
    assert create(tmp_path, activation, 10, 2, "bfloat16").nbytes == needed
