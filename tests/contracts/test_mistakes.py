"""Tests that each mistake in YAML, a configuration, an archive or data is answered with one line, and none accepted.

The tables are in `tests/contracts/mistakes`. A new mistake is a new row.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from retort.cli import main
from retort.cost.cluster import read_cluster
from retort.data.sources import packages
from retort.errors import RetortError, StudyError
from retort.specs.config import Config, read_config
from retort.study.load import check_files

from tests.conftest import ROOT
from tests.contracts.mistakes import (
    archives,
    clusters,
    config,
    data,
    files,
    meanings,
    papers,
    sources,
    students,
    tasks,
    training,
)
from tests.contracts.mistakes.edits import Edits
from tests.tiny.edit import add, change, problems

EDITS: list[Edits] = [
    edits for table in (students, training, tasks, sources, papers, meanings) for edits in table.MISTAKES
]
ROWS = [(edits, *row) for edits in EDITS for row in edits.rows]


@pytest.mark.parametrize("before", sorted({(edits.file, edits.before) for edits in EDITS if edits.before} | {("", "")}))
def test_without_a_mistake_there_is_no_line(study_folder: Path, before: tuple[str, str]) -> None:
    name, text = before
    if name:
        add(study_folder, name, text)
    assert problems(study_folder) == []


@pytest.mark.parametrize(
    ("edits", "old", "new", "line"), ROWS, ids=[f"{edits.file}-{new}" for edits, _, new, _ in ROWS]
)
def test_a_mistake_in_a_file(study_folder: Path, edits: Edits, old: str, new: str, line: str) -> None:
    if edits.before:
        add(study_folder, edits.file, edits.before)
    change(study_folder, edits.file, old, new)
    (found,) = problems(study_folder)
    assert found.startswith(line if line.startswith("study/") else f"study/{edits.file}: {edits.at}{line}")
    assert "\n" not in found


@pytest.mark.parametrize(("action", "line"), files.MISTAKES)
def test_a_mistake_with_a_file(study_folder: Path, action: files.Action, line: str) -> None:
    action(study_folder)
    found = problems(study_folder)
    assert all(line in each or "there are: none" in each for each in found), found
    assert found
    assert "\n" not in found[0]


@pytest.mark.parametrize("name", ["ti_ny", "my paper", "Größe"])
def test_the_name_of_a_paper_is_one_that_a_configuration_can_have(study_folder: Path, name: str) -> None:
    shutil.copytree(study_folder / "papers/tiny", study_folder / "papers" / name)
    _, found, _ = check_files(Config(study=str(study_folder)))
    assert [line.split(" does not match")[0] for line in found] == [f"study/papers/{name}: '{name}'"]
    with pytest.raises(StudyError):
        read_config({"papers": [name]})


@pytest.mark.parametrize(("content", "line"), config.VALUES)
def test_a_mistake_in_a_configuration(content: Any, line: str) -> None:
    with pytest.raises(StudyError) as caught:
        read_config(content)
    (found,) = caught.value.problems
    assert found.startswith(f"config.yaml: {line}")


@pytest.mark.parametrize(("text", "line"), config.TEXTS)
def test_a_mistake_in_the_text_of_a_configuration(
    text: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    assert main(["check", "--config", str(tmp_path / "mine.yaml")]) != 0
    written = capsys.readouterr()
    assert f"mine.yaml: {line}" in written.out + written.err
    assert "Traceback" not in written.err


@pytest.mark.parametrize(("old", "new", "line"), clusters.MISTAKES)
def test_a_mistake_in_the_file_of_a_cluster(old: str, new: str, line: str, tmp_path: Path) -> None:
    text = (ROOT / "slurm/partitions.yaml").read_text()
    assert old in text
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(StudyError) as caught:
        read_cluster(str(path))
    (found,) = caught.value.problems
    assert found.startswith(f"{path}: {line}")


def test_a_type_of_gpu_is_one_that_a_partition_has(tmp_path: Path) -> None:
    text = (ROOT / "slurm/partitions.yaml").read_text().replace("gpu_model: null", "gpu_model: h10")
    (tmp_path / "mine.yaml").write_text(text)
    assert read_cluster(str(tmp_path / "mine.yaml")).gpu_model == "h10"  # the partition does not say what it has
    (tmp_path / "mine.yaml").write_text(text.replace("# available_gpu_models: [h100]", "available_gpu_models: [h100]"))
    with pytest.raises(StudyError, match="gpu_model: no partition has GPUs of type 'h10'; there are h100"):
        read_cluster(str(tmp_path / "mine.yaml"))


@pytest.mark.parametrize("name", ["mine.yaml", "nowhere.yaml", "folder.yaml"])
def test_a_configuration_that_cannot_be_read_is_named(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.yaml").write_bytes(b"scale: caf\xe9\n")
    (tmp_path / "folder.yaml").mkdir()
    assert main(["check", "--config", str(tmp_path / name)]) != 0
    lines = {
        "mine.yaml": "mine.yaml: not UTF-8 text",
        "nowhere.yaml": "nowhere.yaml does not exist; name a configuration with --config",
        "folder.yaml": "folder.yaml: cannot be read (Is a directory)",
    }
    assert lines[name] in capsys.readouterr().err


@pytest.mark.parametrize(("name", "make", "fields", "words"), archives.REFUSED)
def test_an_archive_that_is_refused(
    name: str, make: archives.Make, fields: dict[str, Any], words: str, tmp_path: Path
) -> None:
    archive = archives.write(tmp_path, name, make)
    with pytest.raises(RetortError) as caught:
        packages.unpack(archive, archives.source(**fields), tmp_path / "out", tmp_path / "inner")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_symlink()]


def refused(read: Callable[..., object], *given: Any, **says: Any) -> str:
    """Return the one line with which the reading of data ends."""
    with pytest.raises(RetortError) as caught:
        read(*given, **says)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("name", "content", "says", "line"), data.ROWS, ids=range(len(data.ROWS)))
def test_a_mistake_in_the_rows_of_a_task(
    name: str, content: str | bytes, says: dict[str, Any], line: str, tmp_path: Path
) -> None:
    assert refused(data.read_rows, tmp_path, name, content, **says).startswith(line)


@pytest.mark.parametrize(("text", "options", "line"), data.DRAWN)
def test_a_mistake_in_rows_that_are_drawn(text: str, options: dict[str, Any], line: str, tmp_path: Path) -> None:
    assert refused(data.read_drawn, tmp_path, text, options).startswith(line)


@pytest.mark.parametrize(("text", "line"), data.RATED)
def test_a_mistake_in_ratings(text: str, line: str, tmp_path: Path) -> None:
    assert refused(data.read_ratings, tmp_path, text).startswith(line)


@pytest.mark.parametrize(("form", "name", "content", "words"), data.TEXTS, ids=range(len(data.TEXTS)))
def test_a_mistake_in_the_texts_of_a_corpus(form: str, name: str, content: bytes, words: str, tmp_path: Path) -> None:
    assert words in refused(data.read_texts, tmp_path, form, name, content)
