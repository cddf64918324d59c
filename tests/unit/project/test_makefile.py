"""Tests of what make does and says on other machines; a program that stands for Python says what pip would."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

PYTHON = r"""#!/bin/sh
case "$*" in
*'-c import sys'*) exit "${TOO_OLD:-0}" ;;
*'-c import ensurepip'*) exit "${NO_VENV:-0}" ;;
'-m venv '*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
*'pip'*' config list') echo "$CONFIGURED" ;;
*'pip'*' install '*) echo "$PIP_USER: $*" >>asked; printf '%s\n' "$SAYS"; [ -z "$SAYS" ] ;;
esac
"""
OLD_RETRY = (
    "WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken "
    "by 'NewConnectionError('<HTTPSConnection object>: Failed to establish a new connection: [Errno -3] Temporary "
    "failure in name resolution')': /simple/yte/\n"
)
NEW_RETRY = OLD_RETRY.replace("NewConnectionError", "NameResolutionError")
NONE = "ERROR: Could not find a version that satisfies the requirement yte==1.9.4 (from versions: none)\n"
OTHERS = NONE.replace("none", "1.9.1, 1.9.2")
LAST = "ERROR: No matching distribution found for yte==1.9.4"
TWO = "Looking in indexes: one, another\n"
DISK = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device: 'libtorch.so'"
BUILD = """  Building wheel for immutables (pyproject.toml): finished with status 'error'
  error: subprocess-exited-with-error
      error: command 'x86_64-linux-gnu-gcc' failed: No such file or directory
      [end of output]
  ERROR: Failed building wheel for immutables
"""
ANOTHER = " (to try another Python: rm -r .venv, then make install PYTHON=python3.13)"
COMPILER = (
    "immutables has no wheel for this Python; to build it, install a C compiler and the headers of Python, "
    "on Debian and Ubuntu with: apt install gcc python3-dev" + ANOTHER
)
CAUSES = {
    "no network": (OLD_RETRY * 5 + NONE + LAST, "no package index answers"),
    "no network, newer pip": (NEW_RETRY * 5 + NONE + LAST, "no package index answers"),
    "missing": (OTHERS + LAST, "the package index has no yte==1.9.4 for this Python and platform" + ANOTHER),
    "one dead": (
        TWO + OLD_RETRY + OTHERS + LAST,
        "a package index does not answer, and no other has yte==1.9.4 for this Python and platform",
    ),
    "one dead, the first package": (
        TWO + OLD_RETRY + NONE + LAST,
        "a package index does not answer, and no other has yte==1.9.4 for this Python and platform",
    ),
    "the index ends on the way": (
        "Collecting POT==0.9\n  Downloading POT-0.9.whl (38 kB)\n" + OLD_RETRY + NONE + LAST,
        "a package index does not answer, and no other has yte==1.9.4 for this Python and platform",
    ),
    "disk": (DISK, "no space is left for .venv, for the cache of pip, or for temporary files (TMPDIR)"),
    "compiler": (BUILD + "ERROR: Could not build wheels for immutables, which is required to install", COMPILER),
    "compiler, newer pip": (
        BUILD + "error: failed-wheel-build-for-install\n\n× Failed to build installable wheels\n╰─> immutables",
        COMPILER,
    ),
    "anything else": (
        "Collecting POT==0.9\nERROR: Some thing of pip's own.\n\n[notice] A new release",
        "Some thing of pip's own.",
    ),
    "killed": ("Collecting POT==0.9", "an installation failed"),
}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a folder, with a space in its path, that has what the Makefile needs to install."""
    folder = tmp_path / "my work"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, folder)
    (folder / "any python").write_text(PYTHON)
    (folder / "any python").chmod(0o755)
    return folder


def make(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run make in a folder, outside any other make, and return the finished process."""
    environment = {
        name: value for name, value in os.environ.items() if not re.match("MAKE|MFLAGS|PIP_|CORES|VENV", name)
    }
    variables = {"XDG_CACHE_HOME": str(folder.parent / "cache")} | variables
    command = ["make", "PYTHON=./any python", *arguments]
    return subprocess.run(command, cwd=folder, env=environment | variables, capture_output=True, text=True, check=False)


def test_it_installs_the_lock_and_then_the_project_into_a_path_with_a_space(clone: Path) -> None:
    done = make(clone, "install", PIP_USER="1")
    assert done.returncode == 0, done.stderr
    asked = (clone / "asked").read_text().splitlines()
    assert [line.rpartition("install ")[2] for line in asked] == [
        "-r requirements.lock",
        "--no-deps --no-build-isolation -e .",
    ]
    assert all(line.startswith("0: ") for line in asked)  # a user's own setting would install elsewhere
    assert make(clone, "--question", "install").returncode == 0


def test_the_guides_become_a_site_by_an_environment_of_its_own(clone: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=clone, check=True)
    done = make(clone, "docs")
    assert done.returncode == 0, done.stderr
    assert [line.rpartition("install ")[2] for line in (clone / "asked").read_text().splitlines()] == ["mkdocs>=1.6,<2"]
    assert (clone / ".venv-docs/pip.log").exists()
    assert not (clone / ".venv").exists()
    assert (clone / "build/guides/pyproject.toml").exists()
    assert "-m mkdocs build --strict" in done.stdout


def test_the_environment_stands_where_snakemake_can_call_its_python(clone: Path) -> None:
    assert make(clone, "install").returncode == 0
    environment = (clone / ".venv").resolve()
    assert environment.parent == clone.parent / "cache/retort"
    assert 'PATH="$(readlink -f ".venv")/bin:$PATH" snakemake' in make(clone, "-n", "run").stdout
    done = make(clone, "-B", "install", XDG_CACHE_HOME=str(clone / "a cache"))
    assert done.returncode == 0  # it is there already
    (clone / ".venv").unlink()
    done = make(clone, "install", XDG_CACHE_HOME=str(clone / "a cache"))
    assert done.stderr.splitlines()[0] == (
        "make: Snakemake cannot call a Python whose path has a space: name another folder: "
        "make install VENV=/var/tmp/retort"
    )
    assert make(clone, "install", f"VENV={clone.parent}/elsewhere").returncode == 0


@pytest.mark.parametrize("name", CAUSES)
def test_it_says_in_one_line_what_an_installation_lacked(name: str, clone: Path) -> None:
    says, cause = CAUSES[name]
    done = make(clone, "install", SAYS=says)
    assert done.returncode
    assert done.stderr.splitlines()[0] == (
        f"make: pip could not install requirements.lock: {cause}; pip says more in .venv/pip.log"
    )
    assert (clone / ".venv/pip.log").read_text() == says + "\n"
    assert not (clone / ".venv/.done").exists()


@pytest.mark.parametrize("where", [":env:", "global", "install"])
def test_it_says_that_pip_asks_no_index(where: str, clone: Path) -> None:
    done = make(clone, "install", SAYS=NONE + LAST, CONFIGURED=f"global.cert='x'\n{where}.no-index='true'")
    assert "pip is set to ask no package index (no-index), and has no yte==1.9.4;" in done.stderr


def test_it_names_the_oldest_python_that_the_project_promises(clone: Path) -> None:
    done = make(clone, "install", TOO_OLD="1")
    assert done.stderr.splitlines()[0] == (
        "make: ./any python is missing or older than 3.11.2: install a newer Python, or name one: "
        "make install PYTHON=python3.13"
    )
    assert "older than 3.11.2:" in make(clone, "install", "PYTHON=no-python").stderr
    assert "apt install python3-venv" in make(clone, "install", NO_VENV="1").stderr


def test_libraries_keep_their_caches_here_where_the_home_folder_cannot_be_written(clone: Path) -> None:
    (clone / "file").touch()
    shown = 'print: ; @echo "$$XDG_CACHE_HOME"'
    (clone / "shown").write_text(f"include Makefile\n{shown}\n")
    for home, cache in {clone: "", clone / "file": str(clone / ".snakemake/cache")}.items():
        done = make(clone, "-f", "shown", "print", HOME=str(home), XDG_CACHE_HOME="")
        assert done.stdout.strip() == cache
