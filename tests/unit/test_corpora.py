"""Packing, shares, shards, and a build that was killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from retort.data import corpora
from retort.data.corpora import build_corpus
from retort.data.files import sha256
from retort.data.mixing import apportioned, order, smoothed, taken
from retort.data.packing import packers
from retort.data.shards import SHARDS, Blocks
from retort.data.vocabulary import Special, special_tokens
from retort.errors import RetortError
from retort.specs.corpus import Corpus
from retort.specs.settings import plain
from tokenizers import Tokenizer

from tests.tiny.make import GLAD, OTHERS, SAD

SPECIAL = Special(start=1, end=2, mask=4, pad=0, unknown=3)


def packed(packing: str, documents: list[list[list[int]]], block: int) -> list[list[int]]:
    """The blocks of tokenised documents."""
    packer = packers[packing](block, SPECIAL)
    found = [row for document in documents for row in packer.add(document)]
    return [*found, *packer.end()]


def test_continuous_packing_fills_blocks_and_loses_only_the_tail() -> None:
    blocks = packed("continuous", [[[10, 11, 12]], [[13]], [[14, 15, 16, 17]]], block=4)
    assert blocks == [[1, 10, 11, 12], [1, 2, 13, 2], [1, 14, 15, 16]]


def test_whole_sentences_are_packed_and_documents_are_parted() -> None:
    documents = [[[10, 11], [12]], [[13, 14]], [[15, 16, 17, 18, 19, 20, 21]]]
    assert packed("sentences", documents, block=6) == [
        [1, 10, 11, 12, 2, 0],  # a sentence that does not fit begins the next block
        [1, 13, 14, 2, 0, 0],
        [1, 15, 16, 17, 18, 2],  # one that fits nowhere is cut
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
        RetortError, match=r"part 1-sw fills 30 blocks, and its share is 40; 'blocks' can be at most 60"
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source with texts in two languages, 300 and 100 documents."""
    folder = tmp_path_factory.mktemp("corpus")
    draw = random.Random("corpus")
    for name, documents in (("en", 300), ("sw", 100)):
        lines = [" ".join(draw.choices(GLAD + SAD + OTHERS, k=draw.randint(5, 30))) + ".\n" for _ in range(documents)]
        (folder / f"{name}.txt").write_text("\n".join(lines))
    return folder


def corpus(parts: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    """The settings of a corpus of both languages."""
    both = [{"source": "texts", "files": [f"{name}.txt"], "format": "text", "language": name} for name in ("en", "sw")]
    return plain(Corpus(title="t", parts=parts or both, block=16, version=1, **more))


def build(tmp_path: Path, folder: Path, encoder: Path, settings: dict[str, Any]) -> Blocks:
    """The corpus, built."""
    build_corpus(settings, {"texts": folder}, encoder, tmp_path / "to", tmp_path / "state")
    assert not (tmp_path / "state").exists()
    return Blocks(tmp_path / "to")


def test_a_corpus_says_what_it_is_made_of(tmp_path: Path, folder: Path, encoder: Path) -> None:
    blocks = build(tmp_path, folder, encoder, corpus())
    about = blocks.about
    assert [part["documents"] for part in about["parts"]] == [300, 100]
    assert sum(part["blocks"] for part in about["parts"]) == len(blocks) == about["blocks"]
    assert blocks[np.arange(len(blocks))].shape == (len(blocks), 16)
    assert (blocks[np.arange(len(blocks))][:, 0] == 2).all()
    for shard in json.loads((tmp_path / "to" / SHARDS).read_text()):
        assert sha256(tmp_path / "to" / shard["file"]) == shard["sha256"]


def test_shards_do_not_show_in_the_blocks(
    tmp_path: Path, folder: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = build(tmp_path / "a", folder, encoder, corpus())
    monkeypatch.setattr(corpora, "SHARD", 100)
    monkeypatch.setattr(corpora, "CHUNK", 500)
    cut = build(tmp_path / "b", folder, encoder, corpus())
    assert len(list((tmp_path / "b/to").glob("*-en-*"))) > 5
    rows = np.random.default_rng(0).permutation(len(whole))
    assert (whole[rows] == cut[rows]).all()


def test_languages_keep_their_shares(tmp_path: Path, folder: Path, encoder: Path) -> None:
    parts = corpus()["parts"]
    for part, share in zip(parts, (0.2, 0.8), strict=True):
        part["share"] = share
    blocks = build(tmp_path / "a", folder, encoder, corpus(parts, blocks=50))
    assert [part["blocks"] for part in blocks.about["parts"]] == [10, 40]
    assert len(blocks) == 50
    most = build(tmp_path / "b", folder, encoder, corpus(parts))
    english, swahili = most.about["parts"]
    assert swahili["blocks"] >= swahili["blocks_made"] - 1
    assert abs(english["blocks"] - len(most) * 0.2) < 1
    sized = build(tmp_path / "c", folder, encoder, corpus(blocks=50))
    sizes = [(folder / name).stat().st_size for name in ("en.txt", "sw.txt")]
    assert [part["blocks"] for part in sized.about["parts"]] == apportioned(50, sizes)


def test_no_more_text_is_read_than_the_share_needs(
    tmp_path: Path, folder: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "CHUNK", 500)
    blocks = build(tmp_path, folder, encoder, corpus(blocks=20))
    assert all(part["documents"] < 100 for part in blocks.about["parts"])


def test_a_sample_of_the_documents_is_drawn_by_a_name(tmp_path: Path, folder: Path, encoder: Path) -> None:
    parts = [{**part, "sample": 0.3} for part in corpus()["parts"]]
    one, two = (build(tmp_path / name, folder, encoder, corpus(parts)) for name in "ab")
    assert 60 < one.about["parts"][0]["documents"] < 120
    assert (one[np.arange(len(one))] == two[np.arange(len(two))]).all()


def test_padding_is_neither_read_nor_masked(tmp_path: Path, folder: Path, encoder: Path) -> None:
    from retort.data.masking import masked_batches

    blocks = build(tmp_path, folder, encoder, corpus(packing="sentences"))
    assert (blocks[np.arange(len(blocks))] == 0).any()
    batch = next(masked_batches(tmp_path / "to", 0.9, 8, 1))
    assert (batch.input_ids[~batch.mask] == 0).all()
    assert not batch.mask.all()
    assert batch.mask.flatten()[batch.positions].all()


def test_words_of_a_text_never_become_special_tokens(tmp_path: Path, folder: Path, encoder: Path) -> None:
    (tmp_path / "odd.txt").write_text("glad [MASK] [SEP] " * 40)
    part = {"source": "texts", "files": ["odd.txt"], "format": "text"}
    blocks = build(tmp_path, tmp_path, encoder, corpus([part]))
    assert not (blocks[np.arange(len(blocks))] == 4).any()


BUILD = """
import json, sys
from pathlib import Path
from retort.data import corpora
corpora.SHARD, corpora.CHUNK = 400, 500
given = json.loads(sys.argv[1])
paths = [Path(given[name]) for name in ("model", "to", "state")]
corpora.build_corpus(given["corpus"], {"texts": Path(given["folder"])}, *paths, lambda line: print(line, flush=True))
"""


def test_a_build_that_was_killed_goes_on_from_its_shards(
    tmp_path: Path, folder: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "SHARD", 400)
    monkeypatch.setattr(corpora, "CHUNK", 500)
    whole = build(tmp_path / "whole", folder, encoder, corpus())
    given = {"corpus": corpus(), "folder": str(folder), "model": str(encoder), "to": str(tmp_path / "to"),
             "state": str(tmp_path / "state")}  # fmt: skip
    running = subprocess.Popen(
        [sys.executable, "-c", BUILD, json.dumps(given)], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert running.stdout
    for _ in range(4):
        running.stdout.readline()
    running.send_signal(signal.SIGKILL)
    running.wait()
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "state").rglob("*.safetensors")}
    assert len(kept) >= 4
    time.sleep(0.01)
    damaged = sorted(path for path in kept if "0-en" in path.name)[2]
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"!")
    said: list[str] = []
    build_corpus(corpus(), {"texts": folder}, encoder, tmp_path / "to", tmp_path / "state", said.append)
    assert said[0].startswith("part 0-en, shard 3:")  # the first two are as they were, the third is made again
    resumed = Blocks(tmp_path / "to")
    rows = np.arange(len(whole))
    assert (resumed[rows] == whole[rows]).all()
    assert resumed.about == whole.about


def test_state_of_other_settings_is_thrown_away(tmp_path: Path, folder: Path, encoder: Path) -> None:
    (tmp_path / "state" / "0123456789abcdef").mkdir(parents=True)
    build(tmp_path, folder, encoder, corpus())
    assert not (tmp_path / "state").exists()


def test_a_file_that_is_not_there(tmp_path: Path, folder: Path, encoder: Path) -> None:
    part = {"source": "texts", "files": ["*.jsonl"], "format": "jsonl"}
    with pytest.raises(RetortError, match=r"source texts holds no file \*.jsonl; it holds en.txt, sw.txt"):
        build(tmp_path, folder, encoder, corpus([part]))


def test_a_shard_that_was_cut(tmp_path: Path, folder: Path, encoder: Path) -> None:
    build(tmp_path, folder, encoder, corpus())
    shard = next((tmp_path / "to").glob("0-en-*"))
    shard.write_bytes(shard.read_bytes()[:40])
    with pytest.raises(RetortError, match="is no shard of a corpus .* delete the corpus and run again"):
        Blocks(tmp_path / "to")
