"""Tests that a user's folder is linked, never copied, and never changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.data.sources import fetch
from retort.errors import RetortError
from retort.specs.source import Folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder of data with files, an inner folder, a folder that is a link, and a hidden file."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "far.txt").write_text("far")
    data = tmp_path / "data"
    (data / "inner").mkdir(parents=True)
    (data / "a.txt").write_text("a")
    (data / "inner" / "b.txt.gz").write_bytes(b"b")
    (data / "linked").symlink_to(tmp_path / "elsewhere")
    (data / ".snakemake_timestamp").write_text("the user's own")
    return data


def test_every_file_is_a_link_and_every_folder_is_real(data: Path, tmp_path: Path) -> None:
    to = tmp_path / "to"
    assert fetch(Folder(path=str(data)), to, tmp_path / "state") == 3
    assert (to / "a.txt").is_symlink()
    assert not (to / "inner").is_symlink()
    assert (to / "inner" / "b.txt.gz").read_bytes() == b"b"
    assert (to / "linked" / "far.txt").read_text() == "far"
    assert not (to / ".snakemake_timestamp").exists()


def test_a_link_to_nothing_is_named(data: Path, tmp_path: Path) -> None:
    (data / "inner" / "gone.txt").symlink_to(tmp_path / "nowhere")
    with pytest.raises(RetortError, match=r"data/inner/gone.txt is a link to nothing; put a file there, or remove"):
        fetch(Folder(path=str(data)), tmp_path / "to", tmp_path / "state")


def test_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with pytest.raises(RetortError, match="source folder .*data is empty"):
        fetch(Folder(path=str(tmp_path / "data")), tmp_path / "to", tmp_path / "state")
