"""Tests of recorded runs: of a study of ours as its reported numbers, of a published paper next to the next run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from retort.errors import RetortError
from retort.judgement.paired_rows import compare_rows
from retort.results.collect import read_scores
from retort.results.frames import Line, read
from retort.specs.paper import Recording
from retort.study.study import Study
from retort.tables import recordings
from retort.tables.kinds.scores import ScoresTable
from retort.tables.recordings import compared_with_record, record, record_scale, remark_on_recording

from tests.tiny.edit import set_value
from tests.tiny.results import SCORES, change_score, collected, frame, keep, line, made, opened, paths, write_results
from tests.tiny.variant import CLAIMS, TABLE, UNREPORTED, write_one_table
from tests.unit.study.test_scale import study_config

LATER = {"tiny-kd": {"mood": [0.60, 0.62, 0.64], "rating": SCORES["tiny-kd"]["rating"]}}
SCALE, TABLE1 = "scales/reduced.yaml", "results/tables/tiny/table1.csv"

# --- a study of ours


def ours(config: dict[str, Any], **more: Any) -> Study:
    """Write the study of ours with one table, without reported numbers, and return it."""
    write_one_table(Path(config["study"]), {**UNREPORTED, **more}, claims=CLAIMS)
    return opened(config)


def compared(config: dict[str, Any], device: str = "cpu: <any>", again: bool = True, **scores: Any) -> str:
    """Make table 1, from these scores or from those that are there, and return how it compares with the record."""
    study = opened(config)
    if again:
        made(config, "table1", **scores)
    lines = read(TABLE1) if again else collected(study, "table1", read_scores(study, paths()[0]))[1]
    return compared_with_record(study, "tiny", lines, [device])


def verdicts_of(lines: list[Line]) -> dict[tuple[str, str], str]:
    """Return (row, column) -> the verdict on each reported score."""
    return {(line.row, line.column): line.verdict for line in lines if line.reported is not None}


def test_a_recorded_run_repeats_itself(config: dict[str, Any]) -> None:
    made(config, "table1")
    with pytest.raises(RetortError, match=r"table1\.yaml: its means are of 3 runs; set runs: 3"):
        record(ours(config, runs=5), "tiny")
    study = ours(config)
    assert [path.name for path in keep(record(study, "tiny"))] == ["float32.yaml"]
    kept = yaml.safe_load((study.config.study_folders[0] / "papers/tiny/recorded/float32.yaml").read_text())
    assert (kept["run"]["commit"], kept["run"]["precision"], kept["runs"]) == ("abc1234", "float32", 3)
    assert list(kept["tables"]["table1"]) == ["teacher", "kd", "attention"]  # short names
    assert kept["tables"]["table1"]["kd"] == {"Acc. %": [72.0, 2.0], "Pearson": [60.0, 10.0]}
    assert kept["by_seed"]["table1"]["kd"]["Acc. %"] == {1: 70.0, 2: 72.0, 3: 74.0}
    lines, renders = made(config, "table1")
    assert set(verdicts_of(lines).values()) == {"reproduced exactly"}
    assert "A cell is 'reproduced exactly' when each seed has its digits." in renders["md"]
    assert "| **72.0 ± 2.0** = |" in renders["md"]  # it stands once, and so does the number of a page
    assert r"\textbf{72.0 $\pm$ 2.0} =" in renders["tex"]
    assert renders["html"].count("72.0\u00a0±\u00a02.0") == 1
    assert "by Welch" not in renders["md"]


def test_a_study_is_recorded_with_its_tables_that_hold_no_scores(config: dict[str, Any]) -> None:
    study = ours(config)
    paired = {"kind": "paired-tests", "title": "T", "question": "Q?", "of": ["table1"]}
    (study.config.study_folders[0] / "papers/tiny/table2.yaml").write_text(yaml.safe_dump(paired))
    for name in ("table1", "table2"):
        made(config, name)
    kept = yaml.safe_load(next(iter(record(opened(config), "tiny").values())))
    assert (kept["runs"], list(kept["by_seed"])) == (3, ["table1"])


def test_a_run_meets_the_record_of_its_own_precision(config: dict[str, Any]) -> None:
    made(config, "table1")
    keep(record(ours(config), "tiny"))
    other = {**config, "precision": "bfloat16"}
    lines, _ = made(other, "table1")
    judged = verdicts_of(lines)
    assert set(judged.values()).isdisjoint({"reproduced"})  # another run: its numbers are not paired with these
    assert not any(line.reported_by_seed for line in lines)
    made(other, "table1", **LATER)
    assert [path.name for path in keep(record(ours(other), "tiny"))] == ["bfloat16.yaml"]
    folder = Path(config["study"]) / "papers/tiny/recorded"
    assert sorted(path.name for path in folder.glob("*.yaml")) == ["bfloat16.yaml", "float32.yaml"]
    for one, scores in ((config, {}), (other, LATER)):
        assert set(verdicts_of(made(one, "table1", **scores)[0]).values()) == {"reproduced exactly"}


def test_the_columns_of_a_row_with_variants_are_recorded_together(config: dict[str, Any]) -> None:
    columns = [{"task": "mood", "metric": "accuracy", "label": at, "variant": at} for at in ("5", "30")]
    rows = [{"student": "tiny-kd", "label": "KD"}]
    table = ScoresTable.model_validate(
        {"kind": "scores", "title": "T", "question": "Q?", "columns": columns, "rows": rows, "runs": 3}
    )
    lines = [line(70.0, row="KD", column=at, student=f"tiny-kd-{at}") for at in ("5", "30")]
    assert list(table.recorded(ours(config), "tiny", frame(lines))["row"]) == ["kd", "kd"]


def test_a_row_with_a_student_for_each_column_is_recorded_under_them(config: dict[str, Any]) -> None:
    columns = [{**column, "variant": variant} for column, variant in zip(TABLE["columns"], "mr", strict=True)]
    row = {"label": "A", "students": {"m": "tiny-kd", "r": "tiny-attention"}}
    rows = [row, {"label": "B", "students": {"m": "tiny-attention"}}]
    write_one_table(Path(config["study"]), {**UNREPORTED, "columns": columns, "rows": rows})
    made(config, "table1")
    keep(record(opened(config), "tiny"))
    judged = verdicts_of(made(config, "table1")[0])
    assert judged == dict.fromkeys((("A", "Acc. %"), ("A", "Pearson"), ("B", "Acc. %")), "reproduced exactly")
    study = opened(config)
    assert compare_rows(study, "tiny/table1", ["A", "B"], recorded=True)[1].startswith("mean difference 2.00")
    shared = [*rows, {"label": "C", "students": {"m": "tiny-kd"}}]  # two rows begin with one student
    write_one_table(Path(config["study"]), {**UNREPORTED, "columns": columns, "rows": shared})
    table = opened(config).exhibits["tiny", "table1"]
    assert {cell.row for cell in table.reported_cells() if cell.column == "Acc. %"} == {"A", "B", "C"}
    twice = [row, {"label": "B", "student": "tiny-kd"}]
    write_one_table(Path(config["study"]), {**UNREPORTED, "columns": columns, "rows": twice})
    with pytest.raises(RetortError, match="would keep tiny-kd and tiny-kd-m as 'tiny-kd'"):
        opened(config)


def test_the_rows_of_a_recorded_table_with_variants_are_compared() -> None:
    study = opened({"papers": ["lengths"]})
    lines = compare_rows(study, "lengths/table1", ["Attention KL", "Vanilla KD"], recorded=True)
    assert lines[1].startswith("mean difference 10.59, ")


def test_reported_numbers_stand_in_one_place(config: dict[str, Any]) -> None:
    with pytest.raises(RetortError, match="run the whole study first"):
        record(opened(config), "tiny")
    made(config, "table1")
    study = ours(config, means=TABLE["means"])
    folder = study.config.study_folders[0] / "papers" / "tiny"
    with pytest.raises(RetortError, match=r"table1\.yaml: it has reported numbers of its own; delete its key"):
        record(study, "tiny")
    assert not (folder / "recorded").exists()
    keep(record(ours(config), "tiny"))
    with pytest.raises(RetortError, match=r"table1: its reported numbers are in the folder 'recorded'; delete"):
        ours(config, means=TABLE["means"])


def test_a_table_of_paper_yaml_is_recorded_too(config: dict[str, Any]) -> None:
    made(config, "table1")
    study = ours(config)
    file = study.config.study_folders[0] / "papers/tiny/table1.yaml"
    set_value(
        study.config.study_folders[0],
        "papers/tiny/paper.yaml",
        "tables",
        to={"table1": yaml.safe_load(file.read_text())},
    )
    file.unlink()
    keep(record(opened(config), "tiny"))
    assert set(verdicts_of(made(config, "table1")[0]).values()) == {"reproduced exactly"}


def test_what_is_said_of_a_run_next_to_the_recorded_one(config: dict[str, Any]) -> None:
    made(config, "table1")
    assert compared(config) == "No run of this study is recorded."
    keep(record(ours(config), "tiny"))
    assert compared(config) == "Reproduces the record of 2026-01-02 exactly: all 6 means have the recorded digits."
    near = {"tiny-kd": {"mood": [0.71, 0.71, 0.75], "rating": SCORES["tiny-kd"]["rating"]}}
    assert compared(config, "cpu: another", **near) == (
        "Reproduces the record of 2026-01-02 on another CPU: largest difference 0.3 (Acc. %, A & <b>_1), none differs, "
        "5 of 6 means have the recorded digits."
    )
    far = {"tiny-kd": {"mood": [0.10, 0.12, 0.14], "rating": SCORES["tiny-kd"]["rating"]}}
    assert compared(config, "NVIDIA H100", **far).startswith(
        "Does not reproduce 1 of 6 means of the record of 2026-01-02 on another machine: largest difference 60.0 "
        "(Acc. %, A & <b>_1), 1 differs"
    )
    little = {"tiny-kd": {"mood": SCORES["tiny-kd"]["mood"], "rating": [0.5001, 0.6, 0.7001]}}
    assert "on another CPU: largest difference below 0.05 (Pearson, A & <b>_1)" in compared(config, "cpu: b", **little)
    Path("results/scores/tiny-kd/mood/1-2-3.json").unlink()
    divided = {**config, "seeds_divided": {"tiny-kd/mood": ["1", "2", "3"]}}
    made(divided, "table1")
    Path("results/scores/tiny-kd/mood/2.json").unlink()
    some = compared(divided, again=False)
    assert some.endswith("its 5 means have the recorded digits. So far 5 of its 6 scores were measured.")
    shutil.rmtree("results/scores/tiny-kd/mood")
    assert compared({**config, "precision": "bfloat16"}) == (
        "No run in bfloat16 is recorded: the reported numbers are those of the record of 2026-01-02 in float32, and "
        "are judged as those of other runs."
    )


def test_the_numbers_of_a_paper_are_never_overwritten(config: dict[str, Any]) -> None:
    set_value(Path(config["study"]), "papers/tiny/paper.yaml", "ours", to=False)
    with pytest.raises(RetortError, match="the reported numbers of 'tiny' are its paper's"):
        record(opened(config), "tiny")


# --- a published paper


@pytest.fixture
def reduced(here: Path) -> dict[str, Any]:
    """Return the configuration of a published paper at a smaller scale that is not held against it."""
    config = study_config(here / "study", "reduced", seeds=3)
    set_value(here / "study", SCALE, "judged", to=False)
    return config


def recorded(config: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    """Record the run, and return the file and its content."""
    (path,) = keep(record_scale(opened(config), "tiny"))
    return path, yaml.safe_load(path.read_text())


def test_a_recorded_run_stands_next_to_the_next_one(reduced: dict[str, Any]) -> None:
    with pytest.raises(RetortError, match="no table of 'tiny' has a number of ours"):
        recorded(reduced)
    _, before = made(reduced)
    assert "recorded" not in before["md"].lower()
    _, kept = recorded(reduced)
    assert kept["tables"]["table1"]["A & <b>_1"] == {"Acc. %": [72.0, 2.0]}
    assert kept["by_seed"]["table1"]["A & <b>_1"] == {"Acc. %": {1: 70.0, 2: 72.0, 3: 74.0}}
    assert (kept["run"]["commit"], kept["runs"], kept["samples"]) == ("abc1234", 3, {})  # all was read whole
    lines, after = made(reduced, **LATER)
    line = next(line for line in lines if line.student == "tiny-kd" and line.task == "mood")
    assert (line.mean, line.recorded, line.verdict) == (pytest.approx(62), pytest.approx(72), "")
    assert line.reported not in (None, line.recorded)  # the paper's number is another one, and stays
    for text in after.values():
        assert "72.0" in text
        assert "Recorded: a run of ours at scale reduced (cpu: " in text.replace("\\", "")


def test_a_run_of_some_students_is_recorded_but_recorded_numbers_are_not_lost(reduced: dict[str, Any]) -> None:
    divided = {**reduced, "seeds_divided": {"tiny-attention/mood": ["1", "2-3"]}}
    made(divided, **LATER)
    Path("results/scores/tiny-attention/mood/2-3.json").unlink()
    path, kept = recorded(divided)
    assert kept["tables"]["table1"]["A & <b>_1"] == {"Acc. %": [62.0, 2.0]}
    kept["tables"]["table1"]["A & <b>_1"]["once more"] = [50.0]
    kept["tables"]["table7"] = {"kd": {"Acc. %": [70.0], "r": [60.0]}}
    path.write_text(text := yaml.safe_dump(kept))
    with pytest.raises(RetortError) as refused:
        recorded(divided)
    assert str(refused.value) == (
        f"{path} would lose its numbers of table1 (1), table7 (2); "
        "run these tables first or, to keep only the new numbers, delete the file"
    )
    assert path.read_text() == text
    path.unlink()
    assert recorded(divided)[1]["tables"].keys() == {"table1"}


def of_one(config: dict[str, Any], student: str) -> dict[str, Any]:
    """Return the configuration with a budget of one student."""
    return {**config, "budget": {"hours": 1, "runs": {student: {"tasks": ["mood", "rating"], "seeds": 3}}}}


def test_other_rows_are_added_with_the_run_that_they_are_from(reduced: dict[str, Any]) -> None:
    one, other = (of_one(reduced, student) for student in ("tiny-kd", "tiny-attention"))
    made(one)
    path, first = recorded(one)
    made(other)
    for score in map(Path, paths()[0]):
        change_score(score, commit="def5678")
    _, both = recorded(other)
    assert (both["run"], list(both["tables"]["table1"])) == (first["run"], ["A & <b>_1", "B"])
    assert [(one["run"]["commit"], one["rows"]) for one in both["added"]] == [("def5678", {"table1": ["B"]})]
    (remark,) = remark_on_recording(opened(reduced), "tiny", "table1")
    assert "commit abc1234; B: cpu: <any>, 2026-01-02, commit def5678, float32; 3 runs" in remark
    path.write_text(path.read_text().replace("runs: 3", "runs: 2"))  # another run than the new one
    with pytest.raises(RetortError, match=r"would lose its numbers of table1"):
        recorded(other)


def test_added_rows_keep_the_scores_of_their_distillations() -> None:
    cells, seeds, runs = {"mood": [66.5, 7.8]}, {"mood": {1: 61.0, 7: 72.0}}, {"mood": {"1/1": 61.0, "7/1": 72.0}}
    first = Recording(run={}, runs=2, tables={"table1": {"A": cells}}, by_seed={"table1": {"A": seeds}})
    more = {"tables": {"table1": {"B": cells}}, "by_seed": {"table1": {"B": seeds}}, "by_run": {"table1": {"B": runs}}}
    both = recordings._with_added(first, Recording.model_validate({"run": {}, "runs": 2, "distillations": 2, **more}))
    assert (both.by_run, both.distillations) == ({"table1": {"B": runs}}, 2)
    assert list(both.by_seed["table1"]) == ["A", "B"]
    assert both.added[0].rows == {"table1": ["B"]}


def test_a_recording_names_the_tasks_of_its_own_cells_and_what_was_read_of_them(
    reduced: dict[str, Any], tmp_path: Path
) -> None:
    set_value(tmp_path / "study", SCALE, "replacements", "tasks", to=["rating", "mood"])
    made(reduced)
    change_score(Path("results/scores/tiny-kd/mood/1-2-3.json"), 1, sample={"train": [8, 16]})
    path, kept = recorded(reduced)
    assert kept["samples"] == {"mood": {"train": [8, 16]}}
    kept["tables"]["table1"] = {row: {"Acc. %": cells["Acc. %"]} for row, cells in kept["tables"]["table1"].items()}
    path.write_text(yaml.safe_dump(kept))
    study = opened(reduced)
    assert study.recordings["tiny", "reduced"].samples == kept["samples"]
    (remark,) = remark_on_recording(study, "tiny", "table1")
    assert "; tasks: mood (a sample: 8 of 16 rows of train), over which means are)" in remark


def test_only_a_scale_that_replaces_something_is_recorded(tmp_path: Path) -> None:
    with pytest.raises(RetortError, match="scale 'paper' runs what 'tiny' reports"):
        recorded(study_config(tmp_path, "paper"))


def test_a_row_is_compared_with_itself_in_the_recorded_run(config: dict[str, Any]) -> None:
    made(config, "table1")
    study = ours(config)
    keep(record(study, "tiny"))
    write_results(config, {**SCORES, "tiny-kd": {"mood": [0.70, 0.72, 0.74], "rating": [0.52, 0.63, 0.74]}})
    lines = compare_rows(opened(config), "tiny/table1", ["A & <b>_1"])
    assert lines[:2] == [
        "tiny/table1: A & <b>_1, less A & <b>_1 (as recorded)",
        "mean difference 1.50, standard deviation 1.76, n = 6 pairs (mood, rating)",
    ]
