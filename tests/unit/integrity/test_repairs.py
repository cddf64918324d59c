"""Tests of what `retort verify --repair` deletes, and of what it leaves alone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from retort.atomic import write_text
from retort.checksums import Checksums, Parent, take
from retort.cli import main
from retort.data.sources.fetch import link
from retort.job.attempts import LOCKS
from retort.job.context import this_code
from retort.job.locks import hold_claim
from retort.run.run_folder import CLAIM

from tests.tiny.variant import write_study

GONE = Path("results/students/gone/model")  # of a student that the study does not have any more
TEACHER = Path("results/teachers/tiny-teacher/mood/1")


def make(folder: Path, content: str, **parents: Checksums) -> Checksums:
    """Make a folder with a file, and return its checksums."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_text(content)
    named = {str(TEACHER): Parent(**known.maker.model_dump(), sha256=known.digest) for known in parents.values()}
    return take(folder, "job", this_code(), (), named)


def repaired(capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Return the status and the words of `retort verify --repair`."""
    Path("config.yaml").write_text(json.dumps(write_study(Path("study").absolute())))
    status = main(["verify", "--repair", "--config", "config.yaml"])
    return status, "".join(capsys.readouterr())


@pytest.fixture(autouse=True)
def results(here: Path) -> None:
    """Make a teacher, and a student of it that no run makes."""
    make(GONE, "student", teacher=make(TEACHER, "weights"))


def test_a_teacher_is_kept_for_which_only_a_student_of_an_older_study_speaks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert repaired(capsys)[0] == 0
    make(TEACHER, "newer weights")
    status, said = repaired(capsys)
    assert status == 0
    assert f"{GONE} was made from another {TEACHER}" in said
    assert f"deleted: {GONE}\n" in said
    assert TEACHER.exists()
    assert not GONE.exists()


def test_what_a_link_leads_to_is_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("notes")
    (GONE / "linked.txt").symlink_to(tmp_path / "mine" / "notes.txt")
    (TEACHER.parent / "more").symlink_to(tmp_path / "mine")
    _, said = repaired(capsys)
    assert f"{GONE}/linked.txt was added after {GONE} was made" in said
    assert not (GONE / "linked.txt").is_symlink()
    assert (tmp_path / "mine" / "notes.txt").read_text() == "notes"
    assert (GONE / "model.safetensors").exists()


def test_nothing_is_deleted_while_a_run_is_at_work(capsys: pytest.CaptureFixture[str]) -> None:
    make(TEACHER, "newer weights")
    with hold_claim(LOCKS / f"{CLAIM}1", "a run"):
        status, said = repaired(capsys)
    assert status == 2
    assert f"a run is at work here: process {os.getpid()} on " in said
    assert GONE.exists()


def test_links_are_set_anew_and_one_that_leads_nowhere_costs_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source, texts = Path("results/sources/texts"), tmp_path / "texts"  # as the source's file names them
    write_text(texts / "rated.txt", "mine")
    link(texts, source)
    known = take(source, "job", this_code(), (), {})
    from_source = {str(source): Parent(**known.maker.model_dump(), sha256=known.digest)}
    make(GONE, "student", teacher=take(TEACHER, "job", this_code(), (), from_source))
    for path in list(source.glob("*.txt")):  # as in a clone that was moved
        path.unlink()
        path.symlink_to("/elsewhere/rated.txt")
    status, said = repaired(capsys)
    assert (status, "all as they were made" in said) == (0, True)
    assert (source / "rated.txt").readlink() == texts / "rated.txt"
    texts.rename(tmp_path / "away")
    status, said = repaired(capsys)
    assert status == 1
    line = f"{source}/rated.txt links to {texts}/rated.txt, which is not there; put that back; nothing is deleted"
    assert said.splitlines()[0] == line
    assert "deleted:" not in said
    (tmp_path / "away").rename(texts)
    assert repaired(capsys)[0] == 0
