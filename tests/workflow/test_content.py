"""Tests that content decides what runs: not the place of the user's files, the time of a script, or a late edit."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from retort.data.encoded import Encoded
from retort.job.attempts import RUN
from retort.job.planned_run import VARIABLE, PlannedJob

from tests.conftest import SNAKEFILE, run_snakemake, snakemake
from tests.tiny.edit import change
from tests.tiny.make import make_study
from tests.workflow.test_incremental import planned

pytestmark = pytest.mark.workflow

ENCODED = "results/encoded/mood/encoder"


@pytest.fixture(scope="module")
def encoded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny study of which one task is encoded."""
    folder = make_study(tmp_path_factory.mktemp("encoded"))
    snakemake(folder, ENCODED)
    return folder


def test_a_touched_script_plans_no_job(encoded: Path, repository: Path) -> None:
    for path in (repository / "workflow" / "scripts").glob("*.py"):
        path.touch()
    assert planned(encoded, ENCODED, repository=repository) == ({}, set())


def test_data_that_was_moved_or_touched_re_runs_nothing_and_data_that_was_changed_what_read_it(encoded: Path) -> None:
    (encoded / "texts").rename(encoded / "moved")
    change(encoded / "study", "sources/texts.yaml", "path: texts", "path: moved")
    (encoded / "moved" / "rated.txt").touch()
    assert planned(encoded, ENCODED)[0] == {}
    snakemake(encoded, "results/encoded/rating/encoder")  # needs the files, which are elsewhere now
    path = encoded / "moved" / "rated.txt"
    assert (encoded / "results/sources/texts/rated.txt").resolve() == path
    before = path.read_bytes()
    path.write_bytes(before.replace(b"glad", b"cold"))
    assert planned(encoded, ENCODED)[0] == {"fetch_source": 1, "encode_task": 1}
    path.write_bytes(before)
    assert planned(encoded, ENCODED)[0] == {}


def test_a_job_on_another_machine_reads_the_settings_that_it_was_planned_with(tmp_path: Path) -> None:
    folder = make_study(tmp_path / "study", precision="float32")
    snakemake(folder, "results/sources/texts", "results/sources/encoder")
    run = next(path for path in (folder / "results" / "runs").iterdir() if path.is_dir())
    change(folder / "study", "tasks/mood.yaml", "max_length: 16", "max_length: 4")
    late(folder, run)
    assert longest(folder) > 4
    later = folder / "results/runs/9.jobs"  # another run has planned the job since
    later.write_text(f"{PlannedJob('encode_task:task=mood,tokenizer=encoder')}\n")
    with pytest.raises(AssertionError, match="snakemake was started again since this job was queued"):
        late(folder, run)
    assert longest(folder) > 4  # what that run has made is not deleted
    shutil.rmtree(folder / ENCODED)
    late(folder, None)  # without what the run has frozen, the edit reaches the job
    assert longest(folder) == 4


def late(folder: Path, run: Path | None) -> None:
    """Run a job in a process of its own, as an executor for other machines does."""
    of_run = {VARIABLE: str(run), RUN: min(run.parent.glob("*.jobs")).stem} if run else {}
    done = run_snakemake(
        folder, "--snakefile", SNAKEFILE, "--configfile", "config.yaml", "--cores", "1",
        "--mode", "remote", "--nolock", "--no-hooks", "--force",
        "--target-jobs", "encode_task:task=mood,tokenizer=encoder", "--allowed-rules", "encode_task", **of_run,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def longest(folder: Path) -> int:
    """Return the largest number of tokens of a row that was encoded."""
    return int(max(Encoded.load(folder / ENCODED, "train").lengths))
