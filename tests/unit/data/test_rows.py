"""Tests of irregular rows in real files, and of the one-line message for each broken row."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from retort.data.files import plain_or_gzip
from retort.data.formats import Record, formats
from retort.data.splits import SplitRows, read_task, split_groups
from retort.errors import RetortError
from retort.settings.inputs import TaskSettings
from retort.tasks import task_type_of

from tests.job_settings import split_settings, task_settings


def refused(place: str, what: str) -> None:
    """Fail the test: no broken line is expected."""
    raise AssertionError(f"{place}: {what}")


def setting(**more: Any) -> TaskSettings:
    """Return the settings of a task of text pairs with one split, `dev`, of two rows in dev.tsv."""
    own = {key: more.pop(key) for key in list(more) if key in TaskSettings.model_fields}
    return task_settings(**{"sample": False, **own}, splits={"dev": split_settings(**more)})


def read(folder: Path, text: str, **more: Any) -> SplitRows:
    """Write dev.tsv with a header above the text, and return its rows."""
    (folder / "dev.tsv").write_bytes(f"index\tone\ttwo\tlabel\n{text}".encode())
    task = setting(**more)
    return dict(read_task(task, task_type_of(task), {"s": folder}))["dev"]


GOOD = "0\ta\tb\tyes\n1\tc\td\tno\n"


def test_quotes_line_separators_and_carriage_returns(tmp_path: Path) -> None:
    rows = read(tmp_path, '0\t"a" said\the "no\tyes\r\n1\tc\x85d\u2028e\tf\x0cg\tno\r\n')
    assert [(row.text, row.pair) for row in rows.records] == [('"a" said', 'he "no'), ("c\x85d\u2028e", "f\x0cg")]
    assert [row.label for row in rows.records] == [1, 0]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    (tmp_path / "f.tsv").write_bytes("\ufeffQuality\t#1 String\n1\t\ufeffx\n".encode())
    ((place, fields),) = formats["tsv"](tmp_path / "f.tsv", refused)
    assert place == "line 2"
    assert fields["Quality"] == "1"
    assert fields["#1 String"] == "\ufeffx"


def test_without_a_header_columns_have_numbers(tmp_path: Path) -> None:
    (tmp_path / "f.tsv").write_text("gj04\t1\t\tThe ship sank.\n")
    ((place, fields),) = formats["tsv"](tmp_path / "f.tsv", refused, header=False)
    assert (place, fields) == ("line 1", {1: "gj04", 2: "1", 3: "", 4: "The ship sank."})


def test_gzip_is_found_under_the_plain_name(tmp_path: Path) -> None:
    (tmp_path / "f.tsv.gz").write_bytes(gzip.compress(b"a\tb\n1\t2\n"))
    assert [fields for _, fields in formats["tsv"](plain_or_gzip(tmp_path / "f.tsv"), refused)] == [
        {1: "1", 2: "2", "a": "1", "b": "2"}
    ]
    (tmp_path / "f.tsv.gz").write_bytes(gzip.compress(b"a\tb\n" + b"1\t2\n" * 9999)[:-20])
    with pytest.raises(RetortError, match=r"f.tsv.gz: not a whole gzip file"):
        list(formats["tsv"](tmp_path / "f.tsv.gz", refused))


def test_json_lines(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_text('{"a": 1}\n\n[2]\n')
    told: list[str] = []
    rows = list(formats["jsonl"](tmp_path / "f.jsonl", lambda place, what: told.append(f"{place}: {what}")))
    assert rows == [("line 1", {"a": 1})]
    assert told == ["line 3: not a JSON object: '[2]'"]


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("0\ta\tb\tyes\n", {}, "1 rows, and the whole set has 2; give the whole file, or name the task under `sample`"),
        ("0\ta\tb\tyes\n1\tc\td\tmaybe\n", {}, "dev.tsv, line 3: label 'maybe' is not one of no, yes"),
        ("0\ta\tb\tyes\n1\tc\tno\n", {}, "dev.tsv, line 3: 3 fields, and line 1 has 4: '1\\tc\\tno'"),
        ("0\ta\tb\tyes\n0\tc\td\tno\n", {}, "dev.tsv, line 3: id '0' stands in line 2 already"),
        ("0\ta\t \tyes\n1\tc\td\tno\n", {}, "dev.tsv, line 2: pair (two) is empty"),
        ("", {}, "dev.tsv holds no rows"),
        (GOOD, {"columns": {"text": "uno", "label": "label"}},
         "dev.tsv, line 2: no column 'uno' for 'text'; there are index, one, two, label"),
        (GOOD, {"columns": {"text": "one", "label": "gold"}},
         "dev.tsv, line 2: no column 'gold' for 'label'; there are index, one, two, label; a split without labels"),
        (GOOD, {"task_type": "regression", "labels": [], "label_names": [], "bounds": [0, 5]},
         "dev.tsv, line 2: score 'yes' is not a number from 0 to 5"),
        ("0\ta\tb\t7\n", {"task_type": "regression", "labels": [], "label_names": [], "bounds": [0, 5]},
         "dev.tsv, line 2: score '7' is not a number from 0 to 5"),
        (GOOD, {"label_names": []}, "label 'yes' is not one of 0, 1"),
    ],
)  # fmt: skip
def test_a_broken_row_is_told_with_its_place(text: str, more: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(RetortError) as caught:
        read(tmp_path, text, **more)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_line_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_bytes(b"index\tone\ttwo\tlabel\n0\tcaf\xe9\tb\tyes\n")
    task = setting()
    with pytest.raises(RetortError, match=r"dev.tsv:2: not UTF-8 text"):
        list(read_task(task, task_type_of(task), {"s": tmp_path}))


def test_a_missing_file_names_those_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "valid.tsv").write_text("x\n")
    task = setting()
    with pytest.raises(RetortError, match=r"dev.tsv does not exist; .* holds valid.tsv"):
        list(read_task(task, task_type_of(task), {"s": tmp_path}))


def test_what_a_published_file_is_known_to_have_is_let_pass_and_told(tmp_path: Path) -> None:
    text = '0\ta\tb\tyes\n"broken\n1\tc\t\tno\n2\te\tf\t-\n'
    rows = read(tmp_path, text, broken=1, empty=1, exclude_labels=["-"])
    assert [(row.text, row.pair) for row in rows.records] == [("a", "b"), ("c", "")]
    where = f"{tmp_path.name}/dev.tsv"
    assert rows.notes == [
        f"{where}: lines without all fields left out: line 3",
        f"{where}: rows with an empty text: line 4",
        f"{where}: rows labelled '-' left out: line 5",
    ]
    with pytest.raises(RetortError, match=r"dev.tsv, line 4: 1 fields"):
        read(tmp_path, '0\ta\tb\tyes\n"broken\n"too\n', broken=1)


def test_a_sample_is_fewer_rows_and_says_so(tmp_path: Path) -> None:
    rows = read(tmp_path, GOOD, sample=True, files={"dev": {"file": "dev.tsv", "rows": [9, 8]}})
    assert rows.sample == (2, 9)
    for sample in (True, False):  # which is of no help where there are more rows
        with pytest.raises(RetortError, match="2 rows, and the whole set has 1$"):
            read(tmp_path, GOOD, sample=sample, files={"dev": {"file": "dev.tsv", "rows": [1]}})


def test_one_of_several_editions_is_whole(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD, files={"dev": {"file": "dev.tsv", "rows": [9, 2]}}).sample is None


def test_a_sample_may_lack_its_labels_where_the_split_says_so(tmp_path: Path) -> None:
    columns, numbered = {"text": "one", "label": "gold"}, {"text": 2, "label": 5}
    rows = read(tmp_path, GOOD, sample=True, columns=numbered, unlabelled_sample=True)
    assert not rows.labelled
    assert [row.label for row in rows.records] == [0, 0]
    for more in ({"sample": True}, {"unlabelled_sample": True}):
        with pytest.raises(RetortError, match="line 2: no column 'gold' for 'label'; there are index, one, two, label"):
            read(tmp_path, GOOD, columns=columns, **more)
    with pytest.raises(RetortError, match="no column 'uno'"):
        read(tmp_path, GOOD, sample=True, columns={"text": "uno", "label": 5}, unlabelled_sample=True)


def test_no_row_of_an_unlabelled_sample_has_a_label(tmp_path: Path) -> None:
    (tmp_path / "dev.jsonl").write_text('{"one": "a"}\n{"one": "b", "label": "yes"}\n')
    more = {"format": "jsonl", "columns": {"text": "one", "label": "label"}, "unlabelled_sample": True}
    task = setting(sample=True, files={"dev": {"file": "dev.jsonl", "rows": [2]}}, **more)
    with pytest.raises(RetortError, match="dev.jsonl, line 2: has a label, and the rows before have none"):
        list(read_task(task, task_type_of(task), {"s": tmp_path}))


def test_a_split_that_leaves_nothing_to_train_on() -> None:
    rows = [Record(str(i), None, 0.0, str(i)) for i in range(10)]
    with pytest.raises(RetortError, match="10 rows leave none to train on"):
        split_groups(rows, seed=1, test=8, dev=2)
