"""Tests of checksums that are gone or of something else, and of folders that lie where files belong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from retort.checksums import KINDS, REMEDY, RESULTS, place_of, take
from retort.cli import main
from retort.errors import RetortError
from retort.job.context import job, this_code
from retort.results import frames
from retort.training.checkpoint import Checkpoint

from tests.rule_job import rule_job
from tests.tiny.results import frame, line
from tests.tiny.variant import write_study

SCORE = Path("results/scores/s/mood/1.json")
MODEL = Path("results/teachers/t/mood/1")


def make(path: Path, file: str = "") -> Path:
    """Make a result, a folder with a file or a single file, with its checksums."""
    (path / file).parent.mkdir(parents=True, exist_ok=True)
    (path / file).write_text("content")
    take(path, "job", this_code(), (), {})
    return path


@pytest.fixture(autouse=True)
def results(here: Path) -> None:
    """Make a folder and a single file in a folder of results."""
    make(SCORE)
    make(MODEL, "model.safetensors")


def parents_of_job(*inputs: Path) -> list[str]:
    """Return the parents of a job that reads these results."""
    with job(rule_job(input=list(map(str, inputs)))) as running:
        return list(running.parents)


def refused(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the line with which a job ends that reads a result."""
    with pytest.raises(SystemExit):
        parents_of_job(path)
    lines = capsys.readouterr().err.splitlines()
    assert lines[1:] == ["  log: rule.a.log"]
    return lines[0]


def verified(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines of `retort verify`, without the last, which counts."""
    config = Path("config.yaml")
    config.write_text(json.dumps(write_study(Path("study").absolute())))
    capsys.readouterr()
    code = main(["verify", "--config", str(config)])
    *lines, _ = capsys.readouterr().out.splitlines()
    assert code == any(REMEDY in line for line in lines)
    return lines


# --- what a job reads


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_whose_checksums_are_gone_is_not_read(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = make(RESULTS / kind / "a" / "b", "file" if kind in ("sources", "students") else "")
    assert parents_of_job(path) == [str(path)]
    place_of(path).unlink()
    assert refused(path, capsys) == (f"rule(a): {path} has no checksum: no job has made it; {REMEDY}")


def test_a_folder_of_which_a_purge_left_nothing_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    with job(rule_job(input=[MODEL], output=[SCORE])):
        pass
    for file in (MODEL / "model.safetensors", place_of(MODEL)):
        file.unlink()
    assert refused(MODEL, capsys) == f"rule(a): {MODEL} is missing: it is an empty folder; {REMEDY}"
    assert verified(capsys) == [f"{MODEL} is missing, from which {SCORE} was made; {REMEDY}"]


def test_what_legitimately_has_no_checksum(capsys: pytest.CaptureFixture[str]) -> None:
    emptied = RESULTS / "distilled" / "s"
    emptied.mkdir(parents=True)
    (emptied / ".snakemake_timestamp").touch()
    file_of_study = Path("workflow/papers/tiny/table1.yaml")
    file_of_study.parent.mkdir(parents=True)
    file_of_study.write_text("title: T")
    absent = RESULTS / "profiles" / "s.json"
    assert parents_of_job(emptied, file_of_study, absent, SCORE) == [str(SCORE)]
    assert capsys.readouterr().err == ""


def test_what_another_workflow_keeps_next_to_ours_is_read_with_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    own = RESULTS / "mine" / "notes.txt"
    own.parent.mkdir()
    own.write_text("of a rule of a workflow that deploys this one as a module")
    assert parents_of_job(own) == []
    warning = f"{own} has no checksum: no job has made it; it is read unchecked"
    assert warning in Path("rule.a.log").read_text()
    assert warning in capsys.readouterr().err


def test_a_link_is_known_by_what_it_leads_to(capsys: pytest.CaptureFixture[str]) -> None:
    folder, other = MODEL.with_name("link"), RESULTS / "scores" / "other" / SCORE.name
    other.parent.mkdir()
    other.symlink_to(SCORE.absolute())
    folder.symlink_to(MODEL.absolute())
    assert parents_of_job(other, folder) == [str(other), str(folder)]
    SCORE.write_text("changed")
    assert "is not as it was made" in refused(other, capsys)


def test_checksums_of_another_file(capsys: pytest.CaptureFixture[str]) -> None:
    second = SCORE.with_name("2.json")
    shutil.copy(SCORE, second)
    shutil.copy(place_of(SCORE), place_of(second))
    words = f"{place_of(second)} holds the checksum of another file, 1.json; {REMEDY}"
    assert words in refused(second, capsys)
    assert words in verified(capsys)[0]


def test_a_table_copied_over_another_is_not_read() -> None:
    first, second = (RESULTS / "tables" / "p" / f"table{number}.csv" for number in (1, 2))
    abroad = RESULTS / "tables" / "q" / "table1.csv"
    for path in (first, second, abroad):
        frames.write(path, frame([line(0.5)]))
    assert list(frames.read(first)["table"]) == ["table1"]
    for path, words in ((second, "holds table1 of 'p'"), (abroad, "holds table1 of 'p'")):
        with pytest.raises(RetortError) as error:
            frames.read(path)
        assert str(error.value) == f"{path} {words}; {REMEDY}"
    shutil.copy(first, second)
    shutil.copy(place_of(first), place_of(second))
    with pytest.raises(RetortError, match=r"holds the checksum of another file, table1\.csv"):
        frames.read(second)


# --- what `retort verify` says


def folder_of_checksums() -> None:
    """Put a folder where the checksums of a score belong."""
    place_of(SCORE).unlink()
    place_of(SCORE).mkdir()


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "a folder of checksums": (
        folder_of_checksums,
        f"{place_of(SCORE)} is a folder, and checksums belong there; {REMEDY}",
    ),
    "checksums of a folder without a name": (
        lambda: SCORE.with_name("..checksums.json").write_text("{}"),
        f"{SCORE.parent}/..checksums.json has no checksum: no job has made it; {REMEDY}",
    ),
    "a link that leads nowhere": (
        lambda: (place_of(SCORE).unlink(), place_of(SCORE).symlink_to("nowhere")),
        f"{place_of(SCORE)} is damaged ([Errno 2] No such file or directory: '{place_of(SCORE)}'); {REMEDY}",
    ),
    "brackets for checksums": (
        lambda: place_of(SCORE).write_text("[" * 100_000),
        f"{place_of(SCORE)} is damaged (nested too deep); {REMEDY}",
    ),
    "a folder for a score": (
        lambda: (SCORE.unlink(), SCORE.mkdir()),
        f"{SCORE} is a folder, and a file belongs there; {REMEDY}",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_verify_has_a_line_for_what_is_no_file(mistake: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert verified(capsys) == []
    spoil, words = MISTAKES[mistake]
    spoil()
    assert words in verified(capsys)
    assert main(["verify", "--repair", "--config", "config.yaml"]) == 0
    assert verified(capsys) == []


def test_results_that_may_only_be_read_are_verified(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refuse = Mock(side_effect=OSError(30, "Read-only file system"))
    monkeypatch.setattr("retort.results.verification.write_json", refuse)
    assert verified(capsys) == [
        "2 files, 0.0 MB: all as they were made; 1 of no student here, so not compared with settings: give --config of "
        "their run"
    ]


# --- what jobs write


@pytest.mark.parametrize("name", ["state.json", "notes.jsonl"])
def test_a_checkpoint_takes_the_place_of_a_folder(name: str, tmp_path: Path) -> None:
    import torch

    (tmp_path / "c" / name / "inner").mkdir(parents=True)
    lines: list[str] = []
    checkpoint = Checkpoint(tmp_path / "c", "settings", 0.0, None, lines.append)
    assert len(lines) == (name == "state.json")
    checkpoint.write(1, 1, {"weight": torch.arange(2.0)})
    checkpoint.note("one")
    again = Checkpoint(tmp_path / "c", "settings", 0.0)
    assert again.state is not None
    assert again.notes() == ["one"]
