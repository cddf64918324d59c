"""Tests of the profile on a real Slurm, if one is running."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT, SNAKEFILE, SNAKEMAKE, read_json, run_snakemake, snakemake
from tests.tiny.make import make_study

pytestmark = pytest.mark.workflow


PROFILE = yaml.safe_load((ROOT / "slurm/config.yaml").read_text())
STUDY = "scale: pocket\nprecision: float32\ncluster: slurm/partitions.yaml\n"  # a small slurm/study.yaml


def running() -> bool:
    """Return True if a Slurm is running that has the partitions of the profile."""
    if shutil.which("sinfo") is None:
        return False
    done = subprocess.run(["sinfo", "-h", "-o", "%R"], capture_output=True, text=True, check=False)
    wanted = set(yaml.safe_load((ROOT / "slurm/partitions.yaml").read_text())["partitions"])
    return done.returncode == 0 and wanted <= set(done.stdout.split())


def resources_of_jobs(folder: Path, *arguments: str) -> list[dict[str, str]]:
    """Return the resources of the jobs that a dry run on the cluster would send there."""
    done = run_snakemake(folder, "--snakefile", SNAKEFILE, "--profile", "slurm", "-n", "-p", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = re.findall(r"^ +resources: (.*)$", done.stdout, flags=re.MULTILINE)
    jobs = [dict(pair.split("=", 1) for pair in line.split(", ")) for line in lines]
    return [job for job in jobs if "runtime" in job]


def test_the_command_line_loses_nothing_that_every_job_asks_for(tmp_path: Path) -> None:
    folder = make_study(tmp_path / "study")
    shutil.copytree(ROOT / "slurm", folder / "slurm")
    place = folder / "slurm/partitions.yaml"
    filled = {"account": "all", "qos": "long", "constraint": "a&b", "gpu_model": "h100"}
    for key, value in filled.items():
        place.write_text(place.read_text().replace(f"{key}: null", f"{key}: {value}"))
    scale = ("--config", "scale=pocket")
    jobs = resources_of_jobs(folder, *scale)
    assert {job["gpu"] for job in jobs} == {"0"}  # as at all scales that are for a CPU
    assert not any("gpu_model" in job for job in jobs)  # Slurm would be asked for no GPU of that type
    assert {job["nodes"] for job in jobs} == {"1"}
    assert {(job["slurm_account"], job["qos"], job["constraint"]) for job in jobs} == {("all", "long", "a&b")}
    jobs = resources_of_jobs(folder, *scale, "--default-resources", "slurm_extra='--mail-type=END'")
    assert {(job["slurm_account"], job["slurm_extra"]) for job in jobs} == {("all", "--mail-type=END")}


def configuration(folder: Path, *arguments: str) -> Any:
    """Return the configuration that a Snakefile sees with the profile and further arguments, next to a config.yaml."""
    shutil.copytree(ROOT / "slurm", folder / "slurm", dirs_exist_ok=True)
    shutil.copy(ROOT / "config.yaml", folder)
    (folder / "reduced.yaml").write_text("scale: reduced\n")
    (folder / "Snakefile").write_text(
        'configfile: "config.yaml"\nimport json, pathlib\npathlib.Path("seen.json").write_text(json.dumps(config))\n'
        "rule all:\n    input: []\n"
    )
    done = run_snakemake(folder, "--dry-run", "--quiet", "all", "--profile", "slurm", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return read_json(folder / "seen.json")


@pytest.mark.parametrize(("arguments", "scale"), [
    ([], "paper"),
    (["--config", "scale=reduced", "papers=[wang2023]"], "reduced"),
    (["--configfile", "slurm/study.yaml", "reduced.yaml"], "reduced"),
])  # fmt: skip
def test_the_command_line_keeps_the_precision_of_the_profile(tmp_path: Path, arguments: list[str], scale: str) -> None:
    seen = configuration(tmp_path, *arguments)
    assert (seen["scale"], seen["precision"]) == (scale, "bfloat16")
    assert seen["study"] == "workflow"


@pytest.mark.skipif(not running(), reason="no Slurm with the profile's partitions is running")
def test_the_study_runs_on_slurm_and_ends_in_the_bytes_of_a_local_run(tmp_path: Path) -> None:
    folder = make_study(tmp_path / "study")
    shutil.copytree(ROOT / "slurm", folder / "slurm")
    local = make_study(tmp_path / "local", precision="bfloat16")  # the precision of the profile, not of the node
    command = [*SNAKEMAKE, "--profile", "slurm", "--config", "scale=pocket"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "reports/index.html").is_file()
    snakemake(local)
    made = contents(folder)
    assert len(made) > 20
    assert made == contents(local)
    for path in sorted(local.glob("results/scores/*/*/*[0-9].json")):
        for there, here in zip(read_json(folder / path.relative_to(local)), read_json(path), strict=True):
            assert all(there[key] == here[key] for key in ("metrics", "status", "settings"))


def contents(folder: Path) -> dict[str, bytes]:
    """Return what a run has made that tells no times: weights, answers, and encoded data."""
    made = [path for path in folder.glob("results/**/*") if path.suffix in (".safetensors", ".arrow")]
    made += folder.glob("results/**/*.answers.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in made}
