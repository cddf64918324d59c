"""Contracts of generators of training rows: every registered one meets them, so registering it tests it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from retort.data.generators import PretrainedWords, generators
from retort.data.training_rows import rows_of_generator
from retort.settings.inputs import GeneratorSettings
from retort.specs import catalogue
from retort.tasks import task_type_of

from tests.job_settings import split_settings, task_settings
from tests.tiny.make import make_encoder, make_family

TEXTS = ["a glad day, a SAD town!", "wordless song", "...", "good", " warm  bright\u00a0letter "]


def words_of(folder: Path) -> PretrainedWords:
    """Return the words of a model that likes each token by a number that its input ids decide."""
    size = len(json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]) + 1

    def predict(input_ids: np.ndarray, positions: np.ndarray) -> np.ndarray:
        assert input_ids.ndim == 2
        assert positions.shape == (len(input_ids),)
        seeds = [int(row @ np.arange(1, len(row) + 1)) for row in input_ids]
        return np.stack([np.random.default_rng(seed).normal(size=size) for seed in seeds])

    embeddings = np.random.default_rng(0).normal(size=(size, 6)).astype(np.float32)
    return PretrainedWords.load(folder, 32, embeddings, predict)


@pytest.fixture(params=["bert", "roberta", "xlm-roberta"])
def words(request: pytest.FixtureRequest, tmp_path: Path) -> PretrainedWords:
    """Return the words of a tiny model of a family."""
    make_family(tmp_path, request.param)
    return words_of(tmp_path)


@pytest.mark.parametrize("name", sorted(generators))
def test_copies_are_as_many_as_asked_and_the_seed_alone_decides_them(name: str, words: PretrainedWords) -> None:
    def copies(texts: list[str], seed: int) -> list[list[str]]:
        generator = generators[name](words, None)
        return [generator(text, 3, np.random.default_rng([seed, len(text)])) for text in texts]

    once = copies(TEXTS, 1)
    assert [len(each) for each in once] == [3] * len(TEXTS)
    assert all(copy.strip() for each in once for copy in each)
    assert copies(TEXTS, 1) == once
    assert copies(TEXTS[::-1], 1)[::-1] == once  # whatever was asked before
    assert copies(TEXTS, 2) != once


@pytest.mark.parametrize("name", sorted(generators))
def test_rows_keep_their_labels_and_come_before_their_copies(name: str, tmp_path: Path) -> None:
    make_encoder(tmp_path)
    (tmp_path / "train.tsv").write_text("index\tone\ttwo\tlabel\n0\ta glad day\tgood\tyes\n1\tsad\ta song\tno\n")
    split = split_settings(files={"train": {"file": "train.tsv", "rows": [2]}})
    task = task_settings(splits={"train": split}, sample=False)
    settings = GeneratorSettings(name=name, version=1, options={}, copies=2, seed=1, model=None, vectors=None)
    generator = generators[name](words_of(tmp_path), None)
    made = rows_of_generator(generator, settings, task, task_type_of(task), {"s": tmp_path})
    assert [record.label for record in made.records] == [1, 1, 1, 0, 0, 0]
    assert [(record.text, record.pair) for record in made.records[::3]] == [("a glad day", "good"), ("sad", "a song")]


@pytest.mark.parametrize("name", sorted(generators))
def test_what_is_read_without_numpy_is_what_is_registered(name: str) -> None:
    entry = catalogue.generators()[name]
    assert list(catalogue.generators()) == sorted(generators)
    assert entry.version >= 1
    assert isinstance(entry.facts["needs_masked_lm"], bool)
    assert entry.schema.model_validate({}), "every option has a default"
