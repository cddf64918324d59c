"""Tests that a run of the study can be recorded as its published numbers, and then agrees with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from retort.errors import RetortError
from retort.specs.config import read_config
from retort.study.load import open_study
from retort.tables.recordings import record, recorded_value, with_block

from tests.tiny.edit import set_value
from tests.tiny.results import line, made
from tests.tiny.variant import CLAIMS, PAPER, TABLE, write_one_table


def test_a_block_is_replaced_and_what_stands_above_it_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "table.yaml"
    path.write_text("# a comment\nkind: scores\npublished:\n  a: {b: [1.0]}\n")
    for mean in (2.5, 3.5):
        path.write_text(with_block(path, "published", {"a": {"b": [mean, 0.5]}}))
    assert path.read_text().startswith("# a comment\nkind: scores\n")
    assert yaml.safe_load(path.read_text())["published"] == {"a": {"b": [3.5, 0.5]}}
    assert path.read_text().count("published") == 1


def test_a_change_is_recorded_as_a_score_is() -> None:
    change = replace(line(-1.70446, std=0.51239), unit="%")
    assert recorded_value(change) == [-1.704, 0.512]


def test_a_block_that_is_not_the_last_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.yaml"
    path.write_text("kind: scores\npublished: {}\nrows: []\n")
    with pytest.raises(RetortError, match="'published' is not the last key; move it to the end of the file"):
        with_block(path, "published", {})


def test_a_recorded_run_agrees_with_itself(config: dict[str, Any]) -> None:
    made(config, "table1")
    study = open_study(read_config(config))
    folder = study.folder / "papers" / "tiny"
    table = {key: value for key, value in TABLE.items() if key != "published"}
    write_one_table(study.folder, {**table, "runs": 5}, paper={**PAPER, "show": ["table1"]}, claims=CLAIMS)
    with pytest.raises(RetortError, match=r"table1\.yaml: its means are of 3 runs; set runs: 3"):
        record(open_study(read_config(config)), "tiny")
    write_one_table(study.folder, table, paper={**PAPER, "show": ["table1"]}, claims=CLAIMS)
    study = open_study(read_config(config))
    assert record(study, "tiny") == ["table1.yaml", "paper.yaml"]
    published = yaml.safe_load((folder / "table1.yaml").read_text())["published"]
    assert list(published) == ["teacher", "kd", "attention"]  # short names
    lines, renders = made(config, "table1")
    judged = [line for line in lines if line.task and line.published is not None]
    assert judged
    assert all(line.mean == pytest.approx(line.published, abs=1e-3) for line in judged)
    assert {line.verdict for line in judged} == {"agrees"}
    assert {line.assumes for line in judged} == {"the same digits as the recorded run"}
    assert "agrees" in renders["md"].split("Scale:")[0]
    recorded = yaml.safe_load((folder / "paper.yaml").read_text())["recorded"]
    assert recorded["commit"] == "abc1234"


def test_nothing_is_written_before_all_is_checked(config: dict[str, Any]) -> None:
    made(config, "table1")
    folder = Path(config["study"]) / "papers" / "tiny"
    table = {key: value for key, value in TABLE.items() if key != "published"}
    write_one_table(Path(config["study"]), table, paper={**PAPER, "show": ["table1"]}, claims=CLAIMS)
    study = open_study(read_config(config))
    with (folder / "paper.yaml").open("a") as stream:
        stream.write("recorded: {}\ntitle: Another\n")
    before = {path: path.read_text() for path in folder.rglob("*.yaml")}
    with pytest.raises(RetortError, match="'recorded' is not the last key"):
        record(study, "tiny")
    assert {path: path.read_text() for path in folder.rglob("*.yaml")} == before


def test_an_unfinished_run_is_not_recorded(config: dict[str, Any]) -> None:
    with pytest.raises(RetortError, match="run the whole study first"):
        record(open_study(read_config(config)), "tiny")


def test_the_numbers_of_a_paper_are_never_overwritten(config: dict[str, Any]) -> None:
    set_value(Path(config["study"]), "papers/tiny/paper.yaml", "ours", to=False)
    with pytest.raises(RetortError, match="the published numbers of 'tiny' are its paper's"):
        record(open_study(read_config(config)), "tiny")
