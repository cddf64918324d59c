"""Tests of what the messages of several mistakes have to do with each other; `tests/contracts` has the single ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from retort.cli import main
from retort.data.files import read_text
from retort.errors import RetortError, StudyError, first_line
from retort.results.score_files import read_score_file
from retort.specs import yaml_reader
from retort.specs.config import Config, read_config
from retort.study.load import read_study

from tests.tiny.edit import CLAIMS, PROTOCOL, STUDENTS, change, problems


def test_a_key_that_stands_elsewhere_is_blamed_on_what_gives_it() -> None:
    content = {"scal": "pocket", "device": "gpu", "papers": ["../a"]}
    with pytest.raises(StudyError) as caught:
        read_config(content, origins={"device": "--config", "papers": "mine.yaml"})
    assert sorted(line.split(" ", 2)[0] + line.split(" ", 2)[1] for line in caught.value.problems) == [
        "--config:device:", "config.yaml:scal:", "mine.yaml:papers.1:",
    ]  # fmt: skip
    config = read_config({"papers": ["nobody"]}, origins={"papers": "--config"})
    assert read_study(config)[1][0].startswith("--config: papers: no paper is called 'nobody'; there are: ")


def test_students_that_start_from_each_other_are_told_with_their_chain(study_folder: Path) -> None:
    change(study_folder, STUDENTS, "{random: true}", "{student: tiny-predicting}")
    change(study_folder, STUDENTS, "heads: 3, hidden: 24, intermediate: 48", "heads: 2, hidden: 16, intermediate: 32")
    change(study_folder, STUDENTS, "layers: 2", "layers: 1")
    change(study_folder, STUDENTS, "{layers: [2, 4]}", "{student: tiny-narrow}")  # which leads to the circle
    where = "study/papers/tiny/students.yaml: "
    assert problems(study_folder) == [
        f"{where}narrow.initialisation.student: 'tiny-narrow' starts from itself: "
        "tiny-narrow <- tiny-predicting <- tiny-narrow",
        f"{where}predicting.initialisation.student: 'tiny-predicting' starts from itself: "
        "tiny-predicting <- tiny-narrow <- tiny-predicting",
    ]


def test_control_characters_of_files_do_not_reach_the_terminal() -> None:
    error = RetortError("line 1: '\x1b[31ma\x00b'\nline 2", "write c\u202ed\x9b")
    assert str(error) == "line 1: '\\x1b[31ma\\x00b'\nline 2; write c\\u202ed\\x9b"
    assert error.args == (error.message,)
    assert first_line(OSError("\n\x1b[31ma\tb\nc")) == "\\x1b[31ma\\tb"


def test_all_mistakes_of_all_files_come_at_once(study_folder: Path) -> None:
    """Wrong values, unknown keys and unknown names: none hides another, and none makes another key unknown."""
    change(study_folder, STUDENTS, "objective: attention-kl", "objective: attention-k")
    change(study_folder, CLAIMS, "compare: above", "compare: abov")
    change(study_folder, PROTOCOL, "steps: 6, batch_size: 8,", "stepps: 6, batch_size: -8,")
    change(study_folder, PROTOCOL, "title: A few steps", "titel: A few steps")
    assert sorted(line.removeprefix("study/") for line in problems(study_folder)) == [
        "papers/tiny/claims.yaml: kd-above-attention.compare: no comparison is called 'abov'; did you mean 'above'?",
        "papers/tiny/students.yaml: attention.stages.1.terms.1.objective: no objective is called 'attention-k'; "
        "did you mean 'attention-kl'?",
        "protocols/short.yaml: schedule.batch_size: Input should be greater than 0, not -8",
        "protocols/short.yaml: schedule.stepps: no key is called 'stepps'; did you mean 'steps'?",
        "protocols/short.yaml: titel: no key is called 'titel'; did you mean 'title'?",
    ]


def test_a_task_in_the_configuration_that_the_study_does_not_have(study_folder: Path) -> None:
    config = Config(study=str(study_folder), papers=["tiny"], sample=["mod"])
    assert read_study(config)[1] == ["config.yaml: sample: no task is called 'mod'; did you mean 'mood'?"]


@pytest.mark.parametrize(("verb", "status"), [("check", 1), ("list", 0)])
def test_the_command_line_says_what_is_wrong(
    study_folder: Path, verb: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    change(study_folder, STUDENTS, "mapping: uniform", "mapping: unifrom")
    config = study_folder.parent / "config.yaml"
    config.write_text(yaml.safe_dump({"papers": ["tiny"], "study": str(study_folder)}))
    assert main([verb, "--config", str(config)]) == status
    said = capsys.readouterr()
    assert "problem" in said.err
    assert verb == "list" or "did you mean 'uniform'?" in said.out


def test_the_names_in_a_broken_file_are_not_reported_where_they_are_used(study_folder: Path) -> None:
    """Every file is broken in turn: no other file has a problem because of it, and a wrong name still has one."""
    change(study_folder, STUDENTS, "protocol: short", "protocol: shrt")
    for path in sorted(study_folder.rglob("*.yaml")):
        before, told = path.read_text(), "shrt" in path.read_text()
        path.write_text("{")
        found = sorted(problems(study_folder), key=lambda line: "shrt" in line)
        assert found[0].startswith(f"study/{path.relative_to(study_folder)}: ")
        assert ["no protocol is called 'shrt'" in line for line in found[1:]] == [True] * (not told)
        path.write_text(before)


def test_the_yaml_librarys_own_limit_of_depth_is_told_as_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_deep(text: str, marked: bool) -> None:
        mark = yaml.Mark("", 0, 0, 7, None, None)
        raise yaml.scanner.ScannerError("while increasing flow level", None, "exceeded maximum nesting depth", mark)

    monkeypatch.setattr(yaml_reader, "_load", too_deep)
    (tmp_path / "deep.yaml").write_text("title: " + "[" * 2000)
    with pytest.raises(RetortError, match="^line 1: lists or mappings are nested too deep; a file of a study has"):
        yaml_reader.read_yaml(tmp_path / "deep.yaml")


def test_a_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for read in (yaml_reader.read_yaml, read_text, read_score_file):
        with pytest.raises(RetortError, match=r"^pipe is a pipe, which cannot be read again; put a file|pipe is no"):
            read(tmp_path / "pipe")
