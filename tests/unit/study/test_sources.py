"""Tests of which location of a source a configuration selects, and of what is refused before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.checksums import digest_of
from retort.errors import StudyError
from retort.plan import resolve
from retort.specs.config import Config, read_config
from retort.study.load import open_study, read
from retort.study.required_sources import lacking

from tests.tiny.edit import change, write

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HUB: dict[str, Any] = {"repository": "someone/texts", "repo_type": "dataset", "files": ["plain/*.parquet"]}
PINNED = {**HUB, "commit": COMMIT, "found": "made up for the tests"}


def with_hub(study_folder: Path, hub: dict[str, Any], **more: Any) -> None:
    """Make the hub the source of the tiny study's texts."""
    source = {"title": "Texts", "licence": "MIT", "hub": hub, **more}
    write(study_folder, "sources/texts.yaml", source)


def config(study_folder: Path, **more: Any) -> Config:
    """Return the configuration of the tiny study."""
    return Config(papers=["tiny"], study=str(study_folder), **more)


def refused(given: Config) -> list[str]:
    """Return what `retort check` prints or, if that is nothing, what stops a run before its first job."""
    study, problems = read(given)
    return problems or lacking(study)


def test_a_pinned_commit_is_in_the_settings_and_where_it_was_read_is_not(study_folder: Path) -> None:
    with_hub(study_folder, PINNED, local="Texts")
    study = open_study(config(study_folder))
    expected = {"repository": "someone/texts", "repo_type": "dataset", "commit": COMMIT, "files": ["plain/*.parquet"]}
    assert study.sources["texts"].location(study.config) == "hub"
    assert resolve.task(study, "mood").source.model_dump() == {"hub": expected}


def test_data_dir_wins_and_the_settings_say_so(study_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "data" / "Texts").mkdir(parents=True)
    with_hub(study_folder, PINNED, local="Texts")
    study = open_study(config(study_folder, data_dir=str(tmp_path / "data")))
    assert study.sources["texts"].location(study.config) == "local"
    assert resolve.fetched(study, "texts").model_dump() == {"path": str(tmp_path / "data" / "Texts")}
    assert resolve.task(study, "mood").source.model_dump() == {"local": "texts", "sha256": digest_of({})}


def test_models_dir_says_nothing_about_data(study_folder: Path, tmp_path: Path) -> None:
    with_hub(study_folder, PINNED, local="Texts")
    study = open_study(config(study_folder, models_dir=str(tmp_path)))
    assert study.sources["texts"].location(study.config) == "hub"
    assert study.sources["texts"].in_use(study.config) is study.sources["texts"]


def test_no_commit_is_refused_where_the_source_is_used(study_folder: Path) -> None:
    with_hub(study_folder, HUB, local="Texts")
    assert refused(config(study_folder)) == [
        "study/sources/texts.yaml: hub.commit: none is known; run `retort pin texts` once, "
        "or give data_dir in config.yaml"
    ]


def test_no_commit_is_fine_where_nothing_uses_the_source_or_the_folder_wins(study_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "data" / "Texts").mkdir(parents=True)
    unused = {"title": "Unused", "licence": "MIT", "hub": HUB}
    write(study_folder, "sources/unused.yaml", unused)
    assert refused(config(study_folder)) == []
    with_hub(study_folder, HUB, local="Texts")
    assert refused(config(study_folder, data_dir=str(tmp_path / "data"))) == []


def test_a_folder_that_data_dir_lacks_is_told_and_the_hub_is_no_way_out(study_folder: Path, tmp_path: Path) -> None:
    with_hub(study_folder, PINNED, local="Texts")
    found = refused(config(study_folder, data_dir=str(tmp_path)))
    assert found == [
        "study/sources/texts.yaml: local: data_dir holds no folder Texts; put it there, or set data_dir: null"
    ]


def test_every_way_to_a_source_is_followed(study_folder: Path) -> None:
    component = {"source": "far", "files": ["a"], "format": "text"}
    write(study_folder, "corpora/more.yaml", {"title": "M", "components": [component], "block": 16, "version": 1})
    shape = {"layers": 1, "heads": 2, "hidden": 16, "intermediate": 32}
    model = {"title": "R", "source": "released", "vocabulary": 90, "architecture": shape}
    write(study_folder, "models/released.yaml", model)
    for name in ("far", "released", "unused"):
        write(study_folder, f"sources/{name}.yaml", {"title": "T", "licence": "MIT", "hub": HUB})
    change(study_folder, "papers/tiny/students.yaml", "{random: true}", "{checkpoint: released}")
    change(study_folder, "papers/tiny/students.yaml", "data: sentences", "data: more")
    lines = refused(config(study_folder))
    assert [line.split(":")[0] for line in lines] == ["study/sources/far.yaml", "study/sources/released.yaml"], lines


@pytest.mark.parametrize("key", ["data_dir", "models_dir"])
def test_a_directory_that_is_not_there(key: str) -> None:
    with pytest.raises(StudyError, match=f"config.yaml: {key}: there is no folder /nowhere; null takes data"):
        read_config({key: "/nowhere"})


@pytest.mark.parametrize(
    ("hub", "said"),
    [
        ({**HUB, "commit": COMMIT}, "hub.found: say where the commit was read"),
        ({**PINNED, "commit": "main"}, "hub.commit: 'main' does not match the pattern"),
        ({**HUB, "repository": "../texts"}, "hub.repository: '../texts' does not match the pattern"),
        ({**HUB, "files": ["../*"]}, "hub.files.1: '../*' leaves its folder"),
        ({**HUB, "repo_type": "space"}, "hub.repo_type: Input should be 'dataset' or 'model'"),
    ],
)
def test_a_mistake_in_a_hub_source(study_folder: Path, hub: dict[str, Any], said: str) -> None:
    with_hub(study_folder, hub)
    assert any(said in line for line in read(config(study_folder))[1]), read(config(study_folder))[1]
