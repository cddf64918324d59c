"""Tests that a teacher's stored activations equal those of the live teacher."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from retort.data.batches import collate
from retort.data.encoded import Encoded
from retort.errors import RetortError
from retort.models import build
from retort.models.recorder import Key, Recorder, basis
from retort.models.stored_activations import StoredActivations, create, store_activations


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
    assert store_activations(model, rows, basis(keys), tmp_path, precision, "cpu") == expected
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
