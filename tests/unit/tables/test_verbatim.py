"""Tests of tables of settings and counts: ours, read from the specs, next to what a paper reports."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from pandas import Series
from retort.audit import Finding, audit
from retort.plan.settings_cells import check_settings_cells
from retort.specs.config import read_config
from retort.specs.reported import read_number
from retort.study.load import read_study
from retort.tables.render import rendered

from tests.conftest import whole_study
from tests.tiny.edit import write
from tests.tiny.reported import with_block
from tests.tiny.results import collected, opened
from tests.tiny.variant import STUDENT, STUDENTS, write_study

GRID = {"learning_rate": [1e-5, 3e-5], "batch_size": [16, 32]}
PROTOCOL = {
    "title": "Short", "seeds": [1, 2, 3], "grid": GRID, "tasks": {"rating": {"steps": 20}},
    "schedule": {"steps": 100_000, "batch_size": 4, "learning_rate": 5e-4, "warmup_ratio": 0.06},
}  # fmt: skip
MAPPED = [{"objective": "hidden-sequence", "mapping": mapping} for mapping in ("last", "uniform")]


def settings(rows: list[dict[str, Any]], columns: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    """Return a reported table of settings."""
    rows = [{"label": f"R{number}", **row} for number, row in enumerate(rows)]
    numbers = sum(read_number(text.strip()) is not None for row in rows for text in row["cells"].split("|"))
    return with_block({"kind": "settings", "title": "T", "question": "Q?", "columns": columns or [{"label": "C"}],
                    "rows": rows, "numbers": numbers, **more})  # fmt: skip


def study_config(folder: Path, table: dict[str, Any]) -> dict[str, Any]:
    """Write the tiny study's variant with a grid and this table as table 9, and return its configuration."""
    taught = {**STUDENT, "stages": [{"data": "task", "terms": [*MAPPED, {"objective": "soft-labels"}]}]}
    config = write_study(folder / "study", table9=table, students={**STUDENTS, "kd": taught})
    write(folder / "study", "protocols/short.yaml", PROTOCOL)
    return config


def given(verdicts: Series[str]) -> dict[tuple[str, str], str]:
    """Return the verdicts of the cells that have one."""
    return verdicts[verdicts != ""].to_dict()


def shown(folder: Path, table: dict[str, Any]) -> tuple[dict[str, str], str]:
    """Return the verdict of each row of a table with one column, and the table in Markdown."""
    study = opened(study_config(folder, table))
    spec, lines = collected(study, "table9")
    rows = {row: verdict for (row, _), verdict in given(spec.verdicts(lines)).items()}
    return rows, rendered(spec.lay_out(lines), "md")


def test_ours_stands_above_what_is_reported_and_a_difference_is_seen(tmp_path: Path) -> None:
    verdicts, page = shown(tmp_path, settings([
        {"cells": "5e-4", "reads": "stages.1.schedule.learning_rate", "formatter": "scientific"},
        {"cells": "200k", "reads": "stages.1.schedule.steps", "formatter": "thousands", "task": "mood"},
        {"cells": "Adafactor"},
    ], student="tiny-kd", task="rating"))  # fmt: skip
    assert verdicts == {"R0": "agrees", "R1": "differs"}
    assert "| 5e-4<br>*5e-4*<br>agrees |" in page
    assert "| 100k<br>*200k*<br>differs |" in page
    assert "| Adafactor |" in page
    assert "Verdicts on 2 cells: agrees 1, differs 1." in page


def test_a_row_a_column_and_the_table_share_what_is_read(tmp_path: Path) -> None:
    columns = [{"label": "Steps", "reads": "schedule.steps"}, {"label": "Rate", "reads": "schedule.learning_rate",
               "formatter": "scientific"}]  # fmt: skip
    rows = [{"cells": "20 | 5e-4", "reads": "stages.1", "task": "rating", "student": "tiny-kd"},
            {"cells": "- | 1e-4", "reads": "stages.1"}]  # fmt: skip
    spec, lines = collected(opened(study_config(tmp_path, settings(rows, columns))), "table9")
    assert given(spec.verdicts(lines)) == {("R0", "Steps"): "agrees", ("R0", "Rate"): "agrees"}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"reads": "stages.1.shedule", "student": "tiny-kd", "task": "rating"},
         "row 'R0', column 'C': no key of 'stages.1.shedule' is called 'shedule'; did you mean 'schedule'?"),
        ({"reads": "stages.1.schedule", "student": "tiny-kd", "task": "rating"}, "formatter 'plain' cannot print that"),
        ({"reads": "runs", "student": "tiny-kd", "task": "ratng"}, "no task is called 'ratng'; did you mean 'rating'?"),
        ({"reads": "runs", "student": "tiny-kd"}, "'tiny-kd' is distilled on tasks; say which: give 'task'"),
        ({"reads": "runs", "student": "tiny-kd", "task": "rating", "formatter": "percents"},
         "no formatter is called 'percents'; did you mean 'percent'?"),
        ({"reads": "written.teacher", "student": "tiny-kd", "task": "rating", "formatter": "percent"},
         "'written.teacher' is 'tiny-teacher'; formatter 'percent' cannot print that"),
        ({"reads": "runs", "as_reported": ["D"]}, "row 'R0': as_reported: no column is called 'D'; there are: C"),
        ({"reads": "mappings.hidden", "reported_as": {}}, "no key of 'mappings.hidden' is called 'hidden'"),
    ],
)  # fmt: skip
def test_a_mistake_gets_one_clear_line(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    _, problems = read_study(
        read_config(study_config(tmp_path, settings([{"cells": "1", **row}]))), check_settings_cells
    )
    assert any(said in line for line in problems), problems


# --- the papers


@functools.cache
def sizes() -> list[Finding]:
    """Return the findings of the audit on sizes."""
    return audit(whole_study("paper"))["sizes"].findings


def of_kind(kind: str) -> list[tuple[str, str]]:
    """Return (paper, table) for every table of a kind."""
    return [key for key, exhibit in sorted(whole_study("paper").exhibits.items()) if exhibit.kind == kind]


@pytest.mark.parametrize(("paper", "table"), of_kind("settings"))
def test_our_students_are_trained_as_the_paper_says(paper: str, table: str) -> None:
    spec, lines = collected(whole_study("paper"), table, paper=paper)
    verdicts, reported = (
        given(spec.verdicts(lines)),
        {(cell.row, cell.column): cell.text for cell in spec.reported_cells()},
    )
    assert {key: reported[key] for key, verdict in verdicts.items() if verdict != "agrees"} == {}
    assert verdicts or not any(name.startswith(f"{paper}-") for name in whole_study("paper").students)


@pytest.mark.parametrize(("paper", "table"), of_kind("counts"))
def test_counts_that_differ_are_those_that_the_audit_knows(paper: str, table: str) -> None:
    spec, lines = collected(whole_study("paper"), table, paper=paper)
    verdicts, number = given(spec.verdicts(lines)), f"Table {table.removeprefix('table')},"
    assert verdicts
    known = [finding.where for finding in sizes() if finding.paper == paper]
    differ = [f"{number} {row}, {column}" for (row, column), verdict in verdicts.items() if verdict == "differs"]
    assert sorted(differ) == sorted(where for where in known if number in where)
