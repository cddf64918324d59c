"""Tests of files that the library's builders read: CSV, JSON, Parquet, and the splits of a data set of the hub."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from retort.checksums import sha256
from retort.data.splits import SplitRows, read_task
from retort.errors import RetortError
from retort.settings.inputs import TaskSettings
from retort.tasks import task_type_of

from tests.tiny.forms import add_to_card, write_parquet
from tests.unit.data.test_rows import setting

COLUMNS = {"columns": {"text": "one", "pair": "two", "label": "label", "id": "index"}}


def built(folder: Path, name: str, content: str | bytes, **more: Any) -> SplitRows:
    """Write a file of a format that a builder of the library reads, and return its rows."""
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    task = setting(format=name.split(".")[1], files={"dev": {"file": name, "rows": [2]}}, **{**COLUMNS, **more})
    return dict(read_task(task, task_type_of(task), {"s": folder}))["dev"]


def test_every_value_of_a_csv_file_is_text_as_it_stands(tmp_path: Path) -> None:
    rows = built(tmp_path, "dev.csv", '\ufeffindex,one,two,label\n1,"a, ""b""\nc",NA,yes\n01,007,2020-01-01,no\n')
    assert [(row.text, row.pair, row.label) for row in rows.records] == [
        ('a, "b"\nc', "NA", 1),
        ("007", "2020-01-01", 0),
    ]


def test_options_of_the_builders(tmp_path: Path) -> None:
    options = {
        "delimiter": ";",
        "quotechar": "'",
        "column_names": ["index", "one", "two", "label"],
        "encoding": "cp1252",
    }
    rows = built(tmp_path, "dev.csv", "1;'caf\u00e9; bar';b;yes\n2;c;d;no\n".encode("cp1252"), options=options)
    assert [row.text for row in rows.records] == ["café; bar", "c"]
    named = [{"index": number, "one": "a", "two": "b", "label": label} for number, label in enumerate(("no", "yes"))]
    assert [row.label for row in built(tmp_path, "dev.json", json.dumps(named)).records] == [0, 1]
    assert [row.label for row in built(tmp_path, "dev.json", "\n".join(map(json.dumps, named))).records] == [0, 1]
    found = built(tmp_path, "dev.json", json.dumps({"rows": named}), options={"field": "rows"})
    assert [row.label for row in found.records] == [0, 1]
    (tmp_path / "dev.csv.gz").write_bytes(gzip.compress((tmp_path / "dev.csv").read_bytes()))
    (tmp_path / "dev.csv").unlink()
    task = setting(format="csv", options=options, files={"dev": {"file": "dev.csv", "rows": [2]}}, **COLUMNS)
    zipped = dict(read_task(task, task_type_of(task), {"s": tmp_path}))["dev"]
    assert zipped.records == rows.records


CSV = "index,one,two,label\n0,a,b,yes\n"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("dev.csv", CSV + "1,c,d,no,x\n", "dev.csv, row 2: more fields than the header has; are quotes missing?"),
        ("dev.csv", CSV.replace("yes", "yes,x") + "1,c,d,no,x\n", "dev.csv, row 1: more fields than the header has"),
        ("dev.csv", CSV + "1,c,d\n", "dev.csv, row 2: label '' is not one of no, yes"),
        ("dev.csv", CSV + '1,"c,d,no\n', "dev.csv:3: not valid CSV (unexpected end of data); are quotes missing?"),
        ("dev.csv", CSV + "1,,d,no\n", "dev.csv, row 2: text (one) is empty"),
        ("dev.csv", CSV + "0,c,d,no\n", "dev.csv, row 2: id '0' stands in row 1 already"),
        ("dev.csv", CSV.replace("two", "zwei"), "no column 'two' for 'pair'; there are index, one, zwei, label"),
        ("dev.csv", CSV.encode() + b"1,caf\xe9,d,no\n", "dev.csv:3: not UTF-8 text (invalid continuation byte)"),
        ("dev.csv", "", "dev.csv holds no rows"),
        ("dev.csv", CSV, "dev.csv: 1 rows, and the whole set has 2"),
        ("dev.csv", CSV + '1,"c" and,d,no\n', "dev.csv:3: not valid CSV (',' expected after '\"')"),
        ("dev.json", '[{"index": 0, "one": "a"', "dev.json:1: not valid JSON (Expecting ',' delimiter)"),
        ("dev.json", "", "dev.json:1: not valid JSON (Expecting value)"),
        ("dev.json", "[5]", "dev.json, row 1: not a JSON object: '5'"),
        ("dev.json", '{"index": 0, "one": "a", "two": "b", "label": "no"}\n5', "line 2: not a JSON object: '5'"),
        ("dev.json", '[{"index": 0, "one": 5, "two": "b", "label": "no"}]', "row 1: text (one) is 5, not a text"),
        ("dev.json", '[{"index": 0, "one": "a", "two": null, "label": "no"}]', "dev.json, row 1: pair (two) is empty"),
        ("dev.parquet", b"PAR1 and no more", "dev.parquet: not a whole Parquet file (Parquet magic bytes"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_of_a_builder(name: str, content: str | bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(RetortError) as caught:
        built(tmp_path, name, content)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


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
