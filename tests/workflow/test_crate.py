"""The archive of a run, made by its rule, unpacked elsewhere and run there."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from tests.conftest import snakemake

pytestmark = pytest.mark.workflow


def test_the_archive_runs_where_it_is_unpacked(copied: Path, tmp_path: Path) -> None:
    unpacked, table = tmp_path / "unpacked", "results/tables/tiny/table1.csv"
    snakemake(copied, "reports/ro-crate.zip")
    with zipfile.ZipFile(copied / "reports/ro-crate.zip") as packed:
        packed.extractall(unpacked)
    for source in ("texts", "encoder"):
        shutil.copytree(copied / source, unpacked / source)
    snakemake(unpacked, table, "--forcerun", "make_table", repository=unpacked)
    assert (unpacked / table).read_bytes() == (copied / table).read_bytes()
    assert not (unpacked / "results/students").exists()  # the table is made again from the scores of the archive
