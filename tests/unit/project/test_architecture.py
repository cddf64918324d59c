"""Tests that imports point one way, and that modules which must start fast do not import torch."""

from __future__ import annotations

import ast
import functools
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from retort.provenance import APART

from tests.conftest import ROOT

PACKAGE = ROOT / "workflow" / "retort"
# What each subpackage may import besides itself and the modules at the top of the package. Imports inside functions and
# imports for type checkers count as well.
MAY = {
    "specs": "",
    "settings": "specs",
    "study": "specs",
    "plan": "specs settings study",
    "job": "",
    "objectives": "specs settings",
    "data": "specs settings study plan",
    "tasks": "specs settings data",
    "models": "specs settings objectives data job",
    "training": "specs settings study objectives data tasks models job",
    "cost": "specs settings study plan data objectives models training job",
    "results": "specs settings study plan tasks job",
    "judgement": "specs study plan results",
    "tables": "specs settings study plan cost job results judgement",
    "audit": "specs study judgement tables",
    "report": "specs study plan results judgement tables audit cost job",
    "run": "specs settings study plan data cost job results report",
    "cli": "specs settings study plan data tasks models results judgement tables audit report cost job run",
}

# What each module at the top of the package may import of the package: other such modules, but for the command's start.
TOP: dict[str, set[str]] = {
    "__init__": set(),
    "__main__": {"cli"},
    "atomic": {"errors", "machine"},
    "batch": set(),
    "checksums": {"atomic", "errors"},
    "errors": set(),
    "formatters": {"registry"},
    "machine": {"errors"},
    "own_code": {"errors"},
    "provenance": {"machine", "own_code"},
    "registry": {"errors", "own_code"},
}
FILES = sorted(PACKAGE.rglob("*.py"))


def module_of(path: Path) -> str:
    """Return the name of a module below the package; that of a subpackage for its __init__.py."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in FILES}


@functools.cache
def modules_imported(path: Path) -> set[str]:
    """Return the modules of the package that a file imports anywhere."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            below = [f"{node.module}.{alias.name}" for alias in node.names]
            names += [name if name.removeprefix("retort.") in MODULES else node.module for name in below]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return {name.removeprefix("retort.") for name in names if name.startswith("retort.")}


def room_of(module: str) -> str:
    """Return the subpackage of a module, or the module itself if it is at the top of the package."""
    return module.split(".")[0]


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_point_one_way(module: str) -> None:
    room = room_of(module)
    rooms = {room_of(name) for name in modules_imported(MODULES[module])} - {room}
    assert rooms <= (TOP[room] if room in TOP else {*MAY[room].split(), *TOP} - {"__main__"})


def test_every_subpackage_and_every_module_at_the_top_is_listed() -> None:
    assert {room_of(module) for module in MODULES} == {*MAY, *TOP}


def test_no_module_imports_itself_by_way_of_others() -> None:
    edges = {module: modules_imported(path) & set(MODULES) - {module} for module, path in MODULES.items()}
    assert list(graphlib.TopologicalSorter(edges).static_order())  # raises CycleError with the cycle


def test_no_room_imports_itself_by_way_of_others() -> None:
    edges = {room: set[str]() for room in (*MAY, *TOP)}
    for module, path in MODULES.items():
        edges[room_of(module)] |= {room_of(name) for name in modules_imported(path)} - {room_of(module)}
    assert list(graphlib.TopologicalSorter(edges).static_order())  # raises CycleError with the circle


def test_commands_start_and_sources_are_fetched_without_torch_or_pandas() -> None:
    code = """
import sys
import retort.training.stages.preprocess
from retort.cli import main
for verb in ("list", "check", "cost", "reported audit"):
    assert "pandas" not in sys.modules, verb  # a table or a claim may need it, a plan does not
    assert main(verb.split()) == 0, verb
    assert "torch" not in sys.modules, verb
"""
    environment = {"PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert "no problem" in done.stdout


def test_what_is_read_without_torch_is_what_is_registered() -> None:
    from retort.data.formats import formats
    from retort.data.packing import packers
    from retort.data.texts import texts
    from retort.objectives import objectives
    from retort.specs import catalogue
    from retort.tasks import task_types

    assert list(catalogue.objectives()) == list(objectives)
    assert list(catalogue.formats()) == list(formats)
    assert list(catalogue.text_formats()) == list(texts)
    assert list(catalogue.packers()) == list(packers)
    assert list(catalogue.task_types()) == list(task_types)
    for name, entry in catalogue.task_types().items():
        assert catalogue.metrics_of(name) == task_types[name].metrics
        assert entry.facts["has_label_names"] == task_types[name].has_label_names
        assert entry.version == task_types[name].version


def test_no_result_depends_on_the_folders_apart() -> None:
    """The digest of the code in a score leaves these folders out, so only tables, pages and costs may import them."""
    assert not {room for room in MAY.keys() - set(APART) if set(MAY[room].split()) & set(APART)}
    scripts = sorted((ROOT / "workflow/scripts").glob("*.py"))
    printing = {path.stem for path in scripts if set(map(room_of, modules_imported(path))) & set(APART)}
    assert printing == {
        "bench_gpu",
        "check_claims",
        "make_audit",
        "make_index",
        "make_page",
        "make_table",
        "plot_figure",
    }


def test_the_library_has_ten_names_at_most_all_in_its_guide_and_imports_nothing_before_they_are_asked_for() -> None:
    code = """
import sys
import retort
assert not {"torch", "pandas", "numpy", "pydantic", "snakemake"} & sys.modules.keys()
assert {*retort.__all__} <= {*dir(retort)}
print(*retort.__all__)
assert all(getattr(retort, name) for name in retort.__all__)
assert not hasattr(retort, "losses")
"""
    environment = {"PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    told = re.findall(r"^\| `(\w+)\(", (ROOT / "workflow/retort/python.md").read_text(), re.MULTILINE)
    assert sorted(done.stdout.split()) == sorted(told)
    assert len(told) <= 10
