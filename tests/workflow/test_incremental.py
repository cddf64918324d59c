"""Tests of which jobs a change runs again, as `snakemake -n` lists them on a finished tiny study."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from retort.study.cells import answers_address

from tests.conftest import ROOT, snakemake
from tests.tiny.edit import change

pytestmark = pytest.mark.workflow

STUDENTS, PROTOCOL = "papers/tiny/students.yaml", "protocols/short.yaml"
KD_SCORES = {f"results/scores/tiny-kd/{task}/seed-{seed}.json" for task in ("mood", "rating") for seed in (1, 2)}
# Jobs that use the scores of table 1: the table, its verdicts and tests, the figures with its students, the claims, the
# pages.
FROM_KD = {
    "make_table": 2, "plot_verdicts": 1, "plot_figure": 3, "check_claims": 1, "make_page": 1, "make_index": 1, "all": 1,
}  # fmt: skip


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
    """Return the number of jobs by the kind of their rule, and the outputs of all jobs, that a dry run plans."""
    said = snakemake(folder, "-n", *targets, repository=repository).stdout
    if "Nothing to be done" in said or "Job stats" not in said:
        return {}, set()
    stats = said.split("Job stats:")[1].split("\n\n")[0]
    jobs = {kind(name): int(n) for name, n in re.findall(r"^(\w+)\s+(\d+)$", stats, re.MULTILINE) if name != "total"}
    outputs = {
        name.strip() for line in re.findall(r"^    output: (.*)$", said, re.MULTILINE) for name in line.split(",")
    }
    return jobs, outputs


def kind(rule: str) -> str:
    """Return what the jobs of a rule do: the names of some rules also say which seeds or students they are for."""
    return next((name for name in ("distill_on_task", "distill_together", "finetune_student") if name in rule), rule)


def scores(outputs: set[str]) -> set[str]:
    """Return the score files among the outputs, after a check that each has its file of answers."""
    found = {name for name in outputs if name.startswith("results/scores/")}
    answers = {name for name in found if name.endswith(".answers.json")}
    assert answers == {answers_address(name) for name in found - answers}
    return found - answers


def test_nothing_has_changed(restored: Path) -> None:
    assert planned(restored) == ({}, set())


def test_a_learning_rate_of_one_student(restored: Path) -> None:
    change(restored / "study", STUDENTS, "{objective: supervised, weight: 0.5}]}]",
         "{objective: supervised, weight: 0.5}], schedule: {learning_rate: 3.0e-3}}]")  # fmt: skip
    jobs, outputs = planned(restored)
    assert scores(outputs) == KD_SCORES
    assert jobs == {"distill_on_task": 2, **FROM_KD}


def test_a_relabelled_row(restored: Path) -> None:
    change(restored / "study", "papers/tiny/table4.yaml", "label: Output distribution}", "label: Distribution}")
    jobs, outputs = planned(restored)
    assert scores(outputs) == set()
    assert jobs == {"make_table": 1, "make_page": 1, "make_index": 1, "all": 1}
    assert "reports/tiny/table4.html" in outputs


def test_a_relabelled_row_that_a_table_of_tests_prints_too(restored: Path) -> None:
    change(restored / "study", "papers/tiny/table1.yaml", "label: Attention}", "label: Attention transfer}")
    change(restored / "study", "papers/tiny/claims.yaml", "rows: [Attention]", "rows: [Attention transfer]")
    jobs, outputs = planned(restored)
    assert scores(outputs) == set()
    assert jobs == {**FROM_KD, "plot_figure": 1}
    assert {"reports/tiny/table1.html", "reports/tiny/table3.html"} <= outputs


def test_a_new_seed(restored: Path) -> None:
    change(restored / "study", PROTOCOL, "seeds: [1, 2]", "seeds: [1, 2, 3]")
    jobs, outputs = planned(restored)
    assert {name for name in scores(outputs) if "seed-3" in name} == {
        *(
            f"results/scores/tiny-{name}/{task}/seed-3.json"
            for name in ("kd", "attention")
            for task in ("mood", "rating")
        ),
        "results/scores/tiny-predicting/mood/seed-3.json",
    }
    assert jobs["distill_on_task"] == 4  # which find the results of the other seeds kept
    assert jobs["finetune_student"] == 1
    assert not {"finetune_teacher", "record_activations", "distill_student", "run_grid", "encode_task"} & set(jobs)


def test_a_comment_in_the_package(restored: Path, repository: Path) -> None:
    with (repository / "workflow/retort/training/loop.py").open("a") as module:
        module.write("# a comment\n")
    assert planned(restored, repository=repository) == ({}, set())


def test_a_raised_version_of_a_task(restored: Path) -> None:
    change(restored / "study", "tasks/rating.yaml", "version: 1", "version: 2")
    jobs, outputs = planned(restored)
    assert all("/rating/" in name for name in scores(outputs))
    assert len(scores(outputs)) == 5
    assert jobs["encode_task"] == jobs["finetune_teacher"] == jobs["record_activations"] == 1
    assert jobs["distill_on_task"] == 2
    assert not {"distill_student", "run_grid", "finetune_student", "build_corpus"} & set(jobs)


def test_a_raised_version_of_an_objective(restored: Path, repository: Path) -> None:
    path = repository / "workflow/retort/objectives/relations.py"
    text = path.read_text()
    place = text.index("version = 1", text.index('register("value-relation")'))
    path.write_text(text[:place] + "version = 2" + text[place + len("version = 1") :])
    jobs, outputs = planned(restored, repository=repository)
    assert scores(outputs) == {
        f"results/scores/tiny-attention/{task}/seed-{seed}.json" for task in ("mood", "rating") for seed in (1, 2)
    }
    assert not {"finetune_teacher", "distill_student", "record_activations"} & set(jobs)


def test_a_raised_version_of_a_student(restored: Path) -> None:
    change(restored / "study", STUDENTS, "  title: Vanilla KD\n", "  title: Vanilla KD\n  version: 2\n")
    assert scores(planned(restored)[1]) == KD_SCORES


def test_a_title_is_no_setting(restored: Path) -> None:
    change(restored / "study", STUDENTS, "title: Vanilla KD", "title: Knowledge distillation")
    assert planned(restored) == ({}, set())


def test_a_student_that_reads_another_activation_leaves_the_others_alone(restored: Path) -> None:
    change(
        restored / "study",
        STUDENTS,
        "{objective: value-relation, mapping: uniform}",
        "{objective: hidden-sequence, mapping: {listed: {pairs: [[1, 1], [2, 3]]}}}",
    )
    jobs, outputs = planned(restored)
    assert all("tiny-attention" in name for name in scores(outputs))
    assert len(scores(outputs)) == 2 * jobs["distill_on_task"] == 4
    assert not {"record_activations", "finetune_teacher"} & set(jobs)


def test_a_student_that_reads_what_is_not_recorded_runs_the_teacher_beside_it(restored: Path) -> None:
    change(
        restored / "study",
        STUDENTS,
        "{objective: value-relation, mapping: uniform}",
        "{objective: context-sequence, mapping: last}",
    )
    said = snakemake(restored, "-n").stdout
    jobs = [job for job in said.split("rule ") if job.startswith("distill_on_task")]
    assert len(jobs) == 2
    assert not any("results/activations" in job for job in jobs)
