"""Tests that a path tells its rule with constraints that stay short, and that an unknown name is refused in a line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from retort.errors import RetortError
from retort.plan.plan import Plan
from retort.plan.reads import InputFunctions
from retort.plan.rule import apart
from retort.specs.config import read_config

from tests.conftest import SNAKEFILE, run_snakemake
from tests.tiny.make import STUDY

PAPERS = ["minilmv2", "wang2023", "udagawa2023", "mlkd2024"]
REFUSED = "no student or teacher of this run is called 'tiny-narow'; did you mean 'tiny-narrow'?"


@pytest.fixture(scope="module")
def kinds() -> list[list[str]]:
    """Return the names of the papers' task-specific students, task-agnostic students and teachers."""
    plan = Plan(read_config({"scale": "paper", "papers": PAPERS, "precision": "bfloat16"}))
    return [plan.task_specific, plan.task_agnostic, list(plan.study.teachers)]


def scanned(kinds: list[list[str]]) -> int:
    """Return the characters of constraints that are read for a path of each student and teacher."""
    every = set[str]().union(*kinds)
    return sum(len(names) * len(apart(names, every.difference(names))) for names in kinds)


def test_twice_the_students_are_twice_the_work_of_matching_paths(kinds: list[list[str]]) -> None:
    assert sum(map(len, kinds)) > 300
    twice = [[f"{name}{end}" for name in names for end in ("", "-again")] for names in kinds]
    assert scanned(twice) < 2.2 * scanned(kinds)


def test_a_constraint_grows_with_papers_not_with_their_students(kinds: list[list[str]]) -> None:
    copies = [[re.sub("-", f"{copy}-", name, count=1) for name in names for copy in range(4)] for names in kinds]
    assert scanned(kinds) < 30 * len(PAPERS) * sum(map(len, kinds))
    assert scanned(copies) < 30 * 4 * len(PAPERS) * sum(map(len, copies))


@pytest.mark.parametrize("names", [["a-kd", "a-kd-2"], ["a-kd-2", "b"], ["a-teacher"], ["a-k"]])
def test_names_are_told_apart(names: list[str]) -> None:
    others = {"a-kd", "a-kd-2", "a-kd-20", "a-k", "a-teacher", "a-tea", "b", "b-2"}.difference(names)
    pattern = re.compile(apart(names, others))
    assert all(map(pattern.fullmatch, names))
    assert not any(map(pattern.fullmatch, others))
    assert re.fullmatch(apart(names, []), "any-name-2")
    assert not re.fullmatch(apart(names, []), "a/b")
    assert not re.fullmatch(apart([], names), names[0])


def test_a_name_that_nobody_has_is_refused_with_the_nearest() -> None:
    reads = InputFunctions(Plan(read_config({"papers": ["tiny"], "study": str(STUDY), "precision": "float32"})))
    of = SimpleNamespace(student="tiny-narow", task="mood", seed="1")
    for function in (reads.encoded_task, reads.released_model, reads.grid, reads.distilled_group):
        with pytest.raises(RetortError, match=re.escape(REFUSED)):
            function(of)


@pytest.mark.slow
def test_snakemake_says_so_too(tmp_path: Path) -> None:
    config = {"papers": ["tiny"], "study": str(STUDY), "precision": "float32"}
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    done = run_snakemake(tmp_path, "--snakefile", SNAKEFILE, "-n", "results/scores/tiny-narow/mood/1.json")
    assert done.returncode
    said = (done.stdout + done.stderr).splitlines()
    (line,) = (line.strip() for line in said if "narow'" in line)
    assert line.startswith(f"RetortError: {REFUSED}")
