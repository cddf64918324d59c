"""Tests of families: one entry of a students.yaml that makes many students, and the choices made for students."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from retort.errors import RetortError
from retort.specs.base import Names
from retort.specs.config import Config
from retort.study.families import check_shared, expand
from retort.study.load import open_study, read_study

from tests.contracts.mistakes.students import FAMILIES
from tests.tiny.edit import add

FIELDS = ("title", "teacher", "architecture", "initialisation", "stages", "deviations")
SHAPES = {"6l": {"label": "six", "architecture": {"layers": 6}}, "4l": {"label": "four", "architecture": {"layers": 4}}}


def members(pattern: str, entry: dict[str, Any], shared: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the students of a family."""
    return expand(pattern, entry, shared or {}, FIELDS)


def test_there_is_a_student_for_each_combination_and_the_last_axis_changes_fastest() -> None:
    found = members("{a}-{b}", {"for_each": {"b": [1, 2], "a": ["x", "y"]}, "title": "{a} of {b}"})
    assert found == {
        "x-1": {"title": "x of 1"}, "y-1": {"title": "y of 1"}, "x-2": {"title": "x of 2"}, "y-2": {"title": "y of 2"},
    }  # fmt: skip


def test_fields_of_a_value_are_merged_over_those_of_the_family() -> None:
    entry = {
        "for_each": {"shape": SHAPES | {"3l": {"label": "three", "deviations": ["own"], "title": "short"}}},
        "title": "{shape.label} layers",
        "architecture": {"layers": 12, "heads": 12},
        "deviations": ["common"],
    }
    found = members("{shape}", entry)
    assert found["6l"] == {"title": "six layers", "architecture": {"heads": 12, "layers": 6}, "deviations": ["common"]}
    assert found["3l"]["deviations"] == ["common", "own"]
    assert found["3l"]["title"] == "short"
    assert entry["architecture"] == {"layers": 12, "heads": 12}


def test_a_text_that_is_one_placeholder_becomes_the_value_itself() -> None:
    entry = {
        "for_each": {"layer": [3], "loss": {"kd": {"terms": [{"objective": "relations", "at": "{layer}"}]}}},
        "stages": [{"terms": "{loss.terms}", "of": "layer {layer}"}],
    }
    stage = members("{loss}-{layer}", entry)["kd-3"]["stages"][0]
    assert stage == {"terms": [{"objective": "relations", "at": 3}], "of": "layer 3"}


def test_axes_of_the_file_are_used_whole_or_in_part() -> None:
    assert list(members("{shape}", {"for_each": {"shape": "all"}}, {"shape": SHAPES})) == ["6l", "4l"]
    assert list(members("{shape}", {"for_each": {"shape": ["4l"]}}, {"shape": SHAPES})) == ["4l"]


def test_except_leaves_combinations_out() -> None:
    entry = {"for_each": {"a": ["x", "y"], "b": [1, 2, 3]}, "except": [{"a": "x", "b": [1, 3]}, {"b": 2, "a": "y"}]}
    assert list(members("{a}{b}", entry)) == ["x2", "y1", "y3"]


@pytest.mark.parametrize(
    ("pattern", "entry", "said"),
    [
        ("{a}-{b}", {"for_each": {"a": ["x", "x-y"], "b": ["z", "y-z"]}}, "two combinations are called 'x-y-z'"),
        ("{a}", {"for_each": {"a": ["x"]}, "except": [{"a": [["x"]]}]}, "except.1.a: no value is called '['x']'"),
        ("{shape}", {"for_each": {"shape": ["8l"]}}, "for_each.shape: no value is called '8l'"),
        ("{shape}", {"for_each": {"shape": [["8l"]]}}, "for_each.shape: no value is called '['8l']'; there are: 4l"),
        ("{shape}", {"for_each": {"shape": {"8l": {}}}}, "for_each.shape: 'axes' has an axis of this name"),
        ("{a}", {"for_each": {"a": {"x": {"title": "{a.title}"}}}, "deviations": "{a.title}"}, "no axis is called 'a'"),
    ],
)  # fmt: skip
def test_a_mistake_gets_one_clear_line(pattern: str, entry: dict[str, Any], said: str) -> None:
    shared = {"shape": SHAPES} if "8l" in str(entry) else {}
    with pytest.raises(RetortError) as caught:
        members(pattern, entry, shared)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_key_of_a_shared_axis_that_nothing_uses() -> None:
    content = {"axes": {"shape": {"6l": {"labl": "six"}}}, "{shape}": {"for_each": {"shape": "all"}}}
    with pytest.raises(RetortError, match=r"axes.shape.6l.labl: not a field of a student, nor used as {shape.labl}"):
        check_shared(content, FIELDS)


# --- in a study

CHOICES = "- {students: ['kd*'], except: [kd-low], texts: [{of: [seeds], text: a choice}]}\n"


def with_lines(study_folder: Path, students: str = "", deviations: str = "") -> Config:
    """Add lines to the students.yaml and deviations.yaml of the tiny study and return its configuration."""
    add(study_folder, "papers/tiny/students.yaml", students)
    add(study_folder, "papers/tiny/deviations.yaml", deviations or "[]")
    return Config(papers=["tiny"], study=str(study_folder))


def test_a_family_of_a_study(study_folder: Path) -> None:
    study = open_study(with_lines(study_folder, FAMILIES, CHOICES))
    assert study.students["tiny-kd-high"].initial_layers == [3, 4]
    assert study.students["tiny-kd-high"].teacher == "tiny-teacher"
    chosen = {name: [one.text for one in student.deviations] for name, student in study.students.items()}
    assert {name: texts for name, texts in chosen.items() if texts} == {
        "tiny-kd": ["a choice"], "tiny-kd-high": ["a choice"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("students", "deviations", "said"),
    [
        (FAMILIES + "kd-low: {}\n", "", "students.yaml: kd-low: 'kd-{layers}' has a student 'kd-low', too; rename one"),
        ("'{a}': {for_each: [[x]]}\n", "", "students.yaml: {a}: a name with {...} needs 'for_each'"),
        ("", CHOICES.replace("kd*", "dk*"), "deviations.yaml: 1: no student is called 'dk*'"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_family_of_a_study(study_folder: Path, students: str, deviations: str, said: str) -> None:
    found = read_study(with_lines(study_folder, students, deviations))[1]
    assert any(said in line for line in found), found
    assert len(found) == len(set(found)) <= 2


# --- names


def test_short_and_full_names() -> None:
    names = Names({"papers": {"new": None, "old": None}}, "new", ["kd", "old-kd-6l"])
    own = {"kd": "new-kd", "new-kd": "new-kd", "hs": "new-hs", "k": "new-k", "old-hs": "old-hs"}
    own |= {"old-kd": "new-old-kd", "old-kd-6l": "new-old-kd-6l"}  # as the name of an own student, or its beginning
    assert {name: names.full(name) for name in own} == own
    assert [names.short(name) for name in ("new-kd", "old-hs", "new-old-kd-6l")] == ["kd", "old-hs", "old-kd-6l"]


def test_every_field_that_names_a_student_takes_short_names(study_folder: Path) -> None:
    config = with_lines(study_folder)
    before = open_study(config)
    for path in (study_folder / "papers/tiny").glob("*.yaml"):
        path.write_text(path.read_text().replace("tiny-", ""))
    assert "tiny-" not in (study_folder / "papers/tiny/students.yaml").read_text()
    after = open_study(config)
    assert after.students == before.students
    assert after.exhibits == before.exhibits
