"""Tests of the papers' reported numbers: reading cells, the commands, and messages for mistakes."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from retort.cli import main
from retort.errors import RetortError
from retort.specs.config import ROOT, read_config
from retort.specs.reported import read_number
from retort.study.load import read_study
from retort.study.study import Study
from retort.tables.reported import cells_csv, counts, reported_tables, show

from tests.tiny.reported import as_reported
from tests.tiny.results import made, opened
from tests.tiny.variant import PAPER_OF_OTHERS, STUDENTS, write_one_table, write_study

PAPERS = ROOT / "workflow" / "papers"
# A few cells of every paper, as reported.
CELLS = [
    ("minilmv2", "table1", "6×384 Ours / RoBERTaLARGE", "#Param", "30M", ""),
    ("minilmv2", "table8", "6×384 model distilled from BERTBASE: MNLI-m", "48", "82.4", ""),
    ("wang2023", "table6", "Batch Size", "Search Space", "{16, 32}", ""),
    ("udagawa2023", "table7", "Teacher", "hi", "69", ""),
    ("mlkd2024", "table10", "Inference time(ms) / 1", "QQP: A_h = 12", "4.27", "0.33"),
]


def test_every_file_of_a_table_is_read(whole: Study) -> None:
    for paper in whole.papers:
        files = {path.stem for kind in ("table", "figure") for path in (PAPERS / paper).glob(f"{kind}*.yaml")}
        assert {name for one, name in whole.exhibits if one == paper} == files
    assert counts(whole)[-1] == "38 tables, 2731 numbers, 348 of them with a standard deviation"


def test_every_reported_value_as_csv(whole: Study) -> None:
    header, *lines = csv.reader(cells_csv(whole).splitlines())
    assert header == ["paper", "table", "row", "column", "reported", "reported_std", "replicated"]
    assert len({tuple(line[:4]) for line in lines}) == len(lines)
    assert {tuple(cell) for cell in CELLS} <= {tuple(line[:6]) for line in lines}


def test_show_prints_headings_groups_and_cells(whole: Study) -> None:
    heads, _, first, *_ = show(whole, "mlkd2024/table5").splitlines()
    assert " ".join(heads.split()) == "| | MNLi-m/-mm: m | MNLi-m/-mm: mm | SST-2 | QQP | Avg |"
    assert " ".join(first.split()) == "| A_h = 3 / Concat-split | 80.6 | 79.5 | 91.9 | 70.0 | 80.5 |"
    assert len(heads) == len(first)


@pytest.mark.slow
def test_the_commands(whole: Study, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reported", "check"]) == 0
    assert main(["reported", "cells"]) == 0
    assert main(["reported", "show", "wang2023/table6"]) == 0
    said = capsys.readouterr().out
    assert counts(whole)[-1] in said
    assert "wang2023,table1,Vanilla KD,QNLI,66.5,1.49,\n" in said
    assert re.search(r"\| Batch Size +\| +\{16, 32\} +\|", said)
    assert main(["reported", "show", "wang2023/table66"]) == 2
    assert "did you mean 'wang2023/table6'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "reported", "value", "std", "half"),
    [
        ("76.30", "76.30", 76.3, None, 0.005), ("84", "84", 84.0, None, 0.5), ("66.5±1.49", "66.5", 66.5, 1.49, 0.05),
        ("33.28 (0.09)", "33.28", 33.28, 0.09, 0.005), ("34.02(0.06)", "34.02", 34.02, 0.06, 0.005),
        ("4.12 ± 0.24", "4.12", 4.12, 0.24, 0.005), ("109M", "109M", 109.0, None, 0.5),
        ("×5.3", "×5.3", 5.3, None, 0.05), ("2.0×", "2.0×", 2.0, None, 0.05), ("9.4x", "9.4x", 9.4, None, 0.05),
        ("-0.73%", "-0.73%", -0.73, None, 0.005), ("+0.11%", "+0.11%", 0.11, None, 0.005),
        ("130,319", "130,319", 130319.0, None, 0.5), ("8.5k", "8.5k", 8.5, None, 0.05),
        ("1e-6", "1e-6", 1e-6, None, 0.5e-6),
    ],
)  # fmt: skip
def test_a_number_as_papers_report_it(text: str, reported: str, value: float, std: float | None, half: float) -> None:
    found = read_number(text)
    assert found is not None
    assert (found.text, found.value, found.std, found.half) == (reported, value, std, pytest.approx(half))


@pytest.mark.parametrize("text", ["-", "–", "", "84..2", "84.2 85.1", "1,23", "Linear", "58h on 40GB A100", "{16, 32}"])
def test_what_is_no_number(text: str) -> None:
    assert read_number(text) is None


# --- a reported table of the tiny study, with what is run next to it


def reported(cells: list[str], columns: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return the small table as reported, with these columns; its second student is planned, a third row is quoted."""
    states: list[dict[str, Any]] = [{"student": "tiny-kd"}, {"planned": "tiny-c"}, {"quoted": "Nobody (2020)"}]
    named = zip(cells, states, strict=False)
    return as_reported(
        [{"label": f"R{i}", "cells": cell, **state} for i, (cell, state) in enumerate(named)], columns, **more
    )


ACC = {"task": "mood", "metric": "accuracy", "label": "Acc"}
PEARSON = {"task": "rating", "metric": "pearson", "label": "Pearson"}
DERIVED = [
    ACC,
    PEARSON,
    {"label": "Change", "change_from": "Acc"},
    {"label": "Avg", "mean_of": ["Acc", "Pearson"]},
    {"label": "Tasks", "tasks": {"mood": "accuracy", "rating": "pearson"}},
    {"label": "Size", "metric": "parameters"},
]
CELL_ROWS = ["70.0±1.0 | 50.0 | -28.6% | 60.0 | 60.0 | 14M", "71.2 | - | - | - | - | -", "1.0 | 2.0 | - | 1.5 | - | 3M"]


def small(folder: Path, table: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Write the variant of the tiny study with this table alone, and return its configuration."""
    config = write_one_table(folder / "study", table, paper=PAPER_OF_OTHERS, **more)
    return {**config, "scale": "paper"}  # other scales scale the paper's students or do not run them


def test_means_and_changes_follow_from_the_cells_of_a_row(here: Path) -> None:
    lines, renders = made(small(here, reported(CELL_ROWS, DERIVED)))
    ours = {line.column: line for line in lines if line.row == "R0"}
    assert ours["Acc"].mean == pytest.approx(72)
    assert ours["Change"].mean == pytest.approx(100 * (60 / 72 - 1))
    # scores of 72 ± 2 and 60 ± 10
    assert ours["Change"].std == pytest.approx(100 * 60 / 72 * ((2 / 72) ** 2 + (10 / 60) ** 2) ** 0.5)
    assert ours["Avg"].mean == ours["Tasks"].mean == pytest.approx(66)
    assert (ours["Size"].mean, ours["Size"].state) == (None, "missing (no profile)")
    assert (ours["Acc"].reported, ours["Acc"].reported_std, ours["Size"].unit) == (70.0, 1.0, "M")
    states = {line.row: line.state for line in lines if line.column == "Avg"}
    assert states["R1"] == "not run since there is no student yet"
    assert states["R2"] == "quoted (Nobody (2020)), never run"
    assert "*70.0±1.0*" in renders["md"]
    assert "<br>*71.2*" in renders["md"]


def test_an_average_over_an_incomplete_row_is_not_reported(here: Path) -> None:
    scores = {"tiny-kd": {"mood": [0.7, None, 0.7], "rating": [0.5, 0.6, 0.7]}}
    lines, _ = made(small(here, reported(CELL_ROWS, DERIVED)), **scores)
    ours = {line.column: line for line in lines if line.row == "R0"}
    assert {ours[name].state for name in ("Avg", "Tasks", "Change")} == {"missing (the row is incomplete)"}


def test_a_column_may_name_a_variant_of_the_row(tmp_path: Path) -> None:
    columns = [{**ACC, "label": "two"}, {**ACC, "label": "four", "variant": "wide"}]
    config = small(tmp_path, reported(["1.0 | 2.0"], columns))
    problems = read_study(read_config(config))[1]
    assert any("no student is called 'tiny-kd-wide'" in line for line in problems)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    (reported(["1.o | 2.0"], [ACC, PEARSON]), "row 'R0', column 'Acc': '1.o' is no number"),
    (reported(["1.0"], [ACC], means={"tiny-kd": {"Acc": [1.0]}}), "give one of them"),
]


@pytest.mark.parametrize(("table", "said"), MISTAKES, ids=[said for _, said in MISTAKES])
def test_a_mistake_in_a_reported_table_gets_one_clear_line(tmp_path: Path, table: dict[str, Any], said: str) -> None:
    problems = read_study(read_config(small(tmp_path, table)))[1]
    assert any(said in line and "table1.yaml" in line for line in problems), problems
    assert all("\n" not in line for line in problems)


def test_only_what_a_paper_prints_is_listed(tmp_path: Path) -> None:
    ours = opened(write_study(tmp_path / "study"))
    assert reported_tables(ours) == {}
    with pytest.raises(RetortError, match="no reported table is called 'tiny/table1'"):
        show(ours, "tiny/table1")


def test_a_quoted_row_may_have_ours_next_to_it(here: Path) -> None:
    table = as_reported([{"label": "R", "student": "tiny-kd", "quoted": "Else (2020)", "cells": "70.0"}], [ACC])
    (line,) = made(small(here, table))[0]
    assert (line.reported, line.mean, line.status) == (70.0, pytest.approx(72), "ok")
    assert line.note.startswith("reported: quoted (Else (2020)); ours: trained here")
    scale = {**small(here / "idle", table), "scale": "pocket"}
    assert made(scale)[0][0].state == "quoted (Else (2020)); ours: not run at this scale"
    untrained = {**STUDENTS, "kd": {**STUDENTS["kd"], "stages": []}}
    (line,) = made(small(here / "untrained", table, students=untrained))[0]
    assert line.note.startswith("reported: quoted (Else (2020)); ours: the public checkpoint")
