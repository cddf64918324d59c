"""Tests of reading documents from files: formats, compression, wikitext, cleaning, sentences."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
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
from retort.data.texts import Section, plain, sections, texts
from retort.errors import RetortError

from tests.conftest import ROOT

DATA = Path(os.environ.get("RETORT_DATA", ROOT.parent / "shared" / "data")) / "text"
real = pytest.mark.skipif(not DATA.is_dir(), reason="no folder of real texts: set RETORT_DATA")
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
    with pytest.raises(RetortError, match="a.jsonl:1: no JSON object with 'text'"):
        read(tmp_path / "a.jsonl", "jsonl")


def test_rows_of_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.table({"text": ["a", "b", "c"], "id": [1, 2, 3]}), path)
    assert read(path, "parquet") == ["a", "b", "c"]
    assert read(path, "parquet", rows=2) == ["a\nb", "c"]
    with pytest.raises(RetortError, match="a.parquet has no column 'body'; it has text, id"):
        read(path, "parquet", column="body")


def test_articles_of_wikitext_tokens(tmp_path: Path) -> None:
    (tmp_path / "w").write_text(
        " \n = One = \n \n Text 1 @,@ 000 @-@ fold . \n = = Part = = \n More . \n \n = Two = \n \n Other . \n"
    )
    assert [d.split("\n")[:-1] for d in read(tmp_path / "w", "wikitext")] == [
        [" Text 1,000-fold . ", " More . "],
        [" Other . "],
    ]


WIKI = """{{Infobox|a={{nested|b}}
}}
'''Anarchism''' is a [[political philosophy|philosophy]]<ref name=x>A {{cite}}.</ref> of [[state (polity)|]]s<ref/>.
<!-- hidden
-->[[File:A.png|thumb|A [[link|caption]] here]]
== History ==
* First [https://example.org an outside link] &amp; more
{| class="wikitable"
| a || b
{| nested
|}
|}
[[Category:Ideas]] [[de:Anarchismus]] [[:Category:Shown]]
{{unclosed
"""


def test_wikitext_becomes_what_a_reader_sees() -> None:
    assert plain(WIKI).split("\n") == [
        "Anarchism is a philosophy of s.",
        "History",
        "First an outside link & more",
        ":Category:Shown",
        "{{unclosed",
    ]


PAGE = "<page><title>T</title><ns>{ns}</ns>{more}<revision><text>{text}</text></revision></page>"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_redirects_and_other_namespaces_are_no_articles(tmp_path: Path, encoding: str) -> None:
    pages = [
        PAGE.format(ns=0, more="", text="Първи [[текст]]."),
        PAGE.format(ns=0, more="<redirect title='T'/>", text="#REDIRECT [[T]]"),
        PAGE.format(ns=1, more="", text="Talk."),
        PAGE.format(ns=0, more="", text="Second."),
    ]
    declared = f"<?xml version='1.0' encoding='{encoding}'?><mediawiki>{''.join(pages)}</mediawiki>"
    (tmp_path / "a.xml.bz2").write_bytes(bz2.compress(declared.encode(encoding)))
    assert read(tmp_path / "a.xml.bz2", "mediawiki") == ["Първи текст.", "Second."]


@real
@pytest.mark.parametrize(("pattern", "pages", "begins"), [("enwiki*", 100, "Anarchism is "), ("bgwiki*", 1, "")])
def test_a_shortened_official_dump(pattern: str, pages: int, begins: str) -> None:
    found = read(next((DATA / "wikipedia-dump").glob(pattern)), "mediawiki")
    assert len(found) >= pages
    together = "\n".join(found)
    for mark in ("[[", "]]", "'''", "<ref", "</", "&amp;", "&nbsp;"):
        assert together.count(mark) * 20_000 <= len(together), f"{mark} stands there {together.count(mark)} times"
    assert any(line.startswith(begins) for line in found[0].split("\n"))


def test_cleaning_puts_characters_and_spaces_right() -> None:
    assert clean("\ufeffcafe\u0301\u00a0 \tau\x00\x80 lait \r\n\n  b\x0bc ") == "caf\u00e9 au lait\nb c"


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


@pytest.mark.parametrize(("form", "line"), [("text", "Line {}.\n{}"), ("jsonl", '{{"text": "Line {}."}}\n')])
def test_sections_of_a_file_hold_its_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, line: str
) -> None:
    monkeypatch.setattr(formats, "SECTION", 200)
    draw = random.Random(form)
    lines = [line.format(number, "\n" * draw.choice([0, 0, 1, 2])) for number in range(300)]
    path = tmp_path / "a"
    path.write_text("".join(lines))
    cut = sections(path, form)
    assert len(cut) > 8
    assert sum(section.size for section in cut) == path.stat().st_size
    documents = [document for section in cut for document in texts[form](section)]
    assert documents == read(path, form)
    packed = tmp_path / "a.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert sections(packed, form) == [Section(packed)]


def test_a_bad_line_of_a_section_is_named_by_its_number_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "SECTION", 100)
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "One."}\n' * 40 + "no json\n")
    with pytest.raises(RetortError, match="a.jsonl:41: no JSON object"):
        list(texts["jsonl"](sections(path, "jsonl")[-1]))


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
