"""Tests that a mistake in a YAML file has one line, which names its file and key, and no follow-ups elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny.edit import change, problems
from tests.unit.specs.test_mistakes import CLAIMS, PAPER, PROTOCOL, STUDENTS, TABLE, TASK

# file, old text, new text, the beginning of the only problem
SINGLE = [
    ("sources/texts.yaml", "path: texts", "pth: texts",
     "pth: no key is called 'pth'; did you mean 'path'?"),
    ("sources/texts.yaml", "path: texts", "there: texts",
     "where the files come from is missing; give one of the keys 'path', 'hub' and 'package'"),
    (TABLE, "kind: scores", "knd: scores", "knd: no key is called 'knd'; did you mean 'kind'?"),
    (TABLE, "kind: scores\n", "", "kind: Field required"),
    (TABLE, "kind: scores", "kind: score",
     "kind: no kind is called 'score'; did you mean 'scores'?"),
    (TABLE, "label: Vanilla KD", "lable: Vanilla KD",
     "rows.2.lable: no key is called 'lable'; did you mean 'label'?"),
    (STUDENTS, "  title: Vanilla KD\n", "  title: Vanilla KD\n  reader: me\n",
     "kd.reader: no key is called 'reader'; did you mean 'teacher'?"),
    (STUDENTS, "weight: 0.5", "weight: much",
     "kd.stages.1.terms.2.weight: Input should be a valid number, unable to parse "
     "string as a number, not 'much'"),
    (STUDENTS, "mapping: uniform", "mapping: 3",
     "attention.stages.1.terms.1.mapping: give a text or a mapping, not 3"),
    (TASK, "labels: [sad, glad]", "labels: [sad, 1]",
     "labels.2: Input should be a valid string, not 1"),
    (TASK, "title:", "- title:", "line 2: not valid YAML"),
    (PROTOCOL, "title: ", "titel: ", "titel: no key is called 'titel'; did you mean 'title'?"),
    (PROTOCOL, "rating: {steps: 4}", "rating: {steps: none}",
     "tasks.rating.steps: Input should be a valid integer, unable to parse string as an "
     "integer, not 'none'"),
    (PAPER, "model: encoder", "modell: encoder",
     "teachers.teacher.modell: no key is called 'modell'; did you mean 'model'?"),
    ("papers/tiny/figure1.yaml", "points: {2: tiny-", "points: {2: tiny_",
     "points.2: 'tiny_"),
    ("models/encoder.yaml", "layers: 4", "layers: 0",
     "architecture.layers: Input should be greater than 0, not 0"),
    ("corpora/sentences.yaml", "block: 16", "block: 16\nblok: 3",
     "blok: no key is called 'blok'; did you mean 'block'?"),
    (CLAIMS, "where: nowhere", "were: nowhere",
     "kd-above-attention.were: no key is called 'were'; did you mean 'where'?"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "line"), SINGLE)
def test_a_mistake_has_one_line_in_the_whole_study(
    study_folder: Path, name: str, old: str, new: str, line: str
) -> None:
    change(study_folder, name, old, new)
    (found,) = problems(study_folder)
    assert found.startswith(f"study/{name}: {line}")


def test_the_names_in_a_broken_file_are_not_reported_where_they_are_used(study_folder: Path) -> None:
    """Every file is broken in turn: no other file has a problem because of it, and a wrong name still has one."""
    change(study_folder, "papers/tiny/table3.yaml", "of: [table1]", "of: [table9]")
    for path in sorted(study_folder.rglob("*.yaml")):
        if path.name != "table3.yaml":
            before = path.read_text()
            path.write_text("{")
            broken, wrong = sorted(problems(study_folder), key=lambda line: "table9" in line)
            assert broken.startswith(f"study/{path.relative_to(study_folder)}: ")
            assert "no table is called 'table9'" in wrong
            path.write_text(before)
