"""Where a number comes from: commit, code, package versions and device, written into every result."""

from __future__ import annotations

import ast
import contextlib
import datetime
import functools
import hashlib
import platform
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from retort import machine, own_code

PACKAGE = Path(__file__).resolve().parent
SCRIPTS, OBJECTIVES = PACKAGE.parent / "scripts", PACKAGE / "objectives"
# folders of the package on which no result depends: they check, compare, print and foretell costs
APART = ("audit", "cli", "cost", "judgement", "report", "results", "run", "tables")
PRINTING = ("audit", "judgement", "report", "results", "tables")  # those of APART that print tables, figures, pages
PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "scikit-learn", "scipy", "snakemake")


@functools.cache
def commit(objectives: frozenset[str] = frozenset()) -> str:
    """Return the git commit of the code, as it was at the first call in this process.

    It ends with '+changes' if a file on which results depend differs from the commit, or if git does not know it. It is
    'unknown' outside a git repository, and where git refuses the folder of another user, which it then says.

    Args:
        objectives: the objectives that are used; the files of others do not count, nor do those of the study.
    """
    others = _registering(own_code.folders()).keys() - _used_files(objectives)
    unused = [f"objectives/{path.name}" for path in others if path.parent == OBJECTIVES]
    paths = [".", str(SCRIPTS), *(f":(exclude){name}" for name in (*APART, *unused))]
    try:
        head = _git("rev-parse", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=all", "--", *paths)
    except (OSError, subprocess.CalledProcessError) as error:
        why = " (git finds the ownership of its folder dubious: git config --global --add safe.directory FOLDER)"
        return "unknown" + why * ("dubious ownership" in str(getattr(error, "stderr", "")))
    return head + ("+changes" if changed else "")


def _git(*arguments: str) -> str:
    """Return the output of a git command in the folder of the package."""
    done = subprocess.run(["git", *arguments], cwd=PACKAGE, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@functools.cache
def code(objectives: frozenset[str] = frozenset()) -> str:
    """Return the digest of the code on which a result depends, as it was at the first call in this process.

    The first word is the digest of the files on which every result depends. A word such as 'hidden:1f2e3d4c' follows
    for each file of objectives that are used, and one such as 'objectives/absolute:5a6b7c8d' for one of the study: a
    new file of objectives leaves the results of all others as they are.
    """
    every = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in APART]
    files = sorted(f"{_word(path)}:{_digest([path])[:8]}" for path in _used_files(objectives))
    shared = set(every) - _registering(own_code.folders()).keys()
    return " ".join([_digest([*shared, *SCRIPTS.glob("*.py")]), *files])


def _word(path: Path) -> str:
    return path.stem if path.parent == OBJECTIVES else own_code.name_of(path)


def are_different(codes: Iterable[str]) -> bool:
    """Return whether some digests of `code` are of several states of the code: a file that two of them used differs."""
    states = defaultdict[str, set[str]](set)
    for shared, *files in map(str.split, codes):
        states[""].add(shared)
        for name, _, digest in (file.partition(":") for file in files):
            states[name].add(digest)
    return any(len(digests) > 1 for digests in states.values())


def objectives_in(settings: object) -> frozenset[str]:
    """Return the objectives, and metrics of the study, whose names stand anywhere in the settings of a job, as JSON."""
    words = set(re.findall(r"[\w-]+", str(settings)))
    return frozenset(words & {name for names, _ in _registering(own_code.folders()).values() for name in names})


@functools.cache
def _registering(_: tuple[str, ...]) -> dict[Path, tuple[frozenset[str], list[Path]]]:
    """Return path -> (names, imported files of objectives) of each file that registers some, as at the first call.

    The names are those of objectives, and of metrics of the study. Settings name the metric that chooses from a grid;
    tables compute all metrics anew, from the answers. Mappings do not count, as settings hold the pairs of layers that
    they return.
    """
    paths = (*OBJECTIVES.glob("*.py"), *own_code.files("objectives"), *own_code.files("metrics"))
    trees = {path: own_code.syntax_tree(path) for path in paths}
    read = {path: (own_code.registered_names(tree), _imported_objectives(tree)) for path, tree in trees.items()}
    return {path: (names, imported) for path, (names, imported) in read.items() if names}


def _imported_objectives(tree: ast.Module) -> list[Path]:
    """Return the files of objectives that a module imports, wherever in it and under whatever name."""
    names = [
        f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    parts = [name.split(".") for name in names if name.startswith("retort.objectives.")]
    return [OBJECTIVES / f"{file}.py" for _, _, file, *_ in parts]


def _used_files(objectives: frozenset[str]) -> set[Path]:
    """Return the files that register some objectives, and those of objectives that these import."""
    files, used = _registering(own_code.folders()), set[Path]()
    ahead = [path for path, (names, _) in files.items() if objectives & names]
    while ahead:
        if (path := ahead.pop()) in files and path not in used:
            used.add(path)
            ahead += files[path][1]
    return used


def digest_code() -> str:
    """Return a digest of all files of the package as they are now, also of those on which no result depends."""
    return _digest([*PACKAGE.rglob("*.py"), *SCRIPTS.glob("*.py")])


def digest_printing() -> str:
    """Return a digest of the code that prints, with its templates and styles."""
    files = (path for room in PRINTING for path in (PACKAGE / room).rglob("*") if path.is_file())
    own = (path for kind in ("tables", "figures") for path in own_code.files(kind))
    return _digest(path for path in (*files, *own) if path.suffix not in (".md", ".pyc"))


def _digest(files: Iterable[Path]) -> str:
    """Return a digest of the names and the content of some files."""
    digest = hashlib.sha256()
    for path in sorted(files):
        name = path.relative_to(PACKAGE.parent) if path.is_relative_to(PACKAGE.parent) else own_code.name_of(path)
        digest.update(f"{name}\0{path.stat().st_size}\0".encode())
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
    return machine.cpu_info("model name") or platform.processor() or platform.machine()


def device_name(device: str) -> str:
    """Return a device with its name, such as 'cuda: NVIDIA A100-SXM4-40GB', for 'cpu' or 'cuda'."""
    if device == "cuda":
        import torch

        return f"{device}: {torch.cuda.get_device_name()}"
    return f"{device}: {processor_name()}"


def run_environment(device: str, threads: int, objectives: frozenset[str] = frozenset()) -> dict[str, object]:
    """Return commit, code, versions, device, number of threads and the time now (UTC), to be stored in a result."""
    return {
        "commit": commit(objectives),
        "code": code(objectives),
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
