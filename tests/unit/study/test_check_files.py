"""Tests that `retort check` reads every YAML file of every paper at every scale, whatever the configuration names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from retort.cli import main
from retort.errors import StudyError
from retort.specs.config import read_config
from retort.study.load import open_study

from tests.conftest import ROOT
from tests.tiny.edit import add, change

FOLDERS = ("corpora", "models", "papers", "protocols", "scales", "sources", "tasks")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Return the folder of a copy of the project's own study."""
    for name in FOLDERS:
        shutil.copytree(ROOT / "workflow" / name, tmp_path / "study" / name)
    shutil.copy(ROOT / "workflow/facts.yaml", tmp_path / "study")
    return tmp_path / "study"


def check(study: Path, capsys: pytest.CaptureFixture[str], **config: Any) -> tuple[int, list[str]]:
    """Run `retort check` on a study and return its exit status and the lines that it prints."""
    path = study.parent / "mine.yaml"
    path.write_text(json.dumps({"study": str(study), "precision": "float32", **config}))
    status = main(["check", "--config", str(path)])
    return status, capsys.readouterr().out.splitlines()


def test_a_study_without_problems_and_an_unknown_paper(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    papers = len(list(study.glob("papers/*/paper.yaml")))
    status, (whole, configured) = check(study, capsys)
    assert status == 0
    assert whole.startswith(f"{papers} papers, ")
    assert whole.endswith(": no problem")
    assert configured.startswith("mine.yaml runs pocket, starts at scale pocket in float32: ")
    unknown = "mine.yaml: papers: no paper is called 'pockett'; did you mean 'pocket'?"
    assert check(study, capsys, papers=["pockett"]) == (1, [unknown])


@pytest.mark.parametrize(
    ("name", "old", "new", "line"),
    [
        ("papers/wang2023/table1.yaml", "kind: scores", "kind: score", "kind: no kind is called 'score'"),
        ("papers/udagawa2023/claims.yaml", "compare: ", "compared: ", ".compared: no key is called 'compared'"),
        ("papers/minilmv2/figure2a.yaml", "kind: layers", "kind: layer", "kind: no kind is called 'layer'"),
        (
            "papers/columns.yaml",
            "metric: f1",
            "metrik: f1",
            ".metrik: no key is called 'metrik'; did you mean 'metric'?",
        ),
        ("scales/reduced.yaml", "model: all-", "model: al-", "replacements.model: no model is called 'al-minilm-l6'"),
        ("scales/paper.yaml", "papers: printed", "papers: print", "papers: Input should be 'ours' or 'printed'"),
        ("protocols/mlkd2024.yaml", "title: ", "titel: ", "titel: no key is called 'titel'; did you mean 'title'?"),
        ("facts.yaml", "source: ", "sources: ", ".sources: no key is called 'sources'; did you mean 'source'?"),
    ],
)
def test_a_mistake_anywhere(
    study: Path, name: str, old: str, new: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(study, name, old, new)
    status, (found,) = check(study, capsys, papers=["pocket"])
    assert status == 1
    assert found.startswith(f"study/{name}: ")
    assert line in found
    if name.startswith("papers/wang2023"):  # planning fails only for what it reads
        assert open_study(read_config({"study": str(study), "papers": ["pocket"]})).papers.keys() == {"pocket"}
        with pytest.raises(StudyError, match="table1.yaml: kind: no kind is called 'score'"):
            open_study(read_config({"study": str(study), "papers": ["wang2023"], "scale": "paper"}))


def test_lists_of_columns_that_cannot_be_read_are_one_mistake(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (study / "papers/columns.yaml").write_text("a: [")
    status, (found,) = check(study, capsys)
    assert status == 1
    assert found.startswith("study/papers/columns.yaml: line 2: not valid YAML")


@pytest.mark.parametrize(
    ("name", "old", "new", "unreached"),
    [
        (
            "facts.yaml",
            "source: ",
            "sources: ",
            "settings that tables show, students at each scale, sources of the run",
        ),
        ("papers/mlkd2024/table9.yaml", "formatter: ", "formatter: un", "students at each scale, sources of the run"),
    ],
)
def test_what_is_checked_later(
    study: Path, name: str, old: str, new: str, unreached: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(study, name, old, new)
    path = study.parent / "mine.yaml"
    path.write_text(json.dumps({"study": str(study), "precision": "float32"}))
    assert main(["check", "--config", str(path)]) == 1
    assert capsys.readouterr().err.endswith(f"; mend these first: not checked yet are {unreached}\n")


def test_files_that_nothing_reads(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hints = {
        "fact.yaml": "did you mean 'facts.yaml'?",
        "papers/notes.yaml": "did you mean 'across.yaml'?",
        "papers/pocket/old/table7.yaml": "move it",
        "papers/pocket/tabel7.yaml": "did you mean a name such as 'table1.yaml'?",
        "papers/pocket/table7.yml": "rename it to 'table7.yaml'",
        "tasks/new.yml": "rename it to 'new.yaml'",
    }
    for name in hints:
        (study / name).parent.mkdir(exist_ok=True)
        (study / name).write_text("title: x\n")
    (study / "papers/unfinished").mkdir()
    assert check(study, capsys) == (
        1,
        [
            *(f"study/{name}: nothing reads a file of this name here; {hint}" for name, hint in hints.items()),
            "study/papers/unfinished: has no paper.yaml",
        ],
    )


STUDENT = """
odd:
  title: A student whose printed width is a multiple of its teacher's heads, but not its width at scale reduced
  teacher: bert-base
  protocol: mlkd2024
  architecture: {layers: 4, heads: 11, hidden: 660, intermediate: 1536}
  initialisation: {random: true}
  stages: [{data: task, terms: [{objective: value-relation, mapping: last}]}]
"""


def test_a_student_that_fits_only_as_printed(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(study, "papers/mlkd2024/students.yaml", STUDENT)
    line = (
        "study/papers/mlkd2024/students.yaml: odd.stages.1.terms.1: objective 'value-relation': the student's "
        "width 330 cannot be cut into 12 heads; both widths must be multiples of the number (at scale "
    )
    assert check(study, capsys) == (1, [f"{line}{scale})" for scale in ("reduced-360", "reduced")])
    with pytest.raises(StudyError, match=r"cannot be cut into 12 heads.*\(at scale reduced\)"):
        open_study(read_config({"study": str(study), "papers": ["mlkd2024"], "scale": "reduced"}))
    assert open_study(read_config({"study": str(study), "papers": ["mlkd2024"], "scale": "paper"}))
