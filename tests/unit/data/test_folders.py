"""Tests that a user's folder is linked, never copied, and never changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from retort.checksums import differences, take
from retort.data.sources.fetch import fetch, link_again
from retort.errors import RetortError
from retort.job.context import this_code
from retort.settings.folder_digests import changed_files, content_of
from retort.specs.source import Folder


@pytest.fixture
def data(folder: Path) -> Path:
    """Return a folder of data with files, an inner folder, a folder that is a link, and a hidden file."""
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "far.txt").write_text("far")
    data = folder / "data"
    (data / "inner").mkdir(parents=True)
    (data / "a.txt").write_text("a")
    (data / "inner" / "b.txt.gz").write_bytes(b"b")
    (data / "linked").symlink_to(folder / "elsewhere")
    (data / ".snakemake_timestamp").write_text("the user's own")
    return data


def content(data: Path) -> str:
    """Return the digest by which a folder is known, as the next start sees it."""
    content_of.cache_clear()
    return content_of("texts", data)


def test_a_folder_is_known_by_the_files_behind_its_links(data: Path, tmp_path: Path) -> None:
    to, before = tmp_path / "to", content(data)
    fetch(Folder(path=str(data)), to, tmp_path / "state")
    taken = take(to, "fetch_source(texts)", this_code(), (), {})
    assert sorted(taken.files) == ["a.txt", "inner/b.txt.gz", "linked/far.txt"]
    (tmp_path / "elsewhere" / "far.txt").write_text("changed")
    assert content(data) != before
    assert [str(line).split(" is ")[0] for line in differences(to, taken, thorough=False)] == [f"{to}/linked/far.txt"]
    (tmp_path / "elsewhere" / "far.txt").write_text("far")
    assert content(data) == before
    (data / "linked").unlink()
    (data / "linked").mkdir()
    (data / "linked" / "far.txt").write_text("far")
    assert content(data) == before  # the same files in a folder of its own


def test_files_that_changed_are_known_by_name(data: Path) -> None:
    first = content(data)
    (data / "a.txt").write_text("edited")
    second = content(data)
    (data / "inner" / "b.txt.gz").unlink()
    (data / "c.txt").write_text("new")
    third = content(data)
    assert changed_files(first) == ["a.txt", "c.txt", "inner/b.txt.gz"]
    assert changed_files(second) == ["c.txt", "inner/b.txt.gz"]
    assert changed_files(third) == changed_files("of no source") == []


def test_links_that_lead_in_a_circle(data: Path, tmp_path: Path) -> None:
    before = content(data)
    (data / "inner" / "up").symlink_to(data)
    (tmp_path / "elsewhere" / "back").symlink_to(data / "linked")
    assert content(data) == before
    assert fetch(Folder(path=str(data)), tmp_path / "to", tmp_path / "state") == 3
    (data / "again").symlink_to(tmp_path / "elsewhere")  # a second way to a folder is no circle
    assert fetch(Folder(path=str(data)), tmp_path / "second", tmp_path / "state") == 4
    assert content(data) != before


@pytest.mark.parametrize("target", ["nowhere", "gone.txt"])
def test_a_link_that_leads_nowhere(target: str, data: Path, tmp_path: Path) -> None:
    before = content(data)
    (data / "inner" / "gone.txt").symlink_to(target)  # the second one leads to itself
    assert content(data) == before
    with pytest.raises(RetortError) as refused:
        fetch(Folder(path=str(data)), tmp_path / "to", tmp_path / "state")
    line = "'inner/gone.txt' in the folder of the source is a link that leads nowhere; correct it, or take it away"
    assert str(refused.value) == line


def test_what_is_no_file_is_not_opened(data: Path, tmp_path: Path) -> None:
    before = content(data)
    os.mkfifo(data / "pipe")  # a reader of it would wait for ever
    assert content(data) == before
    with pytest.raises(RetortError, match="'pipe' in the folder of the source is nothing that can be read"):
        fetch(Folder(path=str(data)), tmp_path / "to", tmp_path / "state")


def test_a_folder_with_links_that_was_moved_is_linked_again(data: Path, tmp_path: Path) -> None:
    to = tmp_path / "to"
    fetch(Folder(path=str(data)), to, tmp_path / "state")
    data.rename(tmp_path / "moved")
    link_again(Folder(path=str(tmp_path / "moved")), to)
    assert (to / "linked" / "far.txt").readlink() == tmp_path / "moved" / "linked" / "far.txt"
    assert (to / "linked" / "far.txt").read_text() == "far"
