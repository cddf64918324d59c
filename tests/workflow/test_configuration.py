"""Tests that a run names the file and the line of a configuration that is not what it looks like."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import SNAKEMAKE
from tests.contracts.mistakes.config import TEXTS

pytestmark = pytest.mark.workflow


def dry_run(folder: Path, *arguments: str) -> str:
    """Return what a dry run in a folder says, which fails."""
    command = [*SNAKEMAKE, "--dry-run", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(("text", "line"), TEXTS[:4])
def test_a_mistake_in_the_text_of_a_configuration(text: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(text)
    assert f"config.yaml: {line}" in dry_run(tmp_path)


def test_a_folder_or_other_bytes_in_the_place_of_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes(b"scale: caf\xe9\n")
    assert "config.yaml: not UTF-8 text" in dry_run(tmp_path)
    (tmp_path / "config.yaml").unlink()
    (tmp_path / "config.yaml").mkdir()
    assert "config.yaml: cannot be read (Is a directory)" in dry_run(tmp_path)


def test_a_mistake_in_a_file_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("scale: pocket\n")
    (tmp_path / "mine.yaml").write_text("checkpoint_seconds: 010\n")
    assert "mine.yaml: line 1: YAML reads 010 as 8" in dry_run(tmp_path, "--configfile", "mine.yaml")


def test_a_wrong_key_is_blamed_on_what_gives_it(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("scale: pocket\n")
    (tmp_path / "mine.yaml").write_text("keep_weight: true\n")
    said = dry_run(tmp_path, "--configfile", "mine.yaml", "--config", "device=gpu")
    assert "  mine.yaml: keep_weight: no key is called 'keep_weight'" in said
    assert "  --config: device: Input should be" in said
