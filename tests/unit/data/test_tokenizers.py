"""Tests of tokenizers: when two files describe the same, and what a released file may say besides."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from retort.data.corpus_tokenizer import CorpusTokenizer
from retort.data.tokenizers import FILE, Tokeniser, check_same_tokenizer, tokenizer_file
from retort.errors import RetortError
from tokenizers import Tokenizer, processors

from tests.tiny.make import make_encoder

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
    input_ids, lengths = CorpusTokenizer.load(tmp_path).encode(texts)
    assert input_ids.tolist() == [token for row in plain for token in row[1:-1]]
    assert lengths.tolist() == [len(row) - 2 for row in plain]
