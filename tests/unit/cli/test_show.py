"""Tests of `retort show`: every value of a student's job, and the line of the file that it comes from."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from retort.cli import main
from retort.cli.checking import lines, student_called
from retort.errors import RetortError
from retort.plan.plan import Plan
from retort.plan.value_lines import setting_values
from retort.specs.config import Config, read_config
from retort.study.load import open_written

from tests.conftest import whole_study
from tests.tiny.edit import STUDENTS, add, change

FAMILY = """
axes:
  depth:
    two: {layers: [2, 4]}
"deep-{depth}":
  for_each: {depth: all}
  title: Deep
  teacher: teacher
  protocol: short
  architecture: {layers: 2, heads: 3, hidden: 24, intermediate: 48}
  initialisation: {layers: "{depth.layers}"}
  stages:
    - data: task
      terms: [{objective: attention-kl, mapping: initial}]
      steps_factor: 2
      tasks: {mood: {learning_rate: 0.004}}
"""


def rows(config: Config, name: str, task: str = "") -> dict[str, tuple[str, str]]:
    """Return key -> (value, origin) of a student's settings."""
    shown = [line.split("  ") for line in itertools.dropwhile(lambda line: line, lines(config, name, task)) if line]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in shown]
    return {key: (value, origin) for key, value, origin in cells}


@pytest.fixture
def tiny(study_folder: Path) -> Config:
    """Return the configuration of the tiny study, with a family of one student."""
    add(study_folder, "papers/tiny/students.yaml", FAMILY)
    return read_config({"papers": ["tiny"], "study": str(study_folder)})


def test_each_value_has_its_line(tiny: Config) -> None:
    found = rows(tiny, "deep-two", "mood")
    students = (tiny.study_folders[0] / "papers/tiny/students.yaml").read_text().splitlines()
    protocol = (tiny.study_folders[0] / "protocols/short.yaml").read_text().splitlines()

    def line(key: str) -> str:
        """Return the text of the line that a value comes from."""
        path, number = found[key][1].split(",")[0].split(":")
        return Path(path).read_text().splitlines()[int(number) - 1]

    assert found["architecture.hidden"][0] == "24"
    assert line("architecture.hidden") in students
    assert "hidden: 24" in line("architecture.hidden")
    assert found["stages.1.terms.1.pairs"][0] == "[[1, 2], [2, 4]]"
    assert "mapping: initial" in line("stages.1.terms.1.pairs")
    assert found["stages.1.schedule.learning_rate"][0] == "0.004"
    assert "learning_rate: 0.004" in line("stages.1.schedule.learning_rate")
    assert found["stages.1.schedule.steps"][0] == "12"
    assert line("stages.1.schedule.steps") in protocol
    assert found["stages.1.schedule.steps"][1].endswith(", times 2")
    assert found["stages.1.schedule.epsilon"][1] == "default of 'epsilon'"
    assert "model: encoder" in line("teacher.model")
    assert "layers: 4" in line("models.encoder.architecture.layers")
    assert "max_length" in line("tasks.mood.max_length")


def leaves(content: Any) -> list[str]:
    """Return every value of nested mappings and of lists of mappings, as JSON."""
    if isinstance(content, dict):
        return [leaf for value in content.values() for leaf in leaves(value)]
    if isinstance(content, list) and any(isinstance(entry, dict) for entry in content):
        return [leaf for entry in content for leaf in leaves(entry)]
    return [json.dumps(content)]


@pytest.mark.parametrize(
    ("scale", "name", "task"),
    [
        ("pocket", "pocket-att-kl-low", "tweets"),
        ("paper", "wang2023-att-kl-1-8-12", "rte"),
    ],
)
def test_the_values_are_those_of_the_job(scale: str, name: str, task: str) -> None:
    config = read_config({"papers": [name.split("-")[0]], "scale": scale})
    plan = Plan(config)
    job = plan.settings.distillations.get(name, {}).get(task) or plan.settings.students[name]
    found = setting_values(open_written(config), plan.study, name, task)
    shown = {json.dumps(value.value) for value in found}
    stages = leaves([stage.model_dump(mode="json") for stage in job.stages])
    assert set(stages) - {"[]"} <= shown  # a term without layers has no pairs
    assert set(leaves(job.architecture.model_dump(mode="json"))) <= shown
    assert all(value.origin for value in found)


def test_what_a_scale_replaces_says_so() -> None:
    config = read_config({"papers": ["wang2023"], "scale": "reduced"})
    found = rows(config, "att-kl", "rte")
    assert found["architecture.hidden"] == ("384", "scale 'reduced'")
    assert found["teacher.model"] == ("all-minilm-l6", "scale 'reduced'")
    assert found["initialisation.layers"] == ("[2, 4, 6]", "scale 'reduced'")
    assert found["stages.1.terms.1.pairs"] == ("[[1, 2], [2, 4], [3, 6]]", "scale 'reduced'")
    assert found["architecture.layers"][1].startswith(str(Path("workflow/papers/wang2023/students.yaml")))


def test_a_scale_hides_no_line_that_gives_what_it_keeps() -> None:
    config = read_config({"papers": ["udagawa2023"], "scale": "reduced"})
    value, origin = rows(config, "hs-last-6l-mono")["stages.1.schedule.warmup_ratio"]
    path, number = origin.split(":")
    line = Path(path).read_text().splitlines()[int(number) - 1]
    assert line.strip() == f"warmup_ratio: {value}"  # of the reported corpus, for which the scale has another one


def test_short_and_full_names_and_suggestions() -> None:
    study = whole_study()
    assert student_called(study, "hs-last-6l-mono") == "udagawa2023-hs-last-6l-mono"
    assert student_called(study, "udagawa2023-hs-last-6l-mono") == "udagawa2023-hs-last-6l-mono"
    with pytest.raises(RetortError, match="3 papers have a student 'kd'; write luck-kd or pocket-kd or wang2023-kd"):
        student_called(study, "kd")
    with pytest.raises(RetortError, match="no student is called 'hs-lst-6l-mono'; did you mean 'hs-last-6l-mono'"):
        student_called(study, "hs-lst-6l-mono")


@pytest.mark.parametrize(("arguments", "status"), [(["kd", "mood"], 0), (["kdd"], 2), (["kd", "mod"], 2)])
def test_the_verb(
    tiny: Config, arguments: list[str], status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"papers": ["tiny"], "study": tiny.study}))
    assert main(["show", *arguments, "--config", str(path)]) == status
    said = capsys.readouterr()
    assert "did you mean" in said.err if status else "tiny-kd on mood, scale pocket: Vanilla KD" in said.out


def test_the_axes_of_a_grid_are_shown_with_their_lines(study_folder: Path) -> None:
    change(study_folder, STUDENTS, "kd:\n", "kd:\n  grid:\n    stages.1.terms.2.weight: [0.1, 0.5]\n")
    found = rows(read_config({"papers": ["tiny"], "study": str(study_folder)}), "kd", "mood")
    assert found["grid.stages.1.terms.2.weight"] == ("[0.1, 0.5]", f"{study_folder}/papers/tiny/students.yaml:3")
