"""Tests of the number and length of rows: from encoded data where it exists, else from the study's files."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.cost.volume import Rows, Volume

from tests.job_settings import schedule
from tests.tiny.results import opened


def test_rows_and_blocks_are_those_that_were_made(study_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(study_folder.parent)
    study = opened({"papers": ["tiny"], "study": str(study_folder)})
    before = Volume(study)
    assert before.split("mood", "test", "encoder") == Rows(40, 16)
    assert before.assumed == {"mood": "10,000 rows of 16 tokens"}
    assert before.blocks("sentences", schedule(steps=3), "encoder").length == 16
    assert "sentences" not in before.assumed  # a length in steps does not need the number of blocks
    assert before.blocks("sentences", schedule(epochs=3), "encoder") == Rows(10_000, 16)
    assert before.assumed["sentences"] == "10,000 blocks"
    for address, content in {
        "encoded/mood/encoder/rows.json": '{"rows": {"train": 9, "test": 3}, "tokens": {"train": 50, "test": 20}}',
        "corpora/sentences/encoder/corpus.json": '{"blocks": 12}',
    }.items():
        path = Path("results", address)
        path.parent.mkdir(parents=True)
        path.write_text(content)
    after = Volume(study)
    assert after.batches("mood", "encoder", schedule(pad_to_max_length=True)) == Rows(9, 16)
    assert after.batches("mood", "encoder", schedule(pad_to_max_length=True, max_length=8)) == Rows(9, 8)
    assert after.batches("mood", "encoder", schedule()) == Rows(9, 50 / 9)
    assert after.batches("mood", "encoder", schedule(max_length=5)) == Rows(9, 5)
    assert after.batches("mood", "encoder", schedule(group_by_length=False, max_length=8)) == Rows(9, 8)
    assert after.batches("mood", "encoder", schedule(max_train_samples=4)) == Rows(4, 50 / 9)
    assert after.batches("mood", "encoder", schedule(max_train_samples=40)) == Rows(9, 50 / 9)
    assert after.split("mood", "test", "encoder") == Rows(3, 20 / 3)
    assert after.assumed == {}
    assert after.split("mood", "dev", "encoder") == Rows(20, 16)  # not among the rows that were encoded
    assert after.blocks("sentences", schedule(epochs=3), "encoder") == Rows(12, 16)


def test_tokens_follow_from_the_words_of_sources_and_rows_of_subsets_add_up() -> None:
    volume = Volume(opened({"papers": ["pocket"]}))  # the repository's own corpora and tasks
    words = sum(volume.study.sources[name].size.words for name in ("wikipedia-en", "bookcorpus"))  # type: ignore[union-attr]
    for model in ("bert-base-uncased", "bert-large-uncased"):  # the second has the first's tokenizer
        blocks = volume.blocks("wikipedia-bookcorpus-128", schedule(epochs=1), model)
        assert blocks == Rows(round(1.3 * words / 128), 128)
    assert volume.assumed["wikipedia-bookcorpus-128"] == f"{1.3 * words:,.0f} tokens"
    assert volume.blocks("cc100-256", schedule(epochs=1), "xlm-roberta-base") == Rows(820_000, 256)
    assert volume.split("mnli", "dev", "bert-base-uncased") == Rows(9815 + 9832, 128)
    assert volume.split("mnli", "train", "bert-large-uncased").count == 392_702
