"""The tiny study as the tests of tables, figures and pages need it: three seeds, and texts that need escaping.

Each constant is the content of a file of the tiny study, with what is varied.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from retort.specs.yaml_reader import read_yaml

from tests.tiny.edit import remove, write
from tests.tiny.make import STUDY

PAPER_FOLDER = "papers/tiny"


def _base(name: str) -> Any:
    return read_yaml(STUDY / f"{name}.yaml")


MODEL = _base("models/encoder")
MOOD = _base("tasks/mood")
STUDENTS = {name: _base(f"{PAPER_FOLDER}/students")[name] for name in ("kd", "attention")}
NARROW = _base(f"{PAPER_FOLDER}/students")["narrow"]
STUDENT = STUDENTS["kd"]
PROTOCOL = {
    "title": "The same steps on both tasks",
    "schedule": {"steps": 10, "batch_size": 4, "learning_rate": 0.001},
    "seeds": [1, 2, 3],
}
PAPER = {
    **_base(f"{PAPER_FOLDER}/paper"),
    "show": ["table1", "table2", "table3", "figure1", "figure2", "figure3"],
}
ONE_TABLE = {**PAPER, "show": ["table1"]}
PRINTED_PAPER = {key: value for key, value in ONE_TABLE.items() if key != "ours"}
ROWS = [
    {"student": "tiny-teacher", "label": "Teacher", "baseline": True},
    {"student": "tiny-kd", "label": "A & <b>_1"},
    {"student": "tiny-attention", "label": "B"},
]
POINTS = [{key: row[key] for key in ("student", "label")} for row in ROWS]
SCORED = {"task": "rating", "metric": "pearson"}
TABLE: dict[str, Any] = {
    **_base(f"{PAPER_FOLDER}/table1"),
    "title": "Two | students",
    "question": "Which <i>one</i>?",
    "columns": [
        {"task": "mood", "metric": "accuracy", "label": "Acc. %"},
        {"task": "rating", "metric": "pearson", "label": "Pearson"},
    ],
    "rows": ROWS,
    "runs": 3,
    "published": {
        "tiny-kd": {"Acc. %": [70.0, 1.0], "Pearson": [50.0, 1.0]},
        "tiny-attention": {"Acc. %": [60.0, 1.0]},
    },
}
UNPUBLISHED = {key: value for key, value in TABLE.items() if key != "published"}
PROFILES = {
    **_base(f"{PAPER_FOLDER}/table2"),
    "rows": ROWS[::2],
    "published": {"tiny-attention": {"Parameters (M)": [1.5], "Latency (ms)": [9.0, 1.0]}},
}
TESTS = _base(f"{PAPER_FOLDER}/table3")
LAYERS = {
    **_base(f"{PAPER_FOLDER}/figure1"),
    **SCORED,
    "points": {1: "tiny-kd", 2: "tiny-attention"},
}
PARETO = {**_base(f"{PAPER_FOLDER}/figure2"), **SCORED, "points": POINTS[::2]}
EFFECTS: dict[str, Any] = {
    **_base(f"{PAPER_FOLDER}/figure3"),
    "columns": {20: "Acc. %", 60: "Pearson"},
    "curves": ["A & <b>_1", "B"],
    "effects": [{"label": "gain", "above": ["A & <b>_1"], "below": ["B"]}],
}
CLAIMS = {
    "a-beats-b": {
        "says": "A beats B & <co>.",
        "where": "section 1",
        "compare": "above",
        "cells": [{"table": "table1", "rows": ["A & <b>_1"], "columns": ["Acc. %"]}],
        "than": [{"table": "table1", "rows": ["B"], "columns": ["Acc. %"]}],
    }
}


def write_study(folder: Path, **paper_files: Any) -> dict[str, Any]:
    """Write the variant of the tiny study to `folder`, with these files of its paper; return its configuration.

    Args:
        folder: what it holds of the study from before is replaced.
        paper_files: name of a file of the paper, without its ending -> its content; None leaves the file out.
    """
    shutil.copytree(STUDY, folder, dirs_exist_ok=True)
    write(folder, "protocols/short.yaml", PROTOCOL)
    files = {
        "paper": PAPER,
        "students": STUDENTS,
        "table1": TABLE,
        "table2": PROFILES,
        "table4": None,
        "figure1": LAYERS,
        "figure2": PARETO,
        "figure3": EFFECTS,
        "claims": CLAIMS,
        **paper_files,
    }
    for name, content in files.items():
        path = f"{PAPER_FOLDER}/{name}.yaml"
        if content is None:
            remove(folder, path)
        else:
            write(folder, path, content)
    return {"papers": ["tiny"], "study": str(folder), "precision": "float32"}


def write_one_table(folder: Path, table: dict[str, Any], **paper_files: Any) -> dict[str, Any]:
    """Write the variant with this table alone, as table 1, and these files of its paper; return its configuration."""
    others = dict.fromkeys(("table2", "table3", "figure1", "figure2", "figure3", "claims"))
    return write_study(folder, **{**others, "paper": ONE_TABLE, "table1": table, **paper_files})
