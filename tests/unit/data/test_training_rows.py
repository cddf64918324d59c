"""Tests of replaced words, word vectors, and files of training rows."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from retort.data.generators import PretrainedWords
from retort.data.generators.replaced_words import ReplacedWords
from retort.data.training_rows import rows_of_file
from retort.data.word_vectors import WordVectors, best_words, read_word_vectors
from retort.errors import RetortError
from retort.settings.inputs import RowSetSettings
from retort.tasks import task_type_of

from tests.job_settings import split_settings, task_settings
from tests.tiny.make import GLAD, OTHERS, SAD, SPECIAL

LIST = [*SPECIAL, *GLAD, *SAD, *OTHERS]
MASK = SPECIAL.index("[MASK]")


@pytest.fixture
def words(encoder: Path) -> PretrainedWords:
    """Return the words of the tiny encoder, which finds 'glad', then 'good', then 'warm' most probable everywhere."""
    asked: list[np.ndarray] = []

    def predict(input_ids: np.ndarray, positions: np.ndarray) -> np.ndarray:
        assert (input_ids[np.arange(len(input_ids)), positions] == MASK).all()
        assert (input_ids == MASK).sum() == len(input_ids)  # one masked token a row
        asked.append(input_ids)
        return np.tile(-np.arange(90.0), (len(input_ids), 1))

    embeddings = np.eye(90, dtype=np.float32)
    return PretrainedWords.load(encoder, 32, embeddings, predict)


def copies(generator: ReplacedWords, text: str, count: int = 1) -> list[str]:
    return generator(text, count, np.random.default_rng(0))


def test_single_tokens_become_predictions_and_all_else_stays(words: PretrainedWords) -> None:
    always = ReplacedWords(words, None, threshold=1.0, candidates=1)
    assert copies(always, "A sad day,  not good!") == ["glad glad glad,  glad glad!"]  # unknown words are one token
    assert copies(always, "Glad") == ["good"]  # not the word itself, however it is spelt
    assert copies(always, "7 - !") == ["7 - !"]
    assert copies(ReplacedWords(words, None, threshold=0.0), "a sad day", 2) == ["a sad day"] * 2


def test_the_threshold_is_the_share_of_words_that_change(words: PretrainedWords) -> None:
    found = copies(ReplacedWords(words, None, threshold=0.25, candidates=3), " ".join(["sad"] * 20), 200)
    changed = [word for text in found for word in text.split() if word != "sad"]
    assert len(changed) / 4000 == pytest.approx(0.25, abs=0.03)
    assert {changed.count(word) for word in GLAD[:3]} <= set(range(250, 420))  # each candidate alike
    assert set(changed) == set(GLAD[:3])


def test_words_beyond_the_positions_of_the_model_stay(words: PretrainedWords) -> None:
    (text,) = copies(ReplacedWords(words, None, threshold=1.0, candidates=1), " ".join(["sad"] * 40))
    assert text.split() == ["glad"] * 30 + ["sad"] * 10


def test_words_of_several_tokens_become_similar_ones(encoder: Path, tmp_path: Path) -> None:
    content = json.loads((encoder / "tokenizer.json").read_text())
    vocabulary = content["model"]["vocab"]
    vocabulary["##ly"] = vocabulary.pop("word89", 89)
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    embeddings = np.eye(90, dtype=np.float32)
    embeddings[LIST.index("warm")] = embeddings[LIST.index("sad")] + embeddings[vocabulary["##ly"]]
    words = PretrainedWords.load(tmp_path, 32, embeddings, lambda rows, _: np.zeros((len(rows), 90)))
    text = "Sadly, sadly!"
    assert [word.last - word.first for word in words.row(text).words] == [2, 2]
    assert copies(ReplacedWords(words, None, threshold=1.0, candidates=1), text) == ["warm, warm!"]
    vectors = WordVectors(["sadly", "near", "far"], np.array([[1, 0], [1, 0.1], [0, 1]], np.float32))
    assert copies(ReplacedWords(words, vectors, threshold=1.0, candidates=1), text) == ["near, near!"]
    assert copies(ReplacedWords(words, vectors, threshold=1.0), "badly") == ["badly"]  # it has no vector


def test_word_vectors_are_read_as_glove_has_them(tmp_path: Path) -> None:
    text = "the 1 0\n. . . 0 1\ncat 0.9 0.1\nunited states 0 1\nThe -1 0\n"
    (tmp_path / "v.txt").write_text(text)
    with gzip.open(tmp_path / "w.txt.gz", "wt") as stream:
        stream.write(text)
    for name in ("v.txt", "w.txt"):
        read = read_word_vectors(tmp_path / name)
        assert read.words == ["the", "cat", "The"]
        assert read.nearest(np.array([2.0, 0.0]), 2, "the") == ["cat"]
        assert read.of("CAT") is not None
        assert read.of("dog") is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("the 1 0\ncat 1 x\n", "v.txt:2: not a word and 2 numbers after it: 'cat 1 x"),
        ("the 1 0\ncat\n", "v.txt:2: not a word and 2 numbers after it: 'cat"),
        ("the\n", "v.txt:1: not a word and numbers after it: 'the"),
        ("the 1 nan\n", "v.txt:1: not a word and 2 numbers after it"),
        (". 1 0\n", "v.txt holds no word of letters with a vector; is it in the format of GloVe?"),
        ("", "v.txt holds no word of letters with a vector"),
    ],
)
def test_a_file_that_holds_no_word_vectors_is_told(tmp_path: Path, text: str, line: str) -> None:
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(RetortError) as told:
        read_word_vectors(tmp_path / "v.txt")
    assert str(told.value).startswith(line)


def test_equal_values_come_in_the_order_of_the_words() -> None:
    assert best_words(np.zeros(4), ["d", "c", "b", "a"], 2, "c") == ["d", "b"]
    assert best_words(np.zeros(0), [], 2, "c") == []


HEAD = "index\tone\ttwo\tlabel\n"


@pytest.mark.parametrize(
    ("text", "rows", "line"),
    [
        (
            "index\tone\tlabel\n0\ta\tyes\n",
            1,
            "s/more.tsv, line 2: no column 'two' for 'pair'; there are index, one, label",
        ),
        (f"{HEAD}0\ta\tb\tmaybe\n", 1, "s/more.tsv, line 2: label 'maybe' is not one of no, yes"),
        (f"{HEAD}0\ta\tb\tyes\n", 2, "1 rows, and the whole set has 2"),
    ],
)
def test_a_file_of_other_rows_than_the_task_is_told(tmp_path: Path, text: str, rows: int, line: str) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "more.tsv").write_text(text)
    split = split_settings(files={"train": {"file": "more.tsv", "rows": [rows]}})
    settings = RowSetSettings.model_validate({"split": split, "sources": {}, "version": 1, "stage": 1})
    task = task_settings(sample=False)
    with pytest.raises(RetortError) as told:
        rows_of_file(settings, task, task_type_of(task), {"s": tmp_path / "s"})
    assert line in str(told.value)
