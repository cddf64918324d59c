"""Tests that the cost model knows Snakemake's jobs, and that what it asks for them re-runs none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from retort.cli import main
from retort.cost.jobs import Jobs
from retort.plan.plan import Plan
from retort.provenance import processor_name
from retort.run.workflow import everything
from retort.specs.config import read_config

from tests.conftest import SNAKEFILE, run_snakemake, snakemake

pytestmark = pytest.mark.workflow
LIMIT = 2880  # minutes of the partition's longest job
PARTITIONS = {"cpu": {"max_runtime": 300}, "gpu": {"max_gpu": 4, "max_runtime": LIMIT, "max_mem_mb": 64_000}}
# at each scale, papers whose jobs together are of every kind
PAPERS = {"paper": ["mlkd2024", "wang2023"], "pocket": ["pocket", "starts"], "rehearsal": ["mlkd2024"]}
CLUSTER = {"partitions": PARTITIONS, "gpu_memory_gb": 40, "gpus_per_job": 2}
FITS = {"micro_batch": 128}  # rows of the largest batches that fit such a GPU

JobKey = tuple[str, frozenset[tuple[str, str]]]


def dry_run(folder: Path, config: dict[str, Any], *targets: str) -> list[tuple[str, dict[str, str]]]:
    """Return the jobs of a dry run on a cluster: the rule of each, and what is reported of it, by its name."""
    (folder / "config.yaml").write_text(json.dumps({**config, "precision": "bfloat16", "cluster": "cluster.yaml"}))
    (folder / "cluster.yaml").write_text(yaml.safe_dump(CLUSTER))
    done = run_snakemake(folder, "--snakefile", SNAKEFILE, "--dry-run", "-p", *targets)
    assert done.returncode == 0, done.stdout + done.stderr
    jobs = []
    for block in re.split(r"^(?:local)?rule ", done.stdout, flags=re.MULTILINE)[1:]:
        rule, *lines = block.splitlines()
        reported = (line.strip().split(": ", 1) for line in lines if re.match(r"    \w+: ", line))
        jobs.append((rule.rstrip(":"), dict(reported)))
    return jobs


def planned(folder: Path, config: dict[str, Any]) -> dict[JobKey, dict[str, str]]:
    """Return the resources of all jobs of a dry run, by rule and wildcards; `all` only collects."""
    return {
        (rule, frozenset(_pairs(reported.get("wildcards", "")))): dict(_pairs(reported["resources"]))
        for rule, reported in dry_run(folder, config)
        if rule != "all"
    }


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(name, value) for name, _, value in (pair.partition("=") for pair in text.split(", ") if pair)]


@pytest.mark.parametrize(("scale", "papers"), PAPERS.items())
def test_its_jobs_are_those_of_snakemake(
    scale: str, papers: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = planned(tmp_path, {"scale": scale, "papers": papers, **FITS})
    monkeypatch.chdir(tmp_path)
    config = {"scale": scale, "papers": papers, "precision": "bfloat16", "cluster": "cluster.yaml", **FITS}
    plan = Plan(read_config(config))
    jobs = Jobs(plan).behind(everything(plan.study))
    assert {(job.rule.name, frozenset(vars(job.wildcards).items())) for job in jobs} == set(theirs)
    check_resources(theirs, scale)


def test_a_named_table_distils_no_student_that_it_does_not_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {"scale": "reduced", "papers": ["minilmv2"]}
    jobs = [job for job in dry_run(tmp_path, config, "reports/minilmv2/table2.html") if job[0] != "all"]
    distilled = [path for rule, said in jobs if "distill" in rule for path in said["output"].split(", ")]
    saved = [said["input"] for rule, said in jobs if rule == "save_student"]
    assert distilled
    assert set(distilled) == set(saved)
    monkeypatch.chdir(tmp_path)
    assert main(["cost", "--config", "config.yaml", "minilmv2/table2"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["minilmv2/table2", str(len(jobs))]


def check_resources(jobs: dict[JobKey, dict[str, str]], scale: str) -> None:
    """Check that each job which a cluster runs asks for time and memory, and for what a partition allows."""
    asked = {job: {name: int(value) for name, value in r.items() if value.isdigit()} for job, r in jobs.items()}
    sent = {job: r for job, r in asked.items() if "runtime" in r}
    assert {rule for rule, _ in sent} >= {"encode_task", "finetune_teacher", "profile_student"}
    limits = [LIMIT if r.get("gpu") else 300 for r in sent.values()] if scale != "pocket" else [LIMIT] * len(sent)
    assert all(20 <= r["runtime"] <= limit for r, limit in zip(sent.values(), limits, strict=True))
    assert all(1000 <= r["mem_mb"] <= 64_000 for r in sent.values())


def test_resources_re_run_nothing(copied: Path) -> None:
    precision = read_config(json.loads((copied / "config.yaml").read_text())).resolved_precision()
    slow = {"flops": 1, "bandwidth": 1, "relations": 1, "start": 1, "threads": 1, "at": "y"}
    measured = {**slow, "device": f"cpu: {processor_name()}", "precision": precision}
    (copied / "results/calibration.json").write_text(json.dumps(measured))
    assert "Nothing to be done" in snakemake(copied, "-n").stdout
    assert "Nothing to be done" in snakemake(copied, "-n", "--config", "micro_batch=64").stdout


def test_a_micro_batch_runs_the_trainings_with_larger_batches_again(copied: Path) -> None:
    said = snakemake(copied, "-n", "--config", "micro_batch=2").stdout
    assert re.search(r"finetune_teacher: schedule\.micro_batch: .* -> 2", said), said
