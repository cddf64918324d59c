"""Tests of the messages for files of a source that are missing or damaged."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.errors import RetortError


def test_missing_source_folder(tmp_path: Path) -> None:
    from retort.data.sources import fetch
    from retort.specs.source import Folder

    with pytest.raises(RetortError, match="source folder .*nowhere does not exist"):
        fetch(Folder(path=str(tmp_path / "nowhere")), tmp_path / "to", tmp_path / "state")


def test_a_line_that_is_no_rated_text(tmp_path: Path) -> None:
    from retort.data.texts import Section, rated_line_texts

    (tmp_path / "bad.txt").write_text("1\t0.5\tfine\n2\tmissing the rest\n")
    with pytest.raises(RetortError, match=r"bad.txt:2: not 'id, rating, text'"):
        list(rated_line_texts(Section(tmp_path / "bad.txt")))


def test_a_file_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    from retort.data.readers import readers

    (tmp_path / "rated.txt").write_text("1\t0.5\tfine\n")
    with pytest.raises(RetortError, match=r"rates.txt does not exist; the folder holds rated.txt"):
        readers["rated-texts"](tmp_path, file="rates.txt")
