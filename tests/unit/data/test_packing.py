"""Tests of how documents fill blocks, which tokens are special, and how much each component of a corpus gives."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from retort.data.mixing import apportioned, order, smoothed, taken
from retort.data.packing import packers
from retort.data.vocabulary import Special, special_tokens
from retort.errors import RetortError
from tokenizers import Tokenizer

SPECIAL = Special(start=1, end=2, mask=4, pad=0, unknown=3)


def packed(packing: str, documents: list[list[list[int]]], block: int) -> list[list[int]]:
    """Return the blocks that a packer makes of tokenised documents."""
    packer = packers[packing](block, SPECIAL)
    found = [row for document in documents for row in packer.add(document)]
    return [*found, *packer.end()]


def test_continuous_packing_fills_blocks_and_loses_only_the_tail() -> None:
    blocks = packed("continuous", [[[10, 11, 12]], [[13]], [[14, 15, 16, 17]]], block=4)
    assert blocks == [[1, 10, 11, 12], [1, 2, 13, 2], [1, 14, 15, 16]]


def test_whole_sentences_are_packed_and_documents_are_parted() -> None:
    documents = [[[10, 11], [12]], [[13, 14]], [[15, 16, 17, 18, 19, 20, 21]]]
    assert packed("sentences", documents, block=6) == [
        [1, 10, 11, 12, 2, 0],  # a sentence that does not fit starts the next block
        [1, 13, 14, 2, 0, 0],
        [1, 15, 16, 17, 18, 2],  # a sentence longer than a block is cut
        [1, 19, 20, 21, 2, 0],
    ]
    assert packed("sentences", [[[10]], [[11]]], block=6) == [[1, 10, 2, 11, 2, 0]]


@pytest.mark.parametrize("packing", ["continuous", "sentences"])
def test_no_token_is_lost_or_moved(packing: str) -> None:
    draw = random.Random(packing)
    documents = [
        [[draw.randrange(5, 90) for _ in range(draw.randint(1, 12))] for _ in range(draw.randint(1, 6))]
        for _ in range(40)
    ]
    given = [token for document in documents for sentence in document for token in sentence]
    blocks = packed(packing, documents, block=10)
    found = [token for block in blocks for token in block if token > 2]
    assert found == given[: len(found)]
    assert len(given) - len(found) < (10 if packing == "continuous" else 1)
    assert {len(block) for block in blocks} == {10}


def test_special_tokens_are_read_from_the_tokenizers_files(encoder: Path, tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_file(str(encoder / "tokenizer.json"))
    assert special_tokens(encoder, tokenizer) == Special(start=2, end=3, mask=4, pad=0, unknown=1)
    (tmp_path / "tokenizer.json").write_bytes((encoder / "tokenizer.json").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"mask_token": {"content": "word40"}}))
    assert special_tokens(tmp_path, tokenizer).mask == tokenizer.token_to_id("word40")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"mask_token": "[NO]"}))
    with pytest.raises(RetortError, match="no mask token is known; tokenizer_config.json should say"):
        special_tokens(tmp_path, tokenizer)


def test_a_tokenizer_as_robertas(tmp_path: Path) -> None:
    from tokenizers import models, pre_tokenizers, processors

    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.BPE({name: number for number, name in enumerate([*names, "a"])}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    tokenizer.add_special_tokens(names)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    found = special_tokens(tmp_path, tokenizer)
    assert found == Special(start=0, end=2, mask=4, pad=1, unknown=None)
    assert found.never_masked == [0, 2, 1]


def test_shares_are_kept_to_the_rounding() -> None:
    assert apportioned(10, [0.5, 0.25, 0.25]) == [5, 3, 2]
    for total in (1, 7, 100, 12_345):
        shares = smoothed([300, 20, 1], 0.3)
        counts = apportioned(total, shares)
        assert sum(counts) == total
        assert all(abs(count - total * share) < 1 for count, share in zip(counts, shares, strict=True))
    assert smoothed([8, 1], 1 / 3) == pytest.approx([2 / 3, 1 / 3])


def test_what_is_taken_of_each_part() -> None:
    names = ["0-en", "1-sw"]
    assert taken([70, 30], None, None, names) == [70, 30]
    assert taken([70, 30], [0.5, 0.5], None, names) == [30, 30]
    assert taken([70, 30], [0.5, 0.5], 20, names) == [10, 10]
    with pytest.raises(
        RetortError, match=r"component 1-sw fills 30 blocks, and its share is 40; 'blocks' can be at most 60"
    ):
        taken([70, 30], [0.5, 0.5], 80, names)
    with pytest.raises(RetortError, match="the texts fill 0 blocks: the corpus is empty"):
        taken([0, 0], None, None, names)


def test_the_order_is_drawn_by_a_name_and_no_block_comes_twice() -> None:
    found = order([5, 100], [5, 40])
    assert sorted(found)[:5] == [0, 1, 2, 3, 4]
    assert len(set(found.tolist())) == 45
    assert max(found) < 105
    assert (found == order([5, 100], [5, 40])).all()
