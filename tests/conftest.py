"""Fixtures that several tests share; everything is made on the spot."""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tensors are tiny: threads would wait for each other, not work

import torch

os.environ.setdefault("TRITON_INTERPRET", "0" if torch.cuda.is_available() else "1")  # Triton reads it when imported

import pytest
import snakemake as snakemake_package
from filelock import FileLock
from retort import own_code
from retort.job import attempts, fork_client, forkserver, planned_run
from retort.specs.config import Config
from retort.study.load import open_whole
from retort.study.study import Study

from tests.tiny.make import STUDY, make_encoder, make_study, make_texts

ROOT = Path(__file__).resolve().parent.parent
WORKFLOW = ROOT / "tests" / "workflow"
SNAKEFILE = str(ROOT / "Snakefile")
SNAKEMAKE = [sys.executable, "-m", "snakemake", "--snakefile", SNAKEFILE]
DATA = Path(os.environ.get("RETORT_DATA") or ROOT.parent / "shared" / "data")  # the benchmarks as released
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes would compile the package, each for itself
sys.dont_write_bytecode = False  # the variable was read before
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "workflow"), os.environ.get("PYTHONPATH")]))


@functools.cache
def whole_study(scale: str = "pocket") -> Study:
    """Return the study of every paper of the repository, as its files have it; no test changes it."""
    return open_whole(Config(scale=scale, precision="float32"))


def needs_data(name: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test where the released files of a benchmark are not."""
    return pytest.mark.skipif(not (DATA / name).is_dir(), reason=f"the files of {name} are not here (RETORT_DATA)")


@pytest.fixture(autouse=True)
def of_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start each test outside any run of the workflow, and leave none behind: a run names itself in the environment."""
    for variable in (planned_run.VARIABLE, planned_run.DECIDED, attempts.RUN, own_code.VARIABLE):
        monkeypatch.setenv(variable, "")  # so that it is unset again at the end
        monkeypatch.delenv(variable)


@pytest.fixture
def study_folder(tmp_path: Path) -> Path:
    """Return a copy of the tiny study's YAML files, which a test may break."""
    shutil.copytree(STUDY, tmp_path / "study")
    return tmp_path / "study"


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a random encoder of 4 layers with hidden size 24."""
    folder = tmp_path_factory.mktemp("encoder")
    make_encoder(folder)
    return folder


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a rated-text file."""
    folder = tmp_path_factory.mktemp("texts")
    make_texts(folder)
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first where several processes share them: the rehearsal, the workflow, then slow ones."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        marked = [{item.path for item in items if item.get_closest_marker(mark)} for mark in ("workflow", "slow")]
        items.sort(key=lambda item: (item.path.stem != "test_rehearsal", *(item.path not in paths for paths in marked)))


def pytest_collection_finish() -> None:
    """Look rarely for garbage, and never among the objects of imported modules: that takes a fifth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


# what Snakemake and the Snakefile import before any job runs
PLANNING = (
    "snakemake.cli", "snakemake.report", "smart_open", "rich.columns", "yte", "retort.run.dry_run",
    "retort.run.repairs", "retort.run.screen", "retort.run.workflow", "retort.report.index",
    "retort.results.verification",
)  # fmt: skip


SERVERS: dict[str, str] = {}  # what a server of forks has imported -> its address


def pytest_configure_node(node: Any) -> None:
    """Start the servers of forks once for all processes that share the tests; this one outlives the others."""
    asked = {Path(argument.partition("::")[0]).resolve() for argument in node.config.args}
    server_of(*PLANNING)
    if not asked.isdisjoint([WORKFLOW, *WORKFLOW.parents]):
        server_of_jobs()
    node.workerinput["servers"] = SERVERS


def pytest_configure(config: pytest.Config) -> None:
    """Take over the servers of the process that shares out the tests."""
    SERVERS.update(getattr(config, "workerinput", {}).get("servers", {}))


def server_of(*preloaded: str) -> str:
    """Return the address of the server whose forks have imported these modules; start it where there is none."""
    name = " ".join(preloaded)
    if name not in SERVERS:
        forkserver.start(preloaded)
        SERVERS[name] = os.environ.pop(fork_client.ADDRESS)
    return SERVERS[name]


def server_of_jobs() -> str:
    """Return the address of the server whose forks are the jobs of all runs."""
    return server_of(*forkserver.PRELOADED)


def snakemake(
    folder: Path, *arguments: str, check: bool = True, repository: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Run the Snakefile of the repository, or of a copy, in `folder`; return the finished process, with its output."""
    paths = os.pathsep.join([str(repository / "workflow"), os.environ["PYTHONPATH"]])
    done = run_snakemake(
        folder, "--snakefile", str(repository / "Snakefile"), "--directory", str(folder),
        "--configfile", str(folder / "config.yaml"), "--cores", "2", *arguments,
        **{fork_client.ADDRESS: server_of_jobs(), "PYTHONPATH": paths},
    )  # fmt: skip
    if check and done.returncode:
        raise AssertionError(
            f"snakemake {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done


def run_snakemake(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Snakemake in a folder, in a fork of a process that has imported it; return what became of it."""
    with contextlib.ExitStack() as opened:
        streams = [opened.enter_context(tempfile.TemporaryFile("w+")) for _ in range(3)]
        watcher = opened.enter_context(socket.socket(socket.AF_UNIX))
        command = begin_snakemake(watcher, [stream.fileno() for stream in streams], folder, *arguments, **environment)
        status = int(watcher.recv(3) or 1)
        said = [stream.seek(0) or stream.read() for stream in streams[1:]]
    return subprocess.CompletedProcess(command, status, *said)


def begin_snakemake(
    watcher: socket.socket, streams: list[int], folder: Path, *arguments: str, **environment: str
) -> list[str]:
    """Begin a run of Snakemake in such a fork, with standard input, output and error; return its command."""
    command = [f"{Path(snakemake_package.__file__).parent}/__main__.py", *arguments]
    variables = os.environ | environment
    path = [*variables["PYTHONPATH"].split(os.pathsep), *sys.path]
    assert fork_client.begins(watcher, server_of(*PLANNING), streams, command, path, str(folder), variables)
    return command


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the folder of a tiny study that has been run from end to end.

    Where several processes share the tests, the first that asks runs it, and each gets a copy of its own.
    """
    if worker_id == "master":
        return run_through(tmp_path_factory.mktemp("finished"))
    shared = tmp_path_factory.getbasetemp().parent / "finished"  # the folder of all processes of this run of pytest
    with FileLock(f"{shared}.lock"):
        if not (shared / "reports/index.html").exists():
            run_through(shared)
    return copy_study(shared, tmp_path_factory.mktemp("copied") / "finished")


def run_through(folder: Path) -> Path:
    """Make the tiny study in a folder, run it from end to end, and return the folder."""
    snakemake(make_study(folder))
    return folder


def copy_study(folder: Path, copy: Path) -> Path:
    """Copy the folder of a study and its results, and return the copy."""
    shutil.copytree(folder, copy, symlinks=True)
    config = read_json(copy / "config.yaml")
    (copy / "config.yaml").write_text(json.dumps({**config, "study": str(copy / "study")}))
    return copy


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    """Return the folder of a copy of the finished tiny study, which a test may change."""
    return copy_study(finished, tmp_path / "copied")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a copy of the Snakefile and of the workflow, which a test may change."""
    copy = tmp_path / "repository"
    shutil.copytree(ROOT / "workflow", copy / "workflow")  # with what is compiled, which saves seconds
    for name in ("Snakefile", "config.yaml"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "envs", copy / "envs")
    shutil.copy(ROOT / "profiles", copy, follow_symlinks=False)
    return copy


def read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    return json.loads(path.read_text())
