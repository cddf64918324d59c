"""Tests that Snakemake and its plugins are used by their public means: nothing of theirs is set or privately read."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

REPAIRS = ROOT / "workflow/retort/run/repairs.py"  # of faults of Snakemake, at most three
FILES = sorted({*(ROOT / "workflow").rglob("*.py")} - {REPAIRS})
SETTINGS = ("datasets", "huggingface_hub")  # they are set up by constants of modules


def strays(text: str) -> list[str]:
    """Return what a module sets of a library's modules and classes; ruff finds the private names that it reads."""
    tree = ast.parse(text)
    imported = dict(_imported(tree))
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return [ast.unparse(node) for node in attributes if _is_set(node, imported)]


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield (name, package) for each imported name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, (node.module or "").split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name.split(".")[0], alias.name.split(".")[0]) for alias in node.names)


def _is_set(node: ast.Attribute, imported: dict[str, str]) -> bool:
    """Return whether an attribute of something imported is set, but for those that are made for that."""
    package = imported.get(ast.unparse(node).split(".")[0], "sys")
    return isinstance(node.ctx, (ast.Store, ast.Del)) and package not in {*sys.stdlib_module_names, *SETTINGS}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT / "workflow")))
def test_only_public_means_are_used(path: Path) -> None:
    assert strays(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", sorted((ROOT / "workflow/rules").glob("*.smk")), ids=lambda path: path.name)
def test_rules_touch_nothing_private(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\._[a-z]|^ *workflow\.[\w.]+ *=", text, flags=re.MULTILINE)


def test_the_repairs_are_few() -> None:
    functions = [node for node in ast.parse(REPAIRS.read_text()).body if isinstance(node, ast.FunctionDef)]
    assert 1 <= len(functions) <= 3
    assert all("For upstream:" in (ast.get_docstring(function) or "") for function in functions)


def test_strays_are_found() -> None:
    text = """
    import snakemake.jobs, sys
    from snakemake.scheduling.job_scheduler import JobScheduler
    snakemake.jobs.get_script_mtime = None
    JobScheduler.keepgoing = True
    sys.argv = []
    """
    assert strays(textwrap.dedent(text)) == ["snakemake.jobs.get_script_mtime", "JobScheduler.keepgoing"]
