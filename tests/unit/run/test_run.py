"""Tests of a run of Snakemake: what it keeps for its jobs, and what it does at its beginning and its end."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from retort.cost.cluster import read_cluster
from retort.errors import RetortError
from retort.job import attempts, forkserver, planned_run
from retort.job.context import job
from retort.job.locks import hold_claim
from retort.job.planned_run import PlannedJob
from retort.run import run_folder as run
from retort.run.workflow import FIRST, Run
from retort.specs.config import read_config
from snakemake.iocontainers import Wildcards

from tests.rule_job import rule_job
from tests.tiny.make import make_encoder, make_texts


@pytest.fixture
def config(study_folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Work in a folder with the tiny study and its texts and encoder; return the configuration."""
    monkeypatch.chdir(study_folder.parent)
    make_texts(Path("texts"))
    make_encoder(Path("encoder"))
    return {"papers": ["tiny"], "study": str(study_folder), "precision": "float32"}


def test_jobs_read_what_the_run_was_planned_with(config: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert (planned_run.is_job(), planned_run.configuration()) == (False, {})
    cluster = Path("cluster.yaml")
    cluster.write_text("gpu_memory_gb: 40")
    config["cluster"] = str(cluster)
    checked = read_config(config)
    files = run.files_of(checked)
    cluster.write_text("gpu_memory_gb: [")
    protocol = Path(config["study"], "protocols", "short.yaml")
    before = protocol.read_text()
    protocol.write_text("broken: [")
    run.begin(config, checked, files)
    planned = read_config(planned_run.configuration())
    assert planned_run.is_job()
    (copy,) = planned.study_folders
    assert (copy.name, (copy / "protocols" / "short.yaml").read_text()) == ("study", before)
    assert read_cluster(planned.cluster).gpu_memory_gb == 40
    here = rule_job(config=dict(config))
    with job(here):
        assert here.config["study"] == [str(copy)]
    monkeypatch.setenv(planned_run.VARIABLE, "results/runs/gone")
    with pytest.raises(RetortError, match=r"results/runs/gone/config.json, with which this job was planned, cannot be"):
        planned_run.configuration()


def test_what_runs_have_kept_is_deleted_a_month_later_unless_one_is_at_work(config: dict[str, Any]) -> None:
    old = run.FOLDER / "old"
    old.mkdir(parents=True)
    os.utime(old, (1, 1))
    with hold_claim(run.LOCKS / f"{run.CLAIM}1-another", "a run"):
        run.begin(config, read_config(config), {})
    assert old.exists()
    run.begin(config, read_config(config), {})
    assert not old.exists()


def test_jobs_of_a_workflow_that_is_a_module_plan_the_same_without_the_hooks_of_a_run(config: dict[str, Any]) -> None:
    main = Run(dict(config), {}, is_dry=False)
    assert not main.is_job
    planned = Run({**config, "companions": {}}, {}, is_dry=False)  # in a process that the main one has started
    assert planned.is_job
    for key in ("companions", "run_sources", "seeds_divided", "licences"):
        assert planned.config[key] == main.config[key]
    assert main.config["run_sources"]["precision"] == "float32"


def test_a_job_that_a_later_run_has_planned_ends(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run.claim(run.RunWork())
    first = os.environ[attempts.RUN]
    run.claim(run.RunWork(frozenset({PlannedJob("train:part=1,task=a")})))
    own = ["snakemake", "--target-jobs", "encode:task=a", "train:task=a,part=1", "--cores", "1"]
    planned_run.check_latest(own)
    monkeypatch.setenv(attempts.RUN, first)
    planned_run.check_latest(own[:3])
    with pytest.raises(RetortError, match="^snakemake was started again since this job was queued; the new run has a"):
        planned_run.check_latest(own)


def test_what_is_asked_for_by_name_without_its_data_has_the_known_reason(config: dict[str, Any]) -> None:
    shutil.rmtree("texts")
    ask = Run(config, {}, is_dry=False).plan.at("distillations", "student", "task")
    with pytest.raises(
        RetortError, match="^nothing runs for tiny-attention, mood; source texts is not there: its fold"
    ):
        ask(Wildcards(fromdict={"student": "tiny-attention", "task": "mood"}))


def test_pages_that_are_made_anew_have_a_server_of_forks(
    config: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    began: list[Any] = []
    monkeypatch.setattr("retort.job.forkserver.start", began.append)
    main = Run(dict(config), {}, is_dry=False)
    for name in ("table1", "table2", "table3", "table4"):
        path = Path(f"results/tables/tiny/{name}.csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    planned = [
        SimpleNamespace(rule=SimpleNamespace(name="make_table"), wildcards={"paper": "tiny", "table": name}, input=(),
                        output=[f"results/tables/tiny/{name}.csv"], temp_output=(),
                        log=[f"results/logs/make_table/tiny.{name}.log"])
        for name in ("table1", "table2", "table3", "table4")
    ]  # fmt: skip
    main.begin({"results/sources/texts"}, planned[:2])
    assert began == []
    main.begin({"results/sources/texts"}, planned)
    assert began == [forkserver.PRELOADED]  # the source is fetched, too


def test_a_run_that_is_refused_deletes_no_stored_activations(
    config: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = Path("results/activations/tiny-teacher/mood/1")
    left.mkdir(parents=True)
    with monkeypatch.context() as refused:
        refused.setattr("retort.run.workflow.mark_scale", Mock(side_effect=RetortError("another scale")))
        with pytest.raises(RetortError, match="another scale"):
            Run(dict(config), {}, is_dry=False).begin({"results/sources/texts"})
    assert left.exists()
    Run(dict(config), {}, is_dry=False).begin({"results/sources/texts"})
    assert not left.exists()


def test_a_job_plans_what_the_run_has_planned(config: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    began: list[str] = []
    monkeypatch.setattr("retort.job.forkserver.start", lambda preloaded: began.append("a server"))
    main = Run(config, {}, is_dry=False)
    main.begin({"results/sources/texts"})
    assert began == []  # the start of a server would take longer than it saves
    main.begin(set())
    assert began == ["a server"]
    Path(config["study"], "protocols", "short.yaml").write_text("broken: [")
    (Path("texts") / "rated.txt").unlink()
    of_job = Run({"papers": []}, {}, is_dry=False)
    assert of_job.is_job
    assert vars(of_job.plan.settings) == vars(main.plan.settings)
    assert of_job.everything == main.everything
    assert (of_job.plan.groups, of_job.plan.config.seeds_divided) == (main.plan.groups, main.plan.config.seeds_divided)
    planned = [
        {job.key: list(filter(one.jobs.at, job.inputs)) for job in one.jobs.behind(one.everything)}
        for one in (of_job, main)
    ]
    assert planned[0] == planned[1]
    assert len(planned[0]) > 20
    of_job.fail(set())  # the run itself says what failed


def test_what_the_first_table_needs_comes_first(config: dict[str, Any]) -> None:
    main = Run(config, {}, is_dry=True)

    def priority(rule: str, **wildcards: str) -> int:
        return main.priority(rule)(Wildcards(fromdict=wildcards))

    assert priority("make_table", table="table1", paper="tiny") == FIRST
    assert priority("distill_on_task", student="tiny-kd", task="mood", seeds="1-2") == FIRST
    assert priority("finetune_teacher", teacher="tiny-teacher", task="mood", seeds="1") == FIRST
    assert priority("make_table", table="table4", paper="tiny") == 0
    assert priority("finetune_student", student="tiny-predicting", task="mood", seeds="1-2") == 0
