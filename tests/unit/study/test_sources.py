"""Tests of which location of a source a configuration selects, of folders that lack files, and of tokenizers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from retort.checksums import digest_of
from retort.plan import resolve_data
from retort.plan.plan import Plan
from retort.run.run_sources import absent_in_folders
from retort.specs.config import Config, RunSources
from retort.study.cells import of_folder, required
from retort.study.load import open_study, read_study
from retort.study.study import Study

from tests.tiny.edit import change, problems, set_value, write

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HUB: dict[str, Any] = {"repository": "someone/texts", "repo_type": "dataset", "files": ["plain/*.parquet"]}
SHAPE = {"layers": 4, "heads": 3, "hidden": 24, "intermediate": 48}
PINNED = {**HUB, "commit": COMMIT, "found": "made up for the tests"}


def with_hub(study_folder: Path, hub: dict[str, Any], **more: Any) -> None:
    """Make the hub the source of the tiny study's texts."""
    source = {"title": "Texts", "licence": "MIT", "hub": hub, **more}
    write(study_folder, "sources/texts.yaml", source)


def config(study_folder: Path, **more: Any) -> Config:
    """Return the configuration of the tiny study."""
    return Config(papers=["tiny"], study=str(study_folder), **more)


def told(given: Config, name: str) -> list[str]:
    """Return what the folders of the user lack, a line each, of one YAML file, without its name."""
    study = open_study(given)
    lines = [absence.line(study) for absence in absent_in_folders(study, required(study))]
    return [line.removeprefix(f"study/{name}.yaml: ") for line in lines if line.startswith(f"study/{name}.yaml")]


def place(study: Study, name: str = "texts") -> str:
    """Return where a source is taken from."""
    return study.sources[name].location(study.config)


def test_a_folder_that_is_there_wins_over_the_hub_and_the_settings_tell(study_folder: Path, tmp_path: Path) -> None:
    with_hub(study_folder, PINNED, local="Texts")
    write(study_folder, "sources/others.yaml", {"title": "O", "licence": "MIT", "hub": HUB, "local": "Others"})
    (tmp_path / "Others").mkdir()
    study = open_study(config(study_folder, data_dir=str(tmp_path)))
    assert {name: place(study, name) for name in ("texts", "others", "encoder")} == {
        "texts": "hub", "others": "local", "encoder": "folder",
    }  # fmt: skip
    pinned = {key: value for key, value in PINNED.items() if key != "found"}
    assert resolve_data.task_settings(study, "mood").source.model_dump() == {"hub": pinned}
    (tmp_path / "Texts").mkdir()
    assert place(study) == "hub"  # a folder is looked at once, and a job believes its run
    job = open_study(config(study_folder, data_dir=str(tmp_path), run_sources=RunSources(folders=study.config.folders)))
    assert place(job) == "hub"
    later = open_study(config(study_folder, data_dir=str(tmp_path)))
    assert place(later) == "local"
    assert resolve_data.fetched(later, "texts").model_dump() == {"path": str(tmp_path / "Texts")}
    assert resolve_data.task_settings(later, "mood").source.model_dump() == {"local": "texts", "sha256": digest_of({})}
    assert place(open_study(config(study_folder, models_dir=str(tmp_path)))) == "hub"  # tells nothing about data


def test_a_folder_that_lacks_files_is_told_and_not_replaced_by_the_hub(study_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "Texts"
    folder.mkdir(parents=True)
    (folder / "README").write_text("to come")
    with_hub(study_folder, PINNED, local="Texts")
    given = config(study_folder, data_dir=str(tmp_path / "data"))
    holds_none = f"{folder} holds no rated.txt; put it there, or move the folder away"
    for name in ("tasks/mood", "tasks/rating", "corpora/sentences"):
        assert told(given, name) == [holds_none]
    (folder / "rated.txt").write_text("")
    assert not told(given, "tasks/mood")


def test_files_of_splits_may_be_compressed(tmp_path: Path) -> None:
    (tmp_path / "RTE").mkdir()
    for name in ("train.tsv.gz", "dev.tsv"):
        (tmp_path / "RTE" / name).write_text("")
    study = read_study(Config(scale="paper", data_dir=str(tmp_path)))[0]
    (absence,) = absent_in_folders(study, required(study))
    assert (absence.key, absence.folder) == ("submissions/rte", f"{tmp_path}/RTE")
    assert absence.line(study).startswith(f"workflow/tasks/rte.yaml: {tmp_path}/RTE holds no test.tsv; ")
    assert absence.reason == "test sets of rte is not there: its folder holds no test.tsv"  # stands in tables


def test_a_model_brings_its_tokenizer_unless_it_has_another_models(study_folder: Path, here: Path) -> None:
    (here / "encoder").mkdir()
    assert told(config(study_folder), "sources/encoder")[0].startswith("path: encoder is empty;")
    for name in ("config.json", "model.safetensors"):
        (here / "encoder" / name).write_text("{}")
    assert told(config(study_folder), "models/encoder")[0].startswith("encoder holds no tokenizer.json;")
    other = {"title": "O", "source": "encoder", "vocabulary": 90, "architecture": SHAPE}
    write(study_folder, "models/other.yaml", {**other, "source": "texts"})
    write(study_folder, "models/encoder.yaml", {**other, "tokenizer": "other"})
    assert not told(config(study_folder), "models/encoder")


def test_a_student_that_needs_a_pooler_is_told_of_a_family_without_one(study_folder: Path, here: Path) -> None:
    set_value(study_folder, "papers/tiny/students.yaml", "kd", "pooler_relu", to=True)
    (here / "encoder").mkdir()
    for name in ("model.safetensors", "tokenizer.json"):
        (here / "encoder" / name).write_text("{}")
    for family, begins in (("bert", []), ("roberta", ["encoder holds a model of family roberta, which has no pooler"])):
        (here / "encoder/config.json").write_text(json.dumps({"model_type": family}))
        said = [line for line in told(config(study_folder), "models/encoder") if "pooler" in line]
        assert [line.partition(", and 'pooler_relu' of student 'tiny-kd' needs one;")[0] for line in said] == begins


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
    assert {key for key in required(study) if key.startswith("sources/")} >= {"sources/far", "sources/released"}
    assert "sources/unused" not in required(study)


def test_a_commit_says_where_it_was_read(study_folder: Path) -> None:
    with_hub(study_folder, {**HUB, "commit": COMMIT})
    assert any("hub.found: say where the commit was read" in line for line in problems(study_folder))


def with_larger(study_folder: Path, **changes: Any) -> None:
    """Make the teacher a model that has the tokenizer of the tiny encoder."""
    model = {"title": "L", "source": "larger", "vocabulary": 90, "architecture": SHAPE, "tokenizer": "encoder"}
    write(study_folder, "models/larger.yaml", {**model, **changes})
    write(study_folder, "sources/larger.yaml", {"title": "L", "path": "larger"})
    set_value(study_folder, "papers/tiny/paper.yaml", "teachers", "teacher", "model", to="larger")


def test_models_with_one_tokenizer_share_encoded_data(study_folder: Path) -> None:
    own = Plan(config(study_folder)).settings.teachers["tiny-teacher"]["mood"].model
    assert "tokenizer" not in own.as_json()
    with_larger(study_folder)
    plan = Plan(config(study_folder))
    assert plan.encoded("tiny-teacher", "mood") == "results/encoded/mood/encoder"
    assert plan.blocks("tiny-teacher", "sentences") == "results/corpora/sentences/encoder"
    for name in ("tiny-teacher", "tiny-kd"):
        assert plan.pretrained_folder(name) == "results/sources/larger"
        assert plan.tokenizer_folder(name) == plan.model_folder("encoder") == "results/sources/encoder"
    assert {"larger", "encoder"} <= of_folder("sources", required(plan.study))
    assert plan.settings.tasks["encoder"]["mood"].as_json()["tokenizer"]["local"] == "encoder"
    assert plan.settings.corpora["encoder"]["sentences"].as_json()["tokenizer"]["local"] == "encoder"
    model = plan.settings.teachers["tiny-teacher"]["mood"].model.as_json()
    assert (model["source"]["local"], model["tokenizer"]["local"]) == ("larger", "encoder")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tokenizer": "encodr"}, "no model is called 'encodr'; did you mean 'encoder'?"),
        ({"vocabulary": 91}, "tokenizer: 'encoder' has 90 tokens, 'larger' 91; they cannot share one"),
    ],
)
def test_a_mistake_in_the_tokenizer(study_folder: Path, changes: dict[str, Any], said: str) -> None:
    with_larger(study_folder, **changes)
    found = problems(study_folder)
    assert any(said in line for line in found), found


def test_a_tokenizer_is_named_by_the_model_that_brings_it(study_folder: Path) -> None:
    with_larger(study_folder)
    model = {"title": "S", "source": "larger", "vocabulary": 90, "architecture": SHAPE, "tokenizer": "larger"}
    write(study_folder, "models/small.yaml", model)
    expected = "study/models/small.yaml: tokenizer: 'larger' has that of 'encoder'; name this one"
    assert problems(study_folder) == [expected]
