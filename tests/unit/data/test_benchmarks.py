"""Tests on the released files themselves, where available: counts, labels, irregularities."""

from __future__ import annotations

import functools
import re
from collections import Counter
from typing import Any

import pytest
from retort.cli.inventory import inventory
from retort.data.formats import formats
from retort.data.splits import SplitRows, read_task
from retort.errors import RetortError
from retort.plan import resolve_data
from retort.specs.config import Config
from retort.study.load import open_study
from retort.study.study import Study
from retort.tasks import task_type_of

from tests.conftest import DATA, needs_data

pytestmark = [pytest.mark.slow, needs_data("CoLA")]


@functools.cache
def opened(sample: bool) -> Study:
    """Return the project's study, which reads the released files; as a sample, or whole."""
    return open_study(Config(data_dir=str(DATA), sample=sample))


def read(name: str, sample: bool = False, splits: list[str] | None = None) -> dict[str, SplitRows]:
    """Return the rows of a task from the released files, by split and subset."""
    study = opened(sample)
    task = resolve_data.task_settings(study, name, splits)
    where = {source: DATA / str(getattr(study.sources[source], "local", "")) for source in study.sources}
    return dict(read_task(task, task_type_of(task), where))


WHOLE = {"cola": (8551, 1043, 1063), "sst2": (67349, 872, 1821), "mrpc": (3668, 408, 1725),
         "stsb": (5749, 1500, 1379), "rte": (2490, 277, 3000), "wnli": (635, 71, 146)}  # fmt: skip


SHARES = {"cola": {1: 721, 0: 322}, "mrpc": {1: 279, 0: 129}, "rte": {0: 146, 1: 131}, "wnli": {0: 40, 1: 31}}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_sets_are_read_whole(name: str) -> None:
    splits = read(name, splits=["train", "dev", "test"])
    assert tuple(len(rows.records) for rows in splits.values()) == WHOLE[name]
    assert [rows.labelled for rows in splits.values()] == [True, True, False]
    assert not any(rows.sample or rows.notes for rows in splits.values())
    assert len({rows.sha256 for rows in splits.values()}) == 3
    if name in SHARES:
        assert Counter(row.label for row in splits["dev"].records) == SHARES[name]


@pytest.mark.parametrize(("name", "rows"), [("qnli", 8000), ("qqp", 20000), ("mnli", 12500)])
def test_a_sample_is_an_error_unless_the_configuration_says_so(name: str, rows: int) -> None:
    with pytest.raises(RetortError, match=rf"{rows} rows, and the whole set has .*name the task under `sample` in co"):
        read(name)
    assert read(name, sample=True)["train"].sample == (rows, {"qnli": 104743, "qqp": 363849, "mnli": 392702}[name])


def test_mnli_has_two_dev_sets_and_its_json_file_agrees() -> None:
    splits = read("mnli", sample=True)
    assert list(splits) == ["train", "dev-matched", "dev-mismatched"]
    names = ["entailment", "neutral", "contradiction"]
    whole: Any = formats["jsonl"](DATA / "MNLI" / "dev_matched.full.jsonl", lambda location, what: None)
    known = {(row["premise"], row["hypothesis"]): row["label"] for _, row in whole}
    rows = splits["dev-matched"].records
    assert sum(known.get((row.text, row.pair)) == names[int(row.label)] for row in rows) == len(rows) == 1000


def test_xnli_is_balanced_in_every_language_and_its_test_labels_are_missing() -> None:
    with pytest.raises(RetortError, match="no column 3 for 'label'; there are 1 to 2; a split without labels"):
        read("xnli", splits=["test"])
    splits = read("xnli", sample=True)
    dev = {name: rows for name, rows in splits.items() if name.startswith("dev-")}
    assert len(dev) == 15
    assert all(Counter(row.label for row in rows.records) == {0: 830, 1: 830, 2: 830} for rows in dev.values())
    assert not any(rows.labelled for name, rows in splits.items() if name.startswith("test-"))


def test_the_inventory_tells_rows_and_checksums() -> None:
    lines, _ = inventory(opened(True), every=True)
    text = "\n".join(lines)
    assert f"cola (cola: folder {DATA / 'CoLA'}), which no table reads" in lines
    digest = "cb368ebeb9f27d7ad03720d27ddc95687a311bdb100781a2fe59a5f5b1bc0624"
    assert f"  train: 8,551 rows: acceptable 6,023, unacceptable 2,528  sha256 {digest}" in text
    assert re.search(r"  train: 8,000 rows of 104,743 \(a sample\): [^\n]+  sha256 a47ab67f", text)
    assert "test-ar: 5,010 rows, no labels" in text
    assert "QQP holds dev.tsv, train.tsv (only a submission needs it)" in text
