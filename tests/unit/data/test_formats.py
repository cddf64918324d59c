"""Tests of the files of tasks: what formats and readers take from a file, and which files and rows a split has."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from retort.checksums import sha256
from retort.data.files import plain_or_gzip
from retort.data.formats import Record, formats
from retort.data.splits import SplitRows, read_task, split_groups
from retort.errors import RetortError
from retort.specs.task import Split
from retort.tasks import task_type_of
from retort.tasks.labels import class_of
from retort.tasks.metrics import normalisations
from retort.tasks.spans import Span

from tests.contracts.mistakes.data import CONTEXT, GOOD, HEAD, NONE, SQUAD, article, asked, read_rows
from tests.job_settings import one_split, split_settings, task_settings
from tests.tiny.forms import add_to_card, write_parquet


def refused(place: str, what: str) -> None:
    """Fail the test: no broken line is expected."""
    raise AssertionError(f"{place}: {what}")


OBJECTS = [{"one": "a", "two": 1}, {"one": "b", "two": None}]
QUESTION = {
    "id": "q2", "question": "Where to?", "title": "Ferries", "context": CONTEXT,
    "answers": {"text": ["Oban"], "answer_start": [24]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("form", "content", "options", "expected"),
    [
        ("tsv", '\ufeffQ\tS\n"a" said\the "no\r\nc\x85d\u2028e\t\ufefff\x0cg\n', {},
         [{1: '"a" said', 2: 'he "no', "Q": '"a" said', "S": 'he "no'},
          {1: "c\x85d\u2028e", 2: "\ufefff\x0cg", "Q": "c\x85d\u2028e", "S": "\ufefff\x0cg"}]),
        ("tsv", "gj04\t1\t\tA ship sank.\n\n\n", {"header": False}, [{1: "gj04", 2: "1", 3: "", 4: "A ship sank."}]),
        ("jsonl", '{"one": "a", "two": 1}\n\n{"one": "b", "two": null}\n', {}, OBJECTS),
        ("csv", '\ufeffone,two\n"a, ""b""\nc",NA\n\n007,2020-01-01\nlast', {},
         [{"one": 'a, "b"\nc', "two": "NA"}, {"one": "007", "two": "2020-01-01"}, {"one": "last", "two": ""}]),
        ("csv", "'caf\u00e9; bar';b\n".encode("cp1252"),
         {"delimiter": ";", "quotechar": "'", "column_names": ["one", "two"], "encoding": "cp1252"},
         [{"one": "café; bar", "two": "b"}]),
        ("json", json.dumps(OBJECTS, indent=1), {}, OBJECTS),
        ("json", "\n".join(map(json.dumps, OBJECTS)), {}, OBJECTS),
        ("json", json.dumps({"rows": OBJECTS}), {"field": "rows"}, OBJECTS),
        *((form, '{"one": "\u017e\U0001f600\u2028"}\n', {}, [{"one": "\u017e\U0001f600\u2028"}])
          for form in ("json", "jsonl")),
        ("squad", article(asked(start=3), asked("q2")), {"leave_out": ["q1"]}, [QUESTION]),
    ],
)  # fmt: skip
def test_values_are_those_of_the_file_plain_or_gzip(
    form: str, content: str | bytes, options: dict[str, Any], expected: list[Any], tmp_path: Path
) -> None:
    path, data = tmp_path / "file", content if isinstance(content, bytes) else content.encode()
    path.write_bytes(data)
    assert [fields for _, fields in formats[form](path, refused, **options)] == expected
    path.unlink()
    path.with_name("file.gz").write_bytes(gzip.compress(data))
    assert [fields for _, fields in formats[form](plain_or_gzip(path), refused, **options)] == expected


@pytest.mark.parametrize(("form", "place"), [("tsv", 20), ("json", -4)])
def test_a_gzip_with_a_wrong_byte_is_told(form: str, place: int, tmp_path: Path) -> None:
    content = bytearray(gzip.compress("".join(f"text {number},1\n" for number in range(50)).encode()))
    content[place] ^= 0xFF
    (tmp_path / "f.gz").write_bytes(content)
    with pytest.raises(RetortError, match=r"f.gz: not a whole gzip file \("):
        list(formats[form](tmp_path / "f.gz", refused))


def test_a_missing_file_names_those_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "valid.tsv").write_text("x\n")
    task = one_split()
    with pytest.raises(RetortError, match=r"dev.tsv does not exist; .* holds valid.tsv"):
        list(read_task(task, task_type_of(task), {"s": tmp_path}))


def test_questions_are_compared_in_the_language_of_their_subset(tmp_path: Path) -> None:
    (found,) = read_rows(tmp_path, "f.json", article(asked(is_impossible=True, answers=[])), **NONE).records
    assert (found.answers, found.normalisation) == ((), "squad")
    files = {"dev-vi": {"file": "f.json", "rows": [1], "subset": "vi"}}
    (found,) = read_rows(tmp_path, "f.json", article(asked()), **SQUAD, files=files).records
    assert (found.id, found.text, found.context, found.answers) == ("q1", "Where to?", CONTEXT, (("Oban", 24),))
    assert found.normalisation == "mlqa-vi"
    assert {f"mlqa-{name}" for name in Span.languages} == {name for name in normalisations if "mlqa" in name}


def read(folder: Path, content: str, rows: list[int] | None = None, name: str = "dev.tsv", **says: Any) -> SplitRows:
    """Return the rows of a split whose whole set has one of these numbers of rows, two unless said otherwise."""
    return read_rows(folder, name, content, files={"dev": {"file": name, "rows": rows or [2]}}, **says)


def test_what_a_released_file_is_known_to_have_is_let_pass_and_told(tmp_path: Path) -> None:
    text = f'{HEAD}0\ta\tb\tyes\n"broken\n1\tc\t\tno\n2\te\tf\t-\n'
    rows = read(tmp_path, text, broken=1, empty=1, exclude_labels=["-"])
    assert [(row.text, row.pair) for row in rows.records] == [("a", "b"), ("c", "")]
    assert rows.notes == [
        "s/dev.tsv: lines without all fields left out: line 3",
        "s/dev.tsv: rows with an empty text: line 4",
        "s/dev.tsv: rows labelled '-' left out: line 5",
    ]
    with pytest.raises(RetortError, match=r"dev.tsv, line 4: 1 fields"):
        read(tmp_path, f'{HEAD}0\ta\tb\tyes\n"broken\n"too\n', broken=1)


@pytest.mark.parametrize(("value", "excluded"), [(-1, "-1"), ("-1", "-1"), (None, "null"), (False, "false")])
def test_a_label_that_is_no_text_is_left_out_as_json_spells_it(value: object, excluded: str, tmp_path: Path) -> None:
    lines = [{"one": "a", "two": "b", "label": label} for label in (0, 1, value)]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    form = {"format": "jsonl", "label_names": [], "columns": {"text": "one", "pair": "two", "label": "label"}}
    rows = read(tmp_path, text, name="dev.jsonl", **form, exclude_labels=[excluded])
    assert [row.label for row in rows.records] == [0, 1]
    assert rows.notes == [f"s/dev.jsonl: rows labelled {excluded!r} left out: line 3"]


def test_a_sample_is_fewer_rows_and_says_so(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD, [9, 8], sample=True).sample == (2, 9)
    assert read(tmp_path, GOOD, [9, 2]).sample is None  # of two editions
    with pytest.raises(RetortError, match="2 rows, and the whole set has 3; give the whole file, or name the task un"):
        read(tmp_path, GOOD, [3])
    with pytest.raises(RetortError, match="2 rows, and the whole set has 1$"):
        read(tmp_path, GOOD, [1], sample=True)


def test_a_sample_may_lack_its_labels_where_the_split_says_so(tmp_path: Path) -> None:
    rows = read(tmp_path, GOOD, sample=True, columns={"text": 2, "label": 5}, unlabelled_sample=True)
    assert (rows.labelled, [row.label for row in rows.records]) == (False, [0, 0])
    for more in ({"sample": True}, {"unlabelled_sample": True}):
        with pytest.raises(RetortError, match="line 2: no column 'gold' for 'label'; there are index, one, two, label"):
            read(tmp_path, GOOD, columns={"text": "one", "label": "gold"}, **more)
    some, columns = '{"one": "a"}\n{"one": "b", "label": "yes"}\n', {"text": "one", "label": "label"}
    with pytest.raises(RetortError, match="dev.jsonl, line 2: has a label, and the rows before have none"):
        read(tmp_path, some, name="dev.jsonl", sample=True, columns=columns, unlabelled_sample=True)


def test_ratings_are_scores_or_classes_without_neutral_ones(tmp_path: Path) -> None:
    def rows(content: bytes, **options: Any) -> list[Any]:
        (tmp_path / "f.txt").write_bytes(content)
        return [row for _, row in formats["ratings"](tmp_path / "f.txt", refused, **options)]

    content = "1\t0.4\tmeh\n2\t-2\tcaf\xe9 closed\n3\t0.5\tFine  day \n\n".encode("latin-1")
    found = rows(content, neutral_below=0.5)
    assert found[0] == {"id": "2", "text": "caf\xe9 closed", "rating": -2.0, "positive": 0}
    assert [(row["text"], row["positive"]) for row in found] == [("caf\xe9 closed", 0), ("Fine  day", 1)]
    assert [row["rating"] for row in rows(content, scale=2.0)] == [0.2, -1.0, 0.25]
    assert rows("1\t2\tcaf\u00e9\r\n".encode(), encoding="utf-8")[0]["text"] == "café"
    with pytest.raises(RetortError, match="f.txt:1: not UTF-8 text"):
        rows(b"1\t2\tcaf\xe9\n", encoding="utf-8")


def test_split_keeps_groups_whole_and_follows_its_seed() -> None:
    group_of = task_type_of(one_split()).group

    def draw(seed: int) -> dict[str, list[Record]]:
        rows = SplitRows([Record(" Group"[i % 2 :] + f"  {i // 3}", None, i) for i in range(60)])
        return {name: each.records for name, each in split_groups(rows, group_of, Split(seed=seed, test=10, dev=5))}

    splits = draw(1)
    assert {name: len(rows) for name, rows in splits.items()} == {"train": 42, "dev": 6, "test": 12}
    groups = [{group_of(row) for row in rows} for rows in splits.values()]
    assert sum(map(len, groups)) == len(set.union(*groups)) == 20
    assert splits == draw(1) != draw(2)


DRAWN = {"split": {"seed": 1, "dev": 2, "test": 3}, "sample": False}


@pytest.mark.parametrize("name", ["csv", "jsonl", "parquet"])
def test_splits_are_drawn_from_one_file_of_any_format(name: str, tmp_path: Path) -> None:
    rows = [{"report": f"day {number}", "mood": ("good", "bad")[number % 2]} for number in range(9)]
    if name == "parquet":
        write_parquet(tmp_path / f"all.{name}", rows)
    else:
        lines = [",".join(row.values()) if name == "csv" else json.dumps(row) for row in rows]
        (tmp_path / f"all.{name}").write_text("report,mood\n" * (name == "csv") + "\n".join(lines))
    own = {"format": name, "columns": {"text": "report", "label": "mood"}, "label_names": []}
    split = split_settings(**own, files={"all": {"file": f"all.{name}", "rows": []}})
    task = task_settings(labels=["bad", "good"], splits={"all": split}, **DRAWN)
    drawn = dict(read_task(task, task_type_of(task), {"s": tmp_path}))
    assert {each: len(rows.records) for each, rows in drawn.items()} == {"train": 4, "dev": 2, "test": 3}
    found = {record.text: record.label for rows in drawn.values() for record in rows.records}
    assert found == {f"day {number}": 1 - number % 2 for number in range(9)}  # as the task spells its labels
    assert {rows.sha256 for rows in drawn.values()} == {sha256(tmp_path / f"all.{name}")}
    assert task.encoded_splits("dev") == ["dev"]


def test_questions_on_one_context_are_drawn_into_one_split(tmp_path: Path) -> None:
    squad = article(*(asked(f"q{number}") for number in range(4)))
    with pytest.raises(RetortError, match="4 rows leave none to train on; test: 3 and dev: 2 are too large"):
        read_rows(tmp_path, "f.json", squad, **SQUAD, **DRAWN, files={"all": {"file": "f.json", "rows": []}})


@pytest.mark.parametrize(
    ("labels", "names", "spelt", "expected"),
    [
        (["bad", "good"], [], ["good", "1", 0], [1, 1, 0]),  # the labels themselves, or their numbers
        (["1", "2", "3"], [], ["3", 1], [2, 0]),
        (["no", "yes"], ["false", "true"], [True, "false"], [1, 0]),
        (["no", "yes"], ["false", "true"], ["yes"], "label 'yes' is not one of false, true"),
        (["1", "2", "3"], [], [0], "label '0' is not one of 1, 2, 3"),  # no number of a label: it would be another one
        (["bad", "good"], [], [2], "label '2' is not one of bad, good"),
    ],
)
def test_labels_are_spelled_as_in_the_task_unless_it_says_otherwise(
    labels: list[str], names: list[str], spelt: list[Any], expected: list[int] | str
) -> None:
    if isinstance(expected, str):
        with pytest.raises(RetortError, match=expected):
            class_of(spelt[0], names, labels)
    else:
        assert [class_of(value, names, labels) for value in spelt] == expected


# data sets of the hub, whose cards name the files of a split


def read_hub(folder: Path, split: str = "validation", name: str = "plain", **says: Any) -> SplitRows:
    """Read a split of four rows of a configuration of a data set of the hub."""
    task = one_split(format="parquet", files={"dev": {"file": split, "rows": [4], "name": name}}, **says)
    return dict(read_task(task, task_type_of(task), {"s": folder}))["dev"]


def write_hub(folder: Path, second: int, two: str = "b") -> None:
    """Write the card and the files of a data set of the hub: `second` is the first id of the second file."""
    (folder / "plain").mkdir()
    for number, first in ((0, 0), (1, second)):
        rows: Any = [{"index": first + i, "one": "a", "two": two, "label": "no"} for i in range(2)]
        write_parquet(folder / f"plain/validation-{number:05}-of-00002.parquet", rows)
    add_to_card(folder, "first", "train", "first/train-*")  # which nobody fetched
    add_to_card(folder, "plain", "validation", "plain/validation-*")
    add_to_card(folder, "plain", "test", "plain/test-*")


def test_a_split_of_the_hub_has_the_files_that_the_card_names(tmp_path: Path) -> None:
    write_hub(tmp_path, second=2)
    rows = read_hub(tmp_path)
    assert len(rows.records) == 4
    assert rows.sha256 not in (None, *(sha256(path) for path in (tmp_path / "plain").iterdir()))


def test_a_note_names_the_file_of_its_rows(tmp_path: Path) -> None:
    write_hub(tmp_path, second=2, two="")
    names = [f"plain/validation-0000{number}-of-00002.parquet" for number in (0, 1)]
    assert read_hub(tmp_path, empty=4).notes == [f"{name}: rows with an empty text: row 1, row 2" for name in names]


CARD = "---\nconfigs:\n- config_name: plain\n  data_files: ../secret\n---\n"
# the card, None where it stays, what is asked for, words of the line
WRONG: list[tuple[str | None, dict[str, str], str]] = [
    (None, {}, "validation-00001-of-00002.parquet, row 1: id 1 stands in row 2 of plain/validation-00000-of-00002"),
    (None, {"name": "plan"}, "README.md: no configuration is called 'plan'; there are first, plain"),
    (None, {"split": "dev"}, "README.md: 'plain' has no split 'dev'; there are validation, test"),
    (None, {"split": "test"}, "the files of 'plain' and 'test' are not here; 'files' of the source takes plain/test-*"),
    (CARD, {"split": "train"}, "README.md: '../secret' leaves its folder"),
    ("---\nconfigs: 5\n---\n", {}, "README.md: not the card of a data set (Expected configs to be a list"),
    ("", {}, "README.md does not exist; name the files of the splits"),
]  # fmt: skip


@pytest.mark.parametrize(("card", "wanted", "said"), WRONG)
def test_a_mistake_in_a_data_set_of_the_hub(
    card: str | None, wanted: dict[str, str], said: str, tmp_path: Path
) -> None:
    write_hub(tmp_path, second=1)
    if card is not None:
        (tmp_path / "README.md").write_text(card) if card else (tmp_path / "README.md").unlink()
    with pytest.raises(RetortError) as caught:
        read_hub(tmp_path, **wanted)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["tsv", "csv", "jsonl"])
def test_a_file_is_never_whole_in_memory(name: str, tmp_path: Path) -> None:
    line = {"tsv": "{text}\t1", "csv": "{text},1", "jsonl": '{{"text": "{text}", "label": "1"}}'}[name]
    texts = ["text", *["long " * 200] * 2000]
    (tmp_path / name).write_text("\n".join(line.format(text=text) for text in texts))
    tracemalloc.start()
    rows = sum(1 for _ in formats[name](tmp_path / name, lambda location, what: None))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows >= 1999
    assert peak < (tmp_path / name).stat().st_size / 10
