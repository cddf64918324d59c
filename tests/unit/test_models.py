"""Taps, initialisation, recorded teachers, saved students."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from retort.data.collate import collate
from retort.data.tasks import Encoded
from retort.errors import RetortError
from retort.models import build
from retort.models.initialise import initialise, take_layers
from retort.models.recorded import Recorded, create
from retort.models.taps import Reader
from retort.objectives.base import Batch

SHAPE = {"layers": 2, "heads": 3, "hidden": 24, "intermediate": 48}


def batch() -> Batch:
    """Three rows of 5, 4 and 2 tokens."""
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0], [1, 1, 0, 0, 0]], dtype=torch.bool)
    ids = torch.randint(5, 60, (3, 5), generator=torch.Generator().manual_seed(1)) * mask
    return Batch(input_ids=ids, token_types=torch.zeros_like(ids), mask=mask, rows=torch.arange(3))


def test_taps_are_what_transformers_computes(encoder: Path) -> None:
    model: Any = build.load(encoder).eval()
    given = batch()
    keys = {("hidden", 0), ("hidden", 2), ("hidden", 4), ("scores", 3), ("cls", 4)}
    with torch.no_grad():
        found = Reader(model, keys)(given)
        model.set_attn_implementation("eager")
        whole = model(
            given.input_ids, attention_mask=given.mask.long(), output_hidden_states=True, output_attentions=True
        )
    for layer in (0, 2, 4):
        torch.testing.assert_close(found["hidden", layer][given.mask], whole.hidden_states[layer][given.mask])
    torch.testing.assert_close(found["cls", 4], whole.hidden_states[4][:, 0])
    closed = found["scores", 3].masked_fill(~given.mask[:, None, None, :], -torch.inf).softmax(-1)
    torch.testing.assert_close(closed, whole.attentions[2], atol=1e-6, rtol=1e-5)


def test_context_and_projections(encoder: Path) -> None:
    model: Any = build.load(encoder).eval()
    given = batch()
    with torch.no_grad():
        keys = {("context", 1), ("values", 1), ("scores", 1), ("ffn", 1), ("hidden", 0)}
        found = Reader(model, keys)(given)
        weights = found["scores", 1].masked_fill(~given.mask[:, None, None, :], -torch.inf).softmax(-1)
        values = found["values", 1].unflatten(-1, (3, 8)).transpose(1, 2)
        expected = (weights @ values).transpose(1, 2).flatten(-2)
        own = model.encoder.layer[0].attention.self.value(found["hidden", 0])
    torch.testing.assert_close(found["context", 1][given.mask], expected[given.mask], atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(found["values", 1], own)
    assert found["ffn", 1].shape == (3, 5, 48)


def test_a_teacher_stops_at_the_last_layer_that_is_read(encoder: Path) -> None:
    model: Any = build.load(encoder).eval()
    ran: list[int] = []
    for number, layer in enumerate(model.encoder.layer, start=1):
        layer.register_forward_hook(lambda *_, number=number: ran.append(number))
    reader = Reader(model, {("hidden", 2), ("queries", 1)})
    with torch.no_grad():
        found = reader(batch())
    assert ran == [1, 2]
    assert set(found) == {("hidden", 2), ("queries", 1)}
    assert set(reader.caught) == set(found)


def test_only_what_is_asked_for_is_recorded_and_the_output_is_untouched(encoder: Path) -> None:
    model: Any = build.load(encoder, "classification", 2).eval()
    given = batch()
    with torch.no_grad():
        plain = model(given.input_ids, attention_mask=given.mask.long()).logits
        reader = Reader(model, {("logits", None), ("hidden", 3)})
        found = reader(given)
    assert torch.equal(found["logits", None], plain)
    assert set(reader.caught) == {("logits", None), ("hidden", 3)}
    reader.close()
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_masked_lm_logits_are_those_of_the_masked_positions(encoder: Path) -> None:
    model: Any = build.load(encoder, "masked-lm").eval()
    given = batch()
    given.positions = torch.tensor([1, 7])
    with torch.no_grad():
        found = Reader(model, {("logits", None)})(given)["logits", None]
        whole = model(given.input_ids, attention_mask=given.mask.long()).logits.flatten(0, 1)
    torch.testing.assert_close(found, whole[[1, 7]])


def test_listed_layers_embeddings_and_heads_are_copied(encoder: Path) -> None:
    torch.manual_seed(3)
    teacher: Any = build.load(encoder, "classification", 2)
    student: Any = build.blank(encoder, SHAPE, "classification", 2)
    take_layers(student, teacher, [2, 4])
    same = [
        (student.bert.embeddings, teacher.bert.embeddings),
        (student.bert.encoder.layer[0], teacher.bert.encoder.layer[1]),
        (student.bert.encoder.layer[1], teacher.bert.encoder.layer[3]),
        (student.bert.pooler, teacher.bert.pooler),
        (student.classifier, teacher.classifier),
    ]
    for mine, theirs in same:
        for (name, one), other in zip(mine.named_parameters(), theirs.parameters(), strict=True):
            assert torch.equal(one, other), name


@pytest.mark.parametrize(
    ("layers", "shape", "said"),
    [([2, 9], SHAPE, "teacher has no layer 9; it has 4"), ([1], {**SHAPE, "layers": 1, "hidden": 12}, "width 12")],
)
def test_layers_that_cannot_be_taken(encoder: Path, layers: list[int], shape: dict[str, int], said: str) -> None:
    with pytest.raises(RetortError, match=said):
        take_layers(build.blank(encoder, shape), build.load(encoder), layers)


def test_a_random_student_ignores_the_teacher(encoder: Path) -> None:
    settings = {"initialisation": {"layers": None, "student": None, "of": "teacher"}, "architecture": SHAPE}
    student: Any = initialise(settings, encoder, encoder, None, "none", 1)
    teacher: Any = build.load(encoder)
    assert not torch.equal(student.embeddings.word_embeddings.weight, teacher.embeddings.word_embeddings.weight)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_recorded_teacher_is_the_teacher(encoder: Path, tmp_path: Path, precision: str) -> None:
    rows = Encoded(
        ids=np.arange(5, 16, dtype=np.int32), types=np.zeros(11, np.uint8),
        offsets=np.array([0, 5, 9, 11]), labels=np.zeros(3, np.float32),
    )  # fmt: skip
    given = collate(rows, np.array([2, 0, 1]))
    model: Any = build.load(encoder, "classification", 2).eval()
    keys = {("hidden", 2), ("queries", 1), ("keys", 1), ("logits", None)}
    with torch.no_grad():
        live = Reader(model, keys | {("scores", 1)})(given)
    for key in keys:
        value = live[key]
        store = create(tmp_path, key, 3 if key[0] == "logits" else 11, value.shape[-1], precision)
        order = given.rows.numpy()
        places = order if key[0] == "logits" else np.concatenate([np.arange(*rows.offsets[[r, r + 1]]) for r in order])
        store.write(places, value if key[0] == "logits" else value[given.mask])
    read = Recorded(tmp_path, rows, {("hidden", 2), ("scores", 1), ("logits", None)}, heads=3)(given)
    close = {"atol": 1e-6, "rtol": 1e-5} if precision == "float32" else {"atol": 0.05, "rtol": 0.02}
    torch.testing.assert_close(read["hidden", 2][given.mask].float(), live["hidden", 2][given.mask], **close)
    torch.testing.assert_close(read["logits", None], live["logits", None])
    real = (given.mask[:, None, :, None] & given.mask[:, None, None, :]).expand(-1, 3, -1, -1)
    torch.testing.assert_close(read["scores", 1][real].float(), live["scores", 1][real], **close)


def test_recorded_taps_of_other_rows_are_refused(tmp_path: Path) -> None:
    rows = Encoded(np.arange(4, dtype=np.int32), np.zeros(4, np.uint8), np.array([0, 4]), np.zeros(1, np.float32))
    create(tmp_path, ("hidden", 1), 9, 2, "float32")
    with pytest.raises(RetortError, match=r"hidden-1.npy is missing or of other rows"):
        Recorded(tmp_path, rows, {("hidden", 1)}, heads=1)


@pytest.mark.parametrize("head", ["none", "classification", "masked-lm"])
def test_saved_students_load_with_transformers(encoder: Path, tmp_path: Path, head: str) -> None:
    from transformers import AutoModel, AutoTokenizer

    student: Any = build.blank(encoder, SHAPE, head, 2)
    build.save(student, encoder, tmp_path, "# A card\n")
    assert sorted(p.name for p in tmp_path.glob("*.bin")) == []
    loaded = AutoModel.from_pretrained(tmp_path)
    mine = student.base_model.encoder.state_dict()
    assert all(torch.equal(mine[name], value) for name, value in loaded.encoder.state_dict().items())
    assert AutoTokenizer.from_pretrained(tmp_path)("glad day")["input_ids"] == [2, 5, 13, 3]
    assert (tmp_path / "README.md").read_text() == "# A card\n"


def test_weights_that_are_not_safetensors_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(RetortError, match="weights are read as safetensors only"):
        build.load(tmp_path)


def test_a_model_of_another_shape_is_refused(encoder: Path) -> None:
    with pytest.raises(RetortError, match="num_hidden_layers is 4; the book says layers: 6"):
        build.check_shape(encoder, {**SHAPE, "layers": 6})
