"""Tests of what a run decides about its sources: which it has, at which commit, and what it leaves out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from retort.plan import exhibits, resolve_data
from retort.plan.plan import Plan
from retort.results.collect import measure_score
from retort.run import run_sources
from retort.run.run_sources import record_of
from retort.specs.config import Config, read_config
from retort.study.load import open_study
from retort.study.reasons import Status
from retort.study.study import Study

from tests.tiny.edit import change, set_value, write
from tests.tiny.hub import TinyHub, serve
from tests.tiny.make import make_encoder

COMMIT, OTHER, SIDE = "a" * 40, "b" * 40, "c" * 40
NOWHERE = "http://127.0.0.1:9"
PINNED = {"repo_type": "dataset", "commit": COMMIT, "found": "made up", "files": ["*.txt"]}
CORPUS = {"title": "F", "components": [{"source": "far", "files": ["a.txt"], "format": "text"}], "block": 16}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[TinyHub]:
    """Yield a running hub with two commits of one data set, to which HF_ENDPOINT points."""
    repository = "datasets/someone/texts"
    branches = {(repository, "main"): COMMIT, (repository, "refs/pr/1"): SIDE}
    files = {COMMIT: {"rated.txt": b"0"}, SIDE: {"rated.txt": b"1"}}
    with serve(TinyHub({repository: files}, branches)) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.address)
        yield running


@pytest.fixture
def config(study_folder: Path, here: Path) -> Config:
    """Return the configuration of the tiny study, whose encoder lies in the current folder."""
    make_encoder(here / "encoder")
    return Config(papers=["tiny"], study=str(study_folder))


def on_hub(config: Config, name: str, **changes: Any) -> None:
    """Make the hub the place of a source."""
    hub = {**PINNED, "repository": f"someone/{name}", **changes}
    hub = {key: value for key, value in hub.items() if value is not None}
    write(
        config.study_folders[0], f"sources/{name}.yaml", {"title": "T", "licence": "MIT", "hub": hub, "local": "Texts"}
    )


def planned(config: Config) -> Plan:
    """Return the plan of a run."""
    return Plan(config, run_sources.with_answers_of_the_hub)


def of_job(plan: Plan) -> Plan:
    """Return what a job of a run plans: from the configuration, which says what the run has decided."""
    decided = plan.config.run_sources.model_dump(mode="json")
    return Plan(read_config({"papers": ["tiny"], "study": plan.config.study, "run_sources": decided}))


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines that were told."""
    return capsys.readouterr().err.splitlines()


def with_far_corpus(config: Config) -> None:
    """Make one student, and the one that starts from it, need a corpus whose source the hub does not have."""
    on_hub(config, "far")
    write(config.study_folders[0], "corpora/far.yaml", {**CORPUS, "version": 1})
    change(config.study_folders[0], "papers/tiny/students.yaml", "data: sentences", "data: far")


def test_an_unknown_commit_is_asked_for_and_written_down(
    config: Config, hub: TinyHub, capsys: pytest.CaptureFixture[str]
) -> None:
    on_hub(config, "texts", commit=None, found=None, branch="refs/pr/1")
    plan = planned(config)
    assert plan.settings.sources["texts"].model_dump()["hub"]["commit"] == SIDE
    assert plan.settings.teachers["tiny-teacher"]["mood"].task.source.model_dump()["hub"]["commit"] == SIDE
    assert open_study(config).sources["texts"].hub.commit is None  # type: ignore[union-attr]
    run_sources.pin(plan.study)
    assert lines(capsys) == [f"study/sources/texts.yaml: pinned to {SIDE}, refs/pr/1 of someone/texts"]
    assert open_study(config).sources["texts"].hub.commit == SIDE  # type: ignore[union-attr]
    asked = len(hub.paths())
    assert vars(of_job(plan).settings) == vars(plan.settings)
    assert len(hub.paths()) == asked


def test_what_is_missing_is_left_out_and_all_else_is_planned(
    config: Config, hub: TinyHub, capsys: pytest.CaptureFixture[str]
) -> None:
    on_hub(config, "texts")
    with_far_corpus(config)
    plan = planned(config)
    reason = "source far is not there: hub: the hub has no dataset someone/far"
    assert plan.config.run_sources.missing == {"sources/far": reason}
    assert lines(capsys) == [
        "left out: study/sources/far.yaml: hub: the hub has no dataset someone/far; is it private? `hf auth login`, "
        "or give data_dir in config.yaml, with its files in the folder Texts"
    ]
    whole, part = {cell.student for cell in Plan(config).cells}, {cell.student for cell in plan.cells}
    left = {name for name in whole if plan.study.students.get(name) and "far" in _corpora(plan.study, name)}
    assert left
    assert part == whole - left
    scores = exhibits.scores(plan, "tiny", "table1")
    assert scores
    assert not any(f"/{name}/" in score for score in scores for name in left)
    name = sorted(left)[0]
    cell = measure_score(plan.study, {}, name, "mood", "accuracy")
    assert (cell.status, cell.reason, cell.mean) == (Status.MISSING, reason, None)
    tables = [table for _, table in plan.study.exhibits if "table" in table]
    assert [reason] in [exhibits.reasons_left_out(plan, "tiny", table) for table in tables]
    assert exhibits.reasons_left_out(Plan(config), "tiny", tables[0]) == []


def _corpora(study: Study, student: str) -> set[str]:
    """Return the corpora of a student and of those that it starts from."""
    parent = study.students[student].initialisation.student
    return {stage.data for stage in study.students[student].stages} | (_corpora(study, parent) if parent else set())


def test_a_hub_out_of_reach_is_asked_once(
    config: Config, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    on_hub(config, "texts")
    with_far_corpus(config)
    plan = planned(config)
    told = lines(capsys)
    assert told[0].startswith(f"the hub gives no answer: someone/far at {COMMIT}: no answer from {NOWHERE}")
    assert told[1:] == [
        f"left out: study/sources/{name}.yaml: hub: the hub gives no answer; run again where it is within reach, "
        "or give data_dir in config.yaml, with its files in the folder Texts"
        for name in ("far", "texts")
    ]
    assert plan.cells == []
    assert set(plan.config.run_sources.missing) == {"sources/far", "sources/texts"}


def test_what_was_fetched_is_not_asked_for(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    on_hub(config, "texts")
    record_of("texts").parent.mkdir(parents=True)
    record_of("texts").write_text(json.dumps(Plan(config).settings.sources["texts"].model_dump(mode="json")))
    plan = planned(config)
    assert plan.config.run_sources.missing == {}
    set_value(config.study_folders[0], "sources/texts.yaml", "hub", "commit", to=OTHER)
    assert set(planned(config).config.run_sources.missing) == {"sources/texts"}


# the part of a source that is enough

HUB = {"repository": "a/b", "repo_type": "dataset", "commit": COMMIT, "found": "made up", "files": ["en/*"]}
PART = {"source": "wiki", "files": ["en/*.parquet"], "format": "parquet"}


def part_of(folder: Path, corpora: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the part of the source that is fetched for these corpora; None if it is fetched whole."""
    write(folder, "sources/wiki.yaml", {"title": "Wiki", "licence": "MIT", "hub": HUB})
    for number, corpus in enumerate(corpora):
        write(folder, f"corpora/wiki-{number}.yaml", {"title": "W", "block": 128, "version": 1, **corpus})
    study = open_study(Config(papers=["tiny"], study=str(folder)))
    assert "first" not in resolve_data.source(study, "wiki").model_dump()
    part: dict[str, Any] | None = resolve_data.fetched(study, "wiki").model_dump().get("first")
    return part


def test_a_part_is_enough_for_a_number_of_blocks(study_folder: Path) -> None:
    half = {
        "blocks": 300,
        "components": [{**PART, "share": 0.5, "sample": 0.25}, {**PART, "source": "texts", "share": 0.5}],
    }
    part = {"files": ["en/*.parquet"], "column": "text", "characters": 100 * 128 * 12}
    assert part_of(study_folder, [{"blocks": 100, "components": [PART]}]) == part
    more = {**part, "characters": 600 * 128 * 12}
    assert part_of(study_folder, [{"blocks": 100, "components": [PART]}, half]) == more


@pytest.mark.parametrize(
    "corpus",
    [
        {"components": [PART]},
        {"blocks": 9, "components": [PART, {**PART, "source": "texts"}]},
        {"blocks": 9, "components": [{**PART, "format": "text"}]},
        {"blocks": 9, "components": [{**PART, "options": {"column": "body"}}]},
        {"blocks": 9, "components": [{**PART, "files": ["de/*.parquet"]}]},
    ],
)
def test_all_is_fetched_where_the_part_is_not_known(study_folder: Path, corpus: dict[str, Any]) -> None:
    assert part_of(study_folder, [{"blocks": 100, "components": [PART]}, corpus]) is None
