"""Tests of recorded runs: of a study of ours as its published numbers, of a printed paper beside the next run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from retort.errors import RetortError
from retort.specs.config import read_config
from retort.study.load import open_study
from retort.study.study import Study
from retort.tables.recordings import (
    record,
    record_scale,
    remark_on_recording,
)

from tests.tiny.edit import set_value
from tests.tiny.results import SCORES, change_record, made
from tests.tiny.variant import CLAIMS, PAPER, TABLE, write_one_table
from tests.unit.study.test_scale import study_config

LATER = {"tiny-kd": {"mood": [0.60, 0.62, 0.64], "rating": SCORES["tiny-kd"]["rating"]}}
SCALE = "scales/reduced.yaml"

# --- a study of ours


def ours(config: dict[str, Any], **more: Any) -> Study:
    """Write the study of ours with one table, without published numbers, and return it."""
    table = {key: value for key, value in TABLE.items() if key != "published"}
    write_one_table(Path(config["study"]), {**table, **more}, paper={**PAPER, "show": ["table1"]}, claims=CLAIMS)
    return open_study(read_config(config))


def test_a_recorded_run_agrees_with_itself(config: dict[str, Any]) -> None:
    made(config, "table1")
    with pytest.raises(RetortError, match=r"table1\.yaml: its means are of 3 runs; set runs: 3"):
        record(ours(config, runs=5), "tiny")
    study = ours(config)
    assert record(study, "tiny") == ["table1.yaml", "paper.yaml"]
    folder = study.folder / "papers" / "tiny"
    published = yaml.safe_load((folder / "table1.yaml").read_text())["published"]
    assert list(published) == ["teacher", "kd", "attention"]  # short names
    assert yaml.safe_load((folder / "paper.yaml").read_text())["recorded"]["commit"] == "abc1234"
    lines, renders = made(config, "table1")
    judged = [line for line in lines if line.task and line.published is not None]
    assert judged
    assert all(line.mean == pytest.approx(line.published, abs=1e-3) for line in judged)
    assert {(line.verdict, line.assumes) for line in judged} == {("agrees", "the same digits as the recorded run")}
    assert "agrees" in renders["md"].split("Scale:")[0]


def test_nothing_is_written_before_all_is_checked(config: dict[str, Any]) -> None:
    with pytest.raises(RetortError, match="run the whole study first"):
        record(open_study(read_config(config)), "tiny")
    made(config, "table1")
    study = ours(config)
    folder = study.folder / "papers" / "tiny"
    with (folder / "paper.yaml").open("a") as stream:
        stream.write("recorded: {}\ntitle: Another\n")
    before = {path: path.read_text() for path in folder.rglob("*.yaml")}
    with pytest.raises(RetortError, match="'recorded' is not the last key; move it to the end of the file"):
        record(study, "tiny")
    assert {path: path.read_text() for path in folder.rglob("*.yaml")} == before


def test_a_table_without_a_file_of_its_own_is_not_recorded(config: dict[str, Any]) -> None:
    made(config, "table1")
    study = ours(config)
    file = study.folder / "papers/tiny/table1.yaml"
    set_value(study.folder, "papers/tiny/paper.yaml", "tables", to={"table1": yaml.safe_load(file.read_text())})
    file.unlink()
    with pytest.raises(RetortError, match="table1 stands in paper.yaml; move it to table1.yaml, so that it can be"):
        record(open_study(read_config(config)), "tiny")


def test_the_numbers_of_a_paper_are_never_overwritten(config: dict[str, Any]) -> None:
    set_value(Path(config["study"]), "papers/tiny/paper.yaml", "ours", to=False)
    with pytest.raises(RetortError, match="the published numbers of 'tiny' are its paper's"):
        record(open_study(read_config(config)), "tiny")


# --- a printed paper


@pytest.fixture
def reduced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the configuration of a printed paper at a smaller scale that is not held against it."""
    monkeypatch.chdir(tmp_path)
    config = study_config(tmp_path / "study", "reduced", seeds=3)
    set_value(tmp_path / "study", SCALE, "judged", to=False)
    return config


def recorded(config: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    """Record the run, and return the file and its content."""
    path = Path(record_scale(open_study(read_config(config)), "tiny"))
    return path, yaml.safe_load(path.read_text())


def test_a_recorded_run_stands_beside_the_next_one(reduced: dict[str, Any]) -> None:
    with pytest.raises(RetortError, match="no table of 'tiny' has a number of ours"):
        recorded(reduced)
    _, before = made(reduced)
    assert "recorded" not in before["md"].lower()
    _, kept = recorded(reduced)
    assert kept["tables"]["table1"]["A & <b>_1"] == {"Acc. %": [72.0, 2.0]}
    assert (kept["run"]["commit"], kept["runs"], kept["samples"]) == ("abc1234", 3, {})  # all was read whole
    lines, after = made(reduced, **LATER)
    line = next(line for line in lines if line.student == "tiny-kd" and line.task == "mood")
    assert (line.mean, line.recorded, line.verdict) == (pytest.approx(62), pytest.approx(72), "")
    assert line.published not in (None, line.recorded)  # the paper's number is another one, and stays
    for text in after.values():
        assert "recorded 72.0" in text
        assert "Recorded: a run of ours at scale reduced (cpu: " in text.replace("\\", "")


def test_a_run_of_some_students_is_recorded_but_recorded_numbers_are_not_lost(reduced: dict[str, Any]) -> None:
    made(reduced, **LATER)
    Path("results/scores/tiny-attention/mood/seed-2.json").unlink()
    path, kept = recorded(reduced)
    assert kept["tables"]["table1"]["A & <b>_1"] == {"Acc. %": [62.0, 2.0]}
    kept["tables"]["table1"]["A & <b>_1"]["once more"] = [50.0]
    kept["tables"]["table7"] = {"kd": {"Acc. %": [70.0], "r": [60.0]}}
    path.write_text(text := yaml.safe_dump(kept))
    with pytest.raises(RetortError) as refused:
        recorded(reduced)
    assert str(refused.value) == (
        f"{path} would lose its numbers of table1 (1), table7 (2); "
        "run these tables first or, to keep only the new numbers, delete the file"
    )
    assert path.read_text() == text
    path.unlink()
    assert recorded(reduced)[1]["tables"].keys() == {"table1"}


def test_a_recording_names_the_tasks_of_its_own_cells_and_what_was_read_of_them(
    reduced: dict[str, Any], tmp_path: Path
) -> None:
    set_value(tmp_path / "study", SCALE, "replacements", "tasks", to=["rating", "mood"])
    made(reduced)
    change_record(Path("results/scores/tiny-kd/mood/seed-1.json"), sample={"train": [8, 16]})
    path, kept = recorded(reduced)
    assert kept["samples"] == {"mood": {"train": [8, 16]}}
    kept["tables"]["table1"] = {row: {"Acc. %": cells["Acc. %"]} for row, cells in kept["tables"]["table1"].items()}
    path.write_text(yaml.safe_dump(kept))
    study = open_study(read_config(reduced))
    assert study.recordings["tiny", "reduced"].samples == kept["samples"]
    (remark,) = remark_on_recording(study, "tiny", "table1")
    assert "; tasks: mood (a sample: 8 of 16 rows of train), over which means are)" in remark


def test_only_a_scale_that_replaces_something_is_recorded(tmp_path: Path) -> None:
    with pytest.raises(RetortError, match="scale 'paper' runs what 'tiny' prints"):
        recorded(study_config(tmp_path, "paper"))
