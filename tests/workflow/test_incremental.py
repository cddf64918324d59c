"""Tests of which jobs a change runs again, as `snakemake -n` lists them on a finished tiny study."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from retort.study.addresses import answers_address

from tests.conftest import ROOT, snakemake
from tests.tiny.edit import AGNOSTIC, CLAIMS, PROTOCOL, STUDENTS, TABLE, change

pytestmark = pytest.mark.workflow


def scores_of(*students: str, tasks: Iterable[str] = ("mood", "rating"), seeds: Iterable[int] = (1, 2)) -> set[str]:
    """Return the files of the scores of some students, each with all seeds."""
    name = "-".join(map(str, seeds))
    return {f"results/scores/tiny-{student}/{task}/{name}.json" for student, task in itertools.product(students, tasks)}


ONES = {"make_page": 1, "make_index": 1, "all": 1}
# jobs that use the scores of table 1: the table, its tests, the figures with its students, claims, pages
FROM_KD = {"make_table": 2, "plot_figure": 3, "check_claims": 1, **ONES}
FIGURE = "papers/tiny/figure3.yaml"
VALUES = "{objective: value-relation, mapping: uniform}"
TERM = "{objective: supervised, weight: 0.5}]"
RATE = (f"{TERM}}}]", f"{TERM}, schedule: {{learning_rate: 3.0e-3}}}}]")
EDITED = {"make_table": 2, "plot_figure": 2, "check_claims": 1, **ONES}
SEED = {"make_table": 3, "plot_figure": 3, "check_claims": 1, **ONES}
NEXT = scores_of("kd", "attention", seeds=[1, 2, 3]) | scores_of("predicting", tasks=["mood"], seeds=[1, 2, 3])
OF_RATING = scores_of("kd", "attention", tasks=["rating"]) | scores_of("teacher", tasks=["rating"], seeds=[1])
OF_TASK = {"encode_task": 1, "finetune_teacher": 1, "record_activations": 1, "distill_on_task": 2}
# change -> (file, what is replaced, by what) of each edit; number of jobs by kind; scores; numbers of the tables
CHANGES: dict[str, tuple[list[tuple[str, str, str]], dict[str, int], set[str], str]] = {
    "nothing": ([], {}, set(), ""),
    "title of a student": ([(STUDENTS, "title: Vanilla KD", "title: Distillation")], {}, set(), ""),
    "label of a row": (
        [("papers/tiny/table4.yaml", "label: Output distribution}", "label: Distribution}")],
        {"make_table": 1, **ONES},
        set(),
        "4",
    ),
    "label of a row that a table of tests prints too": (
        [
            (TABLE, "label: Attention}", "label: Transfer}"),
            (CLAIMS, "rows: [Attention]", "rows: [Transfer]"),
            (FIGURE, "curves: [Vanilla KD, Attention]", "curves: [Vanilla KD, Transfer]"),
            (FIGURE, "above: [Attention]", "above: [Transfer]"),
        ],
        {**FROM_KD, "plot_figure": 1},
        set(),
        "13",
    ),
    "learning rate of a student": (  # the activations are stored for it alone
        [(STUDENTS, *RATE)],
        {"record_activations": 2, "distill_on_task": 2, **FROM_KD},
        scores_of("kd"),
        "13",
    ),
    "seed": (  # the jobs find the results of the other seeds kept
        [(each, "seeds: [1, 2]", "seeds: [1, 2, 3]") for each in (PROTOCOL, AGNOSTIC)],
        {"record_activations": 2, "distill_on_task": 4, "finetune_student": 1, **SEED},
        NEXT,
        "134",
    ),
    "a further distillation": (
        [(AGNOSTIC, "seeds: [1, 2]", "seeds: [1, 2]\ndistillation_seeds: [1, 7]")],
        {"distill_students": 2, "save_student": 2, "run_grid": 1, "finetune_student": 1, "make_table": 1, **ONES},
        {"results/scores/tiny-predicting-distillation-7/mood/1-2.json"},
        "4",
    ),
    "version of a task": (
        [("tasks/rating.yaml", "version: 1", "version: 2")],
        {**OF_TASK, **EDITED, "plot_figure": 1},
        OF_RATING,
        "13",
    ),
}


@pytest.fixture
def restored(finished: Path) -> Iterator[Path]:
    """Yield the finished study; afterwards, restore the content and times of its YAML files."""
    yield from restoring(finished)


def restoring(folder: Path) -> Iterator[Path]:
    """Yield the folder of a study; afterwards, restore the content and times of its YAML files and configuration."""
    files = [*(folder / "study").rglob("*.yaml"), folder / "config.yaml"]
    before = [(path, path.read_bytes(), path.stat().st_mtime_ns) for path in files]
    yield folder
    for path, content, stamp in before:
        path.write_bytes(content)
        os.utime(path, ns=(stamp, stamp))


def planned(folder: Path, *targets: str, repository: Path = ROOT) -> tuple[dict[str, int], set[str]]:
    """Return the number of jobs by their rule, and the outputs of all jobs, that a dry run plans."""
    said = snakemake(folder, "-n", "-p", *targets, repository=repository).stdout
    if "Nothing to be done" in said or "Job stats" not in said:
        return {}, set()
    stats = said.split("Job stats:")[1].split("\n\n")[0]
    jobs = {name: int(n) for name, n in re.findall(r"^(\w+)\s+(\d+)$", stats, re.MULTILINE) if name != "total"}
    outputs = {
        name.strip() for line in re.findall(r"^    output: (.*)$", said, re.MULTILINE) for name in line.split(",")
    }
    return jobs, outputs


def scores(outputs: set[str]) -> set[str]:
    """Return the score files among the outputs, after a check that each has its file of answers."""
    found = {name for name in outputs if name.startswith("results/scores/")}
    answers = {name for name in found if name.endswith(".answers.json")}
    assert answers == {answers_address(name) for name in found - answers}
    return found - answers


@pytest.mark.parametrize("changed", CHANGES)
def test_a_change_runs_again_what_depends_on_it(changed: str, restored: Path) -> None:
    edits, jobs, made, tables = CHANGES[changed]
    for edit in edits:
        change(restored / "study", *edit)
    planned_jobs, outputs = planned(restored)
    assert planned_jobs == jobs
    assert scores(outputs) == made
    assert "".join(sorted(re.findall(r"tables/tiny/table(\d)\.csv", " ".join(outputs)))) == tables


def test_an_edit_of_the_package_runs_nothing_again_but_for_a_raised_version(restored: Path, repository: Path) -> None:
    package = repository / "workflow/retort"
    with (package / "training/loop.py").open("a") as module:
        module.write("# a comment\n")
    assert planned(restored, repository=repository) == ({}, set())
    change(
        package,
        "objectives/relations.py",
        '    activations = ("values",)',
        '    version = 2\n    activations = ("values",)',
    )
    jobs, outputs = planned(restored, repository=repository)
    assert scores(outputs) == scores_of("attention")
    assert jobs == {"record_activations": 2, "distill_on_task": 2, **EDITED}


def test_an_edit_of_the_code_that_prints_prints_anew_and_trains_nothing(restored: Path, repository: Path) -> None:
    with (repository / "workflow/retort/tables/render.py").open("a") as module:
        module.write("# a comment\n")
    jobs, outputs = planned(restored, repository=repository)
    assert set(jobs) == {"make_table", "plot_figure", "check_claims", "make_page", "make_index", "all"}
    assert scores(outputs) == set()
