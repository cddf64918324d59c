"""Tests of building corpora: shards, language proportions, a build that was killed, memory."""

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
from retort.data.mixing import apportioned
from retort.data.shards import SHARDS, Blocks
from retort.errors import RetortError
from retort.settings import CorpusSettings

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


def build(tmp_path: Path, folder: Path, encoder: Path, settings: CorpusSettings) -> Blocks:
    """Build the corpus and return its blocks."""
    build_corpus(settings, {"texts": folder}, encoder, tmp_path / "to", tmp_path / "state")
    assert not (tmp_path / "state").exists()
    return Blocks(tmp_path / "to")


def test_a_corpus_says_what_it_is_made_of(tmp_path: Path, folder: Path, encoder: Path) -> None:
    blocks = build(tmp_path, folder, encoder, corpus())
    info = blocks.info
    assert [component["documents"] for component in info.components] == [300, 100]
    assert sum(component["blocks"] for component in info.components) == len(blocks) == info.blocks
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
    components = [{**component, "share": share} for component, share in zip(BOTH, (0.2, 0.8), strict=True)]
    blocks = build(tmp_path / "a", folder, encoder, corpus(components, blocks=50))
    assert [component["blocks"] for component in blocks.info.components] == [10, 40]
    assert len(blocks) == 50
    most = build(tmp_path / "b", folder, encoder, corpus(components))
    english, swahili = most.info.components
    assert swahili["blocks"] >= swahili["blocks_made"] - 1
    assert abs(english["blocks"] - len(most) * 0.2) < 1
    sized = build(tmp_path / "c", folder, encoder, corpus(blocks=50))
    sizes = [(folder / name).stat().st_size for name in ("en.txt", "sw.txt")]
    assert [component["blocks"] for component in sized.info.components] == apportioned(50, sizes)


def test_no_more_text_is_read_than_the_share_needs(
    tmp_path: Path, folder: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "CHUNK", 500)
    blocks = build(tmp_path, folder, encoder, corpus(blocks=20))
    assert all(component["documents"] < 100 for component in blocks.info.components)


def test_a_sample_of_the_documents_is_drawn_by_a_name(tmp_path: Path, folder: Path, encoder: Path) -> None:
    components = [{**component, "sample": 0.3} for component in BOTH]
    one, two = (build(tmp_path / name, folder, encoder, corpus(components)) for name in "ab")
    assert 60 < one.info.components[0]["documents"] < 120
    assert (one[np.arange(len(one))] == two[np.arange(len(two))]).all()


def test_padding_is_neither_read_nor_masked(tmp_path: Path, folder: Path, encoder: Path) -> None:
    from retort.data.masking import MaskedBatches

    blocks = build(tmp_path, folder, encoder, corpus(packing="sentences"))
    assert (blocks[np.arange(len(blocks))] == 0).any()
    batch = MaskedBatches(tmp_path / "to", 0.9, 8, 1)[0]
    assert (batch.input_ids[~batch.attention_mask] == 0).all()
    assert not batch.attention_mask.all()
    assert batch.attention_mask.flatten()[batch.positions].all()


def test_words_of_a_text_never_become_special_tokens(tmp_path: Path, folder: Path, encoder: Path) -> None:
    (tmp_path / "odd.txt").write_text("glad [MASK] [SEP] " * 40)
    component = {"source": "texts", "files": ["odd.txt"], "format": "text"}
    blocks = build(tmp_path, tmp_path, encoder, corpus([component]))
    assert not (blocks[np.arange(len(blocks))] == 4).any()


BUILD = """
import json, sys
from pathlib import Path
from retort.data import corpora
from retort.settings import CorpusSettings
corpora.SHARD, corpora.CHUNK = 400, 500
given = json.loads(sys.argv[1])
paths = [Path(given[name]) for name in ("model", "to", "state")]
corpus = CorpusSettings.model_validate(given["corpus"])
corpora.build_corpus(corpus, {"texts": Path(given["folder"])}, *paths, lambda line: print(line, flush=True))
"""


def test_a_build_that_was_killed_goes_on_from_its_shards(
    tmp_path: Path, folder: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "SHARD", 400)
    monkeypatch.setattr(corpora, "CHUNK", 500)
    whole = build(tmp_path / "whole", folder, encoder, corpus())
    given = {"corpus": corpus().as_json(), "folder": str(folder), "model": str(encoder), "to": str(tmp_path / "to"),
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
    assert said[0].startswith("component 0-en, shard 3:")  # the first two shards are kept, the third is made again
    resumed = Blocks(tmp_path / "to")
    rows = np.arange(len(whole))
    assert (resumed[rows] == whole[rows]).all()
    assert resumed.info == whole.info


MEMORY = """
import resource, sys
from collections import Counter
from pathlib import Path
from retort.data.corpora import documents
from retort.specs.corpus import Component
cleaning = {"minimum": 1, "drop_duplicates": True}
component = Component(source="s", files=["f"], format=sys.argv[2], cleaning=cleaning)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(1 for _ in documents(0, component, [Path(sys.argv[1])], Counter()))
print(count, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_a_text_is_never_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "long.txt").open("w") as stream:
        for number in range(22_000):
            stream.write(f"{number} " + "one word after another " * 40 + "\n")
    assert (tmp_path / "long.txt").stat().st_size > 20_000_000
    command = [sys.executable, "-c", MEMORY, str(tmp_path / "long.txt"), "text"]
    count, grown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert int(count) > 90  # there is no blank line: it is cut
    assert int(grown) < 12


def test_state_of_other_settings_is_thrown_away(tmp_path: Path, folder: Path, encoder: Path) -> None:
    (tmp_path / "state" / "0123456789abcdef").mkdir(parents=True)
    build(tmp_path, folder, encoder, corpus())
    assert not (tmp_path / "state").exists()


def test_a_file_that_is_not_there(tmp_path: Path, folder: Path, encoder: Path) -> None:
    component = {"source": "texts", "files": ["*.jsonl"], "format": "jsonl"}
    with pytest.raises(RetortError, match=r"source texts holds no file \*.jsonl; it holds en.txt, sw.txt"):
        build(tmp_path, folder, encoder, corpus([component]))


def test_a_shard_that_was_cut(tmp_path: Path, folder: Path, encoder: Path) -> None:
    build(tmp_path, folder, encoder, corpus())
    shard = next((tmp_path / "to").glob("0-en-*"))
    shard.write_bytes(shard.read_bytes()[:40])
    with pytest.raises(RetortError, match="is no shard of a corpus .* delete the corpus and run again"):
        Blocks(tmp_path / "to")
