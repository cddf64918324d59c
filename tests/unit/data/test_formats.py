"""Tests of the files of tasks: what each format and reader takes from a file, and the one line for each mistake."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from retort.data.files import plain_or_gzip
from retort.data.formats import Record, formats, readers
from retort.data.splits import SplitRows, read_task
from retort.errors import RetortError
from retort.settings.inputs import TaskSettings
from retort.tasks import task_type_of
from retort.tasks.metrics import normalisations
from retort.tasks.spans import Span

from tests.job_settings import split_settings, task_settings
from tests.tiny.forms import write_parquet


def refused(place: str, what: str) -> None:
    """Fail the test: no broken line is expected."""
    raise AssertionError(f"{place}: {what}")


OBJECTS = [{"one": "a", "two": 1}, {"one": "b", "two": None}]
CONTEXT = "The old ferry starts in Oban at noon."


def asked(name: str = "q1", answer: str = "Oban", start: int = 24, **more: Any) -> dict[str, Any]:
    """Return a question in the format of SQuAD 1.1."""
    return {"id": name, "question": "Where to?", "answers": [{"text": answer, "answer_start": start}], **more}


def article(*asked: dict[str, Any], context: str = CONTEXT) -> str:
    """Return the text of a file of SQuAD with one paragraph."""
    return json.dumps({"data": [{"title": "Ferries", "paragraphs": [{"context": context, "qas": list(asked)}]}]})


QUESTION = {
    "id": "q2",
    "question": "Where to?",
    "title": "Ferries",
    "context": CONTEXT,
    "answers": {"text": ["Oban"], "answer_start": [24]},
}


@pytest.mark.parametrize(
    ("form", "content", "options", "expected"),
    [
        ("tsv", '\ufeffQ\tS\n"a" said\the "no\r\nc\x85d\u2028e\t\ufefff\x0cg\n', {},
         [{1: '"a" said', 2: 'he "no', "Q": '"a" said', "S": 'he "no'},
          {1: "c\x85d\u2028e", 2: "\ufefff\x0cg", "Q": "c\x85d\u2028e", "S": "\ufefff\x0cg"}]),
        ("tsv", "gj04\t1\t\tThe ship sank.\n", {"header": False}, [{1: "gj04", 2: "1", 3: "", 4: "The ship sank."}]),
        ("jsonl", '{"one": "a", "two": 1}\n\n{"one": "b", "two": null}\n', {}, OBJECTS),
        ("csv", '\ufeffone,two\n"a, ""b""\nc",NA\n\n007,2020-01-01\nlast', {},
         [{"one": 'a, "b"\nc', "two": "NA"}, {"one": "007", "two": "2020-01-01"}, {"one": "last", "two": ""}]),
        ("csv", "'caf\u00e9; bar';b\n".encode("cp1252"),
         {"delimiter": ";", "quotechar": "'", "column_names": ["one", "two"], "encoding": "cp1252"},
         [{"one": "café; bar", "two": "b"}]),
        ("json", json.dumps(OBJECTS, indent=1), {}, OBJECTS),
        ("json", "\n".join(map(json.dumps, OBJECTS)), {}, OBJECTS),
        ("json", json.dumps({"rows": OBJECTS}), {"field": "rows"}, OBJECTS),
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


def test_rows_of_a_parquet_file(tmp_path: Path) -> None:
    write_parquet(tmp_path / "f.parquet", OBJECTS)  # type: ignore[arg-type]
    assert list(formats["parquet"](tmp_path / "f.parquet", refused)) == [("row 1", OBJECTS[0]), ("row 2", OBJECTS[1])]


@pytest.mark.parametrize(("form", "place"), [("tsv", 20), ("json", -4)])
def test_a_gzip_with_a_wrong_byte_is_told(form: str, place: int, tmp_path: Path) -> None:
    content = bytearray(gzip.compress("".join(f"text {number},1\n" for number in range(50)).encode()))
    content[place] ^= 0xFF
    (tmp_path / "f.gz").write_bytes(content)
    with pytest.raises(RetortError, match=r"f.gz: not a whole gzip file \("):
        list(formats[form](tmp_path / "f.gz", refused))


# reading the rows of a split

COLUMNS = {"columns": {"text": "one", "pair": "two", "label": "label", "id": "index"}}
SPAN = {"id": "id", "question": "question", "context": "context", "label": "answers"}
SQUAD: dict[str, Any] = {"format": "squad", "columns": SPAN, "label_names": [], "task_type": "span", "labels": []}
NONE = {**SQUAD, "task_type": "span-or-none", "columns": {**SPAN, "impossible": "is_impossible"}}
SCORES: dict[str, Any] = {"task_type": "regression", "labels": [], "label_names": [], "bounds": [0, 5]}
HEADER = "index\tone\ttwo\tlabel\n"
CSV = "index,one,two,label\n0,a,b,yes\n"
FULL = '{"index": 0, "one": "a", "two": "b", "label": "no"}'
GOOD = "0\ta\tb\tyes\n1\tc\td\tno\n"


def setting(**more: Any) -> TaskSettings:
    """Return the settings of a task of text pairs with one split, `dev`, of two rows in dev.tsv."""
    own = {key: more.pop(key) for key in list(more) if key in TaskSettings.model_fields}
    return task_settings(**{"sample": False, **own}, splits={"dev": split_settings(**more)})


def read(folder: Path, content: str | bytes, name: str = "dev.tsv", **more: Any) -> SplitRows:
    """Write the file of a split and return its rows; a table of tabs gets a header."""
    if isinstance(content, str):
        content = f"{HEADER if name == 'dev.tsv' else ''}{content}".encode()
    (folder / name).write_bytes(content)
    task = setting(**{"format": name.split(".")[1], "files": {"dev": {"file": name, "rows": [2]}}, **more})
    return dict(read_task(task, task_type_of(task), {"s": folder}))["dev"]


PLACE = "question q1 (data[0].paragraphs[0].qas[0])"
NO: dict[str, Any] = {"answers": []}
MISTAKES: list[tuple[str, str | bytes, dict[str, Any], str]] = [
    ("dev.tsv", "0\ta\tb\tyes\n", {}, "1 rows, and the whole set has 2; give the whole file, or name the task under"),
    ("dev.tsv", "0\ta\tb\tyes\n1\tc\tno\n", {}, "dev.tsv, line 3: 3 fields, and line 1 has 4: '1\\tc\\tno'"),
    ("dev.tsv", "0\ta\tb\tyes\n0\tc\td\tno\n", {}, "dev.tsv, line 3: id '0' stands in line 2 already"),
    ("dev.tsv", "0\ta\t \tyes\n1\tc\td\tno\n", {}, "dev.tsv, line 2: pair (two) is empty"),
    ("dev.tsv", GOOD, {"columns": {"text": "uno", "label": "label"}},
     "dev.tsv, line 2: no column 'uno' for 'text'; there are index, one, two, label"),
    ("dev.tsv", GOOD, {"columns": {"text": "one", "label": "gold"}},
     "line 2: no column 'gold' for 'label'; there are index, one, two, label; a split without labels says"),
    ("dev.tsv", GOOD, SCORES, "dev.tsv, line 2: score 'yes' is not a number from 0 to 5"),
    ("dev.tsv", GOOD, {"label_names": []}, "label 'yes' is not one of 0, 1"),
    ("dev.tsv", HEADER.encode() + b"0\tcaf\xe9\tb\tyes\n", {}, "dev.tsv:2: not UTF-8 text"),
    ("dev.csv", CSV + "1,c,d,no,x\n", {}, "dev.csv, row 2: more fields than the header has; are quotes missing?"),
    ("dev.csv", CSV + "1,c,d\n", {}, "dev.csv, row 2: label '' is not one of no, yes"),
    ("dev.csv", CSV + '1,"c,d,no\n', {}, "dev.csv:3: not valid CSV (unexpected end of data); are quotes missing?"),
    ("dev.csv", CSV + '1,"c" and,d,no\n', {}, "dev.csv:3: not valid CSV (',' expected after '\"')"),
    ("dev.csv", CSV, {"options": {"encoding": "utf-9"}}, "dev.csv: unknown encoding: utf-9"),
    ("dev.json", '[{"index": 0, "one": "a"', {}, "dev.json:1: not valid JSON (Expecting ',' delimiter)"),
    ("dev.json", "[5]", {}, "dev.json, row 1: not a JSON object: '5'"),
    ("dev.json", FULL, {"options": {"field": "rows"}}, "dev.json: no list of objects under 'rows'"),
    ("dev.json", FULL.replace('"a"', "5"), {}, "row 1: text (one) is 5, not a text"),
    ("f.json", '{"data": [\n{"paragraphs": [', SQUAD, "f.json:2: not valid JSON"),
    ("f.json", '{"version": "1.1"}', SQUAD, "f.json: no 'data'; the file does not have SQuAD's format"),
    ("f.json", article({**asked(), "answers": [{"text": "x"}]}), SQUAD, f"f.json, {PLACE}: no 'answer_start'"),
    ("f.json", article(asked(start=True)), SQUAD, f"f.json, {PLACE}: 'answer_start' is not a whole number"),
    ("f.json", article(asked(), asked()), SQUAD, "qas[1]): id 'q1' stands in question q1 (data[0].paragraphs[0].qas[0"),
    ("f.json", article(asked(start=23)), SQUAD, f"{PLACE}: answer 'Oban' does not stand at character 23 of its"),
    ("f.json", article(asked(answer=" ", start=3)), SQUAD, f"{PLACE}: an answer is empty"),
    ("f.json", article({**asked(), **NO}), SQUAD, f"{PLACE}: no answer; only tasks of type 'span-or-none'"),
    ("f.json", article(asked(is_impossible=True)), NONE, f"{PLACE}: is_impossible is true, and it has 1 answers"),
    ("f.json", article(asked()), {**SQUAD, "options": {"leave_out": ["q9"]}}, "leave_out: there is no question q9"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "more", "said"), MISTAKES)
def test_a_mistake_in_a_file(name: str, content: str | bytes, more: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(RetortError) as caught:
        read(tmp_path, content, name, **{**COLUMNS, **more})
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_names_those_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "valid.tsv").write_text("x\n")
    task = setting()
    with pytest.raises(RetortError, match=r"dev.tsv does not exist; .* holds valid.tsv"):
        list(read_task(task, task_type_of(task), {"s": tmp_path}))
    (tmp_path / "rated.txt").write_text("1\t0.5\tfine\n")
    with pytest.raises(RetortError, match=r"rates.txt does not exist; the folder holds rated.txt"):
        readers["rated-texts"](tmp_path, file="rates.txt")


def test_questions_are_compared_in_the_language_of_their_subset(tmp_path: Path) -> None:
    none = article({**asked(is_impossible=True), "answers": []})
    one = {"dev": {"file": "f.json", "rows": [1]}}
    (found,) = read(tmp_path, none, "f.json", **{**NONE, "files": one}).records
    assert (found.answers, found.normalisation) == ((), "squad")
    named = {"dev-vi": {"file": "f.json", "rows": [1], "subset": "vi"}}
    task = setting(**{**SQUAD, "files": named})
    (tmp_path / "f.json").write_text(article(asked()))
    (found,) = dict(read_task(task, task_type_of(task), {"s": tmp_path}))["dev-vi"].records
    assert (found.id, found.text, found.context, found.answers) == ("q1", "Where to?", CONTEXT, (("Oban", 24),))
    assert found.normalisation == "mlqa-vi"
    assert {f"mlqa-{name}" for name in Span.languages} == {name for name in normalisations if "mlqa" in name}


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
    with pytest.raises(RetortError, match="2 rows, and the whole set has 1$"):
        read(tmp_path, GOOD, sample=True, files={"dev": {"file": "dev.tsv", "rows": [1]}})
    assert read(tmp_path, GOOD, files={"dev": {"file": "dev.tsv", "rows": [9, 2]}}).sample is None  # of two editions


def test_a_sample_may_lack_its_labels_where_the_split_says_so(tmp_path: Path) -> None:
    columns, numbered = {"text": "one", "label": "gold"}, {"text": 2, "label": 5}
    rows = read(tmp_path, GOOD, sample=True, columns=numbered, unlabelled_sample=True)
    assert (rows.labelled, [row.label for row in rows.records]) == (False, [0, 0])
    for more in ({"sample": True}, {"unlabelled_sample": True}):
        with pytest.raises(RetortError, match="line 2: no column 'gold' for 'label'; there are index, one, two, label"):
            read(tmp_path, GOOD, columns=columns, **more)
    some = '{"one": "a"}\n{"one": "b", "label": "yes"}\n'
    more = {"sample": True, "columns": {"text": "one", "label": "label"}, "unlabelled_sample": True}
    with pytest.raises(RetortError, match="dev.jsonl, line 2: has a label, and the rows before have none"):
        read(tmp_path, some, "dev.jsonl", **more)


# readers of rated texts


def test_rated_sentences_leave_neutral_ones_out(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_bytes("1\t0.4\tmeh\n2\t-2\tcaf\xe9 closed\n3\t0.5\tFine  day\n\n".encode("latin-1"))
    found = readers["rated-sentences"](tmp_path, file="f.txt", neutral_below=0.5)
    assert found == [Record("caf\xe9 closed", None, 0.0, "caf\xe9 closed"), Record("Fine  day", None, 1.0, "fine day")]
    scored = readers["rated-texts"](tmp_path, file="f.txt", scale=2.0)
    assert [record.label for record in scored] == [0.2, -1.0, 0.25]
    (tmp_path / "f.txt").write_bytes("1\t2\tcaf\u00e9\r\n".encode())
    assert readers["rated-texts"](tmp_path, file="f.txt", encoding="utf-8")[0].text == "café"
    (tmp_path / "f.txt").write_bytes(b"1\t2\tcaf\xe9\n")
    with pytest.raises(RetortError, match="f.txt:1: not UTF-8 text"):
        readers["rated-texts"](tmp_path, file="f.txt", encoding="utf-8")
