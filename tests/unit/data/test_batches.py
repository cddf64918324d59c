"""Batches: which rows they have, and that they are the same in every process."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from retort.batch import Batch
from retort.data.batches import (
    EpochOrder,
    MaskedBatches,
    TaskBatches,
    collate,
    epoch_batches,
    in_order,
    mask_tokens,
)
from retort.data.blocks import CorpusInfo
from retort.data.encoded import Encoded
from retort.training.how.micro_batches import Division
from torch.utils.data import Dataset

from tests.corpora import build_blocks
from tests.job_settings import corpus_settings

LENGTHS = np.random.default_rng(0).integers(3, 30, 100)


def encoded(lengths: np.ndarray) -> Encoded:
    """Return rows of these lengths, of random input ids."""
    tokens = int(lengths.sum())
    return Encoded(
        input_ids=np.random.default_rng(1).integers(1, 90, tokens, np.int32),
        token_type_ids=np.zeros(tokens, np.uint8),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        labels=np.arange(len(lengths)),
    )


@pytest.fixture(scope="module")
def corpus(texts: Path, encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a corpus."""
    folder = tmp_path_factory.mktemp("corpus")
    component = {"source": "texts", "files": ["rated.txt"], "format": "rated-lines"}
    settings = corpus_settings(components=[component], block=16)
    assert len(build_blocks(folder, texts, encoder, settings)) > 20
    return folder / "to"


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize(("rows", "batch_size"), [(100, 16), (96, 16), (97, 16), (5, 16), (1, 16), (7, 1), (1000, 3)])
def test_every_row_is_in_one_batch_of_an_epoch(rows: int, batch_size: int, grouped: bool) -> None:
    lengths = np.random.default_rng(2).integers(3, 30, rows) if grouped else None
    batches = epoch_batches(rows, batch_size, seed=1, epoch=3, lengths=lengths)
    assert sorted(np.concatenate(batches).tolist()) == list(range(rows))
    assert len(batches) == -(-rows // batch_size)
    sizes = {len(batch) for batch in batches}
    assert max(sizes) <= batch_size
    assert max(sizes) - min(sizes) <= 1


def test_batches_differ_from_epoch_to_epoch_and_smaller_ones_have_any_rows_and_stand_anywhere() -> None:
    positions, rows, seen = set(), set(), list[frozenset[int]]()
    for epoch in range(100):
        for position, batch in enumerate(epoch_batches(100, 16, seed=1, epoch=epoch, lengths=LENGTHS)):
            seen.append(frozenset(batch.tolist()))
            if len(batch) == 14:  # five of the seven batches; the others have 15 rows
                positions.add(position)
                rows |= seen[-1]
    assert len(set(seen)) == len(seen)
    assert (positions, rows) == (set(range(7)), set(range(100)))


def test_a_batch_holds_its_rows_and_padding() -> None:
    rows, chosen = encoded(LENGTHS), np.array([5, 0, 9])
    batch = collate(rows, chosen)
    assert batch.attention_mask.sum(1).tolist() == LENGTHS[chosen].tolist()
    for row, ids, mask in zip(chosen, batch.input_ids, batch.attention_mask, strict=True):
        assert ids[mask].tolist() == rows.input_ids[rows.offsets[row] : rows.offsets[row + 1]].tolist()
        assert not ids[~mask].any()
    assert (batch.labels.tolist(), batch.labels.dtype) == (chosen.tolist(), torch.long)
    assert sorted(torch.cat([numbers for numbers, _ in in_order(rows, 7)]).tolist()) == list(range(len(rows)))


def padded(batches: list[np.ndarray]) -> int:
    """Return the number of tokens of an epoch, with padding."""
    return sum(len(batch) * int(LENGTHS[batch].max()) for batch in batches)


def test_rows_of_like_length_are_together_unless_random_ones_are_asked_for() -> None:
    grouped, random = (
        [TaskBatches(encoded(LENGTHS), 8, 1, group_by_length=asked).order[number] for number in range(13)]
        for asked in (True, False)
    )
    assert padded(grouped) < 0.9 * padded(random)
    expected = epoch_batches(100, 8, seed=1, epoch=0)
    assert all((batch == other).all() for batch, other in zip(random, expected, strict=True))


def test_batches_are_padded_to_one_length_where_it_is_asked_for() -> None:
    own, full = (TaskBatches(encoded(LENGTHS), 8, 1, length=length)[3] for length in (None, 40))
    longest = own.input_ids.shape[1]
    assert (longest, full.input_ids.shape[1]) == (LENGTHS[own.rows].max(), 40)
    assert torch.equal(own.input_ids, full.input_ids[:, :longest])
    assert torch.equal(full.attention_mask.sum(1), own.attention_mask.sum(1))
    assert not full.input_ids[:, longest:].any()


@pytest.mark.parametrize(("count", "kept"), [(None, 100), (7, 7), (30, 30), (200, 100)])
def test_the_first_rows_alone_are_in_batches_where_it_is_asked_for(count: int | None, kept: int) -> None:
    whole = encoded(LENGTHS)
    first = whole.first(count)
    batches = [TaskBatches(first.cut(20), 8, 1)[number] for number in range(2 * -(-kept // 8))]  # two epochs
    rows = torch.cat([batch.rows for batch in batches if batch.rows is not None]).tolist()
    assert sorted(rows) == sorted([*range(kept)] * 2)
    assert len(first.labels) == len(first) == kept
    assert all(torch.equal(batch.input_ids, collate(whole.cut(20), batch.rows.numpy()).input_ids) for batch in batches)


def test_batches_are_not_in_the_order_of_their_lengths() -> None:
    lengths = np.random.default_rng(3).permutation(1600)
    means = [lengths[batch].mean() for batch in epoch_batches(1600, 8, seed=1, epoch=0, lengths=lengths)]
    longer = sum(a < b for a, b in itertools.pairwise(means))
    assert 80 < longer < 120  # of 199; 175 + 12 if each pool of 8 batches went from short to long rows


def test_a_batch_is_drawn_by_its_number_alone() -> None:
    order = EpochOrder(100, 8, seed=4, lengths=LENGTHS)  # 13 batches an epoch
    whole = [batch.tolist() for epoch in range(3) for batch in epoch_batches(100, 8, 4, epoch, LENGTHS)]
    assert [order[number].tolist() for number in range(39)] == whole
    assert [order[number].tolist() for number in (30, 2, 38, 13, 12)] == [whole[n] for n in (30, 2, 38, 13, 12)]
    assert EpochOrder(100, 8, seed=5, lengths=LENGTHS)[0].tolist() != whole[0]
    assert whole[13:26] != whole[:13]


def test_masks_change_from_epoch_to_epoch_and_labels_are_the_true_tokens(corpus: Path) -> None:
    batches = MaskedBatches(corpus, 0.15, 8, 1)
    count = len(batches.blocks)
    first: dict[int, list[list[int]]] = {}
    for epoch in range(2):
        for number in range(epoch * -(-count // 8), (epoch + 1) * -(-count // 8)):
            batch = batches[number]
            assert len(batch.positions) == len(batch.labels)
            assert len(batch.input_ids) in (7, 8)
            true = torch.from_numpy(batches.blocks[batch.rows.numpy()])
            assert torch.equal(true.flatten()[batch.positions], batch.labels)
            for row, block in zip(batch.rows.tolist(), batch.input_ids.tolist(), strict=True):
                first.setdefault(row, []).append(block)
    assert sorted(first) == list(range(count))
    assert any(one != other for one, other in first.values())


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


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("on_corpus", [True, False])
def test_workers_change_no_byte(corpus: Path, on_corpus: bool, workers: int) -> None:
    direct: Dataset[Batch] = MaskedBatches(corpus, 0.15, 8, 1) if on_corpus else TaskBatches(encoded(LENGTHS), 8, 1)
    state = torch.get_rng_state()
    batches = [each.whole for each in Division().load(direct, 9, 32, "cpu", workers)]
    assert torch.equal(torch.get_rng_state(), state)  # the random state of dropout
    for number, batch in enumerate(batches, start=9):
        for name, tensor in direct[number].tensors().items():
            assert torch.equal(batch.tensors()[name], tensor), name
            assert batch.tensors()[name].dtype == tensor.dtype
