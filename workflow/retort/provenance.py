"""Where a number comes from: commit, code, package versions and device, written into every result."""

from __future__ import annotations

import contextlib
import datetime
import functools
import hashlib
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from retort import machine

PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "scikit-learn", "scipy", "snakemake")


@functools.cache
def commit() -> str:
    """Return the git commit of the code, as it was at the first call in this process.

    It ends with '+changes' if tracked files differ from the commit, or if git does not know a file of the package. It
    is 'unknown' outside a git repository, and where git refuses the folder of another user, which it then says.
    """
    here = Path(__file__).resolve().parent
    try:
        head = _git(here, "rev-parse", "HEAD")
        changed = _git(here, "status", "--porcelain", "--untracked-files=no")
        unknown = _git(here, "status", "--porcelain", "--untracked-files=all", "--", ".", "../scripts")
    except (OSError, subprocess.CalledProcessError) as error:
        why = " (git finds the ownership of its folder dubious: git config --global --add safe.directory FOLDER)"
        return "unknown" + why * ("dubious ownership" in str(getattr(error, "stderr", "")))
    return head + ("+changes" if changed or unknown else "")


def _git(folder: Path, *arguments: str) -> str:
    """Return the output of a git command."""
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@functools.cache
def code() -> str:
    """Return the digest of the package's own files, as they were at the first call in this process."""
    return digest_code()


def digest_code() -> str:
    """Return a digest of the package's own files as they are now.

    Unlike the commit, it also changes with files that are not committed.
    """
    here, digest = Path(__file__).resolve().parent, hashlib.sha256()
    for path in sorted([*here.rglob("*.py"), *(here.parent / "scripts").glob("*.py")]):
        digest.update(f"{path.relative_to(here.parent)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages on which numbers depend."""
    installed = {"python": platform.python_version()}
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed


@functools.cache
def processor_name() -> str:
    """Return the name of this machine's CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def device_name(device: str) -> str:
    """Return a device with its name, such as 'cuda: NVIDIA A100-SXM4-40GB', for 'cpu' or 'cuda'."""
    if device == "cuda":
        import torch

        return f"{device}: {torch.cuda.get_device_name()}"
    return f"{device}: {processor_name()}"


def run_environment(device: str, threads: int) -> dict[str, object]:
    """Return commit, code, versions, device, number of threads and the time now (UTC), to be stored in a result."""
    return {
        "commit": commit(),
        "code": code(),
        "versions": versions(),
        "device": device_name(device),
        "threads": threads,
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def peak_memory(device: str) -> dict[str, int]:
    """Return the peak memory of this process in MB: RAM, and GPU memory if the device is 'cuda'."""
    held = {"max_rss_mb": round(machine.max_rss_mb())}
    if device == "cuda":
        import torch

        held["max_gpu_mb"] = round(torch.cuda.max_memory_allocated() / 1024**2)
    return held
