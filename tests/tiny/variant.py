"""The tiny study as the tests of tables, figures and pages need it: three seeds, and texts that need escaping.

The folder `varied` holds the files that differ from those of the tiny study. Each constant is the content of a file.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from retort.specs.yaml_reader import read_yaml

from tests.tiny.edit import remove, write
from tests.tiny.make import STUDY

VARIED = Path(__file__).parent / "varied"
PAPER_FOLDER = "papers/tiny"
MODEL, MOOD = read_yaml(STUDY / "models/encoder.yaml"), read_yaml(STUDY / "tasks/mood.yaml")
ALL_STUDENTS = read_yaml(STUDY / PAPER_FOLDER / "students.yaml")
STUDENTS = {name: ALL_STUDENTS[name] for name in ("kd", "attention")}
STUDENT, NARROW = STUDENTS["kd"], ALL_STUDENTS["narrow"]
TESTS = read_yaml(STUDY / PAPER_FOLDER / "table3.yaml")
PAPER, TABLE, PROFILES, PARETO, EFFECTS, CLAIMS = (
    read_yaml(VARIED / PAPER_FOLDER / f"{name}.yaml")
    for name in ("paper", "table1", "table2", "figure2", "figure3", "claims")
)
ROWS = TABLE["rows"]
UNREPORTED = {key: value for key, value in TABLE.items() if key != "means"}
ONE_TABLE = {**PAPER, "show": ["table1"]}
PAPER_OF_OTHERS = {key: value for key, value in ONE_TABLE.items() if key != "ours"}


def write_study(folder: Path, **paper_files: Any) -> dict[str, Any]:
    """Write the variant of the tiny study to `folder`, with these files of its paper; return its configuration.

    Args:
        folder: what it holds of the study from before is replaced.
        paper_files: name of a file of the paper, without its ending -> its content; None leaves the file out.
    """
    for study in (STUDY, VARIED):
        shutil.copytree(study, folder, dirs_exist_ok=True)
    for name, content in {"students": STUDENTS, "table4": None, **paper_files}.items():
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
