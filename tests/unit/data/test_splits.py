"""Tests of the splits of a task: those that are drawn, and those of a data set of the hub, which its card names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.checksums import sha256
from retort.data.formats import Record
from retort.data.splits import read_task, split_groups
from retort.errors import RetortError
from retort.settings.inputs import TaskSettings
from retort.tasks import task_type_of

from tests.tiny.forms import add_to_card, write_parquet
from tests.unit.data.test_formats import COLUMNS, setting


def test_split_keeps_groups_whole_and_follows_its_seed() -> None:
    records = [Record(str(i), None, 0.0, f"group {i // 3}") for i in range(60)]
    splits = split_groups(records, seed=1, test=10, dev=5)
    assert sum(map(len, splits.values())) == 60
    assert len(splits["test"]) >= 10
    assert len(splits["dev"]) >= 5
    groups = [{r.group for r in rows} for rows in splits.values()]
    assert not set.intersection(groups[0], groups[1])
    assert not set.intersection(groups[0] | groups[1], groups[2])
    assert splits == split_groups(records, seed=1, test=10, dev=5)
    assert splits != split_groups(records, seed=2, test=10, dev=5)


def hub_task(split: str = "validation", name: str = "plain") -> TaskSettings:
    """Return the settings of a task whose split is one of a configuration of a data set of the hub."""
    return setting(format="parquet", files={"dev": {"file": split, "rows": [4], "name": name}}, **COLUMNS)


def write_hub(folder: Path, second: int) -> None:
    """Write the card and the files of a data set of the hub; `second` is the first id of the second file."""
    for number, first in ((0, 0), (1, second)):
        rows: Any = [{"index": first + i, "one": "a", "two": "b", "label": "no"} for i in range(2)]
        (folder / "plain").mkdir(exist_ok=True)
        write_parquet(folder / f"plain/validation-{number:05}-of-00002.parquet", rows)
    add_to_card(folder, "first", "train", "first/train-*")  # which nobody fetched
    add_to_card(folder, "plain", "validation", "plain/validation-*")
    add_to_card(folder, "plain", "test", "plain/test-*")


def test_a_split_of_the_hub_has_the_files_that_the_card_names(tmp_path: Path) -> None:
    write_hub(tmp_path, second=2)
    task = hub_task()
    rows = dict(read_task(task, task_type_of(task), {"s": tmp_path}))["dev"]
    assert len(rows.records) == 4
    assert rows.sha256 not in (None, *(sha256(path) for path in (tmp_path / "plain").iterdir()))


@pytest.mark.parametrize(
    ("split", "name", "said"),
    [
        ("validation", "plan", "README.md: no configuration is called 'plan'; there are first, plain"),
        ("dev", "plain", "README.md: 'plain' has no split 'dev'; there are validation, test"),
        ("test", "plain", "the files of 'plain' and 'test' are not here; 'files' of the source takes plain/test-*"),
    ],
)  # fmt: skip
def test_a_configuration_or_split_that_the_card_does_not_have(split: str, name: str, said: str, tmp_path: Path) -> None:
    write_hub(tmp_path, second=2)
    task = hub_task(split, name)
    with pytest.raises(RetortError) as caught:
        list(read_task(task, task_type_of(task), {"s": tmp_path}))
    assert said in str(caught.value)


def test_mistakes_in_the_files_of_a_split_of_the_hub(tmp_path: Path) -> None:
    write_hub(tmp_path, second=1)
    task = hub_task()
    said = r"plain/validation-00001-of-00002.parquet, row 1: id 1 stands in row 2 of plain/validation-00000-of-00002"
    with pytest.raises(RetortError, match=said):
        list(read_task(task, task_type_of(task), {"s": tmp_path}))
    (tmp_path / "README.md").write_text("---\nconfigs:\n- config_name: plain\n  data_files: ../secret\n---\n")
    task = hub_task("train")
    with pytest.raises(RetortError, match=r"README.md: '../secret' leaves its folder"):
        list(read_task(task, task_type_of(task), {"s": tmp_path}))
    (tmp_path / "README.md").write_text("---\nconfigs: 5\n---\n")
    with pytest.raises(RetortError, match=r"README.md: not the card of a data set \(Expected configs to be a list"):
        list(read_task(task, task_type_of(task), {"s": tmp_path}))
    (tmp_path / "README.md").unlink()
    with pytest.raises(RetortError, match=r"README.md does not exist; name the files of the splits"):
        list(read_task(task, task_type_of(task), {"s": tmp_path}))
