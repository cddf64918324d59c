"""Tests of made data: real readers take it, tokenizers know its words, and its labels can be learnt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.data.corpus_tokenizer import CorpusTokenizer
from retort.data.formats import formats
from retort.data.sources import synthetic_files
from retort.data.sources.synthetic_files import SCRIPTS, lexicon
from retort.data.tokenizers import check_same_tokenizer
from retort.models import build
from retort.models.initialise import check_released
from retort.models.synthetic_models import FAMILIES, write_model, write_tokenizer
from retort.settings.inputs import ModelSettings
from retort.specs.model import Architecture, MadeModel, MadeRows

NARROW = Architecture(layers=2, heads=3, hidden=12, intermediate=24)
VOCABULARY = 512


def rows(task_type: str, **changes: Any) -> MadeRows:
    """Return a file of rows of a task type."""
    columns = {"text": "text", "pair": "pair", "label": "label"}
    defaults = {"file": "a.tsv", "format": "tsv", "columns": columns, "task_type": task_type, "count": 60, "long": 40}
    return MadeRows.model_validate({**defaults, **changes})


def test_the_label_of_a_pair_is_told_by_one_word() -> None:
    made = synthetic_files.records(rows("classification", labels=["0", "1", "2"]), seed=1)
    words = {label: [{*row["pair"].split()} for row in made if row["label"] == label] for label in ("0", "1", "2")}
    signs = {label: set.intersection(*sets) for label, sets in words.items()}
    assert all(len(found) == 1 for found in signs.values())
    assert len(set.union(*signs.values())) == 3


@pytest.mark.parametrize(
    ("name", "options"),
    [("tsv", {}), ("csv", {"delimiter": ";"}), ("csv", {"column_names": ["other", "report", "sort"]}),
     ("json", {}), ("json", {"field": "rows"}), ("jsonl", {}), ("parquet", {})],
)  # fmt: skip
def test_each_format_of_rows_is_written_as_it_is_read(name: str, options: dict[str, object], tmp_path: Path) -> None:
    columns = {"text": "report", "label": "sort"}
    made = rows("classification", labels=["0", "1"], format=name, options=options, columns=columns)
    synthetic_files.write_rows(tmp_path, made, seed=1)
    read = [row for _, row in formats[name](tmp_path / "a.tsv", pytest.fail, **options)]
    records = [(record["text"], record["label"]) for record in synthetic_files.records(made, seed=1)]
    assert [(row["report"], row["sort"]) for row in read] == records


@pytest.mark.parametrize("language", ["en", *SCRIPTS])
def test_answers_stand_where_they_are_said_to(language: str) -> None:
    made = synthetic_files.records(rows("span-or-none", format="squad", file="a.json", language=language), seed=1)
    assert {row["impossible"] for row in made} == {True, False}
    for row in made:
        for answer in row["label"]:
            start = answer["answer_start"]
            assert row["context"][start : start + len(answer["text"])] == answer["text"]
        assert bool(row["label"]) != row["impossible"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_tokenizer_has_as_many_tokens_as_the_vocabulary_and_knows_all_letters(family: str, tmp_path: Path) -> None:
    write_tokenizer(tmp_path, family, VOCABULARY)
    tokenizer = CorpusTokenizer.load(tmp_path)
    assert tokenizer.vocabulary == VOCABULARY
    for language in ("en", *SCRIPTS):
        words = lexicon(language)
        ids, _ = tokenizer.encode([words.text([*words.signs, *words.words]) + words.end])
        assert tokenizer.special.unknown not in ids, language
    english = lexicon("en")
    assert len(tokenizer.encode([english.text([english.words[0], *english.words])])[0]) <= 28


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("masked_lm", [True, False])
def test_a_model_loads_as_released_ones_do(family: str, masked_lm: bool, tmp_path: Path) -> None:
    sizes: Any = {"architecture": NARROW, "vocabulary": VOCABULARY, "positions": 512}
    made = MadeModel(family=family, masked_lm=masked_lm, tokenizer=True, **sizes)
    write_model(tmp_path, made, seed=3)
    source: Any = {"made": "m", "sha256": "0"}
    check_released(tmp_path, ModelSettings(**sizes, version=1, source=source))
    check_same_tokenizer(str(tmp_path), str(tmp_path))
    assert build.has_masked_lm(tmp_path) == (masked_lm and family != "distilbert")  # its head has a form of its own
    first, again = build.load(tmp_path).state_dict(), build.load(tmp_path).state_dict()
    assert all((first[key] == again[key]).all() for key in first if "pooler" not in key)
