"""Tests of scores that only a server computes: the cell names what the server gets, or our score on dev stands in."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from retort.cost.jobs import Jobs
from retort.errors import RetortError
from retort.judgement.judge import DEV, our_numbers
from retort.plan import exhibits
from retort.plan.plan import Plan
from retort.plan.reads import InputFunctions
from retort.results.frames import lines_of
from retort.specs.config import read_config
from retort.study.cells import expand, of_folder, required, served
from retort.study.study import Study
from retort.tables.render import rendered

from tests.tiny.edit import write
from tests.tiny.reported import as_reported
from tests.tiny.results import collected, opened
from tests.tiny.variant import MOOD, PAPER_OF_OTHERS, ROWS, TABLE, write_one_table

SAID = "server: it alone has the labels of the test set; reports/submissions/tiny-kd/seed-1.zip is what it is sent"
FILED = {
    **{key: value for key, value in MOOD.items() if key not in ("read", "split")},
    "splits": {"train": {"rows": 4}, "dev": {"rows": 2}, "test": {"rows": 2, "labelled": False, "source": "others"}},
    "read": {"local": {"format": "tsv", "files": {name: f"{name}.tsv" for name in ("train", "dev", "test")},
                       "columns": {"text": 1, "label": 2}}},
    "evaluation_split": "dev", "submission": {"files": {"test": "S.tsv"}},
}  # fmt: skip
COLUMNS = [*TABLE["columns"], {"label": "Avg", "mean_of": ["Acc. %", "Pearson"]},
           {"label": "Change", "change_from": "Pearson"}]  # fmt: skip


def study_config(folder: Path, scale: str = "paper", split: str = "test") -> dict[str, Any]:
    """Write the variant of the tiny study with one test set without labels, and return its configuration."""
    study, table = (
        folder / "study",
        as_reported([{**row, "cells": "1 | 2 | 3 | 4"} for row in ROWS], COLUMNS, split=split),
    )
    config = write_one_table(study, table, paper=PAPER_OF_OTHERS)
    write(study, "tasks/mood.yaml", FILED)
    write(study, "sources/others.yaml", {"title": "Others", "path": "others"})
    return {**config, "scale": scale}


def test_the_cell_says_what_the_server_is_sent(tmp_path: Path) -> None:
    study = opened(study_config(tmp_path))
    spec, lines = collected(study, "table1")
    row = {line.column: line for line in lines_of(lines) if line.student == "tiny-kd"}
    assert {row[name].state for name in ("Acc. %", "Avg")} == {SAID}
    assert row["Acc. %"].mean is None
    assert row["Pearson"].state == "missing (seeds 1, 2, 3 of 3)"
    page = rendered(spec.lay_out(lines), "md")
    assert "server<sup>" in page
    assert "reports/submissions/tiny-attention/seed-1.zip is what it is sent" in page


def test_no_score_is_asked_for_and_the_zip_is(tmp_path: Path) -> None:
    config = read_config(study_config(tmp_path))
    plan = Plan(config)
    assert {cell.task for cell in plan.cells} == {"rating"}
    reads = InputFunctions(plan)
    wanted = [f"reports/submissions/{name}/seed-1.zip" for name in ("tiny-teacher", "tiny-kd", "tiny-attention")]
    assert exhibits.submissions(plan, "tiny", "table1") == wanted
    asked = SimpleNamespace(student="tiny-kd", task="mood", seed="1")
    assert reads.answers_to_send(asked) == ["results/answers/tiny-kd/seed-1/mood.json"]
    assert reads.finetuned_weights(asked) == "results/students/tiny-kd/mood/1-2-3"
    assert reads.finetuned_weights(SimpleNamespace(student="tiny-teacher", task="mood", seed="1")) == (
        "results/teachers/tiny-teacher/mood/1"
    )
    assert plan.kept("weights").flags == {"temp": True, "directory": True}
    assert of_folder("sources", required(plan.study)) == {"texts", "encoder", "others"}


def test_smaller_scales_leave_the_zip_to_users(tmp_path: Path) -> None:
    config = study_config(tmp_path, scale="reduced")
    write(tmp_path / "study", "scales/reduced.yaml", {"title": "Between"})
    plan = Plan(read_config(config))
    assert exhibits.submissions(plan, "tiny", "table1") == []
    assert plan.kept("weights") == []
    with pytest.raises(RetortError, match="the weights of 'tiny-kd' on 'mood' are not kept; set keep_weights: true"):
        InputFunctions(plan).finetuned_weights(SimpleNamespace(student="tiny-kd", task="mood", seed="1"))
    assert of_folder("tasks", required(plan.study)) == {"rating", "mood"}
    assert {cell.seed for cell in plan.cells if (cell.student, cell.task) == ("tiny-kd", "mood")} == {1, 2, 3}


def dev_scores(student: str) -> dict[tuple[str, str, int], Any]:
    """Return three scores of a student on each task: 0.7, 0.72 and 0.74, and 0.5, 0.6 and 0.7."""
    values = {"mood": ("accuracy", [0.70, 0.72, 0.74]), "rating": ("pearson", [0.5, 0.6, 0.7])}
    return {
        (student, task, seed): {"status": "ok", "metrics": {metric: value}}
        for task, (metric, by_seed) in values.items()
        for seed, value in enumerate(by_seed, start=1)
    }


def state_on_server(study: Study, scores: dict[tuple[str, str, int], Any]) -> str:
    """Return what is said of the student's accuracy, which a server computes."""
    _, lines = collected(study, "table1", scores)
    found = (line.state for line in lines_of(lines) if (line.student, line.column) == ("tiny-kd", "Acc. %"))
    return str(next(found))


def test_a_scale_that_sends_nothing_shows_dev_and_does_not_judge_it(tmp_path: Path) -> None:
    config = study_config(tmp_path, scale="reduced")
    write(tmp_path / "study", "scales/reduced.yaml", {"title": "Between"})
    study = opened(config)
    spec, lines = collected(study, "table1", dev_scores("tiny-kd"))
    row = {line.column: line for line in lines_of(lines) if line.student == "tiny-kd"}
    on_dev = row["Acc. %"]
    assert (on_dev.status, on_dev.mean, on_dev.n, on_dev.verdict) == ("dev", pytest.approx(72), 3, "")
    assert row["Pearson"].status == "ok"
    assert row["Pearson"].verdict
    assert (row["Avg"].status, row["Avg"].mean, row["Avg"].verdict) == ("dev", pytest.approx(66), "")
    page = rendered(spec.lay_out(lines), "md")
    assert "72.0 ± 2.0" in page
    assert "<br>dev<br>" in page
    assert "only a server has the labels of the test set; it is not judged" in page
    key = ("table1", on_dev.row, on_dev.column)
    side = our_numbers({"table1": study.exhibits["tiny", "table1"]}, {"table1": lines})
    assert side.numbers[key]["split"] == DEV
    assert side.numbers[key]["text"].startswith("dev 72.0")


def test_what_is_computed_from_server_cells_is_computed_from_dev_next_to_them(tmp_path: Path) -> None:
    study = opened(study_config(tmp_path))
    spec, lines = collected(study, "table1", dev_scores("tiny-kd"))
    row = {line.column: line for line in lines_of(lines) if line.student == "tiny-kd"}
    assert {row[name].status for name in ("Acc. %", "Avg", "Change")} == {"server"}
    # the submitted run has seed 1: 70 and 50, their mean, and its change from the second
    assert [row[name].dev for name in ("Acc. %", "Avg", "Change")] == [pytest.approx(70), 60, pytest.approx(20)]
    sheet = spec.lay_out(lines)
    assert any(entry.text == "server" and entry.nearby == "dev 70.0" for entry in sheet.grids[0].entries)
    assert any(remark.startswith("'dev'") for remark in sheet.remarks)


def test_the_server_scores_no_run_that_diverged(tmp_path: Path) -> None:
    study = opened(study_config(tmp_path))
    scores = dev_scores("tiny-kd")
    scores["tiny-kd", "mood", 2] = scores["tiny-kd", "mood", 1] | {"status": "diverged", "step": 7}
    assert state_on_server(study, scores) == SAID  # seed 1 is sent
    scores["tiny-kd", "mood", 1] = scores["tiny-kd", "mood", 2]
    assert state_on_server(study, scores) == "diverged at step 7"


def test_a_dev_score_and_a_test_set_with_labels_are_ours(tmp_path: Path) -> None:
    study = opened(study_config(tmp_path, split="dev"))
    assert {cell.task for cell in expand(study)} == {"rating", "mood"}
    assert served(study, study.exhibits["tiny", "table1"]) == []


@pytest.mark.parametrize("scale", ["rehearsal", "paper"])
def test_the_weights_behind_every_zip_are_kept(scale: str) -> None:
    plan = Plan(read_config({"scale": scale, "papers": ["mlkd2024", "minilmv2"]}))
    jobs = Jobs(plan)
    zips = [path for key in plan.study.exhibits for path in exhibits.submissions(plan, *key)]
    sent = [job for path in zips if (job := jobs.at(path))]
    answers = [found for job in sent for path in job.inputs if (found := jobs.at(path))]
    assert len(zips) == len(sent) > 10
    read = [job.wildcards for job in answers]
    assert {(of.student, of.task) for of in read} >= {("mlkd2024-4-6-heads-random", task) for task in ("mnli", "cola")}
    trained = [of for of in read if of.student in plan.study.students]
    assert [of for of in trained if int(of.seed) not in plan.reads_weights(of, output=None)] == []
    folders = {path for job in answers for path in job.inputs if "/students/" in path}
    assert len(folders) == len({(of.student, of.task) for of in trained}) > 10
    makers = {job.rule.name for path in folders if (job := jobs.at(path))}
    assert makers == {"distill_on_task", "finetune_student"}
