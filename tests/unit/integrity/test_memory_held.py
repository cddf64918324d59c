"""Tests of the memory that a job has held, which its result says."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys

import pytest

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
SOURCE = """
from retort.provenance import peak_memory
before = peak_memory("cpu")["max_rss_mb"]
filled = b"1" * (200 * 1024**2)
held = peak_memory("cpu")["max_rss_mb"]
del filled
print(before, held, peak_memory("cpu")["max_rss_mb"])
"""
STEPS = """
{prepare}
for _ in range(20):
    bytes(range(256)) * 2**18  # 64 MB, freed at once
"""


def test_the_most_memory_is_remembered() -> None:
    """Ask a process of its own, for this one has held much more."""
    said = subprocess.run([sys.executable, "-c", SOURCE], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    before, held, after = map(int, said.stdout.split())
    assert 5 < before < 200 <= held < before + 260
    assert abs(after - held) <= 2  # the kernel adds up the counts of its processors now and then


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the GNU C library alone returns freed blocks at once")
def test_a_job_takes_its_memory_from_the_system_once() -> None:
    def page_faults(prepare: str) -> int:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
        subprocess.run([sys.executable, "-c", STEPS.format(prepare=prepare)], check=True, env=ENVIRONMENT)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before

    kept = page_faults("from retort.machine import keep_freed_memory; keep_freed_memory()")
    assert kept < page_faults("import retort.machine") / 3
