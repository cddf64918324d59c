"""Tests of reading documents from files: formats, compression, wikitext, cleaning, sentences."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from retort.data import texts as formats
from retort.data.cleaning import Seen, clean, kept
from retort.data.packing import split_sentences
from retort.data.texts import texts
from retort.data.wikitext import plain
from retort.errors import RetortError
from retort.specs.corpus import Cleaning

from tests.conftest import ROOT

DATA = Path(os.environ.get("RETORT_DATA", ROOT.parent / "shared" / "data")) / "text"
real = pytest.mark.skipif(not DATA.is_dir(), reason="no folder of real texts: set RETORT_DATA")
TWO = "First line,\nsecond line.\n\n\nAnother one.\n"


def read(path: Path, form: str, **options: object) -> list[str]:
    """Return the documents of a file."""
    return list(texts[form](path, **options))


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


@pytest.mark.parametrize(
    ("name", "content", "form", "said"),
    [
        ("a.txt", b"caf\xe9\n", "text", "not UTF-8 text"),
        ("a.txt.gz", gzip.compress(TWO.encode(), mtime=0)[:-9], "text", "damaged or cut"),
        ("a.txt.gz", b"no gzip at all", "text", "damaged or cut"),
        ("a.txt.xz", lzma.compress(TWO.encode())[:-5], "text", "damaged or cut"),
        ("a.parquet", b"no parquet", "parquet", "not a Parquet file"),
        ("a.xml.bz2", bz2.compress(b"<mediawiki><page>"), "mediawiki", "not a MediaWiki dump"),
        ("a.xml.bz2", bz2.compress(b""), "mediawiki", "not a MediaWiki dump"),
    ],
)
def test_a_damaged_file_gets_one_line(tmp_path: Path, name: str, content: bytes, form: str, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RetortError, match=said) as caught:
        read(tmp_path / name, form)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


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


def test_what_is_dropped_is_counted() -> None:
    counts: Counter[str] = Counter()
    documents = ["A text. ", "A  text.", "B", " \x00 ", "Another text."]
    found = list(kept(documents, Cleaning(minimum=3, drop_duplicates=True), counts))
    assert found == ["A text.", "Another text."]
    assert counts == {"documents": 5, "duplicates": 1, "short": 2, "kept": 2, "characters": 20}
    everything = list(kept(documents, Cleaning(), Counter()))
    assert everything == ["A text.", "A text.", "B", "Another text."]


def test_seen_agrees_with_a_set_over_many_runs() -> None:
    import random

    draw, seen, expected = random.Random(1), Seen(recent=16), set()
    for number in (draw.randrange(600) for _ in range(3000)):
        assert seen.add(str(number)) == (number not in expected)
        expected.add(number)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It ends. It begins! (Does it?) \"So.\" Good.", ["It ends.", "It begins!", "(Does it?)", '"So."', "Good."]),
        ("Dr. A. Smith paid 3.50 vs. Mr. Jones. See fig. 2.", ["Dr. A. Smith paid 3.50 vs. Mr. Jones.", "See fig. 2."]),
        ("one line\nanother line", ["one line", "another line"]),
        ("He left, e.g. by train. Then ... nothing came.", ["He left, e.g. by train.", "Then ... nothing came."]),
        ("今日は。明日も！はい。", ["今日は。", "明日も！", "はい。"]),
        ("यह एक है। वह दो है।", ["यह एक है।", "वह दो है।"]),
        ("هل هذا؟ نعم. لا.", ["هل هذا؟", "نعم.", "لا."]),
        ("", []),
    ],
)  # fmt: skip
def test_where_sentences_end(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected
