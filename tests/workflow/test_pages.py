"""Pages of a study that is run next to a paper that is only shown, and of both without a run."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from retort.cost.overview import lines
from retort.report.page import picture
from retort.specs.config import read_config

from tests.conftest import read_json, snakemake
from tests.tiny.edit import change, write
from tests.tiny.reported import as_reported
from tests.tiny.variant import PAPER_OF_OTHERS, STUDENT, TABLE

pytestmark = pytest.mark.workflow

NUMBERS = {"tiny-kd": {"Mood": [50.0, 10.0]}}
RUN = {"machine": "a laptop", "date": "2026-01-02", "precision": "float32"}
RECORD = {"run": RUN, "runs": 3, "tables": {"table1": NUMBERS}}
FIGURE, BUDGET = "papers/tiny/recorded/float32-figure1.svg", "papers/reported/budget.svg"


@pytest.fixture
def folder(copied: Path) -> Path:
    """Return the finished tiny study with a record of it and a published paper next to it, none of which is run."""
    study = copied / "study"
    (study / "papers/reported").mkdir()
    write(study, "papers/reported/paper.yaml", PAPER_OF_OTHERS)
    write(study, "papers/reported/students.yaml", {"kd": {**STUDENT, "teacher": "reported-teacher"}})
    rows = [{"student": "reported-kd", "label": "A", "cells": "61.0"}]
    write(study, "papers/reported/table1.yaml", as_reported(rows, TABLE["columns"][:1]))
    change(study, "papers/tiny/table1.yaml", "means:\n  tiny-kd: {Mood: [50.0, 10.0], Rating: [0.0, 20.0]}\n", "")
    write(study, "papers/tiny/recorded/float32.yaml", RECORD)
    for path in (FIGURE, BUDGET):
        (study / path).write_text(f"<svg>{path}</svg>")
    (copied / "config.yaml").write_text(json.dumps({**read_json(copied / "config.yaml"), "papers": None}))
    return copied


def page_of(folder: Path, paper: str) -> str:
    """Return the page of a paper."""
    return (folder / f"reports/{paper}/index.html").read_text(encoding="utf-8")


def numbers_of(folder: Path, paper: str) -> list[dict[str, Any]]:
    """Return the lines of table 1 of a paper."""
    with (folder / f"results/tables/{paper}/table1.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def assert_reported(folder: Path) -> None:
    """Check the page of the paper that is not run."""
    page = page_of(folder, "reported")
    assert "Scale: " not in page
    assert {line["scale"] for line in numbers_of(folder, "reported")} == {""}
    assert picture(folder / "study" / BUDGET) in page
    config = read_config({**read_json(folder / "config.yaml"), "papers": ["reported"], "scale": "paper"})
    _, jobs, _, hours, *_ = next(line for line in lines(config, ["reported"], None) if line.startswith("total")).split()
    assert f"{jobs} jobs and {hours} hours in all, at scale paper." in page


def test_pages_with_and_without_a_run(folder: Path) -> None:
    snakemake(folder)
    assert_reported(folder)
    ours, before = page_of(folder, "tiny"), numbers_of(folder, "tiny")
    assert "Scale: pocket." in ours
    assert picture(folder / "study" / FIGURE) not in ours
    assert {line["scale"] for line in before} == {"pocket"}
    assert any(line["mean"] for line in before)
    snakemake(folder, "--config", "papers=[]")  # `make pages`
    assert_reported(folder)
    page = page_of(folder, "tiny")
    assert "Scale: " not in page
    assert picture(folder / "study" / FIGURE) in page
    assert not any(line["mean"] for line in numbers_of(folder, "tiny") if line["unit"] == "x100")
    snakemake(folder)
    assert numbers_of(folder, "tiny") == before
    assert "Scale: pocket." in page_of(folder, "tiny")
