"""Tests that `retort check` reads every YAML file of every paper at every scale, whatever the configuration names."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from retort.cli import main
from retort.errors import StudyError
from retort.plan.settings_cells import check_settings_cells
from retort.specs.config import Config
from retort.study.load import LATER, check_files

from tests.conftest import ROOT
from tests.tiny.edit import add, change
from tests.tiny.results import opened

FOLDERS = ("corpora", "models", "papers", "protocols", "scales", "sources", "tasks")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Return the folder of a copy of the project's own study."""
    for name in FOLDERS:
        shutil.copytree(ROOT / "workflow" / name, tmp_path / "study" / name)
    shutil.copy(ROOT / "workflow/facts.yaml", tmp_path / "study")
    return tmp_path / "study"


def test_a_study_without_problems(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    papers = len(list(study.glob("papers/*/paper.yaml")))
    path = study.parent / "mine.yaml"
    path.write_text(json.dumps({"study": str(study), "precision": "float32"}))
    assert main(["check", "--config", str(path)]) == 0
    whole, configured = capsys.readouterr().out.splitlines()
    assert whole.startswith(f"{papers} papers, ")
    assert whole.endswith(": no problem")
    assert configured.startswith("mine.yaml runs pocket at scale pocket in float32: ")


@pytest.mark.parametrize(
    ("name", "old", "new", "line", "unreached"),
    [
        ("papers/wang2023/table1.yaml", "kind: scores", "kind: score", "kind: no kind is called 'score'", LATER),
        ("papers/columns.yaml", "metric: f1", "metrik: f1", ".metrik: no key is called 'metrik'; did you mean", LATER),
        ("scales/reduced.yaml", "model: all-", "model: al-", "replacements.model: no model is called 'al-min", LATER),
        ("facts.yaml", "source: ", "sources: ", ".sources: no key is called 'sources'; did you mean 'source'?", LATER),
        ("papers/mlkd2024/table9.yaml", "formatter: ", "formatter: un", "no formatter is called", LATER[2:]),
    ],
)
def test_a_mistake_anywhere_and_what_is_checked_later(
    study: Path, name: str, old: str, new: str, line: str, unreached: Sequence[str]
) -> None:
    change(study, name, old, new)
    _, (found, *_), later = check_files(Config(study=str(study)), check_settings_cells)
    assert found.startswith(f"study/{name}: ")
    assert line in found
    assert later == unreached
    if name.startswith("papers/wang2023"):  # planning fails only for what it reads
        assert opened({"study": str(study), "papers": ["pocket"]}).papers.keys() == {"pocket"}


def test_a_folder_that_is_no_paper_yet_and_a_file_that_nothing_reads(study: Path) -> None:
    (study / "papers/unfinished").mkdir()
    (study / "papers/pocket/tabel7.yaml").write_text("title: x\n")
    hint = "did you mean a name such as 'papers/*/table*.yaml'?"
    assert check_files(Config(study=str(study)))[1] == [
        f"study/papers/pocket/tabel7.yaml: nothing reads a file of this name here; {hint}",
        "study/papers/unfinished: has no paper.yaml",
    ]


STUDENT = """
odd:
  title: A student whose reported width is a multiple of its teacher's heads, but not its width at scale reduced
  teacher: bert-base
  protocol: mlkd2024
  architecture: {layers: 4, heads: 11, hidden: 660, intermediate: 1536}
  initialisation: {random: true}
  stages: [{data: task, terms: [{objective: value-relation, mapping: last}]}]
"""


def test_a_student_that_fits_only_as_reported(study: Path) -> None:
    add(study, "papers/mlkd2024/students.yaml", STUDENT)
    line = (
        "study/papers/mlkd2024/students.yaml: odd.stages.1.terms.1: objective 'value-relation': the student's "
        "width 330 cannot be cut into 12 heads; both widths must be multiples of the number (at scale "
    )
    assert check_files(Config(study=str(study)))[1] == [f"{line}{scale})" for scale in ("reduced-360", "reduced")]
    with pytest.raises(StudyError, match=r"cannot be cut into 12 heads.*\(at scale reduced\)"):
        opened({"study": str(study), "papers": ["mlkd2024"], "scale": "reduced"})
