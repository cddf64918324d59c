"""Where a number comes from: commit, package versions and device, written into every result."""

from __future__ import annotations

import datetime
import functools
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "scikit-learn", "scipy", "snakemake")


@functools.cache
def commit() -> str:
    """Return the commit of the code.

    It ends with '+changes' if tracked files differ from the commit, and is 'unknown' outside git.
    """
    here = Path(__file__).resolve().parent
    try:
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = subprocess.run(
            ["git", "status", "--porcelain", "--untracked-files=no"],
            cwd=here,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+changes" if changed else "")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages on which numbers depend."""
    installed = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed


@functools.cache
def processor() -> str:
    """Return the name of this machine's CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def stamp(device: str, threads: int) -> dict[str, Any]:
    """Return what a result was made with: commit, versions, device, number of threads, and the time now (UTC)."""
    name = processor()
    if device == "cuda":
        import torch

        name = torch.cuda.get_device_name()
    return {
        "commit": commit(),
        "versions": versions(),
        "device": f"{device}: {name}",
        "threads": threads,
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
