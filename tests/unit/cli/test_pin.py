"""Tests of `retort pin`: it writes the commit that the hub answers, and keeps the rest of the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from retort.cli import main
from retort.specs.config import Config
from retort.specs.source import HubSource
from retort.study.load import read_study

from tests.contracts.mistakes.tasks import FILED
from tests.tiny.hub import TinyHub, serve
from tests.tiny.make import make_encoder

OLD, NEW, SIDE, BRANCH = "a" * 40, "b" * 40, "c" * 40, "refs/convert/parquet"
BEFORE = """# yaml-language-server: $schema=../schemas/source.json
title: Texts
licence: MIT
hub: # the repository
  repository: someone/texts # as the hub writes it
  repo_type: dataset
  commit: null # not known yet
  files: [plain/*.parquet] # train and dev
local: Texts
"""
INLINE = "title: T\nlicence: MIT\nhub: {repository: someone/texts, repo_type: dataset, files: [a]}\n"
Said = Callable[..., str]


@pytest.fixture
def texts(study_folder: Path) -> Path:
    """Return the file of the texts of a study, which come from the hub, without a commit."""
    (file := study_folder / "sources/texts.yaml").write_text(BEFORE)
    return file


@pytest.fixture
def said(
    texts: Path, study_folder: Path, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Said:
    """Return a function that runs a verb on the study, with a hub of two branches, and returns what it says."""
    make_encoder(here / "encoder")
    (here / "config.yaml").write_text(json.dumps({"papers": ["tiny"], "study": str(study_folder)}))
    repository = "datasets/someone/texts"
    commits = {repository: {OLD: {}, NEW: {}, SIDE: {}}}
    branches = {(repository, "main"): NEW, (repository, BRANCH): SIDE}

    def said(*arguments: str, status: int = 0) -> str:
        with serve(TinyHub(commits, branches)) as hub, monkeypatch.context() as inside:
            inside.setenv("HF_ENDPOINT", hub.address)
            assert main([*arguments, "--config", str(here / "config.yaml")]) == status
        return "".join(capsys.readouterr())

    return said


def commit_of(study_folder: Path, source: str) -> str | None:
    """Return the commit of a source as the study reads it."""
    found = read_study(Config(papers=["tiny"], study=str(study_folder)))[0].sources[source]
    assert isinstance(found, HubSource)
    return found.hub.commit


def test_the_commit_is_written_and_nothing_else_is_changed(said: Said, texts: Path) -> None:
    said("pin")
    lines = texts.read_text().splitlines()
    assert lines[7] == f"  commit: {NEW} # not known yet"
    assert lines[4].startswith("  found: answered by the hub on 20")
    assert lines[4].endswith(" for main")
    kept = [line for number, line in enumerate(lines) if number not in (4, 7)]
    assert kept == [line for line in BEFORE.splitlines() if "commit" not in line]


def test_a_commit_that_stands_there_is_kept_unless_its_source_is_named(said: Said, texts: Path) -> None:
    texts.write_text(
        BEFORE.replace("commit: null", f"commit: {OLD}").replace("  repo_type", f"  branch: {BRANCH}\n  repo_type")
    )
    before = texts.read_text()
    said("pin")
    assert texts.read_text() == before
    assert said("pin", "texts").endswith(f"texts: someone/texts at {SIDE}\n")
    said("pin", "texts")
    assert texts.read_text().count("found:") == 1


@pytest.mark.parametrize(
    ("content", "arguments", "line"),
    [
        (BEFORE, ["text"], "no source of the hub is called 'text'; did you mean 'texts'?"),
        (BEFORE, ["encoder"], "no source of the hub is called 'encoder'; there are: texts"),
        (
            BEFORE.replace("  repo_type", "  branch: mian\n  repo_type"),
            [],
            "someone/texts has no commit or branch mian",
        ),
        (INLINE, [], "'hub' is not a block; write the keys of 'hub' a line each"),
    ],
)
def test_a_mistake(content: str, arguments: list[str], line: str, said: Said, texts: Path) -> None:
    texts.write_text(content)
    assert line in said("pin", *arguments, status=2)
    assert texts.read_text() == content


def test_the_source_in_the_file_of_a_task_is_pinned_there(said: Said, study_folder: Path) -> None:
    task = study_folder / "tasks" / "filed.yaml"
    lines = [f"  {line}" for line in BEFORE.splitlines()[1:]]
    task.write_text(FILED.replace("source: texts", "\n".join(["source:", *lines])))
    said("pin", "filed")
    assert f"    commit: {NEW} # not known yet\n" in task.read_text()
    assert commit_of(study_folder, "filed") == NEW
