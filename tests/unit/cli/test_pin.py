"""Tests of `retort pin`: it writes the commit that the hub answers, and keeps the rest of the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from retort.cli import main
from retort.specs.config import Config
from retort.specs.source import HubSource
from retort.study.load import read

from tests.tiny.hub import TinyHub, serve
from tests.tiny.make import make_encoder
from tests.unit.specs.test_task_mistakes import FILED

OLD, NEW, SIDE = "a" * 40, "b" * 40, "c" * 40
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


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[TinyHub]:
    """Yield a running hub with two branches, to which HF_ENDPOINT points."""
    repository = "datasets/someone/texts"
    commits = {OLD: {}, NEW: {}, SIDE: {}}
    branches = {(repository, "main"): NEW, (repository, "refs/convert/parquet"): SIDE}
    with serve(TinyHub({repository: commits}, branches)) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.address)
        yield running


@pytest.fixture
def config(study_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the arguments that name a study whose texts come from the hub, without a commit."""
    (study_folder / "sources" / "texts.yaml").write_text(BEFORE)
    make_encoder(tmp_path / "encoder")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text(json.dumps({"papers": ["tiny"], "study": str(study_folder)}))
    return ["--config", str(tmp_path / "config.yaml")]


def text(study_folder: Path) -> str:
    """Return the content of the source's file."""
    return (study_folder / "sources" / "texts.yaml").read_text()


def test_the_commit_is_written_and_nothing_else_is_changed(
    hub: TinyHub, study_folder: Path, config: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *config]) == 0
    waits = "study/sources/texts.yaml: hub.commit: none yet; a run asks the hub for that of main, and writes it down\n"
    assert waits in capsys.readouterr().out
    assert main(["pin", *config]) == 0
    lines = text(study_folder).splitlines()
    assert lines[7] == f"  commit: {NEW} # not known yet"
    assert lines[4].startswith("  found: answered by the hub on 20")
    assert lines[4].endswith(" for main")
    kept = [line for number, line in enumerate(lines) if number not in (4, 7)]
    assert kept == [line for line in BEFORE.splitlines() if "commit" not in line]
    capsys.readouterr()
    assert main(["check", *config]) == 0
    assert "hub.commit" not in capsys.readouterr().out


def test_a_commit_that_stands_there_is_kept_unless_renewed(
    hub: TinyHub, study_folder: Path, config: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pin", "texts", "--revision", OLD, *config]) == 0
    before = text(study_folder)
    assert main(["pin", "texts", *config]) == 2
    assert f"texts is pinned to {OLD}; --renew asks for a newer commit" in capsys.readouterr().err
    assert main(["pin", *config]) == 0  # without names, it pins the sources that lack a commit: here none
    assert text(study_folder) == before
    assert main(["pin", "--renew", *config]) == 0
    assert capsys.readouterr().out.endswith(f"texts: someone/texts at {NEW}\n")
    assert text(study_folder).count("found:") == 1


def test_the_branch_of_the_file_is_asked_for(hub: TinyHub, study_folder: Path, config: list[str]) -> None:
    (study_folder / "sources" / "texts.yaml").write_text(
        BEFORE.replace("  repo_type", "  branch: refs/convert/parquet\n  repo_type")
    )
    assert main(["pin", *config]) == 0
    study = read(Config(papers=["tiny"], study=str(study_folder)))[0]
    assert isinstance(study.sources["texts"], HubSource)
    assert study.sources["texts"].hub.commit == SIDE


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["text"], "no source of the hub is called 'text'; did you mean 'texts'?"),
        (["encoder"], "no source of the hub is called 'encoder'; there are: texts"),
        (["texts", "--revision", "mian"], "someone/texts has no commit or branch mian"),
    ],
)
def test_a_mistake(
    hub: TinyHub,
    study_folder: Path,
    config: list[str],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    assert main(["pin", *arguments, *config]) == 2
    assert said in capsys.readouterr().err
    assert text(study_folder) == BEFORE


def test_a_hub_that_is_not_written_as_a_block(
    hub: TinyHub, study_folder: Path, config: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    inline = "title: T\nlicence: MIT\nhub: {repository: someone/texts, repo_type: dataset, files: [a]}\n"
    (study_folder / "sources" / "texts.yaml").write_text(inline)
    assert main(["pin", *config]) == 2
    assert "'hub' is not a block; write the keys of 'hub' a line each" in capsys.readouterr().err
    assert text(study_folder) == inline


def test_the_source_in_the_file_of_a_task_is_pinned_there(hub: TinyHub, study_folder: Path, config: list[str]) -> None:
    task = study_folder / "tasks" / "filed.yaml"
    lines = [f"  {line}" for line in BEFORE.splitlines()[1:]]
    task.write_text(FILED.replace("source: texts", "\n".join(["source:", *lines])))
    assert main(["pin", "filed", *config]) == 0
    assert f"    commit: {NEW} # not known yet\n" in task.read_text()
    study, _ = read(Config(papers=["tiny"], study=str(study_folder)))
    source = study.sources["filed"]
    assert isinstance(source, HubSource)
    assert source.hub.commit == NEW
