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
    assert sorted(torch.cat([numbers for numbers, _ in in_order(rows, 7)]).tolist()) == list(range(len(rows)))
    assert batch.labels.tolist() == rows.labels[chosen].tolist()
    assert batch.labels.dtype == torch.long


def test_masking_shares_and_determinism() -> None:
    special = [0, 1, 2, *range(500, 1000)]
    info = CorpusInfo(blocks=1, mask=4, pad=0, special=special, vocabulary=1000, components=[], sha256={})
    ids = np.random.default_rng(1).integers(5, 500, (200, 50))
    ids[:, 0] = 1
    masked, chosen = mask_tokens(ids, 0.15, info, np.random.default_rng(2))
    assert not chosen[:, 0].any()
    assert abs(chosen.mean() - 0.15 * 49 / 50) < 0.01
    assert abs((masked[chosen] == 4).mean() - 0.8) < 0.03
    assert abs((masked[chosen] == ids[chosen]).mean() - 0.15) < 0.03  # with half of the random tokens, the special ones
    assert (masked[~chosen] == ids[~chosen]).all()
    assert masked[:, 1:].min() >= 3
    assert masked.max() < 500
    again, _ = mask_tokens(ids, 0.15, info, np.random.default_rng(2))
    assert (again == masked).all()
