"""Tests that Snakemake fetches sources: only the fetching job uses the hub, and the user's data is never changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from retort.data.encoded import Encoded
from retort.specs.task import Task

from tests.tiny.forms import add_to_card, write_sample
from tests.tiny.hub import TinyHub, serve
from tests.tiny.make import make_study
from tests.workflow.test_incremental import planned

pytestmark = pytest.mark.workflow
COMMIT = "a" * 40


def test_data_outlives_all_that_snakemake_does_to_its_links(tmp_path: Path, run_in: Callable) -> None:
    folder = make_study(tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in (folder / "texts").rglob("*")}
    run_in(folder, "results/sources/texts")
    link = folder / "results/sources/texts/rated.txt"
    assert link.is_symlink()
    run_in(folder, "results/sources/texts", "--forcerun", "fetch_source")
    run_in(folder, "results/sources/texts", "--touch")
    run_in(folder, "results/sources/texts", "--delete-all-output")
    assert not link.parent.exists()
    assert {path: path.stat().st_mtime_ns for path in (folder / "texts").rglob("*")} == kept


def test_a_run_knows_what_lies_behind_linked_folders_and_reads_nothing_unchecked(
    tmp_path: Path, run_in: Callable
) -> None:
    folder, texts = make_study(tmp_path), "results/sources/texts"
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "more.txt").write_text("before")
    (folder / "texts" / "linked").symlink_to(tmp_path / "scratch")
    run_in(folder, texts)
    assert planned(folder, texts) == ({}, set())
    (tmp_path / "scratch" / "more.txt").write_text("behind")
    assert planned(folder, texts)[0] == {"fetch_source": 1}
    (folder / "texts" / "gone").symlink_to(tmp_path / "nowhere")
    failed = run_in(folder, texts, check=False)
    assert failed.returncode != 0
    assert "fetch_source(texts): 'gone' in the folder of the source is a link that leads nowhere" in failed.stderr
    assert "Traceback" not in failed.stderr
    (folder / "texts" / "gone").unlink()
    run_in(folder, texts)
    (folder / texts / ".checksums.json").unlink()  # as a copy with `cp -r folder/*` does
    failed = run_in(folder, "results/encoded/mood/encoder", check=False)
    assert failed.returncode != 0
    assert f"{texts} has no checksum: no job has made it; delete {texts} and run again" in failed.stderr


def test_a_study_moves_from_a_folder_to_a_commit_of_the_hub(
    tmp_path: Path, run_in: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_study(tmp_path)
    content = {"rated.txt": (folder / "texts" / "rated.txt").read_bytes()}
    run_in(folder, "results/sources/texts")
    with serve(TinyHub({"datasets/someone/texts": {COMMIT: content}})) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        where = {"repository": "someone/texts", "repo_type": "dataset", "files": ["rated.txt"], "commit": COMMIT}
        source = {"title": "Texts", "licence": "MIT", "local": "texts", "hub": {**where, "found": "made up"}}
        (folder / "study" / "sources" / "texts.yaml").write_text(json.dumps(source))
        run_in(folder, "results/sources/texts")
        fetched = folder / "results/sources/texts/rated.txt"
        assert not fetched.is_symlink()
        assert fetched.read_bytes() == content["rated.txt"]
        assert not (folder / "results/checkpoints").exists() or not list((folder / "results/checkpoints").iterdir())
        settings = json.loads((folder / "config.yaml").read_text())
        (folder / "config.yaml").write_text(json.dumps({**settings, "data_dir": str(folder)}))
        run_in(folder, "results/sources/texts")
        assert (folder / "results/sources/texts/rated.txt").is_symlink()


def test_a_teacher_is_trained_from_a_model_of_the_hub(
    tmp_path: Path, run_in: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_study(tmp_path)
    files = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
    content = {name: (folder / "encoder" / name).read_bytes() for name in files}
    where = {"repository": "someone/encoder", "repo_type": "model", "commit": COMMIT, "found": "made up"}
    source = {"title": "E", "licence": "MIT", "hub": {**where, "files": ["config.json", "*.safetensors", "tokenizer*"]}}
    (folder / "study" / "sources" / "encoder.yaml").write_text(json.dumps(source))
    with serve(TinyHub({"models/someone/encoder": {COMMIT: {**content, "pytorch_model.bin": b"pickle"}}})) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        run_in(folder, "results/scores/tiny-teacher/mood/seed-1.json", "results/corpora/sentences/encoder")
        assert not any("pytorch_model" in path for path in hub.paths())
    fetched = folder / "results" / "sources" / "encoder"
    assert sorted(path.name for path in fetched.glob("[!.]*")) == sorted(files)
    score = json.loads((folder / "results/scores/tiny-teacher/mood/seed-1.json").read_text())
    assert score["settings"]["model"]["source"]["hub"]["commit"] == COMMIT
    assert "found" not in score["settings"]["model"]["source"]["hub"]


TASK = {
    "title": "Is a sentence glad?", "task_type": "classification", "labels": ["sad", "glad"], "metrics": ["accuracy"],
    "splits": {"train": {"rows": 2}, "dev": {"rows": 2}}, "evaluation_split": "dev", "max_length": 16, "version": 1,
    "sample": [{"text": "a glad day", "label": "glad"}, {"text": "a sad day", "label": "sad"}],
    "read": {"hub": {
        "name": "plain", "format": "parquet", "files": {"train": "train", "dev": "validation"},
        "columns": {"text": "sentence", "label": "label"},
    }},
}  # fmt: skip


def test_a_task_in_one_file_is_encoded_from_a_configuration_of_the_hub(
    tmp_path: Path, run_in: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, repository = make_study(tmp_path), tmp_path / "repository"
    where = {"repository": "someone/moods", "repo_type": "dataset", "files": ["plain/*"], "commit": COMMIT}
    source = {"title": "Moods", "licence": "MIT", "hub": {**where, "found": "made up"}}
    (folder / "study" / "tasks" / "moods.yaml").write_text(json.dumps({**TASK, "source": source}))
    write_sample(Task.model_validate({**TASK, "source": "moods"}), "hub", {"moods": repository})
    add_to_card(repository, "another", "train", "another/*.parquet")
    files = {str(path.relative_to(repository)): path.read_bytes() for path in repository.rglob("*") if path.is_file()}
    with serve(TinyHub({"datasets/someone/moods": {COMMIT: {**files, "another/a.parquet": b"not fetched"}}})) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        run_in(folder, "results/encoded/moods/encoder")
        assert not any("another" in path for path in hub.paths())
    assert json.loads((folder / "results/encoded/moods/encoder/rows.json").read_text())["rows"] == {
        "train": 2,
        "dev": 2,
    }
    assert Encoded.load(folder / "results/encoded/moods/encoder", "dev").labels.tolist() == [1, 0]
