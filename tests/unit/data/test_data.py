"""Tests of encoding the tiny task, of its batches, and of masking."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from retort.data.batches import collate, in_order, mask_tokens
from retort.data.blocks import CorpusInfo
from retort.data.encoded import Encoded
from retort.data.encoding import encode_task
from retort.data.formats import readers
from retort.data.splits import split_groups
from retort.specs.task import Reader
from retort.tasks import task_type_of

from tests.job_settings import task_settings

OPTIONS = {"file": "rated.txt", "neutral_below": 0.5}
TASK = task_settings(
    labels=["sad", "glad"],
    reader={"name": "rated-sentences", "options": OPTIONS},
    split={"seed": 1, "test": 40, "dev": 20},
    max_length=6,
)


def encoded(texts: Path, encoder: Path, to: Path) -> Encoded:
    """Encode the tiny task and return its training split."""
    encode_task(TASK, task_type_of(TASK), {"texts": texts}, encoder / "tokenizer.json", to)
    return Encoded.load(to, "train")


def test_encoding_agrees_with_transformers(texts: Path, encoder: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    rows = encoded(texts, encoder, tmp_path)
    records = split_groups(readers["rated-sentences"](texts, **OPTIONS), 1, 40, 20)["train"]
    expected = AutoTokenizer.from_pretrained(encoder)([r.text for r in records], truncation=True, max_length=6)
    for row, ids in enumerate(expected["input_ids"]):
        assert rows.input_ids[rows.offsets[row] : rows.offsets[row + 1]].tolist() == ids
    assert rows.labels.tolist() == [r.label for r in records]
    assert rows.lengths.max() == 6


def test_a_batch_holds_its_rows_and_padding(texts: Path, encoder: Path, tmp_path: Path) -> None:
    rows = encoded(texts, encoder, tmp_path)
    chosen = np.array([5, 0, 9])
    batch = collate(rows, chosen)
    assert batch.attention_mask.sum(1).tolist() == rows.lengths[chosen].tolist()
    for place, row in enumerate(chosen):
        own = batch.input_ids[place][batch.attention_mask[place]].tolist()
        assert own == rows.input_ids[rows.offsets[row] : rows.offsets[row + 1]].tolist()
    assert not batch.input_ids[~batch.attention_mask].any()
    assert batch.labels.tolist() == rows.labels[chosen].tolist()
    assert batch.labels.dtype == torch.long


def test_scores_to_predict_stay_numbers(texts: Path, encoder: Path, tmp_path: Path) -> None:
    reader = Reader(name="rated-texts", options={"file": "rated.txt"})
    task = TASK.model_copy(update={"task_type": "regression", "labels": [], "reader": reader})
    encode_task(task, task_type_of(task), {"texts": texts}, encoder / "tokenizer.json", tmp_path)
    rows = Encoded.load(tmp_path, "dev")
    batch = collate(rows, np.array([3, 1]))
    assert batch.labels is not None
    assert batch.labels.dtype == torch.float32
    assert batch.labels.tolist() == rows.labels[[3, 1]].tolist()


def test_every_row_is_scored_once(texts: Path, encoder: Path, tmp_path: Path) -> None:
    rows = encoded(texts, encoder, tmp_path)
    seen = torch.cat([numbers for numbers, _ in in_order(rows, 7)])
    assert sorted(seen.tolist()) == list(range(len(rows)))


def test_masking_shares_and_determinism() -> None:
    info = CorpusInfo(blocks=1, mask=4, pad=0, special=[0, 1, 2], vocabulary=1000, components=[], sha256={})
    ids = np.random.default_rng(1).integers(5, 1000, (200, 50))
    ids[:, 0] = 1
    masked, chosen = mask_tokens(ids, 0.15, info, np.random.default_rng(2))
    assert not chosen[:, 0].any()
    assert abs(chosen.mean() - 0.15 * 49 / 50) < 0.01
    assert abs((masked[chosen] == 4).mean() - 0.8) < 0.03
    assert abs((masked[chosen] == ids[chosen]).mean() - 0.1) < 0.03
    assert (masked[~chosen] == ids[~chosen]).all()
    again, _ = mask_tokens(ids, 0.15, info, np.random.default_rng(2))
    assert (again == masked).all()


def test_no_special_token_is_put_in() -> None:
    info = CorpusInfo(blocks=1, mask=500, pad=0, special=list(range(500)), vocabulary=1000, components=[], sha256={})
    ids = np.random.default_rng(1).integers(501, 1000, (50, 50))
    masked, _ = mask_tokens(ids, 0.5, info, np.random.default_rng(2))
    assert masked.min() == 500
