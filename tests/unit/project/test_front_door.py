"""Tests of what a newcomer meets first: make's targets, the map of the package, the hooks, the READMEs of folders."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from retort.specs.config import Config
from snakemake.cli import get_argument_parser, parse_config

from tests.conftest import ROOT

PACKAGE = ROOT / "workflow" / "retort"
GUIDE = (PACKAGE / "README.md").read_text()
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "config/README.md", "results/README.md", "reports/README.md",
             *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "workflow").rglob("README.md")))]  # fmt: skip


def names_in(section: str) -> list[str]:
    """Return the names in the first column of the first table after a line of the package's README."""
    table = GUIDE.split(f"\n{section}\n\n", 1)[1].split("\n\n", 1)[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


def test_the_map_lists_every_package() -> None:
    assert sorted(names_in("## Packages")) == sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def test_the_map_lists_every_root_module() -> None:
    modules = sorted(path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__"))
    assert sorted(names_in("And beside them:")) == modules


def test_the_glossary_explains_a_word_once() -> None:
    words = re.findall(r"^\| \*\*([\w -]+)\*\* \|", GUIDE, re.MULTILINE)
    assert len(words) > 20
    assert len(set(words)) == len(words)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no clone: nothing tells which folders are the project's")
def test_the_readme_names_every_folder_of_the_top_level() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    folders = {path.split("/")[0] for path in listed.splitlines() if "/" in path}
    assert {"config", "slurm", "workflow"} <= folders
    names = (ROOT / "README.md").read_text().split("## Where things are", 1)[1].split("```")[1]
    assert folders == {folder for folder in folders if re.search(rf"^{re.escape(folder)}/", names, re.MULTILINE)}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_of_a_document_leads_to_a_file(name: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)|src=\"([^\":]+)\"", (ROOT / name).read_text()):
        link = target[0] or target[1]
        assert (ROOT / name).parent.joinpath(link).exists(), link


def snakemake_commands(name: str) -> list[str]:
    """Return the arguments of each command of a document that calls Snakemake, in a block or in a sentence."""
    text = (ROOT / name).read_text()
    commands = re.findall(r"^ *snakemake (-.+)$|`snakemake (-[^`]+)`", text, re.MULTILINE)
    return [in_block or in_sentence for in_block, in_sentence in commands]


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if snakemake_commands(name)])
def test_snakemake_reads_each_command_of_a_document_as_it_is_meant(name: str) -> None:
    for command in snakemake_commands(name):
        given = shlex.split(command, comments=True)
        parsed = get_argument_parser().parse_args(given)
        assert set(parse_config(parsed.config)) <= set(Config.model_fields), command
        assert not [path for path in parsed.configfile if path.suffix != ".yaml"], command
        assert sorted(parsed.targets) == sorted(word for word in given if re.match("results/|reports/", word)), command


def call_make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make with the project's Makefile in a folder and return the finished process."""
    # `make test` itself may run this test: its make must not make this one say which folder it enters and leaves
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    return subprocess.run(
        ["make", "-f", str(ROOT / "Makefile"), *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def run_make(folder: Path, *arguments: str) -> str:
    """Run make in a folder and return what it prints."""
    done = call_make(folder, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


# What pip writes with --quiet. An index that answers and has no file for this Python or platform ends as one does that
# does not answer, but for the lines before.
NONE_FOUND = """\
ERROR: Could not find a version that satisfies the requirement torch==2.13.0 (from versions: none)
ERROR: No matching distribution found for torch==2.13.0
"""
NO_ANSWER = """\
WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by \
'NewConnectionError('<pip._vendor.urllib3.connection.HTTPConnection object at 0x7f6bcc152410>: Failed to establish a \
new connection: [Errno 111] Connection refused')': /simple/torch/
"""
DISK_FULL = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"
OLD = "is missing or older than 3.11: install a newer Python, or name one: make install PYTHON=python3.12"
NO_VENV = "has no venv: install it, on Debian and Ubuntu with: apt install python3-venv"
ANOTHER = "(to try another Python: rm -r .venv, then make install PYTHON=python3.12)"


def write_python(folder: Path, fails: str, pip_says: str) -> None:
    """Write a stand-in for Python that fails where its arguments hold a word; the pip of its environments only talks.

    Args:
        folder: where it is written, as `python`.
        fails: the word.
        pip_says: what pip writes before it fails.
    """
    (folder / "says").write_text(pip_says)
    (folder / "pip").write_text("#!/bin/sh\ncat says >&2\nexit 1\n")
    script = f'#!/bin/sh\ncase "$*" in *{fails}*) exit 1;; *-m\\ venv*) mkdir -p .venv/bin; cp pip .venv/bin;; esac\n'
    (folder / "python").write_text(script)
    for name in ("pip", "python"):
        (folder / name).chmod(0o755)


def first_line_of_install(folder: Path, python: str, fails: str, pip_says: str = "") -> str:
    """Return the first line that `make install` prints when it fails, with a stand-in for Python."""
    for name in ("requirements.lock", "pyproject.toml"):
        (folder / name).touch()
    write_python(folder, fails, pip_says)
    done = call_make(folder, "install", f"PYTHON={python}", "VENV=.venv")
    assert done.returncode
    assert not (folder / ".venv/.done").exists()
    return done.stderr.splitlines()[0]


@pytest.mark.parametrize(("python", "fails", "line"), [
    ("./nowhere", "nothing", OLD), ("./python", "version_info", OLD), ("./python", "ensurepip", NO_VENV),
])  # fmt: skip
def test_make_says_what_python_lacks(python: str, fails: str, line: str, tmp_path: Path) -> None:
    assert first_line_of_install(tmp_path, python, fails) == f"make: {python} {line}"


@pytest.mark.parametrize(("pip_says", "cause"), [
    (NO_ANSWER + NONE_FOUND, "no package index answers"),
    (NONE_FOUND, f"the package index has no torch==2.13.0 for this Python and platform {ANOTHER}"),
    (DISK_FULL, "an installation failed"),
], ids=["no answer", "none found", "disk full"])  # fmt: skip
def test_make_says_why_pip_failed(pip_says: str, cause: str, tmp_path: Path) -> None:
    line = first_line_of_install(tmp_path, "./python", "nothing", pip_says)
    assert line == f"make: pip could not install requirements.lock: {cause}; pip says more in .venv/pip.log"


def test_make_alone_lists_every_target(tmp_path: Path) -> None:
    targets = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert targets
    lines = run_make(tmp_path).splitlines()
    assert [line.split()[1] for line in lines] == targets[1].split()
    assert all(len(line.split()) > 3 for line in lines)


def test_clean_keeps_the_readme_of_each_folder(tmp_path: Path) -> None:
    for folder in ("results", "reports"):
        (tmp_path / folder / "made").mkdir(parents=True)
        shutil.copy(ROOT / folder / "README.md", tmp_path / folder)
        (tmp_path / folder / "made/README.md").write_text("a model card")
        (tmp_path / folder / ".hidden").touch()
    (tmp_path / ".snakemake").mkdir()
    run_make(tmp_path, "clean")
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()) == [
        "reports/README.md",
        "results/README.md",
    ]
    run_make(tmp_path, "clean")  # nothing to delete


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("results/README.md", False),
        ("reports/README.md", False),
        ("results/scores/a.json", True),
        ("results/students/a/README.md", True),
        ("reports/index.html", True),
    ],
)
def test_git_keeps_the_readme_of_each_folder_alone(path: str, ignored: bool, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    shutil.copy(ROOT / ".gitignore", tmp_path)
    done = subprocess.run(["git", "check-ignore", "--quiet", path], cwd=tmp_path, check=False)
    assert (done.returncode == 0) == ignored


def test_the_guide_to_reports_lists_every_file_at_their_top() -> None:
    makers = [ROOT / "Makefile", ROOT / "workflow/retort/plan/exhibits.py"]
    made = {name for path in makers for name in re.findall(r"reports/([\w-]+\.\w+)", path.read_text())}
    assert {"index.html", "snakemake.zip"} <= made
    listed = re.findall(r"^\| `([\w.-]+)` \|", (ROOT / "reports/README.md").read_text(), re.MULTILINE)
    assert set(listed) == made


def test_the_guide_to_results_says_what_a_run_deletes_unless_it_is_told_to_keep_it() -> None:
    rows = (ROOT / "results/README.md").read_text().splitlines()
    row = next(row for row in rows if row.startswith("| `activations/"))
    assert "deleted when a run has succeeded, unless `keep_activations` is set" in row
    keys = {key for key in Config.model_fields if key.startswith("keep_")}
    assert keys == {key for key in keys if any(f"`{key}`" in row for row in rows)}


def test_a_deployed_folder_gets_the_settings_of_a_cluster() -> None:
    texts = [path.read_text() for path in sorted((ROOT / "slurm").glob("*.yaml"))]
    named = {name for text in texts for name in re.findall(r"\bslurm/[\w./-]+\.yaml", text)}
    assert named
    assert all((ROOT / name).is_file() for name in named)  # so a copy of the folder is enough
    assert "\ncp -r /path/to/clone/slurm .\nsnakemake --profile slurm\n" in (ROOT / "config/README.md").read_text()
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert "copy the folder slurm of the clone" in usage["mandatory-flags"]["desc"]


def test_the_hooks_call_tools_of_the_environment() -> None:
    repos = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repo["repo"] for repo in repos] == ["local"]  # nothing is downloaded
    tools = {hook["entry"].split()[0].removeprefix(".venv/bin/") for hook in repos[0]["hooks"]}
    assert tools == {"ruff", "snakefmt"}
    locked = {line.split("==")[0] for line in (ROOT / "requirements.lock").read_text().split()}
    assert tools <= locked


def test_editors_break_lines_where_ruff_does() -> None:
    settings = (ROOT / ".editorconfig").read_text()
    ruff = re.search(r"^line-length = (\d+)", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert ruff
    assert f"max_line_length = {ruff[1]}\n" in settings
