"""Tests of what every Slurm job asks for."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yte
from retort.jobs import Job
from retort.plan.slurm_defaults import add_defaults, of_every_job
from retort.specs.cluster import Cluster, Partition
from retort.specs.config import read_config
from snakemake.iocontainers import ResourceList
from snakemake.resources import Resources
from snakemake_executor_plugin_slurm.submit_string import get_submit_command

from tests.conftest import ROOT


def submitted(cluster: Cluster, **resources: Any) -> str:
    """Return the command of the submission of a job."""
    asked = of_every_job(read_config({}), cluster) | resources
    names = ("run_uuid", "slurm_logfile", "comment_str", "account", "partition", "workdir")
    return get_submit_command(
        SimpleNamespace(resources=ResourceList(fromdict=asked), threads=1), dict.fromkeys(names, "name")
    )


@pytest.mark.parametrize(("workers", "filled_in", "cores"), [(None, None, 4), (0, None, 2), (6, None, 8), (6, 12, 12)])
def test_a_gpu_has_cores_for_what_prepares_its_batches(workers: int | None, filled_in: int | None, cores: int) -> None:
    config = read_config({"dataloader_num_workers": workers})
    assert of_every_job(config, Cluster(cpus_per_gpu=filled_in))["cpus_per_gpu"] == cores


def test_a_gpu_has_no_more_cores_than_a_partition_allows() -> None:
    partitions = {"gpu": Partition(max_gpu=2, max_cpus_per_gpu=3)}
    assert of_every_job(read_config({}), Cluster(partitions=partitions))["cpus_per_gpu"] == 3


def test_the_processes_that_prepare_batches_are_those_of_a_job() -> None:
    beside = Job.num_workers.fget(SimpleNamespace(device="cuda", dataloader_num_workers=None))  # type: ignore[attr-defined]
    assert beside == read_config({}).workers(gpu=True)


def test_jobs_without_a_gpu_have_the_cores_of_their_rule() -> None:
    assert "--cpus-per-gpu=4" in submitted(Cluster(), gpu=1)
    assert "--cpus-per-task=1" in submitted(Cluster())
    assert "--cpus-per-gpu" not in submitted(Cluster())
    assert "--nodes=1" in submitted(Cluster())


def test_what_is_filled_in_is_asked_for() -> None:
    command = submitted(Cluster(qos="long", constraint="a&b"))
    assert "--qos=long" in command
    assert "-C 'a&b'" in command
    assert "--qos" not in submitted(Cluster())


def test_default_resources_of_the_user_stay() -> None:
    settings = SimpleNamespace(_parsed_default_resources=Resources.parse(["qos=short"], allow_expressions=True))
    add_defaults(settings, read_config({}), Cluster(qos="long", account="all"))
    passed = settings._parsed_default_resources.args
    assert "qos=short" in passed
    assert "slurm_account='all'" in passed  # not Python's function


@pytest.mark.parametrize(
    "text",
    [
        "partitions: {}", "", "a", "[in_turn]", "in_turn: null", "in_turn: [encode_task]", "in_turn: a",
        "in_turn: {encode_task: 3}", "in_turn: {3: a}", "in_turn: [", None,
    ],
)  # fmt: skip
def test_the_profile_leaves_mistakes_in_partitions_to_the_workflow(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slurm").mkdir()
    profile = (ROOT / "slurm/config.yaml").read_text()
    if text is not None:
        (tmp_path / "slurm/partitions.yaml").write_text(text)
    assert "groups" not in yte.process_yaml(profile, require_use_yte=True)
    (tmp_path / "slurm/partitions.yaml").write_text("in_turn: {encode_task: e}")
    assert yte.process_yaml(profile, require_use_yte=True)["groups"] == {"encode_task": "e"}
