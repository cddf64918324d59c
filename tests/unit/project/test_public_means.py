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

REPAIRS = ROOT / "workflow/retort/engine/repairs.py"  # of faults of Snakemake, at most three
FILES = sorted({*(ROOT / "workflow").rglob("*.py")} - {REPAIRS})
SETTINGS = ("datasets", "huggingface_hub")  # they are set up by constants of modules
OBJECTS = {"workflow", "dag", "scheduler", "executor", "plugin", "rules", "snakemake"}  # of Snakemake, by custom


def strays(text: str) -> list[str]:
    """Return what a module sets of a library's modules and classes, and reads of Snakemake's private names."""
    tree = ast.parse(text)
    imported = dict(_imported(tree))
    theirs = OBJECTS | {name for name, package in imported.items() if package.startswith("snakemake")}
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    found = [ast.unparse(node) for node in attributes if _is_set(node, imported)]
    found += [ast.unparse(node) for node in attributes if _is_read(node, theirs)]
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(_head(base) in theirs for base in node.bases):
            found += _inherited(node)
    return found


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield (name, package) for each imported name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, (node.module or "").split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name.split(".")[0], alias.name.split(".")[0]) for alias in node.names)


def _head(node: ast.expr) -> str:
    return ast.unparse(node).split(".")[0]


def _is_set(node: ast.Attribute, imported: dict[str, str]) -> bool:
    """Return whether an attribute of something imported is set, but for those that are made for that."""
    package = imported.get(_head(node), "sys")
    return isinstance(node.ctx, (ast.Store, ast.Del)) and package not in {*sys.stdlib_module_names, *SETTINGS}


def _is_private(node: ast.Attribute) -> bool:
    return node.attr.startswith("_") and not node.attr.startswith("__")


def _is_read(node: ast.Attribute, theirs: set[str]) -> bool:
    return _is_private(node) and not set(ast.unparse(node.value).split(".")).isdisjoint(theirs)


def _inherited(node: ast.ClassDef) -> list[str]:
    """Return the private names of `self` that a subclass of theirs uses without having defined them."""
    used = [each for each in ast.walk(node) if isinstance(each, ast.Attribute) and _head(each) == "self"]
    own = {each.attr for each in used if isinstance(each.ctx, ast.Store)}
    own |= {each.name for each in ast.walk(node) if isinstance(each, ast.FunctionDef)}
    return [ast.unparse(each) for each in used if _is_private(each) and each.attr not in own]


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
    from plugin import Executor
    from snakemake_executor_plugin_slurm import Executor as Slurm
    snakemake.jobs.get_script_mtime = None
    JobScheduler.keepgoing = True
    sys.argv = []
    workflow.scheduler._user_kill
    class Own(Slurm):
        def run(self):
            self._mine = 1
            return self._mine, self._failed_nodes, self.__class__
    """
    assert strays(textwrap.dedent(text)) == [
        "snakemake.jobs.get_script_mtime",
        "JobScheduler.keepgoing",
        "workflow.scheduler._user_kill",
        "self._failed_nodes",
    ]
