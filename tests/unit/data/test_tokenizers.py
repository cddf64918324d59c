"""Tests of tokenizers: texts word by word have the tokens of whole texts, and when two files describe the same."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from retort.data.corpus_texts import clean_text
from retort.data.corpus_tokenizer import CorpusTokenizer, TextTokenizer, words_are_independent
from retort.data.files import numbered_lines, plain_or_gzip
from retort.data.tokenizers import FILE, Tokeniser, check_same_tokenizer, tokenizer_file
from retort.errors import RetortError
from tokenizers import Regex, Tokenizer, models, processors
from tokenizers import normalizers as norm
from tokenizers import pre_tokenizers as pre

from tests.conftest import DATA, needs_data
from tests.tiny.make import make_encoder, train_tokenizer

CHARACTERS = "aAbBeEéÉzZ \u00a0.,!?'\"-_/0123[]▁Ġß\u0130\u0301\u200b\u0600ابҖж한국日本語。！😀\u1e9b\ufb01\u2028"


def texts_of(count: int) -> list[str]:
    """Return cleaned texts: of random characters, and of repeated words."""
    draw = random.Random("texts")
    words = ["".join(draw.choices(CHARACTERS, k=draw.randint(1, 8))) for _ in range(200)]
    odd = ["".join(draw.choices(CHARACTERS, k=draw.randint(1, 60))) for _ in range(count)]
    return [text for text in map(clean_text, odd + [" ".join(draw.choices(words, k=12)) for _ in range(count)]) if text]


@pytest.fixture(scope="module", params=["bert", "roberta", "xlm-roberta"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    """Return a small tokenizer of each family."""
    tokenizer = train_tokenizer(request.param, texts_of(300), 600)
    tokenizer.encode_special_tokens = True
    return tokenizer


def assert_same_both_ways(tokenizer: Tokenizer, texts: list[str], step: int) -> None:
    """Compare the tokens of the texts, `step` texts at a time, with those of the library."""
    assert words_are_independent(json.loads(tokenizer.to_str()))
    by_words = TextTokenizer(tokenizer, words_are_independent=True)
    for start in range(0, len(texts), step):
        chunk = texts[start : start + step]
        input_ids, lengths = by_words.encode(chunk)
        expected = [row.ids for row in tokenizer.encode_batch(chunk, add_special_tokens=False)]
        assert lengths.tolist() == list(map(len, expected))
        assert input_ids.tolist() == [token for row in expected for token in row]


def test_random_texts(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_same_both_ways(tokenizer, texts_of(1500), 400)
    monkeypatch.setattr("retort.data.corpus_tokenizer.WORDS", 50)  # the words are forgotten and learnt again
    assert_same_both_ways(tokenizer, texts_of(300), 20)
    assert TextTokenizer(tokenizer, words_are_independent=True).encode([])[1].tolist() == []


@needs_data("XNLI")
def test_texts_of_fifteen_languages(tokenizer: Tokenizer) -> None:
    for language in ("ar", "de", "el", "hi", "ru", "th", "tr", "ur", "vi", "zh"):
        path = plain_or_gzip(DATA / "XNLI" / f"dev-{language}.tsv")
        rows = [clean_text(field) for _, line in numbered_lines(path) for field in line.split("\t")[:2]][:600]
        assert_same_both_ways(tokenizer, [row for row in rows if row], 200)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("pre_tokenizer", None),
        ("pre_tokenizer", {"type": "Split", "pattern": {"String": "-"}, "behavior": "Removed", "invert": False}),
        ("normalizer", {"type": "Replace", "pattern": {"String": "a b"}, "content": "c"}),
        ("added_tokens", [{"content": "New York", "special": False}]),
    ],
)
def test_other_tokenizers_take_texts_as_a_whole(part: str, value: object) -> None:
    content = json.loads(train_tokenizer("bert", ["a text"], 20).to_str())
    assert words_are_independent(content)
    assert not words_are_independent({**content, part: value})


BYTES, MARKED, FIRST = pre.ByteLevel(add_prefix_space=False), pre.Metaspace(), pre.Metaspace(prepend_scheme="first")
RUNS, MARKED_RUNS = (norm.Replace(Regex(" {2,}"), space) for space in (" ", "▁"))
SPACED = ["of the", "a-b ¨c", "a\u200b \u200bb 1", "\u0300 à \u0300 \u0300"]  # Nmt gives \u200b a space


@pytest.mark.parametrize(
    ("normalizers", "pre_tokenizers", "independent"),
    [
        ([], [BYTES], True),
        ([norm.NFKC(), RUNS], [BYTES], True),
        ([norm.Nmt()], [BYTES], False),
        ([norm.NFD(), norm.StripAccents()], [BYTES], False),
        ([norm.Strip()], [BYTES], False),
        ([], [pre.ByteLevel(use_regex=False)], False),
        ([norm.NFKC(), RUNS], [FIRST], True),
        ([norm.Nmt()], [MARKED], True),
        ([norm.Nmt(), RUNS], [MARKED], False),
        ([norm.Strip()], [FIRST], False),
        ([], [pre.Metaspace(split=False)], False),
        ([norm.Nmt(), RUNS], [pre.WhitespaceSplit(), FIRST], True),
        ([norm.NFKC(), MARKED_RUNS], [pre.WhitespaceSplit()], False),
        ([norm.BertNormalizer()], [pre.Digits(individual_digits=True), pre.Whitespace()], True),
        ([], [pre.Punctuation()], False),
        ([], [pre.Digits(individual_digits=True)], False),
    ],
)
def test_words_are_independent_where_texts_have_their_tokens(
    normalizers: list[Any], pre_tokenizers: list[Any], independent: bool
) -> None:
    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.normalizer = norm.Sequence(normalizers) if normalizers else None
    tokenizer.pre_tokenizer = pre.Sequence(pre_tokenizers)
    normalise, split = norm.Sequence(normalizers).normalize_str, pre.Sequence(pre_tokenizers).pre_tokenize_str
    pieces = ["?", *dict.fromkeys(piece for text in SPACED for piece, _ in split(normalise(text)))]
    tokenizer.model = models.WordLevel({piece: number for number, piece in enumerate(pieces)}, unk_token="?")
    of_texts = [row.ids for row in tokenizer.encode_batch(SPACED, add_special_tokens=False)]
    input_ids, lengths = TextTokenizer(tokenizer, words_are_independent=True).encode(SPACED)
    is_same = [row.tolist() for row in np.split(input_ids, np.cumsum(lengths)[:-1])] == of_texts
    assert (words_are_independent(json.loads(tokenizer.to_str())), is_same) == (independent, independent)


# when two folders of models describe the same tokenizer

Change = Callable[[dict[str, Any]], object]
LENGTH = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}  # as of sentence encoders

TEMPLATE = processors.TemplateProcessing(  # the same as BertProcessing, which the encoder's file has
    "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
)


def with_template(content: dict[str, Any]) -> None:
    """Describe the special tokens by a template."""
    tokenizer = Tokenizer.from_str(json.dumps(content))
    tokenizer.post_processor = TEMPLATE
    content.update(post_processor=json.loads(tokenizer.to_str())["post_processor"])


def swap_two_words(content: dict[str, Any]) -> None:
    """Swap the ids of two words."""
    vocabulary = content["model"]["vocab"]
    vocabulary["glad"], vocabulary["sad"] = vocabulary["sad"], vocabulary["glad"]


@pytest.fixture
def folders(encoder: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Return two folders with the same tokenizer.json."""
    for name in ("own", "shared"):
        (tmp_path / name).mkdir()
        shutil.copy(encoder / "tokenizer.json", tmp_path / name)
    return tmp_path / "own", tmp_path / "shared"


def write(folder: Path, change: Change) -> None:
    """Change a folder's tokenizer.json, and write it without its line ends."""
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content, sort_keys=True))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda content: content.update(truncation=LENGTH), id="another length"),
        pytest.param(lambda content: content["model"].pop("type"), id="an older version without the model's type"),
        pytest.param(with_template, id="a template that does the same"),
    ],
)
def test_what_describes_the_same_is_the_same(folders: tuple[Path, Path], change: Change) -> None:
    own, shared = folders
    write(own, change)
    assert (own / "tokenizer.json").read_bytes() != (shared / "tokenizer.json").read_bytes()
    check_same_tokenizer(str(own), str(shared))


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (swap_two_words, "vocabulary, model$|vocabulary, model;"),
        (lambda content: content["normalizer"].update(lowercase=False), "normalizer"),
        (lambda content: content.update(pre_tokenizer={"type": "Whitespace"}), "pre-tokenizer"),
        (lambda content: content.update(post_processor=None), "post-processor"),
    ],
)
def test_each_part_that_differs_is_named(folders: tuple[Path, Path], change: Change, part: str) -> None:
    own, shared = folders
    write(own, change)
    with pytest.raises(RetortError, match=f"describe different tokenizers: they differ in .*({part})"):
        check_same_tokenizer(str(own), str(shared))
    with pytest.raises(RetortError, match="describe different tokenizers"):
        check_same_tokenizer(str(shared), str(shared), None, str(own))


def test_a_folder_without_a_tokenizer_has_the_shared_one(folders: tuple[Path, Path]) -> None:
    own, shared = folders
    (own / "tokenizer.json").unlink()
    check_same_tokenizer(str(own), str(shared))
    with pytest.raises(RetortError, match=r"own holds no tokenizer.json; put it there, or name in workflow/models"):
        check_same_tokenizer(str(shared), str(own))
    with pytest.raises(RetortError, match="holds no tokenizer.json"):
        tokenizer_file(own)


def test_the_padding_and_truncation_of_a_released_tokenizer_change_nothing(tmp_path: Path) -> None:
    make_encoder(tmp_path)
    file, texts = tmp_path / FILE, ["a", "a good day, and another one"]
    plain = [encoding.ids for encoding in Tokeniser.read(file)(texts)]
    padding = Tokenizer.from_file(str(file))
    padding.enable_padding(length=128)  # as in models of sentence-transformers
    padding.enable_truncation(4)
    padding.save(str(file))
    assert [encoding.ids for encoding in Tokeniser.read(file)(texts)] == plain
    check_same_tokenizer(str(tmp_path), str(tmp_path))
    assert CorpusTokenizer.load(tmp_path).texts.encode(texts)[1].sum() == len(plain[0] + plain[1]) - 4
