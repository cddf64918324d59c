"""Follow guides to the letter: write the files that their texts name, and run their commands, in a copy of the project.

Checks and tests look at all that was added, so they run once, after the last guide.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import ROOT, run_snakemake

COPIED = ["Makefile", "Snakefile", "config.yaml", "envs", "profiles", "pyproject.toml", "tests", "workflow"]
BLOCK = re.compile(r"^(?P<indent> *)```\w+\n(?P<body>.*?)^(?P=indent)```$", flags=re.MULTILINE | re.DOTALL)
WRITE = re.compile(r"Write `(?P<file>[^`]+)`[^`]*:$")
APPEND = re.compile(r"Add to the end of `(?P<file>[^`]+)`:$")
RUN = re.compile(r"Run:$")
LATER = ("retort check", "pytest")


@dataclass
class Followed:
    """What following a guide did.

    Args:
        folder: the copy of the project.
        files: the files that were written or changed, relative to the folder.
        outputs: command -> what it printed.
        later: the commands that were not run yet: checks of the study, and tests.
    """

    folder: Path
    files: list[str] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    later: list[str] = field(default_factory=list)


def section(guide: str, title: str) -> str:
    """Return the section of a guide that has this title, with its subsections."""
    text = (ROOT / guide).read_text(encoding="utf-8")
    start = text.index(f"\n## {title}\n")
    end = text.find("\n## ", start + 1)
    return text[start : end if end > 0 else len(text)]


def copy_project(folder: Path) -> Path:
    """Copy the project without results to a folder, and return it."""
    for name in COPIED:
        if (ROOT / name).is_dir() and not (ROOT / name).is_symlink():
            shutil.copytree(ROOT / name, folder / name)  # with what is compiled, which saves seconds
        else:
            shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
    return folder


def follow(text: str, folder: Path) -> Followed:
    """Carry out every code block of a text, as the sentence before it says.

    Raises:
        AssertionError: a command fails, or the sentence before a block does not say what to do with it.
    """
    done = Followed(folder)
    for block in BLOCK.finditer(text):
        sentence = " ".join(text[: block.start()].rstrip().rsplit("\n\n", 1)[-1].split())
        body = re.sub(rf"^{block['indent']}", "", block["body"], flags=re.MULTILINE)
        if RUN.search(sentence):
            for command in body.splitlines():
                if command.startswith(LATER):
                    done.later.append(command)
                else:
                    done.outputs[command] = run(command, folder)
            continue
        change = next(filter(None, (pattern.search(sentence) for pattern in (WRITE, APPEND))), None)
        assert change, f"what is to be done with this block? {sentence!r}"
        edit(folder / change["file"], body, change)
        done.files.append(change["file"])
    return done


def edit(path: Path, body: str, change: re.Match[str]) -> None:
    """Write a file, or add a block at its end."""
    before = path.read_text() if path.exists() else ""
    if before.endswith(body):  # whoever runs the tests has followed this guide before
        return
    if change.re is WRITE:
        assert path.exists() == change[0].endswith("` anew:"), f"{path} is there, or is not"
        path.parent.mkdir(exist_ok=True)
        path.write_text(body)
        return
    path.write_text(before + "\n\n" * (path.suffix == ".py") + body)  # two blank lines before a function


def run(command: str, folder: Path) -> str:
    """Run a command of the project in a folder and return what it printed; it must succeed."""
    tool, *arguments = shlex.split(command)
    if tool == "snakemake":
        return _said(run_snakemake(folder, *arguments, **_variables(folder)))
    return _python(folder, *arguments) if tool == "python" else _python(folder, "-m", tool, *arguments)


def run_tests(commands: Iterable[str], folder: Path) -> list[str]:
    """Run the tests that commands such as `pytest tests/unit -k name` select; return the names of those that pass."""
    parsed = [command.partition(" -k ")[::2] for command in commands]
    paths = {path: None for files, _ in parsed for path in files.split()[1:]}
    said = _python(folder, "-m", "pytest", "-rp", "-n", "0", *paths, "-k", " or ".join(name for _, name in parsed))
    return re.findall(r"^PASSED (.*)$", said, re.MULTILINE)


def run_python(code: str, folder: Path) -> str:
    """Run Python code in a folder, with the package and the tests of its copy, and return what it printed."""
    return _python(folder, "-c", code)


def _python(folder: Path, *arguments: str) -> str:
    return _said(
        subprocess.run(
            [sys.executable, *arguments], cwd=folder, env=os.environ | _variables(folder),
            capture_output=True, text=True, check=False,
        )
    )  # fmt: skip


def _variables(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join([str(folder / "workflow"), str(folder)])}


def _said(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, f"{' '.join(done.args)}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr
