"""Where a number comes from: commit, code, package versions and device, written into every result."""

from __future__ import annotations

import datetime
import functools
import hashlib
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from retort import machine

PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "scikit-learn", "scipy", "snakemake")


@functools.cache
def commit() -> str:
    """Return the commit of the code, as it was when this process first asked.

    It ends with '+changes' if tracked files differ from the commit, or if git does not know a file of the package; it
    is 'unknown' outside git.
    """
    here = Path(__file__).resolve().parent
    try:
        head = _git(here, "rev-parse", "HEAD")
        changed = _git(here, "status", "--porcelain", "--untracked-files=no")
        unknown = _git(here, "status", "--porcelain", "--untracked-files=all", "--", ".", "../scripts")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+changes" if changed or unknown else "")


def _git(folder: Path, *arguments: str) -> str:
    """Return what a command of git prints."""
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@functools.cache
def code() -> str:
    """Return a digest of the package's own files, as they were when this process first asked.

    Two runs of the same commit differ in it if a file was changed and not committed, or added.
    """
    here, digest = Path(__file__).resolve().parent, hashlib.sha256()
    for path in sorted([*here.rglob("*.py"), *(here.parent / "scripts").glob("*.py")]):
        digest.update(f"{path.relative_to(here.parent)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


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


def device_name(device: str) -> str:
    """Return a device, 'cpu' or 'cuda', with the name of the one that this process uses."""
    if device == "cuda":
        import torch

        return f"{device}: {torch.cuda.get_device_name()}"
    return f"{device}: {processor()}"


def stamp(device: str, threads: int) -> dict[str, Any]:
    """Return what a result was made with: commit, code, versions, device, number of threads, and the time now (UTC)."""
    return {
        "commit": commit(),
        "code": code(),
        "versions": versions(),
        "device": device_name(device),
        "threads": threads,
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def memory(device: str) -> dict[str, int]:
    """Return the most memory that this process has held so far, in MB, on the machine and on a GPU that it uses."""
    held = {"max_rss_mb": round(machine.max_rss_mb())}
    if device == "cuda":
        import torch

        held["max_gpu_mb"] = round(torch.cuda.max_memory_allocated() / 1024**2)
    return held
