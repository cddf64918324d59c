"""Tests of the memory that a job has held, which its result says."""

from __future__ import annotations

import os
import subprocess
import sys

SOURCE = """
from retort.provenance import memory
before = memory("cpu")["max_rss_mb"]
filled = b"1" * (200 * 1024**2)
held = memory("cpu")["max_rss_mb"]
del filled
print(before, held, memory("cpu")["max_rss_mb"])
"""


def test_the_most_memory_is_remembered() -> None:
    """Ask a process of its own, for this one has held much more."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run([sys.executable, "-c", SOURCE], capture_output=True, text=True, check=True, env=environment)
    before, held, after = map(int, said.stdout.split())
    assert 5 < before < 200 <= held < before + 260
    assert after == held
