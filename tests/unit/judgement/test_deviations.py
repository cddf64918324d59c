"""Tests of deviations: each names a cell or a setting; conditions of every timing stand in caption and deviations."""

from __future__ import annotations

from pathlib import Path

import pytest
from retort.cli import main
from retort.plan.deviations import unknown_names, unstated_settings
from retort.specs.config import Config, read_config
from retort.study.load import open_written
from retort.study.study import Study

from tests.tiny.edit import set_value, write
from tests.tiny.variant import write_study


@pytest.mark.slow
def test_every_deviation_of_the_papers_names_a_cell_or_a_setting(whole: Study) -> None:
    assert unknown_names(whole) == []


@pytest.mark.parametrize(
    ("of", "right"),
    [
        ("stages.1.schedule.max_grad_norm", True), ("stages.*.schedule.max_grad_norm", True), ("stages", True),
        ("seeds", True), ("table1", True), ("table1: Pearson", True),
        ("stages.9.schedule", False), ("max_grad", False), ("table9", False), ("table1: nowhere", False),
    ],
)  # fmt: skip
def test_a_name_is_a_setting_a_table_or_a_place_in_one(tmp_path: Path, of: str, right: bool) -> None:
    choice = {"students": ["kd"], "texts": [{"of": [of], "text": "a choice"}]}
    config = write_study(tmp_path / "study")
    write(tmp_path / "study", "papers/tiny/deviations.yaml", [choice])
    set_value(tmp_path / "study", "papers/tiny/paper.yaml", "ours", to=False)
    said = unknown_names(open_written(read_config(config)))
    line = f"tiny: the deviation 'a choice' names '{of}', which is no setting of tiny-kd and no cell"
    assert said == ([] if right else [line])


# --- settings of which nothing is said


def reported_study(folder: Path, **schedule: object) -> Study:
    """Return the tiny study as a published paper, with fields of its protocol's schedule that its file states."""
    config = write_study(folder)
    set_value(folder, "papers/tiny/paper.yaml", "ours", to=False)
    for key, value in schedule.items():
        set_value(folder, "protocols/short.yaml", "schedule", key, to=value)
    return open_written(read_config(config))


def said_nothing_of(study: Study) -> dict[str, list[str]]:
    return {setting.key: list(setting.students) for setting in unstated_settings(study, "tiny")}


def test_the_defaults_of_reported_rows_are_listed_until_they_are_stated_or_declared(tmp_path: Path) -> None:
    found = said_nothing_of(reported_study(tmp_path / "study"))
    assert found["stages.*.schedule.warmup_ratio"] == ["kd", "attention"]
    assert found["stages.*.terms.*.weight"] == ["kd", "attention"]  # kd gives its second term a weight, not its first
    assert not any(key.endswith(("version", "freeze", "pad_to_max_length", "squared")) for key in found)
    stated = said_nothing_of(reported_study(tmp_path / "stated", warmup_ratio=0.1))
    assert found.keys() - stated.keys() == {"stages.*.schedule.warmup_ratio", "teacher.schedule.warmup_ratio"}
    choice = {"students": ["kd"], "texts": [{"of": ["stages.*.schedule"], "text": "a choice"}]}
    write(tmp_path / "study", "papers/tiny/deviations.yaml", [choice])
    study = open_written(Config(papers=["tiny"], study=str(tmp_path / "study")))
    assert said_nothing_of(study)["stages.*.schedule.warmup_ratio"] == ["attention"]


def test_the_papers_state_or_declare_every_setting_of_their_reported_rows(whole: Study) -> None:
    assert [unstated_settings(whole, paper) for paper, spec in whole.papers.items() if not spec.ours] == [[]] * 4


def test_a_check_of_a_paper_lists_the_settings_to_state_or_declare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = reported_study(tmp_path / "study")
    (tmp_path / "config.yaml").write_text(f"papers: [tiny]\nstudy: {tmp_path / 'study'}\n")
    config = ["--config", str(tmp_path / "config.yaml")]
    assert main(["check", "tiny", *config]) == 0
    line = "2 students: stages.*.schedule.warmup_ratio is 0.1 by default; the files of the paper do not say: "
    assert f"{line}state it in the protocol, or declare it in deviations.yaml" in capsys.readouterr().out
    assert main(["check", *config]) == 0
    count = len(unstated_settings(study, "tiny"))
    assert f"anything of {count} settings of reported rows; see `retort check tiny`" in capsys.readouterr().out
