"""Tests of which location of a source a configuration selects, and of folders that lack files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.checksums import digest_of
from retort.errors import StudyError
from retort.plan import resolve_data
from retort.sources.run_sources import absent_in_folders, unpinned
from retort.specs.config import Config, RunSources, read_config
from retort.study.cells import required
from retort.study.load import open_study, read

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


def lines_of(given: Config) -> list[str]:
    """Return what the folders of the user lack, a line each."""
    study, problems = read(given)
    assert not problems
    return [absence.line(study) for absence in absent_in_folders(study, required(study))]


def told(lines: list[str], name: str) -> list[str]:
    """Return the lines about one YAML file, without its name."""
    return [line.removeprefix(f"{name}: ") for line in lines if line.startswith(name)]


def test_a_pinned_commit_is_in_the_settings_and_where_it_was_read_is_not(study_folder: Path) -> None:
    with_hub(study_folder, PINNED, local="Texts")
    study = open_study(config(study_folder))
    expected = {"repository": "someone/texts", "repo_type": "dataset", "commit": COMMIT, "files": ["plain/*.parquet"]}
    assert study.sources["texts"].location(study.config) == "hub"
    assert resolve_data.task(study, "mood").source.model_dump() == {"hub": expected}


def test_a_folder_that_is_there_wins_over_the_hub_and_the_settings_tell(study_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "data" / "Texts").mkdir(parents=True)
    with_hub(study_folder, PINNED, local="Texts")
    study = open_study(config(study_folder, data_dir=str(tmp_path / "data")))
    assert study.sources["texts"].location(study.config) == "local"
    assert resolve_data.fetched(study, "texts").model_dump() == {"path": str(tmp_path / "data" / "Texts")}
    assert resolve_data.task(study, "mood").source.model_dump() == {"local": "texts", "sha256": digest_of({})}


def test_each_source_is_looked_for_alone(study_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "data" / "Others").mkdir(parents=True)
    with_hub(study_folder, PINNED, local="Texts")
    write(study_folder, "sources/others.yaml", {"title": "O", "licence": "MIT", "hub": HUB, "local": "Others"})
    study = open_study(config(study_folder, data_dir=str(tmp_path / "data")))
    places = {name: study.sources[name].location(study.config) for name in ("texts", "others", "encoder")}
    assert places == {"texts": "hub", "others": "local", "encoder": "folder"}


def test_a_folder_is_looked_at_once(study_folder: Path, tmp_path: Path) -> None:
    with_hub(study_folder, PINNED, local="Texts")
    given = config(study_folder, data_dir=str(tmp_path))
    study = open_study(given)
    assert study.sources["texts"].location(study.config) == "hub"
    (tmp_path / "Texts").mkdir()
    assert study.sources["texts"].location(study.config) == "hub"
    later = open_study(config(study_folder, data_dir=str(tmp_path)))
    assert later.sources["texts"].location(later.config) == "local"
    decided = RunSources(folders=study.config.folders)  # as a run gives it to its jobs
    job = open_study(config(study_folder, data_dir=str(tmp_path), run_sources=decided))
    assert job.sources["texts"].location(job.config) == "hub"


def test_models_dir_tells_nothing_about_data(study_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "Texts").mkdir()
    with_hub(study_folder, PINNED, local="Texts")
    study = open_study(config(study_folder, models_dir=str(tmp_path)))
    assert study.sources["texts"].location(study.config) == "hub"
    assert study.sources["texts"].in_use(study.config) is study.sources["texts"]


def test_a_folder_that_lacks_files_is_told_and_not_replaced_by_the_hub(study_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "Texts"
    folder.mkdir(parents=True)
    (folder / "README").write_text("to come")
    with_hub(study_folder, PINNED, local="Texts")
    given = config(study_folder, data_dir=str(tmp_path / "data"))
    lines = lines_of(given)
    holds_none = f"{folder} holds no rated.txt; put it there, or move the folder away"
    for name in ("tasks/mood", "tasks/rating", "corpora/sentences"):
        assert told(lines, f"study/{name}.yaml") == [holds_none]
    (folder / "rated.txt").write_text("")
    assert not told(lines_of(given), "study/tasks/mood.yaml")


def test_files_of_splits_may_be_compressed(tmp_path: Path) -> None:
    (tmp_path / "RTE").mkdir()
    for name in ("train.tsv.gz", "dev.tsv"):
        (tmp_path / "RTE" / name).write_text("")
    study = read(Config(scale="paper", data_dir=str(tmp_path)))[0]
    (absence,) = absent_in_folders(study, required(study))
    assert (absence.key, absence.folder) == ("submissions/rte", f"{tmp_path}/RTE")
    assert absence.line(study).startswith(f"workflow/tasks/rte.yaml: {tmp_path}/RTE holds no test.tsv; ")
    assert absence.reason == "test sets of rte is not there: its folder holds no test.tsv"  # stands in tables


def test_a_model_brings_its_tokenizer_unless_it_has_another_models(
    study_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "encoder").mkdir()
    assert told(lines_of(config(study_folder)), "study/sources/encoder.yaml")[0].startswith("path: encoder is empty;")
    for name in ("config.json", "model.safetensors"):
        (tmp_path / "encoder" / name).write_text("{}")
    assert told(lines_of(config(study_folder)), "study/models/encoder.yaml")[0].startswith(
        "encoder holds no tokenizer.json;"
    )
    shape = {"layers": 4, "heads": 3, "hidden": 24, "intermediate": 48}
    other = {"title": "O", "source": "encoder", "vocabulary": 90, "architecture": shape}
    write(study_folder, "models/other.yaml", {**other, "source": "texts"})
    write(study_folder, "models/encoder.yaml", {**other, "tokenizer": "other"})
    assert not told(lines_of(config(study_folder)), "study/models/encoder.yaml")


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
    study = open_study(config(study_folder))
    lines = unpinned(study, required(study))
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
