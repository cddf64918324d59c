"""Tests of recorded runs of printed papers: written from a run, shown beside the next one, never judged."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from retort.errors import RetortError, StudyError
from retort.specs.config import read_config
from retort.study.load import open_study
from retort.tables.recordings import OTHER_SETTINGS, record_scale, remark_on_recording

from tests.tiny.edit import set_value
from tests.tiny.results import SCORES, change_record, made
from tests.unit.study.test_scale import study_config

LATER = {**SCORES, "tiny-kd": {"mood": [0.60, 0.62, 0.64]}}


@pytest.fixture
def reduced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Return the configuration of a printed paper at a smaller scale that is not held against it."""
    monkeypatch.chdir(tmp_path)
    config = study_config(tmp_path / "study", "reduced", seeds=3)
    set_value(tmp_path / "study", "scales/reduced.yaml", "judged", to=False)
    return config


def test_a_recorded_run_stands_beside_the_next_one(reduced: dict[str, object]) -> None:
    _, before = made(reduced)
    assert "recorded" not in before["md"].lower()
    path = record_scale(open_study(read_config(reduced)), "tiny")
    kept = yaml.safe_load(Path(path).read_text())
    assert kept["tables"]["table1"]["A & <b>_1"] == {"Acc. %": [72.0, 2.0]}
    assert kept["run"]["commit"] == "abc1234"
    assert kept["runs"] == 3
    assert kept["samples"] == {}  # all data sets were read whole
    lines, after = made(reduced, **{"tiny-kd": LATER["tiny-kd"]})
    line = next(line for line in lines if line.student == "tiny-kd" and line.task == "mood")
    assert (line.mean, line.recorded, line.verdict) == (pytest.approx(62), pytest.approx(72), "")
    assert line.published is not None  # the paper's number is another one, and stays
    assert line.published != line.recorded
    for text in after.values():
        assert "recorded 72.0" in text
        assert "Recorded: a run of ours at scale reduced (cpu: " in text.replace("\\", "")


def test_a_run_of_some_students_is_recorded(reduced: dict[str, object]) -> None:
    made(reduced, **{"tiny-kd": LATER["tiny-kd"]})
    Path("results/scores/tiny-attention/mood/seed-2.json").unlink()
    kept = yaml.safe_load(Path(record_scale(open_study(read_config(reduced)), "tiny")).read_text())
    assert kept["tables"]["table1"]["A & <b>_1"] == {"Acc. %": [62.0, 2.0]}


def test_recorded_numbers_are_not_lost_to_a_run_of_fewer(reduced: dict[str, object]) -> None:
    made(reduced)
    path = Path(record_scale(open_study(read_config(reduced)), "tiny"))
    kept = yaml.safe_load(path.read_text())
    kept["tables"]["table1"]["A & <b>_1"]["once more"] = [50.0]
    text = yaml.safe_dump(kept | {"tables": {**kept["tables"], "table7": {"kd": {"Acc. %": [70.0], "r": [60.0]}}}})
    path.write_text(text)
    study = open_study(read_config(reduced))
    with pytest.raises(RetortError) as refused:
        record_scale(study, "tiny")
    assert str(refused.value) == (
        f"{path} would lose its numbers of table1 (1 cell), table7 (2 cells): this run has none; run them first: "
        "snakemake --cores all --configfile config.yaml -- reports/tiny/table1.html reports/tiny/table7.html; "
        "or, to keep only the new numbers, delete the file"
    )
    assert path.read_text() == text
    path.unlink()
    record_scale(open_study(read_config(reduced)), "tiny")
    assert yaml.safe_load(path.read_text())["tables"].keys() == {"table1"}


def test_a_recording_keeps_which_splits_were_read_in_part(reduced: dict[str, object]) -> None:
    made(reduced)
    for seed in (1, 2, 3):
        change_record(Path(f"results/scores/tiny-kd/mood/seed-{seed}.json"), sample={"train": [8, 16]})
    kept = yaml.safe_load(Path(record_scale(open_study(read_config(reduced)), "tiny")).read_text())
    assert kept["samples"] == {"mood": {"train": [8, 16]}}
    assert open_study(read_config(reduced)).recordings["tiny", "reduced"].samples == kept["samples"]


def test_a_table_names_the_tasks_of_its_own_recorded_cells_and_what_was_read_of_them(
    reduced: dict[str, object], tmp_path: Path
) -> None:
    set_value(tmp_path / "study", "scales/reduced.yaml", "replacements", "tasks", to=["rating", "mood"])
    made(reduced)
    change_record(Path("results/scores/tiny-kd/mood/seed-1.json"), sample={"train": [8, 16]})
    path = Path(record_scale(open_study(read_config(reduced)), "tiny"))
    kept = yaml.safe_load(path.read_text())
    kept["tables"]["table1"] = {row: {"Acc. %": cells["Acc. %"]} for row, cells in kept["tables"]["table1"].items()}
    path.write_text(yaml.safe_dump(kept))
    study = open_study(read_config(reduced))
    assert (
        "; tasks: mood (a sample: 8 of 16 rows of train), over which means are)"
        in remark_on_recording(study, "tiny", "table1")[0]
    )


def test_a_recording_is_named_as_a_scale(reduced: dict[str, object], tmp_path: Path) -> None:
    made(reduced)
    path = Path(record_scale(open_study(read_config(reduced)), "tiny"))
    path.rename(path.with_name("reduce.yaml"))
    with pytest.raises(StudyError, match=r"reduce\.yaml: nothing reads a file of this name here"):
        open_study(read_config(reduced))


def test_a_recording_of_other_settings_is_not_shown(reduced: dict[str, object], tmp_path: Path) -> None:
    made(reduced)
    record_scale(open_study(read_config(reduced)), "tiny")
    set_value(tmp_path / "study", "scales/reduced.yaml", "replacements", "training", "steps", to=9)
    lines, after = made(reduced)
    assert {line.recorded for line in lines} == {None}
    assert OTHER_SETTINGS in after["md"]


def test_a_recording_outlives_changes_that_only_other_papers_and_tasks_read(
    reduced: dict[str, object], tmp_path: Path
) -> None:
    made(reduced)
    record_scale(open_study(read_config(reduced)), "tiny")
    for key, value in {"tasks_of": {"tiny": ["mood"]}, "training_on": {"rating": {"steps": 9}}}.items():
        set_value(tmp_path / "study", "scales/reduced.yaml", "replacements", key, to=value)
    _, shown = made(reduced)
    assert OTHER_SETTINGS not in shown["md"]
    set_value(tmp_path / "study", "scales/reduced.yaml", "replacements", "training_on", to={"mood": {"steps": 9}})
    _, shown = made(reduced)
    assert OTHER_SETTINGS in shown["md"]


def test_only_a_scale_that_replaces_something_is_recorded(tmp_path: Path) -> None:
    study = open_study(read_config(study_config(tmp_path, "paper")))
    with pytest.raises(RetortError, match="scale 'paper' runs what 'tiny' prints"):
        record_scale(study, "tiny")


def test_a_paper_without_numbers_is_not_recorded(reduced: dict[str, object]) -> None:
    with pytest.raises(RetortError, match="no table of 'tiny' has a number of ours"):
        record_scale(open_study(read_config(reduced)), "tiny")
