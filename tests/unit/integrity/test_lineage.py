"""Tests of what a result says of the code and the data that it was made from, and of checkpoints that are damaged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from retort.checksums import Maker
from retort.job.context import RunningJob
from retort.provenance import are_different, objectives_in
from retort.settings import folder_digests
from retort.training.checkpoint import Checkpoint
from retort.training.setup import checkpoint_of

from tests.conftest import ROOT
from tests.job_settings import schedule
from tests.tiny.results import quiet

OLD, NEW = Maker(commit="a", code="1"), Maker(commit="a", code="2")
ASK = """import sys; from retort import provenance
used = frozenset(sys.argv[1:]); print(provenance.commit(used), provenance.code(used))"""
MINE = '@objectives.register("mine")\nclass Mine: ...\n'


def asked(package: Path, *objectives: str) -> tuple[str, str]:
    """Return commit and digest of a copy of the package, as a new process sees them that uses some objectives."""
    command = [sys.executable, "-c", ASK, *objectives]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(package)}, capture_output=True, check=True)
    commit, _, code = done.stdout.decode().strip().partition(" ")
    return commit, code


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return the folder of a copy of the package that is committed to a repository of its own."""
    shutil.copytree(ROOT / "workflow" / "retort", tmp_path / "w" / "retort", ignore=shutil.ignore_patterns("__pyc*"))
    (tmp_path / "w" / "scripts").mkdir()
    (tmp_path / ".gitignore").write_text("__pycache__\n")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *arguments], check=True)
    return tmp_path / "w"


def test_a_file_that_git_does_not_know_is_a_change(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clean = asked(package)
    assert len(clean[0]) == 40
    (package / "retort/training/mine.py").write_text("version = 1\n")
    added = asked(package)
    assert added[0] == f"{clean[0]}+changes"
    assert added[1] != clean[1]
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert " ".join(asked(package)).startswith("unknown (git finds the ownership of its folder dubious: git config")


def test_a_result_depends_on_no_code_that_it_cannot_have_used(package: Path) -> None:
    """New objectives, kinds of figures and the text of a document leave the scores of other students as they are."""
    clean, hidden = asked(package), asked(package, "hidden-sequence")
    (package / "retort/objectives/mine.py").write_text(MINE)
    (package / "retort/tables/figures/mine.py").write_text("version = 1\n")
    (package.parent / "README.md").write_text("mine")
    assert (asked(package), asked(package, "hidden-sequence")) == (clean, hidden)
    commit, code = asked(package, "mine", "hidden-sequence")
    assert commit == f"{clean[0]}+changes"
    assert [word.partition(":")[0] for word in code.split()] == [clean[1], "hidden", "mine"]
    assert not are_different([clean[1], hidden[1], code])
    (package / "retort/objectives/hidden.py").write_text(MINE.replace("mine", "hidden-sequence"))
    assert are_different([code, asked(package, "hidden-sequence")[1]])
    assert not are_different([code, asked(package, "mine")[1]])


def test_objectives_are_found_wherever_the_settings_of_a_job_name_them() -> None:
    grid = {"stages.0.terms.0.objective": ["hidden-cls", "soft-labels"]}
    settings = {"stages": [{"terms": [{"objective": "attention-kl", "weight": 1.0}]}], "grid": grid, "label": "hidden"}
    assert objectives_in(settings) == {"attention-kl", "hidden-cls", "soft-labels"}


# --- checkpoints


def written(folder: Path, maker: Maker | None = OLD) -> Checkpoint:
    """Return a checkpoint with a state and two notes on disk."""
    checkpoint = Checkpoint(folder, "settings", 0.0, maker)
    checkpoint.write(1, 5, {"weight": torch.arange(4.0)})
    for note in ("one", "two"):
        checkpoint.note(note)
    return checkpoint


def test_a_checkpoint_knows_all_code_that_trained_it(tmp_path: Path) -> None:
    written(tmp_path)
    again = Checkpoint(tmp_path, "settings", 0.0, NEW)
    assert again.makers == [OLD, NEW]
    again.write(1, 6, {"weight": torch.arange(4.0)})
    assert Checkpoint(tmp_path, "settings", 0.0, NEW).makers == [OLD, NEW]
    others = Checkpoint(tmp_path, "other settings", 0.0, NEW)
    assert (others.state, others.notes(), others.makers) == (None, [], [NEW])


def test_a_training_that_goes_on_under_other_code_says_so(here: Path) -> None:
    settings: Any = schedule()
    settings_of = type("Settings", (), {"as_json": lambda self: {"a": settings.steps}})()
    first = Checkpoint(RunningJob("", quiet().log).checkpoints, [settings_of.as_json(), 1, []], 0.0, OLD)
    first.write(1, 5, {"weight": torch.arange(4.0)})
    running = quiet()
    assert checkpoint_of(running, settings_of, 1).state is not None
    assert running.resumed_from == {OLD}
    assert running.lineage()["resumed_from"] == [OLD.model_dump()]
    fresh = quiet()
    checkpoint_of(fresh, settings_of, 2)
    assert "resumed_from" not in fresh.lineage()


def flip(folder: Path) -> None:
    """Change a bit of the tensors of a checkpoint."""
    path = next(folder.glob("*.safetensors"))
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)


def header(text: str) -> Callable[[Path], object]:
    """Return a function that writes another header."""
    return lambda folder: (folder / "state.json").write_bytes(text.encode(errors="surrogateescape"))


STATES: dict[str, tuple[Callable[[Path], object], str]] = {
    **{text: (header(text), "is damaged") for text in ("[]", "", '{"key": "x", "run"', "\udcff")},
    "flipped bits": (flip, "is not as it was written): the training begins anew"),
}


@pytest.mark.parametrize("damage", STATES)
def test_a_damaged_state_of_a_checkpoint_is_not_used_and_blocks_nothing(damage: str, tmp_path: Path) -> None:
    written(tmp_path)
    spoil, said = STATES[damage]
    spoil(tmp_path)
    lines: list[str] = []
    checkpoint = Checkpoint(tmp_path, "settings", 0.0, None, lines.append)
    assert checkpoint.state is None
    (line,) = lines
    assert said in line
    checkpoint.write(1, 1, {"weight": torch.arange(2.0)})
    assert Checkpoint(tmp_path, "settings", 0.0).state is not None


@pytest.mark.parametrize("end", ["", '{"key": "x", "no', "[]\n", "\udcff"])
def test_a_cut_last_note_loses_only_itself(end: str, tmp_path: Path) -> None:
    checkpoint = written(tmp_path)
    with (tmp_path / "notes.jsonl").open("ab") as stream:
        stream.write(end.encode(errors="surrogateescape"))
    assert checkpoint.notes() == ["one", "two"]
    checkpoint.note("three")
    assert checkpoint.notes() == ["one", "two", "three"]
    path = tmp_path / "notes.jsonl"
    path.write_text(path.read_text().replace('"two"', '"best"'))
    assert checkpoint.notes() == ["one"]


# --- folders of the user


def test_a_folder_is_known_by_its_content(here: Path) -> None:

    def content(folder: str) -> str:
        folder_digests.content_of.cache_clear()
        return folder_digests.content_of("texts", here / folder)

    assert content("here") == folder_digests.ABSENT
    (here / "here").mkdir()
    (here / "here" / "a.txt").write_text("good")
    (here / "here" / ".hidden").write_text("x")
    first = content("here")
    shutil.move(here / "here", here / "there")
    assert content("there") == first
    assert content("here") == first  # it is gone, and was last known so
    (here / "there" / "a.txt").write_text("evil")  # of the same size
    changed = content("there")
    assert changed != first
    (here / "results/sources/.contents/texts.json").write_text('{"files": {"a.txt": 3}}')
    assert content("there") == changed
    (here / "there" / "a.txt").rename(here / "there" / "b.txt")
    assert content("there") != changed
