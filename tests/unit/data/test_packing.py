"""Tests of how documents fill blocks, which tokens are special, and how much each component of a corpus gives."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from retort.data.corpus_texts import apportion, divide_blocks, smooth
from retort.data.packing import Documents, packers
from retort.data.tokenizers import Special, special_tokens
from retort.errors import RetortError
from tokenizers import Tokenizer

from tests.references.packing import REFERENCES

SPECIAL = Special(start=1, end=2, mask=4, pad=0, unknown=3)


def documents_of(tokens: list[list[list[int]]]) -> Documents:
    """Return tokenised documents, given as the input ids of each text of each document."""
    texts = [text for document in tokens for text in document]
    return Documents(
        input_ids=np.array([token for text in texts for token in text], np.int32),
        text_lengths=np.array([len(text) for text in texts], np.int32),
        document_texts=np.array([len(document) for document in tokens], np.int32),
    )


def packed(packing: str, documents: list[list[list[int]]], block: int, step: int = 100) -> list[list[int]]:
    """Return the blocks that a packer makes of tokenised documents, `step` documents at a time."""
    packer = packers[packing](block, SPECIAL)
    steps = [documents_of(documents[start : start + step]) for start in range(0, len(documents), step)]
    arrays = [*(packer.add(each) for each in steps), packer.end()]
    begun = [number for each in arrays for number in each.documents.tolist()]
    assert begun == sorted(begun)
    return [row for each in arrays for row in each.blocks.tolist()]


@pytest.mark.parametrize("packing", sorted(REFERENCES))
def test_blocks_are_those_of_the_slow_packer(packing: str) -> None:
    for seed in range(40):
        draw = random.Random(seed)
        documents = [
            [[draw.randrange(5, 90) for _ in range(draw.choice([0, 1, 3, 12, 40]))] for _ in range(draw.randint(0, 6))]
            for _ in range(draw.randint(0, 40))
        ]
        block = draw.choice([8, 10, 33])
        expected = REFERENCES[packing](documents, block, SPECIAL)
        for step in (1, 7, 100):
            assert packed(packing, documents, block, step) == expected


def test_every_packing_has_a_reference() -> None:
    assert set(REFERENCES) == set(packers)


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
    assert apportion(10, [0.5, 0.25, 0.25]) == [5, 3, 2]
    for total in (1, 7, 100, 12_345):
        shares = smooth([300, 20, 1], 0.3)
        counts = apportion(total, shares)
        assert sum(counts) == total
        assert all(abs(count - total * share) < 1 for count, share in zip(counts, shares, strict=True))
    assert smooth([8, 1], 1 / 3) == pytest.approx([2 / 3, 1 / 3])


def test_what_is_taken_of_each_part() -> None:
    names = ["0-en", "1-sw"]
    assert divide_blocks([70, 30], None, None, names) == [70, 30]
    assert divide_blocks([70, 30], [0.5, 0.5], None, names) == [30, 30]
    assert divide_blocks([70, 30], [0.5, 0.5], 20, names) == [10, 10]
    with pytest.raises(
        RetortError, match=r"component 1-sw fills 30 blocks, and its share is 40; 'blocks' can be at most 60"
    ):
        divide_blocks([70, 30], [0.5, 0.5], 80, names)
    with pytest.raises(RetortError, match="the texts fill 0 blocks: the corpus is empty"):
        divide_blocks([0, 0], None, None, names)
