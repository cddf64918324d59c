"""Tests of reading documents from files: formats, compression, cleaning, sentences."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
import re
import unicodedata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from retort.data import texts as formats
from retort.data.corpus_texts import Seen, clean
from retort.data.packing import split_sentences
from retort.data.texts import Section, sections, texts

TWO = "First line,\nsecond line.\n\n\nAnother one.\n"


def read(path: Path, form: str, **options: object) -> list[str]:
    """Return the documents of a file."""
    return list(texts[form](Section(path), **options))


@pytest.mark.parametrize(
    ("ending", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_a_blank_line_ends_a_document_plain_or_compressed(tmp_path: Path, ending: str, pack: type) -> None:
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(pack(TWO.encode()))
    assert [document.split("\n") for document in read(path, "text")] == [
        ["First line,", "second line.", ""],
        ["Another one.", ""],
    ]


def test_a_text_without_blank_lines_is_cut_at_a_lines_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "LONGEST", 20)
    (tmp_path / "a.txt").write_text("twelve chars\n" * 4 + "x" * 50)
    found = read(tmp_path / "a.txt", "text")
    assert found[:2] == ["twelve chars\ntwelve chars\n"] * 2
    assert "".join(found) == "twelve chars\n" * 4 + "x" * 50
    assert max(map(len, found)) <= 40


def test_a_jsonl_line_is_a_document(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"body": "One."}) + "\n\n" + json.dumps({"body": "Two."}) + "\n")
    assert read(tmp_path / "a.jsonl", "jsonl", field="body") == ["One.", "Two."]


def test_rows_of_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.table({"text": ["a", "b", "c"], "id": [1, 2, 3]}), path)
    assert read(path, "parquet") == ["a", "b", "c"]
    assert read(path, "parquet", rows=2) == ["a\nb", "c"]


def test_cleaning_of_lines_with_and_without_rare_characters_is_the_same() -> None:
    unwanted, spaces = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ufffd]+"), re.compile(r"[^\S\n]+")
    characters = [chr(number) for number in (*range(0x180), 0x301, 0x2028, 0x3000, 0xFEFF, 0xFFFD, 0x4E00)]
    draw = random.Random(0)
    for _ in range(500):
        text = "".join(draw.choices([*characters, " ", "\n"], k=60))
        one_by_one = spaces.sub(" ", unwanted.sub("", unicodedata.normalize("NFC", text)))
        assert clean(text) == "\n".join(line for line in map(str.strip, one_by_one.split("\n")) if line)


def test_seen_agrees_with_a_set() -> None:
    draw, seen, expected = random.Random(1), Seen(), set()
    for _ in range(60):
        digests = [draw.randrange(1500) << 50 for _ in range(draw.randint(0, 80))]
        new = []
        for number in digests:
            new.append(number not in expected)
            expected.add(number)
        assert seen.add(np.array(digests, np.uint64)).tolist() == new


def test_sections_of_a_file_hold_its_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "SECTION", 200)
    draw, path, packed = random.Random("text"), tmp_path / "a", tmp_path / "a.gz"
    path.write_text("".join(f"Line {number}.\n" + "\n" * draw.choice([0, 0, 1, 2]) for number in range(300)))
    cut = sections(path, "text")
    assert len(cut) > 8
    assert sum(section.size for section in cut) == path.stat().st_size
    assert [document for section in cut for document in texts["text"](section)] == read(path, "text")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert sections(packed, "text") == [Section(packed)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It ends. It begins! (Does it?) \"So.\" Good.", ["It ends.", "It begins!", "(Does it?)", '"So."', "Good."]),
        ("Dr. A. Smith paid 3.50 vs. Mr. Jones. See fig. 2.", ["Dr. A. Smith paid 3.50 vs. Mr. Jones.", "See fig. 2."]),
        ("one line\nanother line", ["one line", "another line"]),
        ("He left, e.g. by train. Then ... nothing came.", ["He left, e.g. by train.", "Then ... nothing came."]),
        ("今日は。Ok. 明日も", ["今日は。", "Ok.", "明日も"]),
        ("今日は。明日も！はい。", ["今日は。", "明日も！", "はい。"]),
        ("यह एक है। वह दो है।", ["यह एक है।", "वह दो है।"]),
        ("هل هذا؟ نعم. لا.", ["هل هذا؟", "نعم.", "لا."]),
        ("", []),
    ],
)  # fmt: skip
def test_where_sentences_end(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected
