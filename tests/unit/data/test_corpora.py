"""Tests of building corpora: shards, language proportions, a build that was killed, memory."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import load_from_disk
from retort.checksums import sha256
from retort.data import blocks, corpus_parts, texts
from retort.data.blocks import Blocks
from retort.data.corpora import build_corpus
from retort.data.corpus_parts import read_shard, tokenize_part
from retort.data.corpus_texts import CorpusTexts, apportion
from retort.errors import RetortError
from retort.settings.inputs import CorpusSettings

from tests.corpora import build_blocks
from tests.job_settings import corpus_settings
from tests.tiny.make import GLAD, OTHERS, SAD


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a source folder with texts in two languages, of 300 and 100 documents."""
    folder = tmp_path_factory.mktemp("corpus")
    draw = random.Random("corpus")
    for name, documents in (("en", 300), ("sw", 100)):
        lines = [" ".join(draw.choices(GLAD + SAD + OTHERS, k=draw.randint(5, 30))) + ".\n" for _ in range(documents)]
        (folder / f"{name}.txt").write_text("\n".join(lines))
    return folder


BOTH = [{"source": "texts", "files": [f"{name}.txt"], "format": "text", "language": name} for name in ("en", "sw")]


def corpus(components: list[dict[str, Any]] | None = None, **more: Any) -> CorpusSettings:
    """Return the settings of a corpus of both languages."""
    return corpus_settings(components=components or BOTH, block=16, **more)


def whole(of: Blocks) -> np.ndarray:
    """Return all blocks."""
    return of[np.arange(len(of))]


def digests(folder: Path) -> dict[str, str]:
    """Return the digest of each file of a folder."""
    return {path.name: sha256(path) for path in folder.iterdir()}


def test_a_corpus_says_what_it_is_made_of(tmp_path: Path, folder: Path, encoder: Path) -> None:
    (tmp_path / "state" / "0123456789abcdef").mkdir(parents=True)  # of other settings: it is thrown away
    made = build_blocks(tmp_path, folder, encoder, corpus())
    info = made.info
    assert [component["documents"] for component in info.components] == [300, 100]
    assert sum(component["blocks"] for component in info.components) == len(made) == info.blocks
    assert whole(made).shape == (len(made), 16)
    assert (whole(made)[:, 0] == 2).all()
    for name, digest in info.sha256.items():
        assert sha256(tmp_path / "to" / name) == digest
    opened = load_from_disk(str(tmp_path / "to"))
    assert str(opened.features["input_ids"].feature) == "Value('uint16')"
    assert np.array_equal(np.stack(opened.to_pandas()["input_ids"]), whole(made))


SMALL = {"CHUNK": (corpus_parts, 500), "SHARD": (corpus_parts, 100), "SECTION": (texts, 900), "BATCH": (blocks, 100)}


@pytest.mark.parametrize(
    "more",
    [
        {"packing": "sentences"},
        {"blocks": 50},
        {"shares": (0.2, 0.8)},
        {"cleaning": {"minimum": 60, "drop_duplicates": True}, "blocks": 70},
    ],
)
def test_parts_shards_and_sections_do_not_show_in_the_blocks(
    tmp_path: Path, folder: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    twice = tmp_path / "texts"  # so that sections and parts repeat documents of others
    twice.mkdir()
    for path in folder.iterdir():
        (twice / path.name).write_text(path.read_text() + "\n" + path.read_text())
    shares = more.pop("shares", (None, None))
    rule = {"cleaning": more.pop("cleaning", {})}
    components = [
        {**each, **rule} | ({"share": share} if share else {}) for each, share in zip(BOTH, shares, strict=True)
    ]
    expected = build_blocks(tmp_path / "a", twice, encoder, corpus(components, **more))
    for name, (module, value) in SMALL.items():
        monkeypatch.setattr(module, name, value)
    for parts in (1, 5):
        made = build_blocks(tmp_path / f"{parts}", twice, encoder, corpus(components, **more), parts)
        assert np.array_equal(whole(made), whole(expected))
        assert made.info.components == expected.info.components
    assert digests(tmp_path / "1/to") == digests(tmp_path / "5/to")
    assert len(list((tmp_path / "5/3").glob("*.safetensors"))) > 5


def test_languages_keep_their_shares(tmp_path: Path, folder: Path, encoder: Path) -> None:
    components = [{**component, "share": share} for component, share in zip(BOTH, (0.2, 0.8), strict=True)]
    made = build_blocks(tmp_path / "a", folder, encoder, corpus(components, blocks=50))
    assert [component["blocks"] for component in made.info.components] == [10, 40]
    assert len(made) == 50
    most = build_blocks(tmp_path / "b", folder, encoder, corpus(components))
    english, swahili = most.info.components
    assert swahili["blocks"] >= swahili["blocks_made"] - 1
    assert abs(english["blocks"] - len(most) * 0.2) < 1
    sized = build_blocks(tmp_path / "c", folder, encoder, corpus(blocks=50))
    sizes = [(folder / name).stat().st_size for name in ("en.txt", "sw.txt")]
    assert [component["blocks"] for component in sized.info.components] == apportion(50, sizes)


def test_no_more_text_is_read_than_the_share_needs(
    tmp_path: Path, folder: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_parts, "CHUNK", 500)
    monkeypatch.setattr(corpus_parts, "SHARD", 100)
    made = build_blocks(tmp_path, folder, encoder, corpus(blocks=20))
    assert all(component["documents"] < 100 for component in made.info.components)
    shards = [read_shard(path) for path in (tmp_path / "1").glob("000-*.safetensors")]
    assert max(shard.consumed for shard in shards) < 100


def test_padding_is_neither_read_nor_masked(tmp_path: Path, folder: Path, encoder: Path) -> None:
    from retort.data.batches import MaskedBatches

    made = build_blocks(tmp_path, folder, encoder, corpus(packing="sentences"))
    assert (whole(made) == 0).any()
    batch = MaskedBatches(tmp_path / "to", 0.9, 8, 1)[0]
    assert (batch.input_ids[~batch.attention_mask] == 0).all()
    assert not batch.attention_mask.all()
    assert batch.attention_mask.flatten()[batch.positions].all()


def test_a_sample_of_the_documents_is_drawn_by_a_name(tmp_path: Path, folder: Path, encoder: Path) -> None:
    components = [{**component, "sample": 0.3} for component in BOTH]
    one, two = (build_blocks(tmp_path / name, folder, encoder, corpus(components)) for name in "ab")
    assert 60 < one.info.components[0]["documents"] < 120
    assert (whole(one) == whole(two)).all()


def test_words_of_a_text_never_become_special_tokens(tmp_path: Path, folder: Path, encoder: Path) -> None:
    (tmp_path / "odd.txt").write_text("glad [MASK] [SEP] " * 40)
    component = {"source": "texts", "files": ["odd.txt"], "format": "text"}
    made = build_blocks(tmp_path, tmp_path, encoder, corpus([component]))
    assert not (whole(made) == 4).any()


def test_a_file_that_is_not_there(tmp_path: Path, folder: Path, encoder: Path) -> None:
    component = {"source": "texts", "files": ["*.jsonl"], "format": "jsonl"}
    with pytest.raises(RetortError, match=r"source texts holds no file \*.jsonl; it holds en.txt, sw.txt"):
        build_blocks(tmp_path, folder, encoder, corpus([component]))


def test_a_part_that_was_ended_goes_on_from_its_shards(
    tmp_path: Path, folder: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_parts, "SHARD", 400)
    monkeypatch.setattr(corpus_parts, "CHUNK", 500)
    build_blocks(tmp_path / "whole", folder, encoder, corpus())
    corpus_texts, said = CorpusTexts.open(corpus(), {"texts": folder}, encoder), list[str]()

    def end_at_the_fourth(line: str) -> None:
        said.append(line)
        if len(said) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tokenize_part(corpus_texts, (1, 1), tmp_path / "1", tmp_path / "state", end_at_the_fourth)
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "state").rglob("*.safetensors")}
    tokenize_part(corpus_texts, (1, 1), tmp_path / "1", tmp_path / "state")
    assert len(kept) == 4
    assert all((tmp_path / "1" / name).stat().st_mtime_ns == time for name, time in kept.items())
    build_corpus(corpus_texts, [tmp_path / "1"], tmp_path / "to")
    assert digests(tmp_path / "to") == digests(tmp_path / "whole/to")
    (file,) = (tmp_path / "to").glob("data-*")
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(RetortError, match="is not a whole Arrow file .* run `retort verify --repair`"):
        Blocks(tmp_path / "to")
