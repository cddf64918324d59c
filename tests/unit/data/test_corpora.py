"""Tests of corpora: reading documents, filling blocks, and building: shards, shares, a killed build, memory."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
import re
import shutil
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from datasets import load_from_disk
from retort.checksums import sha256
from retort.data import blocks, corpus_parts
from retort.data import texts as formats
from retort.data.blocks import Blocks
from retort.data.corpora import build_corpus
from retort.data.corpus_parts import read_shard, tokenize_part
from retort.data.corpus_texts import CorpusTexts, Seen, apportion, clean_text, divide_blocks, smooth
from retort.data.packing import Documents, packers, split_sentences
from retort.data.texts import Section, file_sections, texts
from retort.data.tokenizers import Special, special_tokens
from retort.errors import RetortError
from retort.settings.inputs import CorpusSettings
from tokenizers import Tokenizer

from tests.corpora import build_blocks
from tests.job_settings import corpus_settings
from tests.references.packing import REFERENCES
from tests.tiny.make import GLAD, OTHERS, SAD

# reading documents from files: formats, compression, cleaning, sentences

TWO = "First line,\nsecond line.\n\n\nAnother one.\n"


def read(path: Path, form: str, **options: object) -> list[str]:
    """Return the documents of a file."""
    return list(texts[form](Section(path), **options))


@pytest.mark.parametrize(
    ("ending", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_a_blank_line_ends_a_document_plain_or_compressed(tmp_path: Path, ending: str, pack: type) -> None:
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(pack(TWO.encode()))
    assert [document.split("\n") for document in read(path, "text")] == [
        ["First line,", "second line.", ""],
        ["Another one.", ""],
    ]


def test_a_text_without_blank_lines_is_cut_at_a_lines_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "LONGEST", 20)
    (tmp_path / "a.txt").write_text("twelve chars\n" * 4 + "x" * 50)
    found = read(tmp_path / "a.txt", "text")
    assert found[:2] == ["twelve chars\ntwelve chars\n"] * 2
    assert "".join(found) == "twelve chars\n" * 4 + "x" * 50
    assert max(map(len, found)) <= 40


def test_a_jsonl_line_is_a_document(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"body": "One."}) + "\n\n" + json.dumps({"body": "Two."}) + "\n")
    assert read(tmp_path / "a.jsonl", "jsonl", field="body") == ["One.", "Two."]


def test_rows_of_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.table({"text": ["a", "b", "c"], "id": [1, 2, 3]}), path)
    assert read(path, "parquet") == ["a", "b", "c"]
    assert read(path, "parquet", rows=2) == ["a\nb", "c"]


def test_cleaning_of_lines_with_and_without_rare_characters_is_the_same() -> None:
    unwanted, spaces = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ufffd]+"), re.compile(r"[^\S\n]+")
    characters = [chr(number) for number in (*range(0x180), 0x301, 0x2028, 0x3000, 0xFEFF, 0xFFFD, 0x4E00)]
    draw = random.Random(0)
    for _ in range(500):
        text = "".join(draw.choices([*characters, " ", "\n"], k=60))
        one_by_one = spaces.sub(" ", unwanted.sub("", unicodedata.normalize("NFC", text)))
        assert clean_text(text) == "\n".join(line for line in map(str.strip, one_by_one.split("\n")) if line)


def test_seen_agrees_with_a_set() -> None:
    draw, seen, expected = random.Random(1), Seen(), set()
    for _ in range(60):
        digests = [draw.randrange(1500) << 50 for _ in range(draw.randint(0, 80))]
        new = []
        for number in digests:
            new.append(number not in expected)
            expected.add(number)
        assert seen.add(np.array(digests, np.uint64)).tolist() == new


def test_sections_of_a_file_hold_its_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "SECTION", 200)
    draw, path, packed = random.Random("text"), tmp_path / "a", tmp_path / "a.gz"
    path.write_text("".join(f"Line {number}.\n" + "\n" * draw.choice([0, 0, 1, 2]) for number in range(300)))
    cut = file_sections(path, "text")
    assert len(cut) > 8
    assert sum(section.size for section in cut) == path.stat().st_size
    assert [document for section in cut for document in texts["text"](section)] == read(path, "text")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert file_sections(packed, "text") == [Section(packed)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It ends. It begins! (Does it?) \"So.\" Good.", ["It ends.", "It begins!", "(Does it?)", '"So."', "Good."]),
        ("Dr. A. Smith paid 3.50 vs. Mr. Jones. See fig. 2.", ["Dr. A. Smith paid 3.50 vs. Mr. Jones.", "See fig. 2."]),
        ("one line\nanother line", ["one line", "another line"]),
        ("He left, e.g. by train. Then ... nothing came.", ["He left, e.g. by train.", "Then ... nothing came."]),
        ("今日は。Ok. 明日も", ["今日は。", "Ok.", "明日も"]),
        ("今日は。明日も！はい。", ["今日は。", "明日も！", "はい。"]),
        ("यह एक है। वह दो है।", ["यह एक है।", "वह दो है।"]),
        ("هل هذا؟ نعم. لا.", ["هل هذا؟", "نعم.", "لا."]),
        ("", []),
    ],
)  # fmt: skip
def test_where_sentences_end(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


# how documents fill blocks, which tokens are special, and how much each component of a corpus gives

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


# building corpora


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


SMALL = {"CHUNK": (corpus_parts, 500), "SHARD": (corpus_parts, 100), "SECTION": (formats, 900), "BATCH": (blocks, 100)}


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


def test_an_empty_file_is_told_before_texts_are_read(tmp_path: Path, folder: Path, encoder: Path) -> None:
    shutil.copytree(folder, tmp_path / "texts")
    (tmp_path / "texts/sw.txt").write_text("")
    with pytest.raises(RetortError, match=r"^source texts: sw.txt is empty; give the whole text, or leave sw.txt out"):
        build_blocks(tmp_path, tmp_path / "texts", encoder, corpus(blocks=20))
    every = corpus([{**BOTH[0], "files": ["*.txt"]}])  # one of several files may be empty
    assert build_blocks(tmp_path, tmp_path / "texts", encoder, every).info.components[0]["documents"] == 300


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
