"""Edit the YAML files of a study as a user would, and list the problems that this brings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from retort.specs.config import Config
from retort.study.load import read_study

# files of the tiny study
STUDENTS, TABLE, TASK = "papers/tiny/students.yaml", "papers/tiny/table1.yaml", "tasks/mood.yaml"
CORPUS, CLAIMS, SOURCE = "corpora/sentences.yaml", "papers/tiny/claims.yaml", "sources/texts.yaml"
PROTOCOL, AGNOSTIC, PAPER = "protocols/short.yaml", "protocols/short-agnostic.yaml", "papers/tiny/paper.yaml"


def change(study: Path, name: str, old: str, new: str) -> None:
    """Replace the first `old` in the text of one of the study's files with `new`; all else keeps its bytes.

    Raises:
        AssertionError: the file does not hold `old`.
    """
    path = study / name
    text = path.read_text()
    assert old in text, f"{name} holds no {old!r}"
    path.write_text(text.replace(old, new, 1))


def set_value(study: Path, name: str, *keys: str | int, to: Any) -> None:
    """Set the value under these keys of one of the study's files; a list is indexed from 0."""
    path = study / name
    whole = content = yaml.safe_load(path.read_text())
    for key in keys[:-1]:
        content = content[key]
    content[keys[-1]] = to
    path.write_text(yaml.safe_dump(whole, sort_keys=False))


def add(study: Path, name: str, lines: str) -> None:
    """Add lines to the end of one of the study's files."""
    with (study / name).open("a") as file:
        file.write(lines)


def write(study: Path, name: str, content: Any) -> None:
    """Write one of the study's files as a whole; its folder is made where it lacks."""
    path = study / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content, sort_keys=False))


def remove(study: Path, *names: str) -> None:
    """Remove some of the study's files."""
    for name in names:
        (study / name).unlink()


def problems(study: Path) -> list[str]:
    """Return every problem of the tiny study in a folder."""
    return read_study(Config(papers=["tiny"], study=str(study)))[1]
