"""Tests of the messages for files of a source that are missing or damaged."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from retort.errors import RetortError


def test_missing_source_folder(tmp_path: Path) -> None:
    from retort.sources.fetch import fetch
    from retort.specs.source import Folder

    with pytest.raises(RetortError, match="source folder .*nowhere does not exist"):
        fetch(Folder(path=str(tmp_path / "nowhere")), tmp_path / "to", tmp_path / "state")


def test_a_line_that_is_no_rated_text(tmp_path: Path) -> None:
    from retort.data.texts import Section, rated_line_texts

    (tmp_path / "bad.txt").write_text("1\t0.5\tfine\n2\tmissing the rest\n")
    with pytest.raises(RetortError, match=r"bad.txt:2: not 'id, rating, text'"):
        list(rated_line_texts(Section(tmp_path / "bad.txt")))


def test_a_file_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    from retort.data.formats import readers

    (tmp_path / "rated.txt").write_text("1\t0.5\tfine\n")
    with pytest.raises(RetortError, match=r"rates.txt does not exist; the folder holds rated.txt"):
        readers["rated-texts"](tmp_path, file="rates.txt")


@pytest.mark.parametrize("name", ["dev.csv", "dev.json", "dev.tsv", "dev.jsonl"])
def test_a_gzip_with_a_wrong_byte_is_told(name: str, tmp_path: Path) -> None:
    from retort.data.formats import formats

    rows = [{"one": f"text {number}", "two": number} for number in range(50)]
    ending = name.split(".")[1]
    text = json.dumps(rows) if ending == "json" else "one,two\n" + "".join(f"{row['one']},1\n" for row in rows)
    content = bytearray(gzip.compress(text.encode()))
    content[20] ^= 0xFF
    path = tmp_path / f"{name}.gz"
    path.write_bytes(content)
    with pytest.raises(RetortError, match=rf"{name}.gz: not a whole \w+ file \(") as caught:
        list(formats[ending](path, lambda place, what: None))
    assert "\n" not in str(caught.value)
