"""Tests of atomic writes: a file is whole or not there, whatever ends its writer, and nothing is left behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from retort.atomic import flush_to_disk, part_of, remove_leftovers, replacing_file, write_json, write_text

WRITE = """
import sys
from pathlib import Path
from retort.atomic import write_text
print("ready", flush=True)
number = 0
while True:
    number += 1
    write_text(Path(sys.argv[1]), f"{number % 10}" * 300_000)
"""


def names(folder: Path) -> list[str]:
    """Return the names of the files of a folder, hidden ones too."""
    return [path.name for path in folder.iterdir()]


def test_a_file_is_replaced(tmp_path: Path) -> None:
    write_text(tmp_path / "new" / "a.txt", "é\n")
    assert (tmp_path / "new" / "a.txt").read_bytes() == "é\n".encode()
    write_json(tmp_path / "new" / "a.txt", {"a": [1]}, indent=None)
    assert (tmp_path / "new" / "a.txt").read_text() == '{"a": [1]}\n'
    assert names(tmp_path / "new") == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_file_as_it_was(error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write() -> None:
        with replacing_file(path) as part:
            part.write_text("ha")
            flush_to_disk(part)
            raise error

    with pytest.raises(error):
        write()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    draw, path = random.Random("kills of a writer"), tmp_path / "a.txt"
    for _ in range(4):
        command = [sys.executable, "-c", WRITE, str(path)]
        writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]  # side by side
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        time.sleep(draw.uniform(0.01, 0.06))
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.communicate()
        if path.exists():
            text = path.read_text()
            assert len(text) == 300_000
            assert len(set(text)) == 1
    assert path.exists()
    remove_leftovers(tmp_path)
    assert names(tmp_path) == ["a.txt"]


def test_only_what_is_left_behind_is_removed(tmp_path: Path) -> None:
    mine = part_of(tmp_path / "a.txt")
    elsewhere = [tmp_path / f".{name}.another-system.1.part" for name in ("new", "old")]
    others = [tmp_path / name for name in ("a.part", ".hidden", ".a.part.txt")]
    for path in (mine, *elsewhere, *others):
        path.write_text("x")
    os.utime(elsewhere[1], (1, 1))
    remove_leftovers(tmp_path)
    assert {*tmp_path.iterdir()} == {mine, elsewhere[0], *others}
